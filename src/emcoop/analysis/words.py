"""Numbers and intervals as short text, the same in every table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from emcoop.analysis.stats import Estimate

MISSING = "-"


def number(value: float | None) -> str:
    """At most six characters for values up to a thousand million: ``0.42``, ``12.3``, ``4567``, ``12.3k``.

    What is below 1e-9 is the rounding of sums, and 0.
    """
    if value is None:
        return MISSING
    size = abs(value)
    if size < 1e-9:
        return "0"
    if size < 0.005:
        return f"{value:.0e}"
    if size < 9.995:
        return f"{value:.2f}"
    if size < 99.95:
        return f"{value:.1f}"
    if size < 9999.5:
        return f"{value:.0f}"
    for limit, unit in ((1e6, "k"), (1e9, "M"), (1e12, "G")):
        if size < 0.9995 * limit:
            scaled = value / limit * 1e3
            return f"{scaled:.1f}{unit}" if abs(scaled) < 99.95 else f"{scaled:.0f}{unit}"
    return f"{value:.1e}"


def interval(estimate: Estimate) -> str:
    """``[0.31, 0.55]``, or nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def limits(counts: Mapping[str, int]) -> str:
    """Which limits ended the episodes, the most frequent first, one a line: ``8 success``, ``2 horizon``."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "\n".join(f"{count} {printable(name.replace('_', ' '))}" for name, count in ordered) or MISSING


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers as runs: ``0-4, 7, 9000-9004``."""
    runs: list[list[int]] = []
    for value in sorted(set(numbers)):
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(f"{low}-{high}" if high > low else f"{low}" for low, high in runs) or MISSING


def task_and_team(setup: Mapping[str, Any]) -> tuple[str, str]:
    """A logged set-up in a few words: ``cube hard x3``, ``centralized scripted +deaf@1``."""
    seats = dict.fromkeys(str(seat.get("agent")) for seat in setup.get("team") or ())
    changes = (f"+{name}" for name in setup.get("interventions") or ())
    task = f"{setup.get('env')} {setup.get('level')} x{setup.get('agents')}"
    return printable(task), printable(" ".join((str(setup.get("topology")), "+".join(seats), *changes)))


def printable(text: str) -> str:
    """The text without control characters, so that a name from a log cannot steer a terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)
