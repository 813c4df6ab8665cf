"""Every way in which a server can fail ends, in bounded time, and is told."""

import asyncio
import json
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from pydantic import BaseModel, ConfigDict
from tests.models import faulty
from tests.models.faulty import FaultyServer

from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.models.attempt import AttemptFailed
from emcoop.models.base import Answer, Completion, Settings, Turn
from emcoop.models.build import build
from emcoop.models.openai import KEY, make
from emcoop.models.retry import Patience
from emcoop.models.structured import ask

TURNS = (Turn("system", "Rules."), Turn("user", "What now?"))
QUICK = Patience(attempts=3, total_s=60.0, first_wait_s=0.01, longest_wait_s=0.02)
PLAIN = Settings()
SECRET = "sk-very-secret-0123456789"


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")
    task: str


GOOD = json.dumps({"task": "block_1"})


def complete(server: FaultyServer, settings: Settings = PLAIN, patience: Patience = QUICK) -> Completion:
    async def go() -> Completion:
        model = build(f"openai:faulty@{server.url}", patience=patience)
        try:
            return await model.complete(TURNS, schema=Reply.model_json_schema(), settings=settings)
        finally:
            await model.aclose()

    return asyncio.run(go())


def ask_for(server: FaultyServer, settings: Settings = PLAIN, attempts: int = 2) -> Answer:
    async def go() -> Answer:
        model = build(f"openai:faulty@{server.url}", patience=QUICK)
        try:
            return await ask(model, TURNS, Reply, settings, attempts=attempts)
        finally:
            await model.aclose()

    return asyncio.run(go())


PASSING = {
    "rate_limit": (faulty.rate_limited("0"), 429),
    "server": (faulty.status(500), 500),
    "connection": (faulty.close(), None),
    "truncated": (faulty.truncated(), None),
    "malformed": (faulty.invalid_json(), None),
}


@pytest.mark.parametrize("kind", PASSING)
def test_a_fault_that_passes_is_retried_and_recorded(faulty_server: FaultyServer, kind: str) -> None:
    step, status = PASSING[kind]
    faulty_server.script = [step, faulty.ok(GOOD)]
    done = complete(faulty_server)
    assert done.parsed == {"task": "block_1"}
    assert [(f.kind, f.attempt, f.status) for f in done.faults] == [(kind, 1, status)]
    assert done.faults[0].waited_s > 0
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.cost_usd) == (100, 10, None)


@pytest.mark.parametrize("kind", PASSING)
def test_a_fault_that_stays_ends_after_the_allowed_attempts(faulty_server: FaultyServer, kind: str) -> None:
    step, _ = PASSING[kind]
    faulty_server.script = [step] * 50
    with pytest.raises(ModelUnavailable, match=kind) as caught:
        complete(faulty_server)
    assert [(f.kind, f.attempt) for f in caught.value.faults] == [(kind, 1), (kind, 2), (kind, 3)]
    assert len(faulty_server.requests) == 3


@pytest.mark.parametrize("body", [{"result": 1}, [], {"choices": []}, {"choices": [{"message": {"content": 7}}]}, "x"])
def test_json_of_the_wrong_shape_counts_as_malformed(faulty_server: FaultyServer, body: object) -> None:
    faulty_server.script = [faulty.wrong_shape(body), faulty.ok(GOOD)]
    assert [f.kind for f in complete(faulty_server).faults] == ["malformed"]


def test_a_server_that_hangs_is_left_after_the_timeout_of_each_attempt(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.hang()] * 50
    with pytest.raises(ModelUnavailable, match="timeout") as caught:
        complete(faulty_server, Settings(timeout_s=0.2))
    assert [f.kind for f in caught.value.faults] == ["timeout"] * 3


def test_an_attempt_is_bounded_in_time_without_the_layers_above_it(faulty_server: FaultyServer) -> None:
    async def go() -> None:
        adapter = make("faulty", base_url=faulty_server.url)
        with pytest.raises(AttemptFailed) as caught:
            await adapter.complete(TURNS, schema=None, settings=Settings(timeout_s=0.2))
        await adapter.aclose()
        assert caught.value.kind == "timeout"

    faulty_server.script = [faulty.hang()]
    asyncio.run(go())


def test_a_call_is_bounded_in_time_even_when_its_attempts_are_not(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.hang()] * 50
    begun = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        complete(faulty_server, Settings(timeout_s=600), Patience(attempts=1000, total_s=0.6, first_wait_s=0.01))
    assert 1 <= len(caught.value.faults) <= 2
    assert 0.5 < time.monotonic() - begun < 600  # the first attempt alone may take so long


def test_retry_after_in_seconds_is_waited_for(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.rate_limited("0.3"), faulty.ok(GOOD)]
    done = complete(faulty_server)
    assert done.faults[0].waited_s == 0.3
    assert done.latency_s >= 0.3


def test_retry_after_as_a_date_is_read_against_the_servers_clock(faulty_server: FaultyServer) -> None:
    def in_two_seconds(x: faulty.Exchange) -> None:
        faulty.rate_limited(format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True))(x)

    faulty_server.script = [in_two_seconds, faulty.ok(GOOD)]
    assert 1 <= complete(faulty_server).faults[0].waited_s <= 2


