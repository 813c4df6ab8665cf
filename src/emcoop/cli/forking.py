"""`emcoop fork`: what would have happened, and until when it could still have been won."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from emcoop.agents import AGENTS
from emcoop.cli.output import console, print_json, say
from emcoop.core.config import load
from emcoop.core.errors import ConfigError
from emcoop.episode.fork import Fork, NoReturn, Tamper, play_fork, point_of_no_return
from emcoop.episode.kept import keep_no_return
from emcoop.episode.loop import Outcome
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import log_path
from emcoop.log.events import EpisodeRow
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.build import build

FORKS = "forks"
"""The run folder beside the run's own log in which its forks are played."""


def fork_of(at: int | None, swaps: Sequence[str], drop: int | None, delay: str | None, rewrite: str | None) -> Fork:
    """The fork that the options describe. Raises ConfigError for options that do not go together."""
    tampers = [t for t in (_drop(drop), _pair("delay", "seconds", delay), _pair("rewrite", "text", rewrite)) if t]
    for tamper in tampers:
        tamper.tampering()  # what cannot be done must not stand in the log as an episode that failed
    if len(tampers) + (at is not None) != 1:
        raise ConfigError("say where the fork begins: --at STEP, or one of --drop, --delay and --rewrite")
    if tampers and swaps:
        raise ConfigError("--swap goes with --at: give the step at which the others take over")
    return Fork(at=at, swap=dict(_swap(text) for text in swaps), tamper=tampers[0] if tampers else None)


def _swap(text: str) -> tuple[str, SeatConfig]:
    agent, equals, who = text.partition("=")
    name, colon, model = who.partition(":")
    if not (equals and agent and name):
        raise ConfigError(f"--swap {text!r}: write SEAT=AGENT, such as agent_1=oracle, or SEAT=AGENT:ADAPTER:MODEL")
    return agent, SeatConfig(agent=name, model=model if colon else None)


def _drop(message: int | None) -> Tamper | None:
    return None if message is None else load(Tamper, {"message": message, "change": "drop"}, "--drop")


def _pair(change: str, key: str, text: str | None) -> Tamper | None:
    if text is None:
        return None
    message, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--{change} {text!r}: write MESSAGE={key.upper()}")
    return load(Tamper, {"message": message, "change": change, key: value}, f"--{change}")


def fork(run: Path, episode: int, what: Fork, *, json: bool) -> None:
    """Play the fork into RUN/forks and print how both ended."""
    folder = log_path(run).parent / FORKS
    with LogReader.open(log_path(run)) as reader:
        before = reader.episode(episode)
        setup, outcome = _known(folder, before, what) or asyncio.run(_play(reader, before, what, folder))
    document = {
        "run": str(folder),
        "fork": setup.interventions[-1],
        "cell": setup.cell,
        "before": before.outcome,
        "after": outcome,
    }
    if json:
        print_json(document)
        return
    table = Table("", "ended by", "success", "progress", "steps", box=None, pad_edge=False)
    for name, end in (("before", before.outcome), ("after", outcome)):
        score = (end or {}).get("score") or {}
        progress = f"{score.get('progress', 0):.2f}"
        table.add_row(
            name, str((end or {}).get("limit")), str(score.get("success")), progress, str((end or {}).get("steps"))
        )
    console().print(table)
    say(f"log: {folder / 'log.db'}; report on all forks with: emcoop report {folder}")


def _known(folder: Path, before: EpisodeRow, what: Fork) -> tuple[Setup, dict[str, Any]] | None:
    """The fork's outcome where it has been played already."""
    if not (folder / "log.db").exists():
        return None
    setup = what.setup(before)
    with LogReader.open(folder / "log.db") as reader:
        for row in reader.episodes():
            if (row.cell, row.seed, row.status) == (setup.cell, before.seed, "finished"):
                return setup, dict(row.outcome or {})
    return None


async def _play(reader: LogReader, before: EpisodeRow, what: Fork, folder: Path) -> tuple[Setup, dict[str, Any]]:
    names = dict.fromkeys(
        name
        for setup in (load(Setup, dict(before.setup), "the logged set-up"), what.setup(before))
        for seat in setup.seats()
        for name in seat.models
    )
    models: dict[str, Model] = {}
    try:
        for name in names:
            models[name] = build(name)
        with LogStore.open(folder / "log.db") as store:
            setup, outcome = await play_fork(reader, before.id, what, store, models)
    finally:
        for model in models.values():
            await model.aclose()
    return setup, _ended(outcome)


def _ended(outcome: Outcome) -> dict[str, Any]:
    score = {"success": outcome.score.success, "progress": outcome.score.progress, "detail": dict(outcome.score.detail)}
    return {"limit": outcome.limit.value, "score": score, "steps": outcome.steps}


def sweep(run: Path, episode: int, policy: str, *, json: bool) -> None:
    """Print the last step from which the policy's team could still have won; keep it beside the log for the viewer.

    Raises UnknownName for a policy that there is not, and ConfigError for one that needs a model.
    """
    AGENTS.get(policy)
    log = log_path(run)
    with LogReader.open(log) as reader:
        found = asyncio.run(point_of_no_return(reader, episode, policy))
        row = reader.episode(episode)
    if json:
        print_json(found.to_json())
    else:
        print(_told(found))
    try:
        path = keep_no_return(log, row, found)
    except OSError as error:
        say(f"not kept for the viewer: {error}")
    else:
        say(f"kept in {path}; emcoop view {run} shows it")


def _told(found: NoReturn) -> str:
    team = f"a team of {found.policy}"
    if found.step is None:
        return f"episode {found.episode}: {team} does not win from any state of it, not even the first"
    if found.success:
        return f"episode {found.episode} was won after {found.steps} steps; there was no point of no return"
    return f"episode {found.episode}: {team} could still have won from step {found.step} of {found.steps}, no later"
