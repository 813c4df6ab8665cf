"""Whose turn it is to compute, of many episodes in one event loop.

An answer sets an episode going until it asks again. asyncio would let every episode whose answer has come compute, and
only then begin what they have asked: after a while all ask at one moment, all wait, and all compute, so that either the
model or the processor is idle. Here few compute at a time, and what they have asked is on its way before the next ones
do. Nothing but real time hangs on it.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

AT_ONCE = 16
"""So many episodes compute in one round of the event loop, since each round has a cost of its own."""


def batons() -> asyncio.Semaphore:
    """What the episodes of one run share, handed on in the order in which it is asked for."""
    return asyncio.Semaphore(AT_ONCE)


class Baton:
    """One episode's hold on what it shares with others; without any it waits for nobody."""

    def __init__(self, shared: asyncio.Semaphore | None = None) -> None:
        self._shared = shared
        self._mine = False

    async def __aenter__(self) -> Baton:
        await self.take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pass_on()

    async def take(self) -> None:
        """Wait for the episode's turn to compute."""
        if self._shared is not None and not self._mine:
            await self._shared.acquire()
            self._mine = True

    def pass_on(self) -> None:
        """The episode waits for something real, or has ended: another's turn comes after what was begun so far."""
        if self._shared is not None and self._mine:
            self._mine = False
            asyncio.get_running_loop().call_soon(self._shared.release)
