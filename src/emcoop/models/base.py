"""The contract of a language model, and the record of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from emcoop.core.types import Json, Usage


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a prompt; `role` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How to sample. `timeout_s` bounds one attempt in real time; `sample` distinguishes repeats in the cache."""

    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    timeout_s: float = 120.0
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """One attempt that failed, or one thing that had to be given up to get an answer.

    `kind` is ``rate_limit``, ``server``, ``timeout``, ``connection``, ``truncated`` (the reply broke off),
    ``malformed`` (the reply is no completion), ``refused``, ``unsupported`` (a request field was dropped) or
    ``oversized`` (the answer was cut); `status` the HTTP status if there was one; `waited_s` what was waited
    before the next attempt.
    """

    kind: str
    attempt: int
    message: str
    status: int | None = None
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    `parsed` is the JSON value when a schema was asked for and the text parses, else None. `latency_s` is
    measured real time, with retries; `finish_reason` is ``stop``, ``length`` or the provider's word. `faults`
    are the attempts that failed before this one.
    """

    text: str
    parsed: Json
    usage: Usage
    latency_s: float
    finish_reason: str
    model: str
    faults: tuple[Fault, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """The record of one model call, for the log: request, answer or error, and its faults.

    `error` is set when no completion came (attempts used up or refused) or when its text did not validate.
    """

    turns: tuple[Turn, ...]
    schema_name: str
    completion: Completion | None
    error: str | None = None
    faults: tuple[Fault, ...] = ()


class Model(Protocol):
    """A language model. Implementations are safe to call concurrently from one event loop."""

    name: str

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """One answer; `schema` is a JSON schema the answer should obey.

        Raises ModelUnavailable or ModelRefused; both carry ``faults: tuple[Fault, ...]``.
        """
        ...

    def describe(self) -> Mapping[str, Json]:
        """Name and settings for the log; never a key."""
        ...

    async def aclose(self) -> None:
        """Release connections and memory."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome of asking for a structured answer: a validated value or None, and every call made on the way."""

    value: object | None
    calls: tuple[Call, ...] = field(default_factory=tuple)
    error: str | None = None
