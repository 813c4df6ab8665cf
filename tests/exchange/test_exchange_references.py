"""The reference teams: what they reach at the published defaults, in which order, in the simulator and in the loop."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

import pytest
from exchange_kit import played, setup

from emcoop.envs.exchange.env import make
from emcoop.envs.exchange.reference import sight
from emcoop.envs.exchange.scripted import KINDS
from emcoop.envs.exchange.simulate import REFERENCES, default_spec, reference, sight_of, simulate
from emcoop.envs.exchange.work import Work
from emcoop.episode.setup import SeatConfig
from emcoop.interventions import apply


@pytest.mark.slow
def test_instant_fill_lands_where_two_turns_per_task_say() -> None:
    """200 tasks, and about one more for those that are complete when they are dealt (see docs/exchange.md)."""
    tasks = [reference("instant fill", default_spec(), seed).tasks for seed in range(200)]
    assert 201.0 <= mean(tasks) <= 201.6
    assert stdev(tasks) < 1.5
    assert min(tasks) >= 200


def test_the_references_are_ordered_as_they_must_be() -> None:
    spec = default_spec()
    found = {name: [reference(name, spec, seed).tasks for seed in range(8)] for name in REFERENCES}
    ask, instant = found["request and answer"], found["instant fill"]
    engine_asks = found["one-sided: perfect replier, the engine asks"]
    engine_fills = found["one-sided: perfect requester, the engine fills"]
    assert engine_fills == instant
    for low, high in ((found["no sharing"], ask), (ask, instant), (ask, engine_asks), (instant, found["flood"])):
        assert all(a < b for a, b in zip(low, high, strict=True))
    assert mean(instant) < mean(engine_asks) < mean(found["flood"])
    assert max(found["one-sided: repliers who never ask"]) <= 1
    assert max(found["one-sided: requesters who never answer"]) <= 1
    assert max(found["flood"]) <= 400


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_simulator_and_the_loop_play_the_same(tmp_path: Path, kind: str) -> None:
    cell = setup([kind], agents=4, env_options={"rounds": 6})
    outcome, _ = played(tmp_path, cell, seed=7)
    spec = make(4, rounds=6).spec
    simulated = simulate(spec, 7, [kind])
    assert outcome.steps == 24
    assert outcome.score.detail["tasks"] == simulated.tasks
    assert outcome.score.detail["revenue"] == simulated.revenue


def test_an_observation_tells_a_player_what_the_simulator_tells_it() -> None:
    env = make(5)
    state = simulate(env.spec.model_copy(update={"horizon": 37}), 2, ["scripted"]).state
    for agent in range(5):
        told, simulated = sight(env.observe(state, f"agent_{agent}")), sight_of(Work(env.spec, state), agent)
        assert (told.tasks, dict(told.inventory), told.asked) == (
            simulated.tasks,
            simulated.inventory,
            simulated.asked,
        )
        assert all(told.holders(p) == simulated.holders(p) for p in range(env.spec.pieces))


def test_a_team_of_two_hundred_shares() -> None:
    spec = default_spec(200, rounds=3)
    assert simulate(spec, 0, ["scripted"]).tasks > 100
    assert simulate(spec, 0, ["selfish"]).tasks == 0


def test_reference_teams_play_in_the_loop_under_other_topologies_too(tmp_path: Path) -> None:
    for topology in ("individual", "decentralized"):
        cell = setup(["scripted"], agents=3, topology=topology, topology_options={}, env_options={"rounds": 5})
        outcome, _ = played(tmp_path, cell)
        assert outcome.steps == 15
        if topology == "individual":
            assert outcome.score.detail["requests"] == 0
        else:
            assert outcome.score.detail["tasks"] > 0


def test_nobody_can_ask_where_nobody_may_speak(tmp_path: Path) -> None:
    silent = apply(setup(["scripted"], agents=3, env_options={"rounds": 5}), ["silence"])
    outcome, events = played(tmp_path, silent)
    codes = {fact.get("code") for e in events if e.kind == "step" for fact in e.payload["events"]}
    assert outcome.score.detail["requests"] == 0
    assert "not_sent" in codes


def test_the_oracle_and_the_floors_are_played_by_name(tmp_path: Path) -> None:
    reached = {}
    for name in ("random", "noop", "scripted", "oracle", "team-oracle"):
        cell = setup([], agents=5, team=(SeatConfig(agent=name),))
        reached[name] = played(tmp_path, cell)[0].score.detail["tasks"]
    assert reached["noop"] <= 1
    assert reached["random"] < reached["scripted"] < reached["oracle"] == reached["team-oracle"]
