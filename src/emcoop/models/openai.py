"""Any OpenAI-compatible server through the `openai` package: hosted, vLLM, Ollama, llama.cpp and others."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from emcoop.core.errors import MissingDependency
from emcoop.core.types import Json, Usage
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.hosted import HostedModel
from emcoop.models.lanes import Lanes
from emcoop.models.money import cost_usd
from emcoop.models.parsing import encodable, parsed_or_none
from emcoop.models.remote import count, with_schema_in_words
from emcoop.models.schemas import LENGTHS, strict_form

KEY = "OPENAI_API_KEY"
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
        try:
            import openai
        except ImportError as error:
            raise MissingDependency("the openai adapter needs a package: pip install 'emcoop[openai]'") from error
        own = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get(KEY)
        if not key and own is None:
            raise MissingDependency(
                f"model 'openai:{name}' needs a key: set {KEY}, or name a server: openai:{name}@URL"
            )
        dialect = _Dialect("max_completion_tokens", "max_tokens") if own is None else _Dialect()
        super().__init__(name, sdk=openai, error=openai.OpenAIError, key=key, base_url=own, dialect=dialect)
        # A server of one's own often wants no key, but the client insists on one.
        http = _http(openai)
        # Made once: to read the certificates costs more than all else in a client.
        pool = partial(openai.DefaultAsyncHttpxClient, verify=http.create_ssl_context())
        first = openai.AsyncOpenAI(api_key=key or "none", base_url=own, max_retries=0, http_client=pool())
        self._lanes = Lanes(first, lambda: first.copy(http_client=pool()))
        self._reply_type = http.Response

    async def _send(self, request: dict[str, Any], timeout_s: float) -> bytes:
        with self._lanes.lane() as client:
            # Not `chat.completions.create`, which walks through the whole schema to check its types.
            reply = await client.post(
                "/chat/completions", body=request, cast_to=self._reply_type, options={"timeout": timeout_s}
            )
        content: bytes = reply.content
        return content

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
            raise AttemptFailed("malformed", "the reply holds no choices[0].message.content", faults=faults) from None
        if text is None:
            if isinstance(refusal, str):
                raise AttemptFailed("refused", public(refusal, self._key), repeats=True, faults=faults)
            text = ""
        if not (isinstance(text, str) and isinstance(finish, str)):
            raise AttemptFailed("malformed", "choices[0].message.content is no text", faults=faults)
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
        await self._lanes.aclose()


def _http(sdk: Any) -> Any:
    """The HTTP package that this version of the SDK stands on."""
    client = next(kind for kind in sdk.DefaultAsyncHttpxClient.__mro__ if kind.__name__ == "AsyncClient")
    return sys.modules[client.__module__.partition(".")[0]]


def make(name: str, *, base_url: str | None = None) -> OpenAIModel:
    """The model of this name. Raises MissingDependency when the package or the key is not there."""
    return OpenAIModel(name, base_url=base_url)
