"""Anthropic's models through the `anthropic` package."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from emcoop.core.errors import MissingDependency
from emcoop.core.types import Json, Usage
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.hosted import HostedModel
from emcoop.models.money import cost_usd
from emcoop.models.parsing import encodable, parsed_or_none
from emcoop.models.remote import Reply, count, with_schema_in_words
from emcoop.models.schemas import BOUNDS, LENGTHS, strict_form

KEY = "ANTHROPIC_API_KEY"
TOOL = "answer"
FORMATS = ("native", "tool", "none")
FORMAT_WORDS = ("output_config", "output_format", "structured output", "schema", "tool")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What this model takes; learnt from refusals and remembered."""

    format: str = FORMATS[0]
    temperature: bool = True

    def without(self, refusal: str, schema: bool) -> tuple[_Dialect, str] | None:
        """The dialect after this refusal, and what it gives up; None when the refusal is about something else."""
        words = refusal.lower()
        if self.temperature and "temperature" in words:
            return replace(self, temperature=False), "temperature"
        if schema and self.format != "none" and any(word in words for word in FORMAT_WORDS):
            lesser = FORMATS[FORMATS.index(self.format) + 1]
            return replace(self, format=lesser), f"structured answers by {self.format} (using {lesser})"
        return None


class AnthropicModel(HostedModel[_Dialect]):
    """One attempt per call; see `build` for the retrying model around it.

    Structured answers use the native JSON output format; a model that refuses it is asked again at once through a
    forced tool call, then with the schema in words; each downgrade is remembered and told as a fault of kind
    ``unsupported``. System turns come first and end in a cache mark, so the stable prefix of a prompt is read from
    the provider's cache. The provider has no seed: `Settings.seed` is not sent.
    """

    adapter = "anthropic"
    refuser = "provider"

    def __init__(self, name: str, *, base_url: str | None = None) -> None:
        try:
            import anthropic
        except ImportError as error:
            raise MissingDependency("the anthropic adapter needs a package: pip install 'emcoop[anthropic]'") from error
        key = os.environ.get(KEY)
        if not key and base_url is None:
            raise MissingDependency(f"model 'anthropic:{name}' needs a key: set {KEY}")
        super().__init__(name, secrets=(key,) if key else (), base_url=base_url, dialect=_Dialect())
        self._sdk = anthropic
        self._client = anthropic.AsyncAnthropic(api_key=key or "none", base_url=base_url, max_retries=0)

    async def _send(self, request: dict[str, Any], timeout_s: float) -> Reply:
        try:
            got = (await self._client.messages.with_raw_response.create(**request, timeout=timeout_s)).http_response
        except self._sdk.APIStatusError as error:
            got = error.response
        except self._sdk.APITimeoutError as error:
            raise AttemptFailed("timeout", "the provider did not answer in time") from error
        except self._sdk.APIConnectionError as error:
            cause = str(error.__cause__ or error)
            broke_off = "incomplete" in cause or "complete message body" in cause
            said = public(cause or "no connection", *self._secrets)
            raise AttemptFailed("truncated" if broke_off else "connection", said) from error
        except self._sdk.AnthropicError as error:
            raise AttemptFailed("malformed", public(f"the reply cannot be read: {error}", *self._secrets)) from error
        return Reply(got.status_code, got.headers, await got.aread())

    def _request(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings
    ) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "max_tokens": settings.max_tokens}
        extra: dict[str, Json] = {}
        strict = strict_form(schema, LENGTHS | BOUNDS) if schema is not None else None
        if schema is not None and self._dialect.format == "native" and strict is not None:
            extra["output_config"] = {"format": {"type": "json_schema", "schema": strict}}
        elif schema is not None and self._dialect.format != "none":
            request["tools"] = [{"name": TOOL, "description": "Give the answer.", "input_schema": dict(schema)}]
            request["tool_choice"] = {"type": "tool", "name": TOOL}
        elif schema is not None:
            turns = with_schema_in_words(turns, schema)
        if self._dialect.temperature:
            extra["temperature"] = min(settings.temperature, 1.0)
        system = [{"type": "text", "text": encodable(turn.content)} for turn in turns if turn.role == "system"]
        if system:
            request["system"] = [*system[:-1], {**system[-1], "cache_control": {"type": "ephemeral"}}]
        request["messages"] = [{"role": t.role, "content": encodable(t.content)} for t in turns if t.role != "system"]
        # Sent as extra fields, because versions of the package differ in which of these they name.
        return {**request, "extra_body": extra} if extra else request

    def _read(
        self, body: Mapping[str, Json], schema: Mapping[str, Json] | None, latency_s: float, faults: tuple[Fault, ...]
    ) -> Completion:
        blocks = body.get("content")
        if not (isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks)):
            raise AttemptFailed("malformed", "the reply holds no list of content blocks")
        stop = body.get("stop_reason")
        if stop == "refusal":
            raise AttemptFailed("refused", "the model declined to answer", repeats=True)
        calls = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
        text = json.dumps(calls[0], ensure_ascii=False) if calls else "".join(texts)
        finish = {"max_tokens": "length", "end_turn": "stop", "tool_use": "stop"}.get(str(stop), str(stop))
        return Completion(text, parsed_or_none(text, schema), self._usage(body), latency_s, finish, self.name, faults)

    def _usage(self, body: Mapping[str, Json]) -> Usage:
        usage = body.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        cached = count(usage.get("cache_read_input_tokens"))
        stored = count(usage.get("cache_creation_input_tokens"))
        # The provider counts what it read from or wrote to its cache apart from the rest of the prompt.
        read = count(usage.get("input_tokens")) + cached + stored
        written = count(usage.get("output_tokens"))
        cost = cost_usd(
            self.model,
            input_tokens=read,
            output_tokens=written,
            cached_tokens=cached,
            stored_tokens=stored,
            provider="anthropic" if self.base_url is None else None,
            base_url=self.base_url,
        )
        return Usage(read, written, cached, 1, cost)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def make(name: str, *, base_url: str | None = None) -> AnthropicModel:
    """The model of this name. Raises MissingDependency when the package or the key is not there."""
    return AnthropicModel(name, base_url=base_url)
