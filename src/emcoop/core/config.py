"""Strict configuration: a key nobody knows is an error that names the nearest known one."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

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


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a mistake is: the keys as they were written, the type that is wanted there, and the unions on the way.

    `beside` says that it is about another kind of value than the one given: a mapping is one of the models that are
    possible there, if any is, and nothing else is one of them.
    """

    keys: tuple[int | str, ...]
    wanted: Any
    beside: bool = False

    @property
    def name(self) -> str:
        """Dotted keys."""
        return ".".join(map(str, self.keys)) or "the value"


def _place(model: type[BaseModel], path: Sequence[int | str], data: Any) -> _Place:
    """Follow the path of a pydantic error into the model and what was given for it.

    The names of a union's members are no keys, and neither is the place in a list of one that was written without it.
    """
    wanted: Any = model
    keys: list[int | str] = []
    beside = False
    for part in path:
        members = _members(wanted)
        if len(members) > 1:
            wanted = next((member for member in members if getattr(member, "__name__", "") == part), None)
            beside = beside or (any(map(_is_model, members)) and _is_model(wanted) != isinstance(data, Mapping))
            continue
        wanted = _inside(members[0], part)
        if not isinstance(part, int) or isinstance(data, list | tuple):
            keys.append(part)
            data = _item(data, part)
    return _Place(tuple(keys), wanted, beside)


def _members(wanted: Any) -> list[Any]:
    """The types of a union, without None; a type by itself as the only one."""
    if get_origin(wanted) is Annotated:
        return _members(get_args(wanted)[0])
    if get_origin(wanted) in (Union, UnionType):
        return [found for member in get_args(wanted) if member is not type(None) for found in _members(member)]
    return [wanted]


def _inside(wanted: Any, part: int | str) -> Any:
    """The type of a field, or of a value in a list or mapping; None where it cannot be followed."""
    if _is_model(wanted):
        field = wanted.model_fields.get(part)
        return field.annotation if field else None
    inner = get_args(wanted)
    if not inner or get_origin(wanted) not in (list, tuple, dict, Sequence, Mapping):
        return None
    fixed = get_origin(wanted) is tuple and isinstance(part, int) and inner[-1] is not Ellipsis
    if fixed and isinstance(part, int):
        return inner[part] if part < len(inner) else None
    return inner[1] if get_origin(wanted) in (dict, Mapping) else inner[0]


def _item(data: Any, part: int | str) -> Any:
    if isinstance(data, Mapping):
        return data.get(part)
    inside = isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
    return data[part] if inside else None


def _is_model(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, BaseModel)


def explain(error: ValidationError, model: type[BaseModel], source: str, data: Any) -> str:
    """Pydantic's errors as lines that name the place and the mend; `data` is what was given.

    Where several kinds of values are possible, a mapping is told what it lacks as one, anything else all kinds at once.
    """
    said: dict[str, str] = {}
    for item in error.errors(include_url=False):
        place = _place(model, item["loc"], data)
        if place.beside:
            continue
        if item["type"] == "extra_forbidden":
            fields = _place(model, item["loc"][:-1], data).wanted
            known = fields.model_fields if _is_model(fields) else ()
            said[place.name] = f"{source}: unknown key {place.name!r}; {nearest(str(item['loc'][-1]), known)}"
            continue
        message = item["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        before = said.get(place.name)
        line = f"{source}: {place.name}: {message}"
        said[place.name] = f"{before}, or {message.removeprefix('Input should be ')}" if before else line
    return "\n".join(said.values())


def load(model: type[M], data: Any, source: str) -> M:
    """The data as this model. Raises ConfigError with one line per mistake; `source` says where it came from."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(explain(error, model, source, data)) from error


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
