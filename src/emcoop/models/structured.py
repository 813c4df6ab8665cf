"""Asking a model for a validated answer: schema, tolerant reading, and re-asks that carry the mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.core.types import Json
from emcoop.models.base import Answer, Call, Completion, Fault, Model, Settings, Turn
from emcoop.models.parsing import TEXT_LIMIT, encodable, parse_object

A = TypeVar("A", bound=BaseModel)

QUOTED_LIMIT = 2000
"""Characters of an unusable answer that a re-ask shows the model again."""

MISTAKES_SHOWN = 3


async def ask(
    model: Model,
    turns: Sequence[Turn],
    answer_type: type[A],
    settings: Settings,
    *,
    attempts: int = 2,
    schema: Mapping[str, Json] | None = None,
    check: Callable[[A], str | None] | None = None,
) -> Answer:
    """Ask for one `answer_type`.

    `schema` (by default the type's own) guides the model, and `check` may refuse a well-formed value by returning
    what is wrong with it. At most `attempts` calls are made; each further one shows the model its answer and what
    was wrong. A model that fails is not asked again. Never raises for what a model does: `Answer.error` then starts
    with ``unavailable``, ``refused``, ``truncated`` (cut at `max_tokens`) or ``invalid``, and `value` is None.
    """
    guide = schema_of(answer_type) if schema is None else schema
    name = answer_type.__name__
    prompt = tuple(turns)
    calls: list[Call] = []
    error: str | None = "invalid: no attempt was allowed"
    for _ in range(attempts):
        try:
            completion = _bounded(await model.complete(prompt, schema=guide, settings=settings))
        except (ModelUnavailable, ModelRefused) as failure:
            word = "unavailable" if isinstance(failure, ModelUnavailable) else "refused"
            error = f"{word}: {failure}"
            calls.append(Call(prompt, name, None, error, failure.faults))
            break
        value, error = _read(completion, answer_type, check, settings)
        calls.append(Call(prompt, name, completion, error, completion.faults))
        if value is not None:
            return Answer(value, tuple(calls))
        prompt = (*prompt, *_again(completion.text, str(error)))
    return Answer(None, tuple(calls), error)


@lru_cache(maxsize=256)
def schema_of(answer_type: type[BaseModel]) -> Mapping[str, Json]:
    """The JSON schema of this type, made once; nobody may change it."""
    return answer_type.model_json_schema()


def _bounded(completion: Completion) -> Completion:
    size = len(completion.text)
    if size <= TEXT_LIMIT:
        text = encodable(completion.text)
        return completion if text == completion.text else replace(completion, text=text)
    fault = Fault("oversized", len(completion.faults) + 1, f"an answer of {size} characters was cut at {TEXT_LIMIT}")
    return replace(
        completion, text=encodable(completion.text[:TEXT_LIMIT]), parsed=None, faults=(*completion.faults, fault)
    )


def _read(
    completion: Completion, answer_type: type[A], check: Callable[[A], str | None] | None, settings: Settings
) -> tuple[A | None, str | None]:
    try:
        parsed = completion.parsed  # of the same text, where the adapter has read it
        value = answer_type.model_validate(parsed if isinstance(parsed, dict) else parse_object(completion.text))
    except ValidationError as mistakes:
        return None, f"invalid: {_explain(mistakes)}"
    except RecursionError:
        return None, "invalid: the answer is nested too deeply"
    except ValueError as mistake:
        if completion.finish_reason == "length":
            return None, f"truncated: the answer did not end within {settings.max_tokens} tokens"
        return None, f"invalid: {mistake}"
    wrong = check(value) if check else None
    return (None, f"invalid: {wrong}") if wrong else (value, None)


def _explain(mistakes: ValidationError) -> str:
    """The first mistakes as ``place: reason``; what the model wrote is not quoted."""
    items = mistakes.errors(include_url=False, include_input=False, include_context=False)
    shown = [f"{'.'.join(str(p) for p in item['loc']) or 'answer'}: {item['msg']}" for item in items[:MISTAKES_SHOWN]]
    more = [f"and {len(items) - MISTAKES_SHOWN} more"] if len(items) > MISTAKES_SHOWN else []
    return "; ".join(text[:QUOTED_LIMIT] for text in (*shown, *more))


def _again(text: str, error: str) -> tuple[Turn, Turn]:
    """The answer that could not be used, as the model's own turn, and the request to mend it."""
    shown = text if len(text) <= QUOTED_LIMIT else text[:QUOTED_LIMIT] + " ..."
    request = (
        f"That answer cannot be used ({error}). Answer again with one JSON object that obeys the schema, "
        "complete and short, and with nothing before or after it."
    )
    return Turn("assistant", shown or "(empty)"), Turn("user", request)
