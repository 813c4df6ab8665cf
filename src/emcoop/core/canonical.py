"""One byte string per value: what hashes, digests and the log are made of."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Any

import orjson
from pydantic import BaseModel

from emcoop.core.types import Json

_PLAIN = frozenset({type(None), str, bool, int, float})
_WORDS = _PLAIN - {float}
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def to_json(value: Any) -> Json:
    """The value as plain JSON types: dataclasses and models become mappings, sets become sorted lists.

    Fields of a dataclass whose metadata say ``logged`` False are left out.

    Raises TypeError for what has no canonical form (the type is named).
    """
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:  # nearly everything that is logged: worth a way without calls for keys and leaves
        return {
            k if type(k) is str else str(to_json(k)): v if type(v) in _PLAIN else to_json(v) for k, v in value.items()
        }
    if kind is list or kind is tuple:
        return [v if type(v) in _PLAIN else to_json(v) for v in value]
    return _form_of(kind)(value)


@lru_cache(maxsize=1024)
def _form_of(kind: type) -> Callable[[Any], Json]:
    """What makes plain JSON of values of this type."""
    if issubclass(kind, float):
        return float
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, str):
        return str
    if issubclass(kind, Mapping):
        return lambda value: {str(to_json(k)): to_json(v) for k, v in value.items()}
    if issubclass(kind, list | tuple):
        return lambda value: [to_json(v) for v in value]
    if issubclass(kind, set | frozenset):
        return lambda value: sorted((to_json(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if issubclass(kind, BaseModel):
        return lambda value: value.model_dump(mode="json")
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind) if field.metadata.get("logged", True))
        return lambda value: {name: to_json(getattr(value, name)) for name in names}
    return _number


def _number(value: Any) -> Json:
    """A number of NumPy's as Python's own."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    raise TypeError(f"no canonical JSON form for a value of type {type(value).__name__}")


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces. Raises ValueError for NaN and infinities."""
    common = _are_common((value,))
    plain = value if common else to_json(value)
    if common or _are_common((plain,)):
        try:
            return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            pass  # a key that is no plain string, a huge number, half of a surrogate pair, or too deep for it
    text = _ENCODER.encode(to_json(plain))
    # A lone surrogate in model output has no UTF-8 form; it is kept visible instead of losing the event.
    return text.encode("utf-8", errors="backslashreplace")


def _are_common(values: Iterable[Any]) -> bool:
    """Whether orjson, which is several times faster, writes these values as the standard library does.

    It differs in what it makes of NaN, and in the exponents of very large and very small numbers.
    """
    for item in values:
        kind = type(item)
        if kind in _WORDS:
            continue
        if kind is dict:
            if item and not _are_common(item.values()):
                return False
        elif kind is list or kind is tuple:
            if item and not _are_common(item):
                return False
        elif kind is float:
            if not (1e-4 <= item < 1e16 or -1e16 < item <= -1e-4 or item == 0.0):
                return False
        elif not isinstance(item, StrEnum):
            return False
    return True


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of the data, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def content_hash(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON: equal values, equal name, in any process."""
    return sha256_hex(canonical_json(value))
