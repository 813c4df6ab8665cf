"""The Anthropic adapter, against a real server on loopback that speaks the messages format."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.models import faulty
from tests.models.faulty import Exchange, FaultyServer, Step

from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.models.anthropic import KEY
from emcoop.models.base import Completion, Settings, Turn
from emcoop.models.build import build
from emcoop.models.retry import Patience

TURNS = (Turn("system", "Rules."), Turn("system", "Role."), Turn("user", "What now?"))
QUICK = Patience(attempts=3, total_s=60.0, first_wait_s=0.01, longest_wait_s=0.02)
SECRET = "sk-ant-very-secret-0123456789"


class Reply(BaseModel):
    task: str
    steps: int = Field(default=1, ge=1, le=5)


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> Step:
    usage = {"input_tokens": 20, "output_tokens": 7, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10}
    body = {"id": "m", "type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop}

    def step(x: Exchange) -> None:
        x.json({**body, "model": "claude", "usage": usage})

    return step


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


GOOD = message(text('{"task": "block_1"}'))


def complete(server: FaultyServer, schema: type[BaseModel] | None = Reply) -> Completion:
    async def go() -> Completion:
        model = build(f"anthropic:claude@{server.url.removesuffix('/v1')}", patience=QUICK)
        try:
            asked = schema.model_json_schema() if schema else None
            return await model.complete(TURNS, schema=asked, settings=Settings(max_tokens=77))
        finally:
            await model.aclose()

    return asyncio.run(go())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)


def test_an_answer_in_the_native_format_is_read_with_its_whole_usage(faulty_server: FaultyServer) -> None:
    faulty_server.script = [GOOD]
    done = complete(faulty_server)
    assert done.parsed == {"task": "block_1"}
    assert (done.usage.input_tokens, done.usage.cached_tokens, done.usage.output_tokens) == (100, 70, 7)
    assert done.finish_reason == "stop"
    sent = faulty_server.requests[0]
    native = sent["output_config"]["format"]
    assert native["type"] == "json_schema"
    assert native["schema"]["required"] == ["task", "steps"]
    assert "maximum" not in json.dumps(native)
    assert (sent["max_tokens"], sent["messages"]) == (77, [{"role": "user", "content": "What now?"}])


def test_the_stable_prefix_ends_in_a_cache_mark(faulty_server: FaultyServer) -> None:
    faulty_server.script = [GOOD]
    complete(faulty_server, None)
    system = faulty_server.requests[0]["system"]
    assert [block["text"] for block in system] == ["Rules.", "Role."]
    assert [block.get("cache_control") for block in system] == [None, {"type": "ephemeral"}]


def test_a_model_without_native_format_answers_through_a_tool_then_in_words(faulty_server: FaultyServer) -> None:
    call = {"type": "tool_use", "id": "t", "name": "answer", "input": {"task": "block_1"}}
    faulty_server.script = [
        faulty.status(400, "this model does not support output_config.format"),
        message(text("Well."), call, stop="tool_use"),
    ]
    done = complete(faulty_server)
    assert done.parsed == {"task": "block_1"}
    assert [f.kind for f in done.faults] == ["unsupported"]
    assert faulty_server.requests[1]["tool_choice"] == {"type": "tool", "name": "answer"}
    faulty_server.script = [
        faulty.status(400, "structured outputs are not supported"),
        faulty.status(400, "tool_choice is not supported"),
        GOOD,
    ]
    assert len(complete(faulty_server).faults) == 2
    assert '"task"' in faulty_server.requests[-1]["system"][0]["text"]


def test_an_answer_cut_at_max_tokens_says_length(faulty_server: FaultyServer) -> None:
    faulty_server.script = [message(text('{"task": '), stop="max_tokens")]
    done = complete(faulty_server)
    assert (done.finish_reason, done.parsed) == ("length", None)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (faulty.rate_limited("0"), "rate_limit"),
        (faulty.status(529, "overloaded"), "server"),
        (faulty.close(), "connection"),
        (faulty.invalid_json(), "malformed"),
        (faulty.wrong_shape(), "malformed"),
        (faulty.truncated(), "truncated"),
    ],
)
def test_faults_that_pass_are_retried_and_those_that_stay_end(
    faulty_server: FaultyServer, step: Step, kind: str
) -> None:
    faulty_server.script = [step, GOOD]
    assert [f.kind for f in complete(faulty_server).faults] == [kind]
    faulty_server.script = [step] * 9
    with pytest.raises(ModelUnavailable, match=kind):
        complete(faulty_server)
    assert len(faulty_server.requests) == 2 + 3


def test_a_refusal_is_not_retried_and_shows_no_key(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.status(401, f"invalid x-api-key {SECRET}")] * 3
    with pytest.raises(ModelRefused, match="invalid x-api-key \\[key\\]") as caught:
        complete(faulty_server)
    assert SECRET not in repr(caught.value.faults)
    assert any(SECRET in value for value in faulty_server.headers[0].values())
    faulty_server.script = [message(stop="refusal")] * 3
    with pytest.raises(ModelRefused, match="declined"):
        complete(faulty_server)
    assert len(faulty_server.requests) == 2
