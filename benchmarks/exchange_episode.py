"""Whole scripted episodes of the exchange in memory, and one in the loop with everything logged.

Ten agents and 20 rounds are 200 turns, 200 agents 4,000; the loop's figure has the log on disk in it.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from emcoop.envs.exchange.simulate import default_spec, simulate
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.store import LogStore

TARGET_MS = 50.0
TARGET_LARGE_S = 10.0
REPEATS = 5


def median(measure: Callable[[int], float]) -> float:
    """The median over seeds, without the first measurement, which fills caches."""
    return statistics.median([measure(seed) for seed in range(REPEATS + 1)][1:])


def in_memory(agents: int) -> Callable[[int], float]:
    """CPU seconds of one episode of this many agents, by its seed: nothing in it waits."""
    spec = default_spec(agents)

    def one(seed: int) -> float:
        begun = time.process_time()
        simulate(spec, seed, ["scripted"])
        return time.process_time() - begun

    return one


def in_the_loop(folder: Path) -> Callable[[int], float]:
    """Seconds of one logged episode of ten agents, by its seed."""
    setup = Setup(
        env="exchange",
        agents=10,
        topology="turns",
        topology_options={"speaks": False},
        team=(SeatConfig(agent="scripted"),),
    )

    def one(seed: int) -> float:
        with LogStore.open(folder / f"{seed}.db") as store:
            begun = time.perf_counter()
            asyncio.run(play_episode(setup, seed, store, {}))
            return time.perf_counter() - begun

    return one


def main() -> dict[str, float]:
    """Print and return the medians."""
    ms = 1000 * median(in_memory(10))
    large = median(in_memory(200))
    with tempfile.TemporaryDirectory() as name:
        logged = median(in_the_loop(Path(name)))
    print(f"exchange, 10 agents, in memory: {ms:.0f} ms of CPU per episode (target {TARGET_MS:.0f})")
    print(f"exchange, 200 agents, in memory: {large:.1f} s of CPU per episode (target {TARGET_LARGE_S:.0f})")
    print(f"exchange, 10 agents, in the loop and logged: {logged:.2f} s per episode of 200 turns")
    return {"ten_agents_ms": ms, "two_hundred_agents_s": large, "logged_s": logged}


if __name__ == "__main__":
    main()
