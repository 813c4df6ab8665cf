"""Cells and seeds, played into one run folder; what is finished is found by content and left alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import model_validator

from emcoop.agents import AGENTS
from emcoop.core.canonical import to_json
from emcoop.core.config import StrictModel
from emcoop.core.errors import ConfigError, EmcoopError, LogError
from emcoop.core.memory import fewer_collections
from emcoop.core.types import AgentId, Limit, Micros, Usage
from emcoop.episode.baton import Baton, batons
from emcoop.episode.latency import make_latency
from emcoop.episode.loop import Outcome, Table
from emcoop.episode.setup import Setup
from emcoop.experiment.caps import NO_CAPS, NOTHING, Caps, capped
from emcoop.experiment.parts import WORKERS, Part
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.build import build

MAX_SEEDS = 1_000_000
SEED_DIGITS = 18
"""A longer seed would not fit into the log."""

START, MOST = 8, 64
"""With so many model calls in flight a run begins, and so many it has at most, unless told otherwise."""

SPLITS = {"dev": range(100), "test": range(9000, 9100)}
"""The official splits: look at dev while you build, at test once."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """``0-9``, ``3``, ``0-4,9000-9004``, or an official split or its beginning (``dev``, ``test:20``), in order.

    Raises ConfigError.
    """
    seeds: list[int] = []
    for part in text.split(","):
        split, _, count = part.strip().partition(":")
        if split in SPLITS:
            whole = SPLITS[split]
            if count and (not count.isdecimal() or not 1 <= int(count) <= len(whole)):
                raise ConfigError(f"seeds {text!r}: {split} has 1 to {len(whole)} seeds, not {count!r}")
            seeds.extend(whole[: int(count)] if count else whole)
            continue
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise ConfigError(f"seeds {text!r}: {part.strip()!r} is neither a number nor a range such as 0-9")
        if max(len(low), len(high)) > SEED_DIGITS:
            raise ConfigError(f"seeds {text[:40]!r}: a seed has at most {SEED_DIGITS} digits")
        first, last = int(low), int(high or low)
        if last < first or last - first >= MAX_SEEDS:
            raise ConfigError(f"seeds {text!r}: the range {part.strip()} is empty or longer than {MAX_SEEDS}")
        seeds.extend(range(first, last + 1))
    return tuple(dict.fromkeys(seeds))


class Study(StrictModel):
    """What a run folder holds: its cells and the seeds each of them is played with."""

    cells: tuple[Setup, ...]
    seeds: tuple[int, ...]

    @model_validator(mode="after")
    def _once(self) -> Study:
        if len({cell.cell for cell in self.cells}) < len(self.cells) or len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a study has every cell and every seed once; one is given twice")
        return self

    def episodes(self, part: Part | None = None) -> list[tuple[Setup, int]]:
        """Every cell with every seed, or those that belong to a part."""
        every = [(cell, seed) for cell in self.cells for seed in self.seeds]
        return every if part is None else part.of(every)


@dataclass(frozen=True, slots=True)
class Progress:
    """An episode has begun (`step` 0), gone on, or ended (`outcome` or `error` is set then).

    `done` of `total` episodes are over, those of earlier runs among them; `spent` is what episodes have used that are
    over, failed ones among them: those of this run, and where there are caps, of earlier ones into the same folder.
    """

    cell: Setup
    seed: int
    done: int
    total: int
    step: int = 0
    outcome: Outcome | None = None
    error: str | None = None
    spent: Usage = NOTHING


Listener = Callable[[Progress], None]


async def play_episode(
    cell: Setup,
    seed: int,
    store: LogStore,
    models: dict[str, Model],
    watch: Callable[[int], None] = lambda step: None,
    *,
    again: bool = False,
    pay: Callable[[Usage], None] = lambda used: None,
    shared: asyncio.Semaphore | None = None,
) -> Outcome:
    """Play one episode into the log. What goes wrong inside is recorded as a failed episode and raised.

    With `again`, an episode that the provider's fault has ended is recorded as failed too, and may be played again.
    `pay` hears what the episode has used, however it ends. Episodes with the same `shared` (of `batons`) take turns to
    compute.
    """
    async with Baton(shared) as baton:
        env = cell.make_env()
        topology = cell.make_topology(env.agents)
        team = cell.make_team(env, seed, models)
        latency = make_latency(cell.latency, seed, _recorded(cell, seed))
        writer = store.start(cell=cell.cell, seed=seed, setup=cell.plain)
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
                baton=baton,
            )
            try:
                outcome = await table.play(cell.opening(env, topology, team, seed))
            finally:
                pay(table.usage())
                table.leave()
        except LogError:
            raise
        except EmcoopError as error:
            writer.finish("failed", {"error": f"{type(error).__name__}: {error}"})
            raise
        end = {"limit": outcome.limit, "score": to_json(outcome.score), "steps": outcome.steps}
        if again and passing_fault(outcome):
            writer.finish("failed", {"error": f"ModelUnavailable: {outcome.message}"})
        else:
            baton.pass_on()
            await writer.finish_soon("finished", end)
        return outcome


def passing_fault(outcome: Outcome) -> bool:
    """Whether a fault of the model's provider ended the episode, and one that may pass."""
    return outcome.limit is Limit.MODEL and " refused: " not in (outcome.message or "")


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
    study: Study,
    run: Path,
    *,
    jobs: int = 1,
    listener: Listener = lambda _: None,
    cache: Path | None = None,
    caps: Caps = NO_CAPS,
    shard: Part | None = None,
    repeats: int = 0,
    calls: int | None = None,
    elsewhere: Callable[[], Usage] = lambda: NOTHING,
) -> list[str]:
    """Play every episode of the study that is not finished in this run folder; returns the errors of failed ones.

    Finished episodes are found by cell and seed and left alone; one that was cut off or has failed is played again.
    `jobs` episodes are in flight at once; each one's log is the same whatever the others do. `repeats` is how often an
    episode is begun anew that a passing fault of a model's provider has ended; the last attempt is kept. `calls` is the
    most model calls in flight at once, per model (by default the adaptive limit's own bounds). `elsewhere` is what
    other processes use of the same caps. Raises LogError when the log can no longer be written, and CapReached: what
    is finished is kept.

    What a killed run of several processes has left in the folder is taken over first.
    """
    with LogStore.open(log_path(run)) as store:
        if (run / WORKERS).is_dir():
            from emcoop.experiment.workers import join

            join(run, store)
        player = _Player(study, store, listener, caps, shard, repeats, elsewhere)
        player.spent = spent_in(log_path(run), study) if caps != NO_CAPS else NOTHING
        names = dict.fromkeys(name for cell in study.cells for s in cell.seats() for name in s.models)
        try:
            for name in names:
                start, most = (START, MOST) if calls is None else (calls, calls)
                player.models[name] = build(name, cache=cache, start=start, most=most)
            for cell in study.cells:  # options that no agent accepts are found before the first episode
                cell.make_team(cell.make_env(), 0, player.models)
            with fewer_collections(jobs):
                await player.play(jobs)
        finally:
            for model in player.models.values():
                await model.aclose()
    if player.capped is not None:
        raise capped(player.capped, player.done, player.total, player.errors)
    return player.errors


