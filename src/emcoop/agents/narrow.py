"""An answer's JSON schema narrowed to what exists now, so that constrained models cannot name what does not.

Only the schema that guides a model is narrowed. Its answer is read with the full one, so that what an unconstrained
model gets wrong keeps its own typed failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from emcoop.core.canonical import canonical_json
from emcoop.core.types import Json
from emcoop.models.structured import schema_of


def narrowed(
    answer_type: type[BaseModel], allowed: Mapping[str, Sequence[Json]], longest: Mapping[str, int] | None = None
) -> Mapping[str, Json]:
    """The schema of this type in which a field named in `allowed` can only have those values.

    An action with a field for which no value is left is no choice any more. `longest` bounds the length of lists and
    texts by field name, below what the type admits.
    """
    return _narrowed(answer_type, canonical_json(allowed), canonical_json(longest or {}))


@lru_cache(maxsize=512)
def _narrowed(answer_type: type[BaseModel], allowed: bytes, longest: bytes) -> Mapping[str, Json]:
    values: dict[str, list[Json]] = json.loads(allowed)
    lengths: dict[str, int] = json.loads(longest)
    schema: dict[str, Any] = deepcopy(dict(schema_of(answer_type)))
    definitions: dict[str, Any] = schema.get("$defs", {})
    gone = {f"#/$defs/{name}" for name, body in definitions.items() if _impossible(body, values)}
    for body in (schema, *definitions.values()):
        for field, known in values.items():
            if field in body.get("properties", {}):
                body["properties"][field] = {"enum": known}
        for field, length in lengths.items():
            shape = body.get("properties", {}).get(field)
            if shape is not None:
                bound = "maxItems" if shape.get("type") == "array" else "maxLength"
                shape[bound] = min(length, shape.get(bound, length))
    without: Mapping[str, Json] = _without(schema, gone)
    return without


def _impossible(body: Mapping[str, Any], values: Mapping[str, list[Json]]) -> bool:
    return any(values.get(field) == [] for field in body.get("required", ()))


def _without(node: Any, gone: set[str]) -> Any:
    """The schema without the choices in `gone`, and without discriminators, which name them again."""
    if isinstance(node, list):
        return [_without(item, gone) for item in node if not (isinstance(item, dict) and item.get("$ref") in gone)]
    if isinstance(node, dict):
        kept = {key: _without(value, gone) for key, value in node.items() if key != "discriminator"}
        if "$defs" in kept:
            kept["$defs"] = {name: body for name, body in kept["$defs"].items() if f"#/$defs/{name}" not in gone}
        return kept
    return node
