"""`emcoop play`: a human in the first seat."""

from __future__ import annotations

import asyncio
from pathlib import Path

from emcoop.cli.output import say
from emcoop.cli.running import RUNS
from emcoop.core.canonical import content_hash
from emcoop.core.errors import EmcoopError, Interrupted
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment import study as studies

LATENCY = {"kind": "constant"}
"""A human's real time must not decide how long the others wait."""


def play_human(setup: Setup, seed: int, folder: Path) -> None:
    """Play one episode with the terminal in the first seat. Raises EmcoopError."""
    study = studies.Study(cells=(setup,), seeds=(seed,))
    for warning in studies.check(study):
        say(f"warning: {warning}")
    say("Type help at any prompt; Ctrl-C stops.")

    def tell(progress: studies.Progress) -> None:
        if progress.outcome is not None:
            score = progress.outcome.score
            say(f"{progress.outcome.limit.value} after {progress.outcome.steps} steps; progress {score.progress:.0%}")

    try:
        errors = asyncio.run(studies.play(study, folder, listener=tell))
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; what was played is in {folder}") from None
    if errors:
        raise EmcoopError(errors[0])
    say(f"log: {folder / 'log.db'}; see it again with: emcoop replay {folder} 1")


def play(env: str, level: str, agents: int, topology: str, agent: str, seed: int, out: Path | None) -> None:
    """`emcoop play`."""
    team = (SeatConfig(agent="human"), *(SeatConfig(agent=agent) for _ in range(agents - 1)))
    setup = Setup.model_validate(
        {"env": env, "level": level, "agents": agents, "topology": topology, "team": team, "latency": LATENCY}
    )
    play_human(setup, seed, out or _free_folder(f"play-{env}-{content_hash(setup)[:6]}-{seed}"))


def _free_folder(name: str) -> Path:
    """A folder that holds no game yet: playing again is a new game."""
    number = 1
    while (folder := RUNS / f"{name}-{number}").exists():
        number += 1
    return folder
