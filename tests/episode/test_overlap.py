"""What overlaps in simulated time overlaps in real time, and the log is the one it would be without."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.answering import WAIT_STEPS, WANTED, answer_to
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.in_memory import MemoryLog

from emcoop.agents.base import Decision
from emcoop.core.types import AgentId, Micros
from emcoop.episode.clock import Clock, Sleep, Work
from emcoop.episode.latency import Latency, LatencyConfig, make_latency
from emcoop.episode.loop import Table
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.store import LogStore
from emcoop.models.base import Turn
from emcoop.models.scripted import ScriptedModel

TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")


def answer_of(turns: Sequence[Turn]) -> str:
    return answer_to(turns[-1].content.rpartition(WANTED)[2])


class Unforeseen:
    """A latency of which the least is not known."""

    least = 0

    def __init__(self, inner: Latency) -> None:
        self.inner = inner

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros:
        return self.inner(agent, decision)


def set_up(topology: str, latency: LatencyConfig, **channel: Any) -> Setup:
    seat = SeatConfig(agent="llm", model="m")
    return Setup(
        env="cube", level="easy", agents=3, topology=topology, team=(seat,), env_options={"horizon": 3 * WAIT_STEPS},
        topology_options=channel, latency=latency,
    )  # fmt: skip


def logged(setup: Setup, delays: Sequence[float], *, foreseen: bool) -> tuple[list[Any], int]:
    """What an episode logs whose answers take these real seconds, and how many were being waited for at most."""
    busy = most = asked = 0

    async def answer(turns: Sequence[Turn], *_: Any) -> str:
        nonlocal busy, most, asked
        busy, asked = busy + 1, asked + 1
        most = max(most, busy)
        await asyncio.sleep(delays[asked % len(delays)])
        busy -= 1
        return answer_of(turns)

    env, log = setup.make_env(), MemoryLog()
    topology = setup.make_topology(env.agents)
    team = setup.make_team(env, 0, {"m": ScriptedModel(answer)})
    latency = make_latency(setup.latency, 0)
    table = Table(
        env=env, topology=topology, team=team, seed=0, writer=log, limits=setup.limits,
        latency=latency if foreseen else Unforeseen(latency),
    )  # fmt: skip
    asyncio.run(table.play({}))
    return log.events, most


@pytest.mark.parametrize("topology", TOPOLOGIES)
@settings(max_examples=8, deadline=None)
@given(
    delays=st.lists(st.sampled_from([0.0, 0.0005, 0.002]), min_size=1, max_size=9),
    jitter=st.sampled_from([0.0, 0.3, 0.9]),
    delay_s=st.sampled_from([0.0, 0.2, 1.7]),
    constant=st.booleans(),
)
def test_the_log_is_the_same_whether_or_not_work_is_foreseen(
    topology: str, delays: list[float], jitter: float, delay_s: float, constant: bool
) -> None:
    config = LatencyConfig(kind="constant" if constant else "tokens", jitter=jitter)
    setup = set_up(topology, config, delay_s=delay_s)
    ahead, _ = logged(setup, delays, foreseen=True)
    assert ahead == logged(setup, delays[::-1], foreseen=False)[0]


@pytest.mark.parametrize("topology", ["debate", "centralized"])
def test_one_speaks_while_another_plans(topology: str) -> None:
    setup = set_up(topology, LatencyConfig(kind="constant"))
    assert logged(setup, [0.001], foreseen=True)[1] > logged(setup, [0.001], foreseen=False)[1]


def test_no_entry_is_passed_that_work_in_flight_may_still_come_before() -> None:
    said: list[str] = []

    async def go(latency: Micros) -> None:
        clock = Clock(least=50)

        async def quickly() -> None:
            await asyncio.sleep(0.001)

        async def works() -> None:
            await Work(quickly, lambda _: latency)
            said.append(f"work at {clock.now}")

        async def sleeps(duration: Micros) -> None:
            await Sleep(duration)
            said.append(f"awake at {clock.now}")

        clock.spawn(0, works(), lambda: None)
        for duration in (49, 50, 70):
            clock.spawn(1, sleeps(duration), lambda: None)
        await clock.run(lambda: False)

    asyncio.run(go(60))
    assert said == ["awake at 49", "awake at 50", "work at 60", "awake at 70"]
    with pytest.raises(AssertionError, match="none takes less than 50"):
        asyncio.run(go(49))


@pytest.mark.parametrize(
    ("config", "least"),
    [
        (LatencyConfig(), 499_999),
        (LatencyConfig(jitter=0.5), 249_999),
        (LatencyConfig(kind="constant", constant_s=2.0), 1_999_999),
        (LatencyConfig(kind="constant", constant_s=0.0), 0),
        (LatencyConfig(kind="measured"), 0),
    ],
)
def test_what_a_decision_takes_at_least_is_known_where_it_is_declared(config: LatencyConfig, least: Micros) -> None:
    assert make_latency(config, 0).least == least


def test_of_recorded_latencies_the_shortest_is_the_least() -> None:
    recorded = {"agent_0": [500, 300], "agent_1": [400]}
    assert make_latency(LatencyConfig(kind="recorded"), 0, recorded).least == 300
    assert make_latency(LatencyConfig(kind="recorded"), 0, {}).least == 0


def test_a_debate_in_the_log_is_the_one_of_an_agent_that_answers_at_once(tmp_path: Path) -> None:
    def digest(path: Path, seconds: float) -> str | None:
        async def answer(turns: Sequence[Turn], *_: Any) -> str:
            await asyncio.sleep(seconds)
            return answer_of(turns)

        with LogStore.open(path) as store:
            models = {"m": ScriptedModel(answer, "m")}
            asyncio.run(play_episode(set_up("debate", LatencyConfig()), 0, store, models))  # type: ignore[arg-type]
            return store.episodes()[0].digest

    assert digest(tmp_path / "a.db", 0.0) == digest(tmp_path / "b.db", 0.003) is not None
