"""The tables of docs/log.md that state the events, made from the catalogue so that the page cannot fall behind."""

from __future__ import annotations

from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from emcoop.log.events import (
    CATALOGUE,
    TEAM_KINDS,
    CallFacts,
    FailureFields,
    FaultFields,
    Payload,
    PlanFields,
    ScoreFields,
    SpokenFields,
    TaskFields,
    TurnFields,
    UsageFields,
)

PARTS: dict[str, type[Payload]] = {
    "usage": UsageFields,
    "failure": FailureFields,
    "plan": PlanFields,
    "spoken": SpokenFields,
    "call-facts": CallFacts,
    "fault": FaultFields,
    "turn": TurnFields,
    "score": ScoreFields,
    "task": TaskFields,
}
"""The mappings that occur inside payloads, by the name the page gives them."""

START = "<!-- events: written by python -m emcoop.log.page -->"
END = "<!-- end of events -->"


def event_tables() -> str:
    """Markdown: one section per kind of event, then one per mapping inside payloads."""
    parts = ["### Kinds\n"]
    for kind, model in CATALOGUE.items():
        whose = "Of the team." if kind in TEAM_KINDS else "Of one agent."
        parts.append(f"#### `{kind}`\n\n{_text(model)} {whose}\n\n{_table(model)}")
    parts.append("### Mappings inside payloads\n")
    parts += [f"#### {name}\n\n{_text(model)}\n\n{_table(model)}" for name, model in PARTS.items()]
    return "\n".join(parts)


def with_tables(page: str) -> str:
    """The page with the tables between its two marks renewed. Raises ValueError when a mark is missing."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError("the page lacks the marks between which the tables of events go")
    return f"{before}{START}\n\n{event_tables()}\n{END}{after}"


def _text(model: type[Payload]) -> str:
    return " ".join((model.__doc__ or "").split())


def _table(model: type[Payload]) -> str:
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        optional = "" if field.is_required() else " (may be absent)"
        lines.append(f"| `{field.alias or name}` | {_type(field.annotation)}{optional} | {field.description} |")
    return "\n".join(lines) + "\n"


_NAMES: dict[Any, str] = {str: "text", int: "integer", float: "number", bool: "true or false", Any: "any"}


def _type(annotation: Any) -> str:
    """A type in the page's words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in _NAMES:
        return _NAMES[annotation]
    if annotation is type(None):
        return "null"
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in inner)
    if origin is list:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return "mapping" if inner[1] is Any else f"mapping from text to {_type(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    return next(f"[{name}](#{name})" for name, model in PARTS.items() if model is annotation)


def main(path: str = "docs/log.md") -> None:
    """Renew the tables of the page in place."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(with_tables(page))


if __name__ == "__main__":
    main()
