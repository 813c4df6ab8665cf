"""A study in several processes of this machine: each plays its part of the episodes into a log of its own.

The parts' logs are joined into the run's log at the end, however the run ends, and by the next run into the folder if
this one is killed; so a run folder looks the same whether one process has played it or many. A worker that is killed is
started anew and goes on from its log. The workers leave Ctrl-C to their parent, which tells them to stop, and stop by
themselves when it is gone.
"""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import connection, resource_tracker
from multiprocessing.context import SpawnProcess
from pathlib import Path

from emcoop.core.errors import CapReached, EmcoopError, LogLocked
from emcoop.core.types import Usage
from emcoop.episode.setup import Setup
from emcoop.experiment.caps import NO_CAPS, NOTHING, Caps, capped
from emcoop.experiment.parts import WORKERS, Part
from emcoop.experiment.study import Listener, Progress, Study, log_path, spent_in, told_failure
from emcoop.experiment.worker import LOCK_PATIENCE_S, LOCK_POLL_S, Ended, Task, Told, work
from emcoop.log.store import LogStore

RETRIES = 3
"""How often a worker that has died is started anew."""

TELL_S = 0.1
"""So often workers hear what the others have spent, where there are caps."""

STOP_S = 30.0
"""So long workers that were told to stop have to commit what they have."""


