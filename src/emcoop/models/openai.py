"""Any OpenAI-compatible server: hosted, vLLM, Ollama, llama.cpp and others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from emcoop.core.errors import ConfigError, MissingDependency
from emcoop.core.types import Json, Usage
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.hosted import HostedModel
from emcoop.models.http import Poster
from emcoop.models.money import cost_usd
from emcoop.models.parsing import encodable, parsed_or_none
from emcoop.models.remote import Reply, count, with_schema_in_words
from emcoop.models.schemas import LENGTHS, strict_form

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers that say whom to charge, and the variables that hold them."""

FORMATS = ("json_schema", "json_object", "none")
FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "schema", "grammar")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What a server takes; learnt from its refusals and remembered."""

    limit_field: str = "max_tokens"
    other_limit_field: str | None = "max_completion_tokens"
    format: str = FORMATS[0]
    dropped: frozenset[str] = frozenset()

    def without(self, refusal: str, schema: bool) -> tuple[_Dialect, str] | None:
        """The dialect after this refusal, and what it gives up; None when the refusal is about something else."""
        words = refusal.lower()
        other = self.other_limit_field
        if other and self.limit_field in words and "unsupported" in words:
            return replace(self, limit_field=other, other_limit_field=None), f"{self.limit_field} (using {other})"
        for name in ("temperature", "seed"):
            if name in words and name not in self.dropped:
                return replace(self, dropped=self.dropped | {name}), name
        if schema and self.format != "none" and any(word in words for word in FORMAT_WORDS):
            lesser = FORMATS[FORMATS.index(self.format) + 1]
            return replace(self, format=lesser), f"response_format {self.format} (using {lesser})"
        return None


class OpenAIModel(HostedModel[_Dialect]):
    """One attempt per call; see `build` for the retrying model around it.

    Structured answers use ``response_format: json_schema``. A server that refuses a request field with a 400 is
    asked again without it at once, the downgrade is remembered for this model and told as a fault of kind
    ``unsupported``.
    """

    adapter = "openai"
    refuser = "server"

    def __init__(self, name: str, *, base_url: str | None = None) -> None:
        own = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = _variable(KEY)
        if not key and own is None:
            raise MissingDependency(
                f"model 'openai:{name}' needs a key: set {KEY}, or name a server: openai:{name}@URL"
            )
        # A server of one's own often wants no key, but some want the header.
        headers = {"Authorization": f"Bearer {key or 'none'}"}
        headers.update({header: value for header, where in ACCOUNT.items() if (value := _variable(where))})
        try:
            self._poster = Poster(own or HOME, "chat/completions", headers, (key,) if key else ())
        except ImportError as error:
            raise MissingDependency("the openai adapter needs a package: pip install 'emcoop[openai]'") from error
        dialect = _Dialect("max_completion_tokens", "max_tokens") if own is None else _Dialect()
        super().__init__(name, secrets=self._poster.secrets, base_url=own, dialect=dialect)

    async def _send(self, request: dict[str, Any], timeout_s: float) -> Reply:
        return await self._poster.post(request, timeout_s)

    def _request(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings
    ) -> dict[str, Any]:
        dialect = self._dialect
        request: dict[str, Any] = {"model": self.model, dialect.limit_field: settings.max_tokens}
        if "temperature" not in dialect.dropped:
            request["temperature"] = settings.temperature
        if settings.seed is not None and "seed" not in dialect.dropped:
            request["seed"] = settings.seed
        if schema is not None and dialect.format == "json_schema":
            request["response_format"] = {"type": "json_schema", "json_schema": self._schema(schema)}
        elif schema is not None:
            turns = with_schema_in_words(turns, schema)
            if dialect.format == "json_object":
                request["response_format"] = {"type": "json_object"}
        request["messages"] = [{"role": turn.role, "content": encodable(turn.content)} for turn in turns]
        return request

    def _schema(self, schema: Mapping[str, Json]) -> dict[str, Json]:
        """OpenAI itself takes a strict dialect only; other servers compile the whole schema to a grammar."""
        name = str(schema.get("title") or "answer")
        if self.base_url is not None:
            return {"name": name, "schema": dict(schema), "strict": True}
        strict = strict_form(schema, LENGTHS)
        return {"name": name, "schema": strict or dict(schema), "strict": strict is not None}

    def _read(
        self, body: Mapping[str, Json], schema: Mapping[str, Json] | None, latency_s: float, faults: tuple[Fault, ...]
    ) -> Completion:
        try:
            choice = body["choices"][0]
            text = choice["message"]["content"]
            refusal = choice["message"].get("refusal")
            finish = choice.get("finish_reason") or "stop"
        except (KeyError, IndexError, TypeError, AttributeError):
            raise AttemptFailed("malformed", "the reply holds no choices[0].message.content") from None
        if text is None:
            if isinstance(refusal, str):
                raise AttemptFailed("refused", public(refusal, *self._secrets), repeats=True)
            text = ""
        if not (isinstance(text, str) and isinstance(finish, str)):
            raise AttemptFailed("malformed", "choices[0].message.content is no text")
        parsed = parsed_or_none(text, schema)
        return Completion(text, parsed, self._usage(body), latency_s, finish, self.name, faults)

    def _usage(self, body: Mapping[str, Json]) -> Usage:
        usage = body.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        details = usage.get("prompt_tokens_details")
        read, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
        cached = min(read, count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0)
        cost = cost_usd(
            self.model,
            input_tokens=read,
            output_tokens=written,
            cached_tokens=cached,
            provider="openai" if self.base_url is None else None,
            base_url=self.base_url,
        )
        return Usage(read, written, cached, 1, cost)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._poster.aclose()


def _variable(name: str) -> str:
    """What the environment says, fit for a header; the empty string for nothing."""
    value = os.environ.get(name, "").strip()
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"{name} holds characters that no HTTP header may hold")
    return value


def make(name: str, *, base_url: str | None = None) -> OpenAIModel:
    """The model of this name.

    Raises MissingDependency when the package or the key is not there, and ConfigError for a server's address, a key or
    a proxy that cannot be used.
    """
    return OpenAIModel(name, base_url=base_url)
