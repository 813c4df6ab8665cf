"""Asking for a validated answer ends in a value or in an error that says why."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.core.types import Json, Usage
from emcoop.models.base import Answer, Completion, Fault, Settings, Turn
from emcoop.models.parsing import TEXT_LIMIT
from emcoop.models.scripted import ScriptedModel
from emcoop.models.structured import QUOTED_LIMIT, ask

TURNS = (Turn("system", "Rules."), Turn("user", "What now?"))


class Reply(BaseModel):
    task: str
    steps: int = Field(default=1, ge=1)
    rest: Any = None


def answers(*replies: str | Completion | Exception) -> tuple[ScriptedModel, list[Sequence[Turn]]]:
    left, seen = list(replies), []

    def function(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str | Completion:
        seen.append(turns)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return ScriptedModel(function), seen


def asked(model: ScriptedModel, attempts: int = 2, check: Callable[[Reply], str | None] | None = None) -> Answer:
    return asyncio.run(ask(model, TURNS, Reply, Settings(max_tokens=9), attempts=attempts, check=check))


def test_a_good_answer_is_validated_and_its_call_recorded() -> None:
    model, _ = answers('{"task": "a"}')
    answer = asked(model)
    assert (answer.value, answer.error) == (Reply(task="a"), None)
    [call] = answer.calls
    assert (call.turns, call.schema_name, call.error) == (TURNS, "Reply", None)
    assert call.completion is not None
    assert call.completion.parsed == {"task": "a"}


def test_each_mistake_is_shown_to_the_model_in_a_further_turn() -> None:
    model, seen = answers("no", '{"task": "a", "steps": 0}', '{"task": "a"}')
    answer = asked(model, attempts=3)
    assert answer.value == Reply(task="a")
    assert [call.error for call in answer.calls] == [
        "invalid: there is no JSON object in the answer",
        "invalid: steps: Input should be greater than or equal to 1",
        None,
    ]
    assert [len(turns) for turns in seen] == [2, 4, 6]
    assert [turn.role for turn in seen[2]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "greater than or equal to 1" in seen[2][-1].content


def test_a_check_can_refuse_a_well_formed_value() -> None:
    model, _ = answers('{"task": "x"}', '{"task": "a"}')
    answer = asked(model, check=lambda reply: None if reply.task == "a" else f"there is no task {reply.task}")
    assert answer.value == Reply(task="a")
    assert answer.calls[0].error == "invalid: there is no task x"


def test_mistakes_end_after_the_allowed_attempts() -> None:
    model, seen = answers(*["{}"] * 9)
    answer = asked(model, attempts=3)
    assert (answer.value, answer.error) == (None, "invalid: task: Field required")
    assert len(seen) == len(answer.calls) == 3


def test_an_unavailable_model_is_not_asked_again() -> None:
    fault = Fault("timeout", 1, "no answer")
    model, seen = answers(ModelUnavailable("gone", (fault,)))
    answer = asked(model)
    assert (answer.value, answer.error, len(seen)) == (None, "unavailable: gone", 1)
    assert (answer.calls[0].completion, answer.calls[0].faults) == (None, (fault,))


def test_a_refusal_ends_the_question() -> None:
    model, _ = answers("{}", ModelRefused("bad key"))
    answer = asked(model)
    assert answer.error == "refused: bad key"
    assert [call.error for call in answer.calls] == ["invalid: task: Field required", "refused: bad key"]


def test_an_answer_cut_at_max_tokens_is_called_truncated() -> None:
    model, _ = answers(Completion('{"task": "aaaa', None, Usage(), 0.0, "length", "m"))
    assert asked(model, attempts=1).error == "truncated: the answer did not end within 9 tokens"


def test_an_oversized_answer_is_cut_with_a_fault() -> None:
    model, seen = answers("x" * (TEXT_LIMIT + 1), '{"task": "a"}')
    answer = asked(model)
    first = answer.calls[0]
    assert first.completion is not None
    assert len(first.completion.text) == TEXT_LIMIT
    assert [fault.kind for fault in first.faults] == ["oversized"]
    assert len(seen[1][2].content) < QUOTED_LIMIT + 10


def test_deep_nesting_is_a_mistake_and_no_crash() -> None:
    deep = '{"task": "a", "rest": ' + "[" * 30_000 + "]" * 30_000 + "}"
    model, _ = answers(deep)
    assert asked(model, attempts=1).error == "invalid: the answer is not valid JSON: it is nested too deeply"


def test_half_a_surrogate_pair_never_gets_through() -> None:
    model, _ = answers('{"task": "\\ud800"}', '{"task": "\ud800\\ud83d\\ude00"}')
    answer = asked(model)
    assert answer.calls[0].error == "invalid: the answer is not valid JSON: it escapes half of a surrogate pair"
    assert answer.value == Reply(task="?\U0001f600")
