"""The deterministic event clock: simulated time, fibers, and real work that finishes in any order.

A *fiber* is a coroutine that awaits only the operations of this module: `Work` (something that takes real time,
such as a model call), `Sleep` and `Until`. The clock drives fibers itself, so nothing but its own queue decides
who runs next. Real work runs concurrently as asyncio tasks. When it is done, its fiber continues at simulated
*start + declared latency*, never earlier and never in the order of real completion: time jumps to the next entry
of a heap ordered by (time, agent index, sequence) only when no fiber can run, and while work is in flight only to
entries before the earliest time at which it can land: its start + the least latency that is declared. So what overlaps
in simulated time overlaps in real time, and in the same order as if it did not.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from emcoop.core.types import Micros
from emcoop.episode.baton import Baton

T = TypeVar("T")


class Operation(Generic[T]):
    """What a fiber may await."""

    def __await__(self) -> Generator[Operation[T], Any, T]:
        result: T = yield self
        return result


@dataclass(slots=True, eq=False)
class Work(Operation[T]):
    """Run `job` in real time; the fiber continues with its result after `latency(result)` of simulated time.

    An `instant` job awaits nothing real: it is run on the spot, which spares it a task of its own.
    """

    job: Callable[[], Coroutine[Any, Any, T]]
    latency: Callable[[T], Micros]
    instant: bool = False


@dataclass(slots=True, eq=False)
class Sleep(Operation[None]):
    """Continue after `duration` of simulated time."""

    duration: Micros


@dataclass(slots=True, eq=False)
class Until(Operation[bool]):
    """Continue when `condition` holds (True), or at `deadline` (False), whichever comes first."""

    condition: Callable[[], bool]
    deadline: Micros


def _run_now(job: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that awaits nothing. Raises TypeError for one that does."""
    try:
        job.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    job.close()
    raise TypeError(f"{getattr(job, '__qualname__', job)} is said to be instant, but it waits for something real")


Fiber = Coroutine[Operation[Any], Any, None]


@dataclass(slots=True, eq=False)
class _Entry:
    """A fiber with its place in the order, or a plain callback (then `fiber` is None)."""

    index: int
    sequence: int
    fiber: Fiber | None
    callback: Callable[[], None] | None = None
    on_end: Callable[[], None] | None = None
    waiting: Until | None = None