def play_in_processes(
    study: Study,
    run: Path,
    *,
    workers: int,
    jobs: int = 1,
    listener: Listener = lambda _: None,
    cache: Path | None = None,
    caps: Caps = NO_CAPS,
    shard: Part | None = None,
    repeats: int = 0,
    calls: int | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """`play` in so many processes, with `jobs` episodes in flight in each; returns the errors of failed episodes.

    Each hears how much the others have spent, so caps hold for all together; `calls` are divided among them. `warn`
    hears of a worker that died and was started anew. Raises what `play` raises, and EmcoopError when a worker dies
    more than RETRIES times; what is finished is in the run's log then, too.
    """
    with LogStore.open(log_path(run)) as store:
        join(run, store)
        numbered = list(enumerate(study.episodes()))
        chosen = numbered if shard is None else shard.of(numbered)
        finished = store.finished()
        left = [place for place, (cell, seed) in chosen if (cell.cell, seed) not in finished]
        count = min(workers, len(left))
        data = study.model_dump(mode="json")
        share = None if calls is None else max(1, calls // max(1, count))
        before = spent_in(log_path(run), study) if caps != NO_CAPS else NOTHING
        tasks = [
            Task(
                data, tuple(left[i::count]), str((run / WORKERS / str(i)).resolve()), jobs, cache,
                caps.model_dump(mode="json"), repeats, share, before,
            )
            for i in range(count)
        ]  # fmt: skip
        crew = _Crew(study, caps, listener, warn, len(chosen) - len(left), len(chosen), before)
        try:
            crew.play(tasks)
        finally:
            crew.stop()
            join(run, store)
    return crew.errors


def join(run: Path, store: LogStore) -> None:
    """Bring what workers have played into the run's log. Their own logs are gone once the disk has it.

    What was cut off comes too: it counts as spent, and is begun anew like what one process leaves.
    An episode that the run has finished by itself since is left alone. Raises LogLocked while a worker still plays.
    """
    folders = sorted((run / WORKERS).glob("*"))
    for folder in folders:
        _let_go(log_path(folder))
    for folder in folders:
        if log_path(folder).exists():
            store.take(log_path(folder))
    if folders and store.sync():
        shutil.rmtree(run / WORKERS)


def _let_go(log: Path) -> None:
    """Wait until a worker that outlives its parent for a moment has closed its log. Raises LogLocked."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while log.exists():
        try:
            LogStore.open(log).close()
            return
        except LogLocked:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOCK_POLL_S)


# -- the parent ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Worker:
    """A process and what it said last."""

    task: Task
    process: SpawnProcess
    line: connection.Connection
    starts: int = 1
    done: int = 0
    spent: Usage = NOTHING
    over: bool = False


@dataclass(slots=True)
class _Crew:
    """The workers of one run, and what they have done together."""

    study: Study
    caps: Caps
    listener: Listener
    warn: Callable[[str], None]
    before: int
    total: int
    spent_before: Usage
    workers: list[_Worker] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)
    news: bool = False
    told: float = 0.0

    def play(self, tasks: Iterable[Task]) -> None:
        """Until all have ended. Raises what ends the run."""
        cells = {cell.cell: cell for cell in self.study.cells}
        reached = False
        for task in tasks:
            self.workers.append(_Worker(task, *_started(task)))
        while live := {worker.line: worker for worker in self.workers if not worker.over}:
            for line in connection.wait(list(live), TELL_S if self.news else None):
                worker = live[line]  # type: ignore[index]
                said = _heard(worker.line)
                if said is None:
                    self._start_anew(worker)
                elif isinstance(said, list):
                    for told in said:
                        self._hear(worker, told, cells[told.cell])
                else:
                    worker.over = True
                    self.errors += said.errors
                    if said.failure is not None and said.failure[0] is not CapReached:
                        raise said.failure[0](said.failure[1])
                    reached = reached or said.failure is not None
            self._tell_all()
        if reached:
            why = self.caps.reached(self._spent(), self._hours()) or "a cap is reached"
            raise capped(why, self._done(), self.total, self.failed)

    def stop(self) -> None:
        """Tell who still plays to stop, and wait until it has committed what it has."""
        for worker in self.workers:
            worker.process.terminate()
        deadline = time.monotonic() + STOP_S
        for worker in self.workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.process.kill()
            worker.process.join()
            worker.line.close()

    def _hear(self, worker: _Worker, said: Told, cell: Setup) -> None:
        self.news = self.news or (self.caps != NO_CAPS and said.spent != worker.spent)
        worker.done, worker.spent = said.done, said.spent
        if said.error is not None:
            self.failed.append(told_failure(cell, said.seed, said.error))
        spent = self._spent()
        place = Progress(cell, said.seed, self._done(), self.total, said.step, said.outcome, said.error, spent)
        self.listener(place)

    def _tell_all(self) -> None:
        """What the others have spent, now and then: a line that nobody reads for a while must not fill up."""
        if self.news and time.monotonic() - self.told >= TELL_S:
            self.news, self.told = False, time.monotonic()
            for worker in self.workers:
                if not worker.over:
                    self._tell(worker)

    def _tell(self, worker: _Worker) -> None:
        """One that is gone is found when it is listened to."""
        with suppress(OSError):
            worker.line.send(self._elsewhere(worker))

    def _elsewhere(self, worker: _Worker) -> Usage:
        """What all but this worker have spent."""
        return sum((other.spent for other in self.workers if other is not worker), self.spent_before)

    def _start_anew(self, worker: _Worker) -> None:
        worker.process.join()
        code = worker.process.exitcode or 0
        if code > 0:
            raise EmcoopError(f"a worker ended with exit code {code}; what is finished is kept")
        name = signal.Signals(-code or signal.SIGTERM).name
        if worker.starts > RETRIES:
            raise EmcoopError(f"a worker was killed {worker.starts} times, by {name} at last; what is finished is kept")
        self.warn(f"a worker was killed ({name}); it is started anew and goes on where it was")
        worker.starts += 1
        worker.line.close()
        caps = {**worker.task.caps, "hours": self._hours_left()}
        worker.task = replace(worker.task, caps=caps, elsewhere=self._elsewhere(worker))
        worker.process, worker.line = _started(worker.task)

    def _done(self) -> int:
        return self.before + sum(worker.done for worker in self.workers)

    def _spent(self) -> Usage:
        return sum((worker.spent for worker in self.workers), self.spent_before)

    def _hours(self) -> float:
        return (time.monotonic() - self.begun) / 3600

    def _hours_left(self) -> float | None:
        return None if self.caps.hours is None else max(1e-9, self.caps.hours - self._hours())


def _started(task: Task) -> tuple[SpawnProcess, connection.Connection]:
    """A worker's process and the line to it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(task, there), daemon=True)
    with _deaf_to_interrupts():
        process.start()
    there.close()
    return process, here


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A process that is started meanwhile never hears of Ctrl-C, which goes to everybody at the terminal."""
    resource_tracker.ensure_running()  # it would lift the block when it is started along with the first worker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _heard(line: connection.Connection) -> list[Told] | Ended | None:
    """The next word; None when the worker is gone, be it in the middle of one."""
    try:
        said: list[Told] | Ended = line.recv()
    except (EOFError, OSError, pickle.UnpicklingError):
        return None
    return said
