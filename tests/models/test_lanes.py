"""Calls are spread over as many pools as they need, and no more."""

import asyncio
from contextlib import ExitStack

from emcoop.models.lanes import WIDTH, Lanes


class Client:
    """Knows whether it was closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


def test_a_pool_is_added_when_all_are_full_and_places_are_used_again() -> None:
    first = Client()
    lanes = Lanes(first, Client)
    with ExitStack() as stack:
        held = [stack.enter_context(lanes.lane()) for _ in range(2 * WIDTH + 1)]
    assert [held.count(client) for client in dict.fromkeys(held)] == [WIDTH, WIDTH, 1]
    with lanes.lane() as again:
        assert again is first
    asyncio.run(lanes.aclose())
    assert all(client.closed for client in held)
