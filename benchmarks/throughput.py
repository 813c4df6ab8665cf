"""A thousand episodes at once against a model that answers in one second.

The model is a function that sleeps, so the figure is emcoop's own: prompts, parsing, the loop and the log.
The ideal is the number of calls that follow one another in an episode, times a second.
"""

from __future__ import annotations

import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.store import LogStore
from emcoop.models.scripted import ScriptedModel

EPISODES = 1000
ANSWER_S = 1.0
STEPS = 20
"""Environment steps; each plan waits ten steps, so the two agents are asked twice, side by side."""

PLAN = json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": 10}]})
SETUP = Setup(
    env="cube",
    level="easy",
    agents=2,
    team=(SeatConfig(agent="llm", model="scripted"),),
    env_options={"horizon": STEPS},
)


async def answer(*_: Any) -> str:
    """The server."""
    await asyncio.sleep(ANSWER_S)
    return PLAN


async def play_all(store: LogStore) -> None:
    """All episodes at once."""
    models = {"scripted": ScriptedModel(answer)}
    await asyncio.gather(*(play_episode(SETUP, seed, store, models) for seed in range(EPISODES)))


def main() -> dict[str, float]:
    """Print and return the share of the ideal throughput, and the peak memory of the process in MB."""
    with tempfile.TemporaryDirectory() as name, LogStore.open(Path(name) / "log.db") as store:
        asyncio.run(play_episode(SETUP, EPISODES, store, {"scripted": ScriptedModel(lambda *_: PLAN)}))
        begun = time.perf_counter()
        asyncio.run(play_all(store))
        spent = time.perf_counter() - begun
    ideal = STEPS / 10 * ANSWER_S
    share = ideal / spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{EPISODES} episodes at once: {spent:.2f} s, ideal {ideal:.2f} s: {share:.0%} of it (target 95%)")
    print(f"peak memory: {memory:.0f} MB (target under 1000)")
    return {"share_of_ideal": share, "peak_mb": memory}


if __name__ == "__main__":
    main()
