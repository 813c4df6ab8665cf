"""How many calls of one model are in flight: additive increase, multiplicative decrease, as in TCP."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from types import TracebackType


class Limiter:
    """Admits up to `limit` calls at once, first come first served.

    The limit halves when a call was told to slow down (once per generation: calls that were already in flight at
    the last halving say nothing new) and grows by one after `limit` successes in a row. For one event loop.
    """

    def __init__(self, start: int = 8, most: int = 64) -> None:
        if not 1 <= start <= most:
            raise ValueError(f"a limiter needs 1 <= start <= most, not start={start}, most={most}")
        self.limit = start
        self.most = most
        self.busy = 0
        self._generation = 0
        self._successes = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def slot(self) -> Slot:
        """An async context manager that holds one place."""
        return Slot(self)

    async def acquire(self) -> int:
        """Wait for a place; returns the generation in which it was given."""
        if self.busy < self.limit and not self._waiting:
            self.busy += 1
        else:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self.release()
                else:
                    # `_admit` may have dropped the cancelled waiter already.
                    with contextlib.suppress(ValueError):
                        self._waiting.remove(waiter)
                raise
        return self._generation

    def release(self) -> None:
        """Give the place back."""
        self.busy -= 1
        self._admit()

    def succeeded(self) -> None:
        """A call got its answer."""
        self._successes += 1
        if self._successes >= self.limit and self.limit < self.most:
            self._successes = 0
            self.limit += 1
            self._admit()

    def slow_down(self, generation: int) -> None:
        """A call that was admitted in this generation was told to slow down."""
        self._successes = 0
        if generation == self._generation:
            self._generation += 1
            self.limit = max(1, self.limit // 2)

    def _admit(self) -> None:
        while self._waiting and self.busy < self.limit:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.busy += 1
                waiter.set_result(None)


class Slot:
    """One place of a limiter, held inside ``async with``."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._generation = 0

    async def __aenter__(self) -> Slot:
        self._generation = await self._limiter.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limiter.release()

    def succeeded(self) -> None:
        """The call in this place got its answer."""
        self._limiter.succeeded()

    def slow_down(self) -> None:
        """The call in this place was told to slow down."""
        self._limiter.slow_down(self._generation)
