"""The clock orders everything by simulated time, whatever real time does."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.episode.clock import Clock, Fiber, Sleep, Until, Work


def play(latencies: list[list[int]], real_delays: random.Random | None) -> list[tuple[int, int, int]]:
    """Fibers that each do a list of works; returns (time, fiber, place) in the order of continuation.

    Without delays the works are instant.
    """
    clock, trace, ended = Clock(), [], []

    async def job() -> None:
        if real_delays is not None:
            await asyncio.sleep(real_delays.random() * 0.002)

    async def worker(index: int) -> None:
        for place, latency in enumerate(latencies[index]):
            await Work(job, lambda _, latency=latency: latency, real_delays is None)  # type: ignore[misc]
            trace.append((clock.now, index, place))

    async def main() -> None:
        for index in range(len(latencies)):
            clock.spawn(index, worker(index), lambda index=index: ended.append(index))  # type: ignore[misc]
        assert await clock.run(lambda: len(ended) == len(latencies))

    asyncio.run(main())
    return trace


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=4), min_size=1, max_size=4), st.integers(0, 2**32))
def test_order_of_continuations_ignores_the_order_of_real_completion(latencies: list[list[int]], seed: int) -> None:
    first = play(latencies, random.Random(seed))
    second = play(latencies, random.Random(seed + 1))
    assert first == second == play(latencies, None)
    assert [time for time, _, _ in first] == sorted(time for time, _, _ in first)
    for index, own in enumerate(latencies):
        assert [t for t, i, _ in first if i == index] == [sum(own[: k + 1]) for k in range(len(own))]


def test_work_that_is_said_to_be_instant_and_waits_is_refused_by_name() -> None:
    async def lazy() -> None:
        await asyncio.sleep(1)

    async def fiber() -> None:
        await Work(lazy, lambda _: 0, instant=True)

    with pytest.raises(TypeError, match="lazy is said to be instant"):
        run(Clock(), fiber())


def test_equal_times_go_by_agent_index() -> None:
    assert [index for _, index, _ in play([[5], [5], [5]], random.Random(0))] == [0, 1, 2]


def run(clock: Clock, *fibers: Fiber, deadline: int | None = None) -> bool:
    ended: list[int] = []

    async def main() -> bool:
        for index, fiber in enumerate(fibers):
            clock.spawn(index, fiber, lambda: ended.append(1))
        return await clock.run(lambda: len(ended) == len(fibers), deadline=deadline)

    return asyncio.run(main())


def test_sleep_moves_simulated_time_only() -> None:
    clock = Clock()

    async def sleeper() -> None:
        await Sleep(3_600_000_000)

    assert run(clock, sleeper())
    assert clock.now == 3_600_000_000


def test_until_wakes_at_once_when_its_condition_comes_true_and_else_at_its_deadline() -> None:
    clock, seen, flag = Clock(), [], [False]

    async def setter() -> None:
        await Sleep(10)
        flag[0] = True

    async def waiter(deadline: int) -> None:
        seen.append((await Until(lambda: flag[0], deadline), clock.now))

    assert run(clock, setter(), waiter(50), waiter(5))
    assert seen == [(False, 5), (True, 10)]


def test_a_deadline_moves_time_there_and_leaves_later_entries_for_later() -> None:
    clock, called = Clock(), []
    clock.at(100, 0, lambda: called.append(clock.now))
    assert run(clock, deadline=None)
    assert not asyncio.run(clock.run(lambda: False, deadline=60))
    assert (clock.now, called) == (60, [])
    assert not asyncio.run(clock.run(lambda: False, deadline=160))
    assert (clock.now, called) == (160, [100])


def test_nothing_left_to_happen_is_reported_instead_of_hanging() -> None:
    assert not asyncio.run(Clock().run(lambda: False))


def test_a_failing_job_passes_its_error_through() -> None:
    async def fail() -> None:
        raise RuntimeError("planted")

    async def worker() -> None:
        await Work(fail, lambda _: 0)

    with pytest.raises(RuntimeError, match="planted"):
        run(Clock(), worker())


def test_a_protocol_that_awaits_something_foreign_is_told_so() -> None:
    async def foreign() -> None:
        await asyncio.sleep(0)

    with pytest.raises(TypeError, match="may await only its seat's operations"):
        run(Clock(), foreign())
