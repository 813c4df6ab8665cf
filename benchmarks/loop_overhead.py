"""What the loop costs per agent decision, everything logged: agents that decide in no time, on CUBE.

Each of three agents decides before every step: to wait (`individual`), or to stay silent and to wait
(`decentralized`). The time of the world's steps and constraints is part of the figure.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import Timing, record, script, told
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

TARGET_US = 300.0
STEPS = 400
REPEATS = 5


NOTES = {
    "individual": "There is one decision per agent and step, so it bears a third of the world's step, its constraints, "
    "its snapshot and the rows of the log.",
    "decentralized": "There are two decisions per agent and step, so each bears a sixth of the world's step, its "
    "constraints, its snapshot and the rows of the log.",
}


def one(topology: str, seed: int, folder: Path) -> tuple[float, float, float]:
    """Microseconds per decision, the same of processor time, and bytes of log per agent-step of one episode."""
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
        wall, own = time.perf_counter(), time.process_time()
        asyncio.run(play_episode(setup, seed, store, {}))
        wall, own = time.perf_counter() - wall, time.process_time() - own
    with LogReader.open(path) as reader:
        decisions = reader.count(1, kinds=("decision",))
    return wall / decisions * 1e6, own / decisions * 1e6, path.stat().st_size / (3 * STEPS)


def main() -> dict[str, float]:
    """Print and return the medians over `REPEATS` episodes; the first one, which compiles, is not counted."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for topology in ("individual", "decentralized"):
            runs = [one(topology, seed, folder) for seed in range(REPEATS + 1)][1:]
            us, own, size = (Timing(values) for values in zip(*runs, strict=True))
            again = REPEATS + 1

            def profile(topology: str = topology, seed: int = again) -> None:
                one(topology, seed, folder)

            found = (
                record(
                    f"{topology}_us_per_decision", us, "us", TARGET_US,
                    what=f"one decision, {topology}", note=NOTES[topology], profile=profile,
                ),
                record(
                    f"{topology}_cpu_us_per_decision", own, "us", what=f"one decision, {topology}, processor time"
                ),
                record(
                    f"{topology}_bytes_per_agent_step", size, "bytes/agent-step",
                    what=f"log of {topology} scripted agents, no prompts, a decision at every step",
                ),
            )  # fmt: skip
            for figure in found:
                figures[figure["name"]] = figure["value"]
                print(told(figure))
    return figures


if __name__ == "__main__":
    sys.exit(script(main))
