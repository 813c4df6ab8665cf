"""Strict configuration: a key nobody knows is an error that names the nearest known one."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from emcoop.core.errors import ConfigError

M = TypeVar("M", bound=BaseModel)

LARGEST = 10**15
"""Sums and products of a few such whole numbers still fit into the 64 bits of compiled rules."""

MOST_VALUES = 200_000
DEEPEST = 64
"""No configuration that anybody wrote has so many values or is nested so deep; a few lines of aliases can be."""


_TAG = "tag:yaml.org,2002:"
_OLD_BASES = re.compile(r"^[-+]?0[0-9_]|:")


class StrictModel(BaseModel):
    """Base of every configuration value: immutable; unknown keys and numbers that are not finite are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that helps after a wrong name: the nearest known one, else all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return "known: " + (", ".join(names) if names else "none")


def _known_keys(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The field names at a place inside a model, as far as they can be followed."""
    current: Any = model
    for part in path:
        if not (isinstance(current, type) and issubclass(current, BaseModel)):
            return []
        if isinstance(part, str) and part in current.model_fields:
            current = current.model_fields[part].annotation
    if isinstance(current, type) and issubclass(current, BaseModel):
        return list(current.model_fields)
    return []


def explain(error: ValidationError, model: type[BaseModel], source: str) -> str:
    """Pydantic's errors as lines that name the place and the mend."""
    lines = []
    for item in error.errors(include_url=False):
        path = item["loc"]
        where = ".".join(str(p) for p in path) or "the value"
        if item["type"] == "extra_forbidden":
            known = _known_keys(model, path[:-1])
            lines.append(f"{source}: unknown key {where!r}; {nearest(str(path[-1]), known)}")
        else:
            lines.append(f"{source}: {where}: {item['msg']}")
    return "\n".join(lines)


def load(model: type[M], data: Any, source: str) -> M:
    """The data as this model. Raises ConfigError with one line per mistake; `source` says where it came from."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(explain(error, model, source)) from error


def read_yaml(path: Path) -> Any:
    """A YAML file's content. Raises ConfigError naming the file and, for bad YAML, the line."""
    try:
        return parse_yaml(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def parse_yaml(text: str, source: str) -> Any:
    """YAML as plain values: mappings, lists, text, finite numbers, true, false and null.

    ``010`` and ``1:30``, which YAML 1.1 takes for 8 and 90, are text, and as a number ``010`` is 10.

    Raises ConfigError, which names the source, for bad YAML, a key that is given twice, a value of another kind,
    a whole number beyond LARGEST, and for what is too deep or too large once its aliases are followed.
    """
    import yaml

    try:
        content = yaml.load(text, _loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{source}: not valid YAML{where}: {getattr(error, 'problem', error)}") from error
    except ValueError as error:  # a date without such a day, a number of thousands of digits
        raise ConfigError(f"{source}: a value cannot be read: {error}") from error
    except RecursionError:
        raise ConfigError(f"{source}: nested too deep") from None
    _check_plain(content, source)
    return content


@cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """The safe loader, which would let the last of two equal keys win without a word, and count to 8 or 60."""

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            resolve: Any = super().resolve
            tag = resolve(kind, value, implicit)
            return f"{_TAG}str" if tag in (f"{_TAG}int", f"{_TAG}float") and _OLD_BASES.search(value) else tag

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            seen = set()
            for key, _ in node.value:
                name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
                if name in seen and name is not None:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
                seen.add(name)
            return node

    return Loader


def _check_plain(content: Any, source: str) -> None:
    left = [(content, 0)]
    for _ in range(MOST_VALUES):
        if not left:
            return
        value, depth = left.pop()
        if depth > DEEPEST:
            raise ConfigError(f"{source}: nested too deep")
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{source}: {value} is no finite number")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ConfigError(f"{source}: {value} is too large; whole numbers go to {LARGEST:,}")
        if isinstance(value, dict):
            left.extend((part, depth + 1) for part in (*value.keys(), *value.values()))
        elif isinstance(value, list):
            left.extend((part, depth + 1) for part in value)
        elif not isinstance(value, str | bool | int | float | None):
            raise ConfigError(f"{source}: {value!r} is a {type(value).__name__}; put quotes around it to make it text")
    raise ConfigError(f"{source}: more than {MOST_VALUES:,} values once its aliases are followed")