def told_failure(cell: Setup, seed: int, error: str) -> str:
    """Which episode has failed, and why."""
    return f"{cell.env}/{cell.level} {cell.topology} seed {seed}: {error}"


def spent_in(log: Path, study: Study) -> Usage:
    """What the study's episodes in the log have used, finished or not."""
    cells = {cell.cell for cell in study.cells}
    with LogReader.open(log) as reader:
        return sum((_used(reader, row.id) for row in reader.episodes() if row.cell in cells), NOTHING)


def _used(reader: LogReader, episode: int) -> Usage:
    """The total at the episode's end; without an end or a known price, the sum of what has a price of its own."""
    for event in reader.events(episode, kinds=("episode_end",)):
        total = Usage(**event.payload["usage"])
        if total.cost_usd is not None:
            return total
    total = NOTHING
    for event in reader.events(episode, kinds=("decision", "message_sent")):
        payload = event.payload
        total = total + (Usage(**payload["usage"]) if event.kind == "decision" else Usage(cost_usd=payload["price"]))
    return total


class _Player:
    """The episodes to play, shared by as many workers as may be in flight."""

    def __init__(
        self,
        study: Study,
        store: LogStore,
        listener: Listener,
        caps: Caps,
        shard: Part | None,
        repeats: int,
        elsewhere: Callable[[], Usage],
    ) -> None:
        finished = store.finished()
        every = study.episodes(shard)
        todo = [(cell, seed) for cell, seed in every if (cell.cell, seed) not in finished]
        self.store = store
        self.listener = listener
        self.caps = caps
        self.repeats = repeats
        self.elsewhere = elsewhere
        self.models: dict[str, Model] = {}
        self.errors: list[str] = []
        self.total = len(every)
        self.done = self.total - len(todo)
        self.spent = Usage()
        self.capped: str | None = None
        self._todo: Iterator[tuple[Setup, int]] = iter(todo)
        self._begun = time.monotonic()
        self._batons = batons()

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
            hours = (time.monotonic() - self._begun) / 3600
            self.capped = self.capped or self.caps.reached(self.spent + self.elsewhere(), hours)
            if self.capped is not None:
                return
            self._say(cell, seed)
            outcome, error = None, None
            try:
                outcome = await self._attempts(cell, seed)
            except LogError:
                raise
            except EmcoopError as failure:
                error = str(failure)
                self.errors.append(told_failure(cell, seed, error))
            self.done += 1
            self.listener(Progress(cell, seed, self.done, self.total, outcome=outcome, error=error, spent=self.spent))

    async def _attempts(self, cell: Setup, seed: int) -> Outcome:
        """One episode, begun anew while the provider's passing fault ends it and repeats are left."""
        for left in range(self.repeats, -1, -1):
            watch = self._watcher(cell, seed)
            outcome = await play_episode(
                cell, seed, self.store, self.models, watch, again=left > 0, pay=self._pay, shared=self._batons
            )
            if not passing_fault(outcome):
                break
        return outcome

    def _pay(self, used: Usage) -> None:
        self.spent = self.spent + used

    def _watcher(self, cell: Setup, seed: int) -> Callable[[int], None]:
        return lambda step: self._say(cell, seed, step)

    def _say(self, cell: Setup, seed: int, step: int = 0) -> None:
        self.listener(Progress(cell, seed, self.done, self.total, step, spent=self.spent))