def test_a_retry_after_beyond_the_time_left_stops_at_once_and_says_so(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.rate_limited("3600")] * 9
    with pytest.raises(ModelUnavailable, match="asks to wait 3600 s") as caught:
        complete(faulty_server)
    assert len(faulty_server.requests) == 1
    assert [fault.waited_s for fault in caught.value.faults] == [0.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_an_error_that_would_repeat_is_not_retried(faulty_server: FaultyServer, status: int) -> None:
    faulty_server.script = [faulty.status(status, "no such thing")] * 9
    with pytest.raises(ModelRefused, match=f"refused \\(status {status}\\): no such thing") as caught:
        complete(faulty_server)
    assert [(f.kind, f.status, f.waited_s) for f in caught.value.faults] == [("refused", status, 0.0)]
    assert len(faulty_server.requests) == 1


def test_an_exhausted_quota_is_not_waited_for(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.status(429, "insufficient_quota: pay first")] * 9
    with pytest.raises(ModelRefused):
        complete(faulty_server)
    assert len(faulty_server.requests) == 1


def test_the_schema_is_sent_natively(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.ok(GOOD)]
    complete(faulty_server, Settings(max_tokens=77, seed=5))
    sent = faulty_server.requests[0]
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"] == Reply.model_json_schema()
    assert (sent["max_tokens"], sent["seed"], sent["temperature"]) == (77, 5, 0.0)
    assert sent["messages"][0] == {"role": "system", "content": "Rules."}


def test_a_server_without_schemas_gets_lesser_formats_and_the_schema_in_words(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.status(400, "response_format json_schema is not supported")] * 2 + [faulty.ok(GOOD)]
    done = complete(faulty_server)
    assert [f.kind for f in done.faults] == ["unsupported", "unsupported"]
    formats = [request.get("response_format", {}).get("type") for request in faulty_server.requests]
    assert formats == ["json_schema", "json_object", None]
    assert '"task"' in faulty_server.requests[2]["messages"][0]["content"]
    assert done.parsed == {"task": "block_1"}


def test_a_downgrade_is_remembered_and_made_once_by_calls_side_by_side(faulty_server: FaultyServer) -> None:
    both_are_here = threading.Barrier(2)

    def refusal(x: faulty.Exchange) -> None:
        both_are_here.wait(timeout=30)
        faulty.status(400, "response_format json_schema is not supported")(x)

    faulty_server.script = [refusal, refusal]
    faulty_server.answer = lambda body: GOOD

    async def go() -> None:
        model = build(f"openai:faulty@{server_url}", patience=QUICK)
        schema = Reply.model_json_schema()
        two = [model.complete(TURNS, schema=schema, settings=Settings(sample=i)) for i in range(2)]
        told = [len(done.faults) for done in await asyncio.gather(*two)]
        assert sorted(told) == [0, 1]
        await model.complete(TURNS, schema=schema, settings=Settings())
        await model.aclose()

    server_url = faulty_server.url
    asyncio.run(go())
    formats = [request["response_format"]["type"] for request in faulty_server.requests]
    assert sorted(formats) == ["json_object"] * 3 + ["json_schema"] * 2


def test_invalid_content_is_asked_for_again_with_the_mistake(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.ok('{"tusk": 1}'), faulty.ok(GOOD)]
    answer = ask_for(faulty_server)
    assert answer.value == Reply(task="block_1")
    assert [bool(call.error) for call in answer.calls] == [True, False]
    again = faulty_server.requests[1]["messages"]
    assert again[-2] == {"role": "assistant", "content": '{"tusk": 1}'}
    assert "task: Field required" in again[-1]["content"]


def test_an_endless_repetition_is_cut_by_max_tokens_and_called_truncated(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.endless()] * 9
    answer = ask_for(faulty_server, Settings(max_tokens=50), attempts=3)
    assert answer.value is None
    assert answer.error == "truncated: the answer did not end within 50 tokens"
    assert len(answer.calls) == len(faulty_server.requests) == 3
    assert sum(call.completion.usage.output_tokens for call in answer.calls if call.completion) == 150


def test_an_unavailable_model_ends_the_question_with_its_faults(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.status(503)] * 99
    answer = ask_for(faulty_server)
    assert answer.value is None
    assert str(answer.error).startswith("unavailable: ")
    assert [len(call.faults) for call in answer.calls] == [3]


def test_no_key_ever_shows(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)
    faulty_server.script = [faulty.status(500, f"cannot serve {SECRET}"), faulty.status(401, f"bad key {SECRET}")]

    async def go() -> tuple[str, str]:
        model = build(f"openai:faulty@{faulty_server.url}", patience=QUICK)
        answer = await ask(model, TURNS, Reply, Settings())
        await model.aclose()
        return repr(answer), repr(model.describe())

    answer, description = asyncio.run(go())
    assert faulty_server.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert "bad key [key]" in answer
    assert SECRET not in answer
    assert SECRET not in description


def test_a_slow_server_is_waited_for(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.slow(0.3, GOOD)]
    done = complete(faulty_server)
    assert done.faults == ()
    assert done.latency_s >= 0.3


def test_many_calls_never_exceed_the_limit_and_a_429_halves_it(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.slow(0.05, GOOD)] * 8 + [faulty.rate_limited("0")]
    faulty_server.answer = lambda body: GOOD

    async def go() -> int:
        model = build(f"openai:faulty@{faulty_server.url}", patience=QUICK, start=8, most=8)
        calls = [model.complete(TURNS, schema=None, settings=Settings(sample=i)) for i in range(40)]
        await asyncio.gather(*calls)
        await model.aclose()
        return len(calls)

    assert asyncio.run(go()) == 40
    assert len(faulty_server.requests) == 41
    assert faulty_server.most_busy <= 8
