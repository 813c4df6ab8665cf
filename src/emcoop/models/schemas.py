"""JSON schemas in the dialects that providers take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import orjson

from emcoop.core.types import Json

NOTES = frozenset({"default", "title", "discriminator", "examples"})
"""Keywords that constrain nothing."""

LENGTHS = frozenset({"minLength", "maxLength", "uniqueItems"})
"""Keywords that OpenAI's strict mode lacks."""

BOUNDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "pattern"}
)
"""Keywords that Anthropic's strict mode refuses besides."""

_NAMED = frozenset({"properties", "$defs"})


def strict_form(schema: Mapping[str, Json], without: frozenset[str] = NOTES) -> dict[str, Json] | None:
    """The schema as strict structured output wants it, or None when it cannot be said so.

    Every property becomes required and no others are allowed, ``oneOf`` becomes ``anyOf``, and the keywords in
    `without` are dropped: what they ask is left to validation, which every answer goes through anyway. None for
    objects with free keys, which strict mode has no form for. Nobody may change what is returned: equal schemas share
    it.
    """
    try:
        return _remembered(orjson.dumps(schema), without)
    except orjson.JSONEncodeError:  # a huge number
        return _converted(schema, without)


@lru_cache(maxsize=512)
def _remembered(encoded: bytes, without: frozenset[str]) -> dict[str, Json] | None:
    """By content: to convert a schema takes as long as the rest of a call, and each call brings one."""
    return _converted(orjson.loads(encoded), without)


def _converted(schema: Mapping[str, Json], without: frozenset[str]) -> dict[str, Json] | None:
    try:
        converted: dict[str, Json] = _strict(schema, NOTES | without)
    except _Free:
        return None
    return converted


class _Free(Exception):
    """An object with free keys."""


def _strict(node: Json, dropped: frozenset[str]) -> Json:
    if isinstance(node, list):
        return [_strict(item, dropped) for item in node]
    if not isinstance(node, Mapping):
        return node
    done: dict[str, Json] = {}
    for key, value in node.items():
        if key in _NAMED:
            done[key] = {name: _strict(inner, dropped) for name, inner in value.items()}
        elif key == "const":
            done["enum"] = [value]
        elif key not in dropped:
            done["anyOf" if key == "oneOf" else key] = value if key == "enum" else _strict(value, dropped)
    if node.get("type") == "object" or "properties" in node:
        if not node.get("properties") or node.get("additionalProperties") not in (None, False):
            raise _Free
        done["required"] = list(node["properties"])
        done["additionalProperties"] = False
    return done
