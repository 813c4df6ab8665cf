"""A thousand episodes at once against a model that answers in one second.

The model is a function that sleeps, so the figures are emcoop's own: prompts, parsing, the loop and the log. An episode
asks twice, a second each, so 1,000 in flight are at best 500 a second. Two things bound what is reached: those seconds,
and the processor. Both bounds are told: an ideal that forgets the processor cannot be reached by one that is busy.

Two processes are measured in two ways: each with waves of its own, from a common start to the end of both; and as
``emcoop run --workers 2``, from its beginning to its end, with what that adds: starting the workers, which import and
load compiled rules, telling their parent, and joining their logs.

Over real HTTP, to a server process of this machine by the ``openai`` adapter, most of the time is the HTTP client's:
that is told beside the rest, with the server's own share of the processor.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answering import answering
from benchmarks.common import record, script, told
from emcoop.core.compile import load_at_once
from emcoop.core.memory import fewer_collections
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, play_episode
from emcoop.experiment.workers import play_in_processes
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.build import build
from emcoop.models.scripted import ScriptedModel

FLIGHT = 1000
WAVES = 4
ANSWER_S = 1.0
STEPS = 20
"""Environment steps; each plan waits ten steps, so the two agents are asked twice, side by side."""

IDEAL_S = STEPS / 10 * ANSWER_S
WARM = 200
"""Episodes played before: the world's compiled rules are loaded by then, and the log's dictionaries trained."""

PLAN = json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": 10}]})
SETUP = Setup(
    env="cube",
    level="easy",
    agents=2,
    team=(SeatConfig(agent="llm", model="scripted"),),
    env_options={"horizon": STEPS},
)


@dataclass(frozen=True, slots=True)
class Spent:
    """Real seconds and the processor's."""

    wall_s: float
    cpu_s: float


async def answer(*_: Any) -> str:
    """The server."""
    await asyncio.sleep(ANSWER_S)
    return PLAN


async def play_all(store: LogStore, seeds: Iterable[int], flight: int, model: Model) -> None:
    """All episodes, so many in flight."""
    left = iter(seeds)

    async def work() -> None:
        for seed in left:
            await play_episode(SETUP, seed, store, {"scripted": model})

    await asyncio.gather(*(work() for _ in range(flight)))
    await model.aclose()


def timed(store: LogStore, seeds: range, flight: int, model: Model) -> Spent:
    """What these episodes take."""
    wall, cpu = time.perf_counter(), time.process_time()
    with fewer_collections():
        asyncio.run(play_all(store, seeds, flight, model))
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def warm(store: LogStore) -> None:
    """Play the episodes that are not measured."""
    load_at_once()
    timed(store, range(-WARM, 0), 1, ScriptedModel(lambda *_: PLAN))


def part(flight: int, first: int) -> None:
    """One of several processes: says that it is ready, waits for its start, and plays its waves."""
    with tempfile.TemporaryDirectory() as name, LogStore.open(Path(name) / "log.db") as store:
        warm(store)
        print("ready", flush=True)
        sys.stdin.readline()
        timed(store, range(first, first + WAVES * flight), flight, ScriptedModel(answer))
        print("done", flush=True)


def side_by_side(processes: int) -> float:
    """Seconds until several processes have played the same number of episodes together."""
    flight = FLIGHT // processes
    parts = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.throughput", "--part", str(flight), str(i * WAVES * flight)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for i in range(processes)
    ]  # fmt: skip
    for process in parts:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    begun = time.perf_counter()
    for process in parts:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in parts:
        process.communicate()
    return time.perf_counter() - begun


