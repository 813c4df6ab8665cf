"""The split maze, measured from a log alone, beside the published figures (The Collaboration Gap)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from emcoop.core.errors import CorruptLog
from emcoop.core.types import Json
from emcoop.envs.maze.grading import CAUSES
from emcoop.metrics import Event

Value = float | None

SOURCE = "arXiv 2511.02687"

SHOWN = ("weighted", "binary", "messages", "words_per_message", "tokens_per_message", "unresolved")
"""The measures that a table shows; the causes are told beside it."""

RATES = ("binary", "unresolved", *(f"cause_{name}" for name in CAUSES))
"""The measures that are 0 or 1 in every episode."""


def measure(events: Iterable[Event]) -> dict[str, Value]:
    """The measures of one episode from its events, by name; None where one is not defined.

    ``binary`` is success, ``weighted`` the weighted outcome 1 - dist(last valid cell, goal) / dist(start, goal), which
    may be negative. ``messages``, ``words_per_message``, ``tokens_per_message`` (tokens written by models, reasoning
    included), ``turns``, ``unresolved`` (free mode: whether the words could not be resolved), ``cause_NAME`` (1 for the
    cause of this failure, 0 for the others; see `emcoop.envs.maze.grading`). From exit answers: ``path_agreement``,
    ``path_correct``, ``position_error`` (steps), ``grounding_own``, ``grounding_others`` and ``invented`` (shares of
    cells, means over the agents).

    Raises CorruptLog for the events of another world or of another form, and of an episode without an end.
    """
    words = messages = 0
    known, end = False, None
    try:
        for event in events:
            if event.kind == "episode_start":
                known = event.payload["env"]["name"] == "maze"
            elif event.kind == "message_sent":
                messages += 1
                words += len(event.payload["content"].split())
            elif event.kind == "episode_end":
                end = event.payload
        if not known:
            raise CorruptLog("these are not the events of a maze")
        if end is None:
            raise CorruptLog("the episode has no episode_end event")
        return _values(end["score"], end["usage"]["output_tokens"], messages, words)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptLog(f"an event is none of a maze: {error!r}") from error


def _values(score: Mapping[str, Any], tokens: int, messages: int, words: int) -> dict[str, Value]:
    detail = score["detail"]
    cause = detail["cause"]
    answers = detail.get("answers") or {}
    maps = [told for told in answers.get("maps") or () if told is not None]
    return {
        "binary": float(score["success"]),
        "weighted": float(detail["weighted"]),
        "turns": float(detail["turns"]),
        "messages": float(messages),
        "words_per_message": words / messages if messages else None,
        "tokens_per_message": tokens / messages if messages and tokens else None,
        "unresolved": float(detail["unresolved"] is not None) if "unresolved" in detail else None,
        **{f"cause_{name}": float(cause == name) for name in CAUSES},
        "path_agreement": answers.get("path_agreement"),
        "path_correct": answers.get("path_correct"),
        "position_error": answers.get("position_error"),
        "grounding_own": _mean(told["own"] for told in maps),
        "grounding_others": _mean(told["others"] for told in maps),
        "invented": _mean(told["invented"] for told in maps),
    }


def _mean(values: Iterable[Value]) -> Value:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


# -- published -------------------------------------------------------------------------------------------------------

_PAIRS: Mapping[str, tuple[float, float]] = {
    "gpt-5": (0.99, 0.97),
    "gpt-5-mini": (0.86, 0.67),
    "gpt-5-nano": (0.38, 0.05),
    "o3": (0.88, 0.66),
    "gpt-4.1": (0.55, 0.23),
    "gpt-4.1-mini": (0.39, 0.01),
    "gemini-2.5-pro": (0.84, 0.74),
    "gemini-2.5-flash": (0.76, 0.64),
    "gemini-2.5-flash-lite": (0.36, 0.04),
    "grok-4": (0.92, 0.84),
    "grok-3-mini": (0.90, 0.82),
    "grok-3": (0.41, 0.13),
    "opus-4.1": (0.85, 0.72),
    "sonnet-4": (0.48, 0.23),
    "haiku-3.5": (0.41, 0.01),
    "command-a": (0.38, 0.02),
    "command-r7b": (0.16, 0.00),
}
"""Pairs of two equal models: weighted and binary outcome."""

_ORDERS: Mapping[tuple[str, str], tuple[float, float]] = {
    ("o3", "gpt-4.1-mini"): (0.77, 0.62),
    ("grok-3-mini", "gpt-4.1"): (0.82, 0.66),
    ("gpt-5", "gpt-5-nano"): (0.82, 0.73),
    ("gpt-5-mini", "gpt-5-nano"): (0.65, 0.45),
    ("grok-3-mini", "gpt-4.1-mini"): (0.74, 0.42),
}
"""The weighted outcome of unequal pairs, (strong, weak): the strong one first, the weak one first."""


def published() -> list[dict[str, Json]]:
    """The published rows, each marked as published with its source; an order's row names who speaks first."""
    mark = {"origin": "published", "source": SOURCE}
    rows: list[dict[str, Json]] = [
        {"model": f"{name} x2", **mark, "weighted": weighted, "binary": binary}
        for name, (weighted, binary) in _PAIRS.items()
    ]
    for (strong, weak), (first, last) in _ORDERS.items():
        rows.append({"model": f"{strong}, then {weak}", **mark, "weighted": first, "binary": None})
        rows.append({"model": f"{weak}, then {strong}", **mark, "weighted": last, "binary": None})
    floor: dict[str, Json] = {"model": "half-map, no talk", **mark, "weighted": 0.45, "binary": 0.32}
    return [*rows, floor]
