"""Strict configuration: a key nobody knows is an error that names the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from emcoop.core.errors import ConfigError

M = TypeVar("M", bound=BaseModel)


class StrictModel(BaseModel):
    """Base of every configuration value: immutable, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}: not valid YAML{where}: {getattr(error, 'problem', error)}") from error
