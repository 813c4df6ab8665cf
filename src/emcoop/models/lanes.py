"""Many calls at once over several connection pools: an HTTP client's pool looks through all its connections at every
call, so one pool of a thousand costs more than the calls themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

WIDTH = 16
"""So many calls share a pool at most. Their clients keep that many connections alive."""


class Lanes:
    """Clients of one provider, each with a pool of its own; further ones are made as calls need them."""

    def __init__(self, first: Any, more: Callable[[], Any]) -> None:
        self._more = more
        self._clients = [first]
        self._busy = [0]

    @contextmanager
    def lane(self) -> Iterator[Any]:
        """The first client with a free place, for one call."""
        place = next((i for i, busy in enumerate(self._busy) if busy < WIDTH), len(self._busy))
        if place == len(self._busy):
            self._clients.append(self._more())
            self._busy.append(0)
        self._busy[place] += 1
        try:
            yield self._clients[place]
        finally:
            self._busy[place] -= 1

    async def aclose(self) -> None:
        """Close all of them."""
        for client in self._clients:
            await client.close()
