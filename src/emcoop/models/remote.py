"""What the adapters of hosted providers share: their SDKs are built alike and fail alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from emcoop.core.types import Json
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Turn

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of a reply that are looked at; a longer one is a fault."""

LONGEST_RETRY_AFTER_S = 7 * 24 * 3600.0

REPEATING = ("insufficient_quota", "billing", "credit balance")
"""Words of a 429 that waiting does not mend."""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """What ``Retry-After`` asks for, in seconds (a number or an HTTP date, read against the reply's own ``Date``)."""
    text = (headers.get("retry-after") or "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = (
                _date(text) - (_date(headers["date"]) if "date" in headers else datetime.now(UTC))
            ).total_seconds()
        except (ValueError, TypeError):
            return None
    # NaN fails this comparison and counts as absent.
    return min(seconds, LONGEST_RETRY_AFTER_S) if seconds >= 0 else None


def _date(text: str) -> datetime:
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def failed_attempt(sdk: Any, error: Exception, secret: str | None) -> AttemptFailed:
    """An exception of the `openai` or `anthropic` package (`sdk`) as a fault, without the key in its message."""
    if isinstance(error, sdk.APITimeoutError):
        return AttemptFailed("timeout", "the provider did not answer in time")
    if isinstance(error, sdk.APIStatusError):
        return _status(error, secret)
    if isinstance(error, sdk.APIConnectionError):
        cause = str(error.__cause__ or error)
        broke_off = "incomplete" in cause or "complete message body" in cause
        return AttemptFailed("truncated" if broke_off else "connection", public(cause or "no connection", secret))
    return AttemptFailed("malformed", public(f"the reply cannot be read: {error}", secret))


def _status(error: Any, secret: str | None) -> AttemptFailed:
    status = int(error.status_code)
    message = public(error_text(error), secret)
    if status == 429:
        repeats = any(word in message.lower() for word in REPEATING)
        wait = retry_after_s(error.response.headers)
        return AttemptFailed("rate_limit", message, status=status, repeats=repeats, retry_after_s=wait)
    if status in (408, 409, 425) or status >= 500:
        kind = "timeout" if status == 408 else "server"
        return AttemptFailed(kind, message, status=status, retry_after_s=retry_after_s(error.response.headers))
    return AttemptFailed("refused", message, status=status, repeats=True)


def error_text(error: Any) -> str:
    """The provider's own words, from the usual ``{"error": {"message": ...}}``."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            code = f" [{inner['code']}]" if isinstance(inner.get("code"), str) else ""
            return f"{inner.get('message') or inner}{code}"
        return str(inner)
    return str(body or error)


def json_body(content: bytes) -> Mapping[str, Json]:
    """A reply's JSON object. Raises AttemptFailed (``malformed``) for anything else."""
    if len(content) > BODY_LIMIT:
        raise AttemptFailed("malformed", f"a reply of {len(content)} bytes; at most {BODY_LIMIT} are read")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise AttemptFailed("malformed", public(f"the reply is not JSON: {error}")) from error
    if not isinstance(body, dict):
        raise AttemptFailed("malformed", f"the reply is a JSON {type(body).__name__}, not an object")
    return body


def count(value: Json) -> int:
    """A token count from a reply; what is no count is 0."""
    return value if type(value) is int and value >= 0 else 0


def public_url(url: str | None) -> str | None:
    """An address without user, password, query and fragment."""
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def with_schema_in_words(turns: tuple[Turn, ...], schema: Mapping[str, Json]) -> tuple[Turn, ...]:
    """The turns with the schema spelled out in the (first) system turn, for servers that take no schema."""
    words = "Answer with one JSON object that obeys this JSON schema, and nothing else:\n" + json.dumps(schema)
    for i, turn in enumerate(turns):
        if turn.role == "system":
            return (*turns[:i], Turn("system", f"{turn.content}\n\n{words}"), *turns[i + 1 :])
    return (Turn("system", words), *turns)
