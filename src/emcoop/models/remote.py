"""What the adapters of hosted providers share: the replies they read, and how those fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit, urlunsplit

import orjson

from emcoop.core.types import Json
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Turn

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of a reply that are looked at; a longer one is a fault."""

LONGEST_RETRY_AFTER_S = 7 * 24 * 3600.0

REPEATING = ("insufficient_quota", "billing", "credit balance")
"""Words of a 429 that waiting does not mend."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a provider's server answered; `headers` are found by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def good(self) -> bool:
        """Whether the server says that it did what was asked."""
        return 200 <= self.status < 300


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


def failure(reply: Reply, *secrets: str) -> AttemptFailed:
    """A reply that is not good as a fault, without the secrets in its message."""
    message = public(error_text(reply), *secrets)
    status, wait = reply.status, retry_after_s(reply.headers)
    if status == 429:
        repeats = any(word in message.lower() for word in REPEATING)
        return AttemptFailed("rate_limit", message, status=status, repeats=repeats, retry_after_s=wait)
    if status in (408, 409, 425) or status >= 500:
        kind = "timeout" if status == 408 else "server"
        return AttemptFailed(kind, message, status=status, retry_after_s=wait)
    return AttemptFailed("refused", message, status=status, repeats=True)


def error_text(reply: Reply) -> str:
    """The provider's own words, from the usual ``{"error": {"message": ...}}``."""
    try:
        body = json.loads(reply.body)
    except (ValueError, RecursionError):
        body = reply.body.decode(errors="replace").strip()
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            code = f" [{inner['code']}]" if isinstance(inner.get("code"), str) else ""
            return f"{inner.get('message') or inner}{code}"
        return str(inner)
    return str(body or f"the server answered with status {reply.status} and no reason")


def json_body(content: bytes) -> Mapping[str, Json]:
    """A reply's JSON object. Raises AttemptFailed (``malformed``) for anything else."""
    if len(content) > BODY_LIMIT:
        raise AttemptFailed("malformed", f"a reply of more than {BODY_LIMIT} bytes; no more are read")
    try:
        body = _loads(content)
    except (ValueError, RecursionError) as error:
        raise AttemptFailed("malformed", public(f"the reply is not JSON: {error}")) from error
    if not isinstance(body, dict):
        raise AttemptFailed("malformed", f"the reply is a JSON {type(body).__name__}, not an object")
    return body


def _loads(content: bytes) -> Json:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        # Servers in Python write half a surrogate pair, NaN and Infinity, which only Python reads.
        return json.loads(content)


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
