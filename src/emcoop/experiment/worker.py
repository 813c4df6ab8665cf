"""One worker of several: plays its part of a study's episodes, and tells its parent of them (see `workers`)."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from emcoop.core.compile import load_at_once
from emcoop.core.errors import EmcoopError, LogLocked
from emcoop.core.types import Usage
from emcoop.episode.loop import Outcome
from emcoop.experiment.caps import Caps
from emcoop.experiment.parts import Picked
from emcoop.experiment.study import Progress, Study, play

LOCK_PATIENCE_S = 20.0
"""How long a restarted worker waits for its dead predecessor's lock to be let go."""

LOCK_POLL_S = 0.2

STEP_S = 0.5
"""A worker tells of the steps of one episode at most so often; of its beginning and its end always."""

SHARED_S = 0.05
"""So long what a worker tells waits for more: a thousand episodes in flight would else wake its parent at each."""

MANY = 200
"""A worker with so many episodes will need compiled rules for long enough to load them at once."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one worker does; after a restart the same, but for the hours left and what is spent elsewhere."""

    study: dict[str, Any]
    places: tuple[int, ...]
    folder: str
    jobs: int
    cache: Path | None
    caps: dict[str, Any]
    repeats: int
    calls: int | None
    elsewhere: Usage


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker says of an episode; the set-up by its name, since the parent has it."""

    cell: str
    seed: int
    done: int
    step: int
    outcome: Outcome | None
    error: str | None
    spent: Usage


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker's last word: the errors of failed episodes, or what ended it, as its type and text."""

    errors: tuple[str, ...] = ()
    failure: tuple[type[EmcoopError], str] | None = None


async def patiently(begin: Callable[[], Coroutine[Any, Any, list[str]]]) -> list[str]:
    """Play into a log that a process which has just died may hold for a moment. Raises LogLocked after a while."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while True:
        try:
            return await begin()
        except LogLocked:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(LOCK_POLL_S)


def work(task: Task, line: Connection) -> None:
    """Play the task; runs in a process of its own, and ends without a word when it is told to stop."""
    if len(task.places) >= MANY:
        load_at_once()
    try:
        last = asyncio.run(_work(task, line))
    except asyncio.CancelledError:
        return
    line.send(last)


async def _work(task: Task, line: Connection) -> Ended:
    loop, me, parent = asyncio.get_running_loop(), asyncio.current_task(), multiprocessing.parent_process()
    assert me is not None
    assert parent is not None
    teller = _Teller(line, loop, task.elsewhere)
    loop.add_signal_handler(signal.SIGTERM, me.cancel)
    loop.add_reader(parent.sentinel, _gone, loop, parent.sentinel, me)
    loop.add_reader(line.fileno(), teller.listen)

    def begin() -> Coroutine[Any, Any, list[str]]:
        return play(
            Study.model_validate(task.study), Path(task.folder), jobs=task.jobs, listener=teller, cache=task.cache,
            caps=Caps(**task.caps), shard=Picked(task.places), repeats=task.repeats, calls=task.calls,
            elsewhere=lambda: teller.elsewhere,
        )  # fmt: skip

    try:
        last = Ended(tuple(await patiently(begin)))
    except EmcoopError as error:
        last = Ended(failure=(type(error), str(error)))
    teller.send()
    return last


def _gone(loop: asyncio.AbstractEventLoop, sentinel: int, task: asyncio.Task[Any]) -> None:
    loop.remove_reader(sentinel)
    task.cancel()


class _Teller:
    """A worker's end of the line: tells of its episodes, and hears what the others have spent."""

    def __init__(self, line: Connection, loop: asyncio.AbstractEventLoop, elsewhere: Usage) -> None:
        self.elsewhere = elsewhere
        self._line = line
        self._loop = loop
        self._told: dict[tuple[str, int], float] = {}
        self._news: list[Told] = []

    def __call__(self, progress: Progress) -> None:
        key, now = (progress.cell.cell, progress.seed), time.monotonic()
        if progress.outcome is not None or progress.error is not None:
            self._told.pop(key, None)
        elif now - self._told.get(key, -STEP_S) < STEP_S:
            return
        else:
            self._told[key] = now
        p = progress
        if not self._news:
            self._loop.call_later(SHARED_S, self.send)
        self._news.append(Told(p.cell.cell, p.seed, p.done, p.step, p.outcome, p.error, p.spent))

    def send(self) -> None:
        """Tell what there is to tell."""
        news, self._news = self._news, []
        if news:
            with suppress(OSError):  # the parent is gone; its sentinel stops this worker
                self._line.send(news)

    def listen(self) -> None:
        """The parent has said something."""
        try:
            self.elsewhere = self._line.recv()
        except (EOFError, OSError):
            self._loop.remove_reader(self._line.fileno())
