"""A thousand episodes at once against a model that answers in one second.

One agent alone, and teams of two under each of the four topologies, play CUBE. Every plan waits six steps, about as
long as the plans of the scripted teams last (0.29 decisions a step where nobody speaks), and whoever may speak does.
The answers of an episode take 18 seconds, one after the other: its ideal. A thousand of them are then 1,000 answers a
second (alone: one is always in flight), 1,333 (debate, centralized: sometimes two) or 2,000 (individual and
decentralized: two on average).

Two shares of the ideal throughput are told. *While all are in flight*: the answers a second in the middle half of the
answers, against the ideal rate. *In all*: the ideal seconds against those from the first episode's beginning to the
last one's end; a thousand that begin at one moment are begun one after the other, and that counts here.

First the model is a function that sleeps, in one process: so the figures are emcoop's own, prompts, parsing, the loop
and the log. Then it is a server process of this machine, over real HTTP, and the episodes are played as
``emcoop run --workers 2`` does; what that adds before the first request and after the last answer (starting workers,
joining their logs) is told apart. At last the hardest case: episodes of two seconds, in which all begins and ends.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answering import TEAM, WAIT_STEPS, WANTED, answer_to, answering
from benchmarks.common import record, script, told
from emcoop.core.compile import load_at_once
from emcoop.core.memory import fewer_collections
from emcoop.core.types import SECOND
from emcoop.episode.baton import batons
from emcoop.episode.latency import LatencyConfig
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, log_path, play_episode
from emcoop.experiment.workers import play_in_processes
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model, Turn
from emcoop.models.scripted import ScriptedModel

FLIGHT = 1000
ANSWER_S = 1.0
WARM = 200
"""Episodes played before: the world's compiled rules are loaded by then, and the log's dictionaries trained."""

IDEAL_S = 18 * ANSWER_S
SHORT_S = 2 * ANSWER_S


@dataclass(frozen=True, slots=True)
class Team:
    """Who plays; `turns` answers one after the other lead to a step in which everybody has a plan."""

    agents: int
    topology: str
    turns: int


TEAMS = {
    "alone": Team(1, "individual", 1),
    "individual": Team(2, "individual", 1),
    "debate": Team(2, "debate", 3),
    "centralized": Team(2, "centralized", 3),
    "decentralized": Team(2, "decentralized", 3),
}


@dataclass(frozen=True, slots=True)
class Spent:
    """Real seconds, the processor's, and at which second of them each answer came."""

    wall_s: float
    cpu_s: float
    answers: Sequence[float] = ()


def set_up(name: str, ideal_s: float, model: str = "scripted") -> Setup:
    """A team of TEAMS whose answers take so many seconds one after the other."""
    team = TEAMS[name]
    rounds = round(ideal_s / ANSWER_S / team.turns)
    return Setup(
        env="cube",
        level="easy",
        agents=team.agents,
        topology=team.topology,
        team=(SeatConfig(agent="llm", model=model),),
        env_options={"horizon": rounds * WAIT_STEPS},
        latency=LatencyConfig(kind="constant", constant_s=ANSWER_S),
    )


def at_once(turns: Sequence[Turn], *_: Any) -> str:
    """The answer without the second."""
    return answer_to(turns[-1].content.rpartition(WANTED)[2])


class Sleeping(ScriptedModel):
    """The server, in this process."""

    def __init__(self) -> None:
        self.times: list[float] = []
        super().__init__(self._answer)

    async def _answer(self, turns: Sequence[Turn], *_: Any) -> str:
        await asyncio.sleep(ANSWER_S)
        self.times.append(time.perf_counter())
        return at_once(turns)


async def play_all(setup: Setup, store: LogStore, seeds: Iterable[int], flight: int, model: Model) -> None:
    """All episodes, so many in flight."""
    left = iter(seeds)
    shared = batons()

    async def work() -> None:
        for seed in left:
            await play_episode(setup, seed, store, {"scripted": model}, shared=shared)

    await asyncio.gather(*(work() for _ in range(flight)))
    await model.aclose()


def timed(setup: Setup, store: LogStore, seeds: Sequence[int], flight: int, model: Model) -> Spent:
    """What these episodes take."""
    wall, cpu = time.perf_counter(), time.process_time()
    with fewer_collections(flight):
        asyncio.run(play_all(setup, store, seeds, flight, model))
    ended, cpu_ended = time.perf_counter(), time.process_time()
    times = [moment - wall for moment in model.times] if isinstance(model, Sleeping) else []
    return Spent(ended - wall, cpu_ended - cpu, times)


def warm(setup: Setup, store: LogStore) -> None:
    """Play the episodes that are not measured."""
    load_at_once()
    timed(setup, store, range(-WARM, 0), 1, ScriptedModel(at_once))


def checked(log: Path, episodes: int) -> int:
    """The number of answers of one episode, after a look whether all have been played to their horizon, in IDEAL_S."""
    with LogReader.open(log) as reader:
        rows = [row for row in reader.episodes() if row.seed >= 0]
        assert len(rows) == episodes
        assert {row.outcome and row.outcome["limit"] for row in rows} == {"horizon"}, "a call has failed"
        end = reader.last(rows[0].id)
        calls = reader.count(rows[0].id, kinds=("model_call",))
    assert end is not None
    thought = end.cog_time / SECOND - end.env_step * Setup.model_fields["step_s"].default
    assert abs(thought - IDEAL_S) < 1e-6, f"the answers take {thought} s, not {IDEAL_S}"
    return calls


def middle_rate(times: Sequence[float]) -> float:
    """Answers a second in the middle half of the answers."""
    ordered = sorted(times)
    first, last = len(ordered) // 4, 3 * len(ordered) // 4
    return (last - first) / (ordered[last] - ordered[first])


