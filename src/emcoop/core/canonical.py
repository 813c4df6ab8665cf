"""One byte string per value: what hashes, digests and the log are made of."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from emcoop.core.types import Json

_PLAIN = frozenset({type(None), str, bool, int, float})
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def to_json(value: Any) -> Json:
    """The value as plain JSON types: dataclasses and models become mappings, sets become sorted lists.

    Raises TypeError for what has no canonical form (the type is named).
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:  # nearly everything that is logged: worth a way without calls for keys and leaves
        return {
            k if type(k) is str else str(to_json(k)): v if type(v) in _PLAIN else to_json(v) for k, v in value.items()
        }
    if kind is list or kind is tuple:
        return [v if type(v) in _PLAIN else to_json(v) for v in value]
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(to_json(k)): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((to_json(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    raise TypeError(f"no canonical JSON form for a value of type {type(value).__name__}")


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces. Raises ValueError for NaN and infinities."""
    text = _ENCODER.encode(to_json(value))
    # A lone surrogate in model output has no UTF-8 form; it is kept visible instead of losing the event.
    return text.encode("utf-8", errors="backslashreplace")


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of the data, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def content_hash(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON: equal values, equal name, in any process."""
    return sha256_hex(canonical_json(value))