@dataclass(slots=True)
class Clock:
    """Simulated time and the fibers that live in it. One per episode; not thread-safe."""

    now: Micros = 0
    least: Micros = 0
    """No work takes less simulated time than this."""
    baton: Baton = field(default_factory=Baton)
    _sequence: int = 0
    _ready: deque[tuple[_Entry, Any]] = field(default_factory=deque)
    _heap: list[tuple[Micros, int, int, _Entry, Any]] = field(default_factory=list)
    _waiting: list[_Entry] = field(default_factory=list)
    _flying: dict[asyncio.Future[Any], tuple[_Entry, Micros, int, Work[Any]]] = field(default_factory=dict)
    _down: deque[asyncio.Future[Any]] = field(default_factory=deque)
    _expected: asyncio.Future[None] | None = None

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def spawn(self, index: int, fiber: Fiber, on_end: Callable[[], None]) -> None:
        """Start a fiber for the agent of this index now; `on_end` runs when it returns."""
        self._ready.append((_Entry(index, self._next(), fiber, on_end=on_end), None))

    def at(self, time: Micros, index: int, callback: Callable[[], None]) -> None:
        """Call `callback` at this time (now, if it has passed), in the place of the agent of this index."""
        entry = _Entry(index, self._next(), None, callback=callback)
        heapq.heappush(self._heap, (max(time, self.now), index, entry.sequence, entry, None))

    async def run(self, done: Callable[[], bool], *, deadline: Micros | None = None) -> bool:
        """Let fibers run until `done()` holds while nothing can run at the present time, or until `deadline`.

        Returns True when `done()` held. With a deadline, time is moved to it when nothing more happens before.
        Returns False without a deadline only when nothing is left that could happen: the caller names the stall.
        Exceptions of fibers and of their work pass through.
        """
        while True:
            self._drain()
            if self._flying:
                if self._may_come_before_landing(deadline):
                    self._pop()
                else:
                    await self._land()
                continue
            if self._heap and self._heap[0][0] <= self.now:
                self._pop()
                continue
            if done():
                return True
            if self._heap and (deadline is None or self._heap[0][0] <= deadline):
                self._pop()
                continue
            if deadline is not None:
                self.now = max(self.now, deadline)
                return False
            return False

    def _may_come_before_landing(self, deadline: Micros | None) -> bool:
        """Whether the next entry comes before whatever is in flight, however long that takes."""
        if not self._heap or not self.least:
            return False
        time = self._heap[0][0]
        earliest = min(start for _, start, _, _ in self._flying.values()) + self.least
        return time < earliest and (deadline is None or time <= deadline)

    def _pop(self) -> None:
        time, _, _, entry, value = heapq.heappop(self._heap)
        if entry.waiting is not None and isinstance(value, Until):
            if entry.waiting is not value:
                return  # a deadline whose condition was met before
            self._waiting.remove(entry)
            entry.waiting = None
            value = False
        elif entry.waiting is None and isinstance(value, Until):
            return
        self.now = max(self.now, time)
        if entry.callback is not None:
            entry.callback()
        else:
            self._ready.append((entry, value))

    def _drain(self) -> None:
        """Run every fiber that can run, in order of readiness; then those whose conditions have come true."""
        while True:
            while self._ready:
                self._step(*self._ready.popleft())
            if not self._waiting:
                return
            woken = [e for e in self._waiting if e.waiting is not None and e.waiting.condition()]
            if not woken:
                return
            # One at a time: what the first does may undo the condition of the next.
            entry = min(woken, key=lambda e: (e.index, e.sequence))
            self._waiting.remove(entry)
            entry.waiting = None
            self._ready.append((entry, True))

    def _step(self, entry: _Entry, value: Any) -> None:
        assert entry.fiber is not None
        try:
            operation = entry.fiber.send(value)
        except StopIteration:
            if entry.on_end is not None:
                entry.on_end()
            return
        if isinstance(operation, Work):
            if operation.instant:
                self._landed(_run_now(operation.job()), entry, self.now, self._next(), operation)
                return
            task = asyncio.ensure_future(operation.job())
            self._flying[task] = (entry, self.now, self._next(), operation)
            task.add_done_callback(self._touch_down)
        elif isinstance(operation, Sleep):
            heapq.heappush(self._heap, (self.now + operation.duration, entry.index, self._next(), entry, None))
        elif isinstance(operation, Until):
            entry.waiting = operation
            self._waiting.append(entry)
            heapq.heappush(self._heap, (operation.deadline, entry.index, self._next(), entry, operation))
        else:
            raise TypeError(
                f"a protocol may await only its seat's operations, not {type(operation).__name__}; "
                "real work belongs into an agent's faculty"
            )

    def _touch_down(self, task: asyncio.Future[Any]) -> None:
        self._down.append(task)
        if self._expected is not None and not self._expected.done():
            self._expected.set_result(None)

    async def _land(self) -> None:
        """Wait for real work; what has finished gets its place on the heap by its declared latency."""
        if not self._down:
            self._expected = asyncio.get_running_loop().create_future()
            self.baton.pass_on()
            await self._expected
            await self.baton.take()
        while self._down:
            task = self._down.popleft()
            place = self._flying.pop(task)
            self._landed(task.result(), *place)

    def _landed(self, result: Any, entry: _Entry, start: Micros, sequence: int, work: Work[Any]) -> None:
        latency = work.latency(result)
        assert latency >= self.least, f"work that takes {latency} us, where none takes less than {self.least}"
        heapq.heappush(self._heap, (start + latency, entry.index, sequence, entry, result))

    async def close(self) -> None:
        """Cancel what is in flight and close every fiber."""
        tasks = list(self._flying)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        self._flying.clear()
        self._down.clear()
        for entry in [e for e, _ in self._ready] + [h[3] for h in self._heap] + self._waiting:
            if entry.fiber is not None:
                entry.fiber.close()
        self._ready.clear()
        self._heap.clear()
        self._waiting.clear()