def in_one_process(name: str) -> tuple[Spent, int]:
    """FLIGHT episodes with the sleeping model, and how often each asks."""
    setup = set_up(name, IDEAL_S)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.db"
        with LogStore.open(log) as store:
            warm(setup, store)
            spent = timed(setup, store, range(FLIGHT), FLIGHT, Sleeping())
        return spent, checked(log, FLIGHT)


def over_http(name: str, processes: int) -> tuple[Spent, float, float]:
    """FLIGHT episodes by worker processes against a server process.

    The seconds are from the first request to the last answer; then those of the whole command, and the processor's
    seconds that the server took.
    """
    begun, cpu = time.perf_counter(), _children_s()
    with answering(TEAM, ANSWER_S) as served, tempfile.TemporaryDirectory() as folder:
        study = Study(cells=(set_up(name, IDEAL_S, f"openai:small@{served.url}"),), seeds=tuple(range(FLIGHT)))
        jobs = FLIGHT // processes
        errors = play_in_processes(study, Path(folder), workers=processes, jobs=jobs, calls=2 * FLIGHT)
        assert not errors, errors[0]
        whole = time.perf_counter() - begun
        asked = checked(log_path(Path(folder)), FLIGHT)
    assert len(served.times) == asked * FLIGHT
    return Spent(max(served.times), _children_s() - cpu - served.cpu_s, served.times), whole, served.cpu_s


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> dict[str, float]:
    """Print and return the shares of the ideal throughput, what an answer costs, and the peak memory in MB."""
    figures = [figure for name in TEAMS for figure in _here(name)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.append(record("peak_mb", memory, "MB", 1000, what="peak memory of the process"))
    figures += [figure for name in TEAMS for figure in _served(name)]
    figures += _short()
    for figure in figures:
        print(told(figure))
    return {figure["name"]: figure["value"] for figure in figures}


def _here(name: str) -> list[dict[str, Any]]:
    spent, asked = in_one_process(name)
    ideal_rate = FLIGHT * asked / IDEAL_S
    share = middle_rate(spent.answers) / ideal_rate
    cost = spent.cpu_s / FLIGHT / asked * 1e3
    print(f"{name}: {share:.0%} while all are in flight, {IDEAL_S / spent.wall_s:.0%} in all", flush=True)

    def profile() -> None:
        with tempfile.TemporaryDirectory() as folder, LogStore.open(Path(folder) / "log.db") as store:
            timed(set_up(name, SHORT_S), store, range(WARM), WARM, ScriptedModel(at_once))

    why = (
        f"At {ideal_rate:,.0f} answers a second each may take {1e3 / ideal_rate:.2f} ms of the processor with all that "
        f"goes with it; it takes {cost:.2f} ms"
    )
    return [
        record(f"share_{name}", share, "", 0.95, more_is_better=True, note=why, profile=profile,
               what=f"{name}, {ideal_rate:,.0f} answers a second: share of the ideal while all are in flight"),
        record(f"share_in_all_{name}", IDEAL_S / spent.wall_s, "", more_is_better=True,
               what=f"{name}: share of the ideal from the first beginning to the last end"),
        record(f"cpu_ms_{name}", cost, "ms",
               what=f"{name}: the processor's time for an answer and all that goes with it"),
    ]  # fmt: skip


def _served(name: str) -> list[dict[str, Any]]:
    spent, whole_s, server_s = over_http(name, 2)
    answers = len(spent.answers)
    share = middle_rate(spent.answers) / (answers / IDEAL_S)
    print(f"{name}, HTTP: {share:.0%} while all are in flight, {IDEAL_S / spent.wall_s:.0%} in all", flush=True)
    return [
        record(f"share_http_{name}", share, "", 0.95, more_is_better=True,
               what=f"{name}, over HTTP, two workers: share of the ideal while all are in flight"),
        record(f"share_http_in_all_{name}", IDEAL_S / spent.wall_s, "", more_is_better=True,
               what=f"{name}, over HTTP, two workers: from the first request to the last answer"),
        record(f"beside_http_{name}", whole_s - spent.wall_s, "s",
               what=f"{name}, over HTTP, two workers: before the first request and after the last answer"),
        record(f"cpu_ms_http_{name}", spent.cpu_s / answers * 1e3, "ms",
               what=f"{name}, over HTTP: the workers' processor time for an answer, start and joining included"),
        record(f"server_cpu_ms_{name}", server_s / answers * 1e3, "ms",
               what=f"{name}, over HTTP: the server's processor time for an answer"),
    ]  # fmt: skip


def _short() -> list[dict[str, Any]]:
    """Episodes of two seconds, individual: a thousand that begin at one moment, and four thousand after one another."""
    setup = set_up("individual", SHORT_S)
    with tempfile.TemporaryDirectory() as name, LogStore.open(Path(name) / "log.db") as store:
        warm(setup, store)
        burst = timed(setup, store, range(FLIGHT), FLIGHT, Sleeping())
        steady = timed(setup, store, range(FLIGHT, 5 * FLIGHT), FLIGHT, Sleeping())
    asked = 2 * TEAMS["individual"].agents
    return [
        record("share_burst", SHORT_S / burst.wall_s, "", more_is_better=True,
               what=f"episodes of two seconds: {FLIGHT} that begin at one moment, from there to the last one's end"),
        record("share_short", middle_rate(steady.answers) / (FLIGHT * asked / SHORT_S), "", more_is_better=True,
               what=f"episodes of two seconds: {FLIGHT} in flight, each followed by another"),
        record("cpu_ms_short", steady.cpu_s / (4 * FLIGHT) * 1e3, "ms",
               what="episodes of two seconds: the processor's time for one"),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(script(main))
