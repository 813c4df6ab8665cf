"""The limit halves once per generation of 429s, grows slowly, and admits in order."""

import asyncio

import pytest

from emcoop.models.limiter import Limiter


def test_a_burst_of_429s_halves_once() -> None:
    async def go() -> None:
        limiter = Limiter(8, 64)
        slots = [limiter.slot() for _ in range(8)]
        for slot in slots:
            await slot.__aenter__()
        for slot in slots:
            slot.slow_down()
            await slot.__aexit__(None, None, None)
        assert limiter.limit == 4
        async with limiter.slot() as later:
            later.slow_down()
        assert limiter.limit == 2

    asyncio.run(go())


def test_the_limit_never_falls_below_one_nor_rises_above_most() -> None:
    async def go() -> None:
        limiter = Limiter(2, 3)
        for _ in range(5):
            async with limiter.slot() as slot:
                slot.slow_down()
        assert limiter.limit == 1
        for _ in range(50):
            async with limiter.slot() as slot:
                slot.succeeded()
        assert limiter.limit == 3

    asyncio.run(go())


def test_the_limit_grows_by_one_after_as_many_successes() -> None:
    limiter = Limiter(3, 9)
    for _ in range(3):
        limiter.succeeded()
    assert limiter.limit == 4
    for _ in range(3):
        limiter.succeeded()
    assert limiter.limit == 4
    limiter.succeeded()
    assert limiter.limit == 5


def test_calls_are_admitted_in_order_and_never_above_the_limit() -> None:
    async def go() -> None:
        limiter = Limiter(2, 2)
        order: list[int] = []

        async def call(i: int) -> None:
            async with limiter.slot():
                assert limiter.busy <= 2
                order.append(i)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(i) for i in range(20)))
        assert order == list(range(20))
        assert limiter.busy == 0

    asyncio.run(go())


@pytest.mark.parametrize("admitted", [False, True])
def test_a_cancelled_waiter_loses_no_place(admitted: bool) -> None:
    async def go() -> None:
        limiter = Limiter(1, 1)
        await limiter.acquire()
        waiter = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        if admitted:
            limiter.release()
            waiter.cancel()
        else:
            waiter.cancel()
            limiter.release()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert limiter.busy == 0
        assert await asyncio.wait_for(limiter.acquire(), 1) == 0

    asyncio.run(go())


def test_an_impossible_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="start=9, most=3"):
        Limiter(9, 3)
