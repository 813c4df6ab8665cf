"""Cells and seeds, played into one run folder; what is finished is found by content and left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from emcoop.agents import AGENTS
from emcoop.core.canonical import to_json
from emcoop.core.config import StrictModel
from emcoop.core.errors import ConfigError, EmcoopError, LogError
from emcoop.core.types import AgentId, Micros
from emcoop.episode.latency import make_latency
from emcoop.episode.loop import Outcome, Table
from emcoop.episode.setup import Setup
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.build import build

MAX_SEEDS = 1_000_000


def parse_seeds(text: str) -> tuple[int, ...]:
    """``0-9``, ``3`` or ``0-4,9000-9004`` as distinct seeds in order. Raises ConfigError."""
    seeds: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise ConfigError(f"seeds {text!r}: {part.strip()!r} is neither a number nor a range such as 0-9")
        first, last = int(low), int(high or low)
        if last < first or last - first >= MAX_SEEDS:
            raise ConfigError(f"seeds {text!r}: the range {part.strip()} is empty or longer than {MAX_SEEDS}")
        seeds.extend(range(first, last + 1))
    return tuple(dict.fromkeys(seeds))


class Study(StrictModel):
    """What a run folder holds: its cells and the seeds each of them is played with."""

    cells: tuple[Setup, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """An episode has begun (`step` 0), gone on, or ended (`outcome` or `error` is set then).

    `done` of `total` episodes are over, those of earlier runs among them.
    """

    cell: Setup
    seed: int
    done: int
    total: int
    step: int = 0
    outcome: Outcome | None = None
    error: str | None = None


Listener = Callable[[Progress], None]


async def play_episode(
    cell: Setup,
    seed: int,
    store: LogStore,
    models: dict[str, Model],
    watch: Callable[[int], None] = lambda step: None,
) -> Outcome:
    """Play one episode into the log. What goes wrong inside is recorded as a failed episode and raised."""
    env = cell.make_env()
    topology = cell.make_topology(env.agents)
    team = cell.make_team(env, seed, models)
    latency = make_latency(cell.latency, seed, _recorded(cell, seed))
    writer = store.start(cell=cell.cell, seed=seed, setup=cell.model_dump(mode="json"))
    try:
        table = Table(
            env=env,
            topology=topology,
            team=team,
            seed=seed,
            latency=latency,
            writer=writer,
            limits=cell.limits,
            step_s=cell.step_s,
            watch=watch,
        )
        outcome = await table.play(cell.opening(env, topology, team, seed))
    except LogError:
        raise
    except EmcoopError as error:
        writer.finish("failed", {"error": f"{type(error).__name__}: {error}"})
        raise
    writer.finish("finished", {"limit": outcome.limit, "score": to_json(outcome.score), "steps": outcome.steps})
    return outcome


def _recorded(cell: Setup, seed: int) -> dict[AgentId, list[Micros]] | None:
    """The latencies of the episode with this seed in the log that the set-up names, per agent and in order."""
    if cell.latency.kind != "recorded":
        return None
    if cell.latency.log is None:
        raise ConfigError("latency 'recorded' needs latency.log, the folder or file of an earlier run")
    latencies: dict[AgentId, list[Micros]] = {}
    with LogReader.open(log_path(Path(cell.latency.log))) as reader:
        found = [e for e in reader.episodes() if e.seed == seed and e.status == "finished"]
        if len(found) != 1:
            raise ConfigError(
                f"{cell.latency.log}: it has {len(found)} finished episodes with seed {seed}; latencies are taken "
                "from the log of one cell"
            )
        for event in reader.events(found[0].id, kinds=("decision",)):
            if event.agent is not None:
                latencies.setdefault(event.agent, []).append(int(event.payload["latency_us"]))
    return latencies


def log_path(run: Path) -> Path:
    """The log of a run folder; a log file stands for itself."""
    return run if run.suffix == ".db" and not run.is_dir() else run / "log.db"


def check(study: Study) -> list[str]:
    """Everything about the cells that would fail is raised now, before the first episode; returns the warnings.

    Raises UnknownName and ConfigError.
    """
    warnings: dict[str, None] = {}
    for cell in study.cells:
        env = cell.make_env()
        for seat in cell.seats():
            AGENTS.get(seat.agent)
        cell.make_topology(env.agents)
        where = f"{cell.env}/{cell.level} with {cell.agents} agents"
        for warning in [*env.warnings, *([f"impossible: {env.impossible}"] if env.impossible else [])]:
            warnings[f"{where}: {warning}"] = None
    return list(warnings)


async def play(
    study: Study, run: Path, *, jobs: int = 1, listener: Listener = lambda _: None, cache: Path | None = None
) -> list[str]:
    """Play every episode of the study that is not finished in this run folder; returns the errors of failed ones.

    Finished episodes are found by cell and seed and left alone; one that was cut off or has failed is played again.
    `jobs` episodes are in flight at once; each one's log is the same whatever the others do. Raises LogError when
    the log can no longer be written: what is finished is kept.
    """
    with LogStore.open(log_path(run)) as store:
        player = _Player(study, store, listener)
        names = dict.fromkeys(s.model for cell in study.cells for s in cell.seats() if s.model)
        try:
            for name in names:
                player.models[name] = build(name, cache=cache)
            for cell in study.cells:  # options that no agent accepts are found before the first episode
                cell.make_team(cell.make_env(), 0, player.models)
            await player.play(jobs)
        finally:
            for model in player.models.values():
                await model.aclose()
    return player.errors


class _Player:
    """The episodes to play, shared by as many workers as may be in flight."""

    def __init__(self, study: Study, store: LogStore, listener: Listener) -> None:
        finished = {(e.cell, e.seed) for e in store.episodes() if e.status == "finished"}
        todo = [(cell, seed) for cell in study.cells for seed in study.seeds if (cell.cell, seed) not in finished]
        self.store = store
        self.listener = listener
        self.models: dict[str, Model] = {}
        self.errors: list[str] = []
        self.total = len(study.cells) * len(study.seeds)
        self.done = self.total - len(todo)
        self._todo: Iterator[tuple[Setup, int]] = iter(todo)

    async def play(self, jobs: int) -> None:
        """Play until nothing is left; the first error that ends the run is raised as itself."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, jobs)):
                    group.create_task(self._work())
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None

    async def _work(self) -> None:
        for cell, seed in self._todo:
            self._say(cell, seed)
            outcome, error = None, None
            try:
                outcome = await play_episode(cell, seed, self.store, self.models, self._watcher(cell, seed))
            except LogError:
                raise
            except EmcoopError as failure:
                error = str(failure)
                self.errors.append(f"{cell.env}/{cell.level} {cell.topology} seed {seed}: {error}")
            self.done += 1
            self.listener(Progress(cell, seed, self.done, self.total, outcome=outcome, error=error))

    def _watcher(self, cell: Setup, seed: int) -> Callable[[int], None]:
        return lambda step: self._say(cell, seed, step)

    def _say(self, cell: Setup, seed: int, step: int = 0) -> None:
        self.listener(Progress(cell, seed, self.done, self.total, step))