def as_workers(processes: int) -> float:
    """Seconds that the executor takes for the same number of episodes, from nothing to one log."""
    seat = SeatConfig(agent="llm", model="scripted:benchmarks.throughput:answer")
    study = Study(cells=(SETUP.model_copy(update={"team": (seat,)}),), seeds=tuple(range(WAVES * FLIGHT)))
    with tempfile.TemporaryDirectory() as name:
        begun = time.perf_counter()
        errors = play_in_processes(study, Path(name), workers=processes, jobs=FLIGHT // processes, calls=2 * FLIGHT)
        assert not errors, errors[0]
        return time.perf_counter() - begun


def over_http() -> tuple[Spent, float]:
    """One wave against a server process by the openai adapter, and the processor's seconds that the server took."""
    with (
        answering(PLAN, ANSWER_S) as served,
        tempfile.TemporaryDirectory() as name,
        LogStore.open(Path(name) / "log.db") as store,
    ):
        warm(store)
        model = build(f"openai:small@{served.url}", start=2 * FLIGHT, most=2 * FLIGHT)
        spent = timed(store, range(FLIGHT), FLIGHT, model)
        finished = [row for row in store.episodes() if row.seed >= 0 and row.outcome]
        assert {row.outcome["limit"] for row in finished if row.outcome} == {"horizon"}, "a call has failed"
    return spent, served.cpu_s


def main() -> dict[str, float]:
    """Print and return the shares of the ideal throughput, what an episode costs, and the peak memory in MB."""
    sleeping, instant = ScriptedModel(answer), ScriptedModel(lambda *_: PLAN)
    with tempfile.TemporaryDirectory() as name, LogStore.open(Path(name) / "log.db") as store:
        warm(store)
        alone = timed(store, range(-2 * WARM, -WARM), 1, instant)
        burst = timed(store, range(FLIGHT), FLIGHT, sleeping)
        steady = timed(store, range(FLIGHT, (1 + WAVES) * FLIGHT), FLIGHT, sleeping)

        def profile() -> None:
            timed(store, range(10**6, 10**6 + WARM), WARM, instant)

        ideal = WAVES * IDEAL_S
        bound = max(ideal, steady.cpu_s)
        two, workers = side_by_side(2), as_workers(2)
        http, server_s = over_http()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        episodes = WAVES * FLIGHT
        why = (
            f"The processor alone takes {steady.cpu_s:.1f} s for what the answers take {ideal:.0f} s: "
            f"{steady.cpu_s / episodes * 1e3:.1f} ms an episode, where less than "
            f"{ideal / episodes * 1e3:.1f} ms are needed"
        )
        figures = (
            record("share_of_ideal", ideal / steady.wall_s, "", 0.95, more_is_better=True, note=why, profile=profile,
                   what=f"share of the ideal throughput, {FLIGHT} in flight, {WAVES * FLIGHT} in all, one process"),
            record("share_of_bound", bound / steady.wall_s, "", more_is_better=True,
                   what="the same, against the larger one of both bounds: the answers' seconds and the processor's"),
            record("share_of_ideal_2", ideal / two, "", more_is_better=True,
                   what=f"share of the ideal throughput, {FLIGHT} in flight, in two processes with a log each"),
            record("share_of_ideal_workers", ideal / workers, "", more_is_better=True,
                   what="the same as `emcoop run --workers 2`, starting the workers and joining their logs included"),
            record("share_of_ideal_burst", IDEAL_S / burst.wall_s, "", more_is_better=True,
                   what=f"share of the ideal throughput, {FLIGHT} that begin at one moment, none after them"),
            record("share_of_ideal_http", IDEAL_S / http.wall_s, "", more_is_better=True,
                   what=f"the same {FLIGHT} over HTTP to a server process, by the openai adapter"),
            record("cpu_ms_per_episode", alone.cpu_s / WARM * 1e3, "ms",
                   what=f"the processor's time for one episode ({STEPS} steps, 4 decisions with prompts), alone"),
            record("cpu_ms_per_episode_flight", steady.cpu_s / episodes * 1e3, "ms",
                   what=f"the processor's time for one episode, {FLIGHT} in flight"),
            record("cpu_ms_per_episode_http", http.cpu_s / FLIGHT * 1e3, "ms",
                   what=f"the same over HTTP, {FLIGHT} in flight, the client's side (4 requests)"),
            record("server_cpu_ms_per_episode", server_s / FLIGHT * 1e3, "ms",
                   what="the same, the server's side"),
            record("peak_mb", memory, "MB", 1000, what="peak memory of the process"),
        )  # fmt: skip
    for figure in figures:
        print(told(figure))
    return {figure["name"]: figure["value"] for figure in figures}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        part(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(script(main))
