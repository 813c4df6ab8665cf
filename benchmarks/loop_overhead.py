"""What the loop costs per agent decision, everything logged: agents that decide in no time, on CUBE.

Each of three agents decides before every step: to wait (`individual`), or to stay silent and to wait
(`decentralized`). The time of the world's steps and constraints is part of the figure.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

TARGET_US = 300.0
TARGET_BYTES = 2048
STEPS = 400
REPEATS = 5


def one(topology: str, seed: int, folder: Path) -> tuple[float, float]:
    """Microseconds per decision and bytes of log per agent-step of one episode."""
    setup = Setup(
        env="cube",
        level="hard",
        agents=3,
        topology=topology,
        team=(SeatConfig(agent="noop"),),
        env_options={"horizon": STEPS},
    )
    path = folder / f"{topology}-{seed}.db"
    with LogStore.open(path) as store:
        begun = time.perf_counter()
        asyncio.run(play_episode(setup, seed, store, {}))
        spent = time.perf_counter() - begun
    with LogReader.open(path) as reader:
        decisions = reader.count(1, kinds=("decision",))
    return spent / decisions * 1e6, path.stat().st_size / (3 * STEPS)


def main() -> dict[str, float]:
    """Print and return the medians over `REPEATS` episodes; the first one, which compiles, is not counted."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        for topology in ("individual", "decentralized"):
            runs = [one(topology, seed, Path(name)) for seed in range(REPEATS + 1)][1:]
            us = statistics.median(run[0] for run in runs)
            size = statistics.median(run[1] for run in runs)
            figures[f"{topology}_us_per_decision"] = us
            figures[f"{topology}_bytes_per_agent_step"] = size
            print(f"loop, {topology}: {us:.0f} us per decision (target {TARGET_US:.0f})")
            print(f"log, {topology}: {size:.0f} bytes per agent-step without prompts (target {TARGET_BYTES} with)")
    return figures


if __name__ == "__main__":
    main()
