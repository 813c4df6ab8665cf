"""Trying again is bounded, told, and the same each time."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

import pytest
import stamina

from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.core.types import Json
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Settings, Turn
from emcoop.models.limiter import Limiter
from emcoop.models.remote import LONGEST_RETRY_AFTER_S, retry_after_s
from emcoop.models.retry import Patience, Retrying
from emcoop.models.scripted import ScriptedModel

TURNS = (Turn("user", "What now?"),)
QUICK = Patience(attempts=4, total_s=5.0, first_wait_s=0.02, longest_wait_s=0.05)


def failing(times: int, error: Callable[[], Exception]) -> ScriptedModel:
    count = 0

    def function(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str:
        nonlocal count
        count += 1
        if count <= times:
            raise error()
        return "yes"

    return ScriptedModel(function)


def complete(model: ScriptedModel, patience: Patience = QUICK, sample: int = 0) -> Completion:
    retrying = Retrying(model, Limiter(), patience)
    return asyncio.run(retrying.complete(TURNS, schema=None, settings=Settings(timeout_s=1, sample=sample)))


def test_waits_grow_are_capped_and_equal_for_equal_requests() -> None:
    def waits(sample: int) -> list[float]:
        done = complete(failing(3, lambda: AttemptFailed("server", "no", status=500)), sample=sample)
        return [fault.waited_s for fault in done.faults]

    first = waits(0)
    assert first == waits(0)
    assert first != waits(1)
    for wait, full in zip(first, [0.02, 0.04, 0.05], strict=True):
        assert full / 2 <= wait < full


def test_the_last_fault_waits_for_nothing() -> None:
    with pytest.raises(ModelUnavailable, match="scripted: server \\(status 500\\): no; 4 attempts used up") as caught:
        complete(failing(99, lambda: AttemptFailed("server", "no", status=500)))
    assert [fault.waited_s > 0 for fault in caught.value.faults] == [True, True, True, False]


def test_a_call_is_told_in_full_when_a_program_switches_retrying_off() -> None:
    stamina.set_active(False)
    try:
        with pytest.raises(ModelUnavailable, match="no; retrying is switched off") as caught:
            complete(failing(9, lambda: AttemptFailed("server", "no", status=500)))
    finally:
        stamina.set_active(True)
    assert [(fault.kind, fault.attempt, fault.status) for fault in caught.value.faults] == [("server", 1, 500)]


def test_what_would_repeat_is_refused_at_once() -> None:
    with pytest.raises(ModelRefused) as caught:
        complete(failing(99, lambda: AttemptFailed("refused", "no", repeats=True)))
    assert len(caught.value.faults) == 1


def test_waiting_ends_when_the_total_time_would_be_exceeded() -> None:
    patience = Patience(attempts=100, total_s=0.3, first_wait_s=0.1, longest_wait_s=10)
    with pytest.raises(ModelUnavailable, match="of 0 s left") as caught:
        complete(failing(999, lambda: AttemptFailed("server", "no")), patience)
    assert sum(fault.waited_s for fault in caught.value.faults) < 0.3


def test_a_programming_error_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        complete(failing(1, ZeroDivisionError))


def test_a_timeout_error_of_the_function_itself_is_not_taken_for_ours() -> None:
    with pytest.raises(TimeoutError):
        complete(failing(1, TimeoutError))


def test_a_cancelled_call_gives_its_place_back() -> None:
    async def forever(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str:
        await asyncio.Event().wait()
        return "never"

    async def go() -> int:
        limiter = Limiter()
        model = Retrying(ScriptedModel(forever), limiter, QUICK)
        task = asyncio.create_task(model.complete(TURNS, schema=None, settings=Settings()))
        while limiter.busy == 0:
            await asyncio.sleep(0)
        assert limiter.busy == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return limiter.busy

    assert asyncio.run(go()) == 0


def test_time_in_the_queue_does_not_count_against_a_call() -> None:
    async def slow(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str:
        await asyncio.sleep(0.1)
        return "yes"

    async def go() -> list[Completion]:
        model = Retrying(ScriptedModel(slow), Limiter(1, 1), Patience(attempts=1, total_s=2.5))
        calls = [model.complete(TURNS, schema=None, settings=Settings(timeout_s=2.5)) for _ in range(30)]
        return list(await asyncio.gather(*calls))

    assert all(done.latency_s < 2.5 for done in asyncio.run(go()))


def test_retries_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert logging.getLogger("stamina").handlers
    complete(failing(2, lambda: AttemptFailed("server", "no")))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, LONGEST_RETRY_AFTER_S),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "nonsense"}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_a_fault_message_is_one_short_line_without_keys() -> None:
    said = public("key sk-abc123456 or Bearer xyz or hunter2 is\nwrong " + "x" * 999, "hunter2")
    assert said.startswith("key [key] or [key] or [key] is wrong")
    assert len(said) == 300
