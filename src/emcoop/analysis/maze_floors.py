"""Floors and ceilings of the split maze over many mazes, as the table of docs/maze.md.

python -m emcoop.analysis.maze_floors --mazes 1000
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from emcoop.analysis.stats import Estimate, mean, rate
from emcoop.core.types import Json, Score
from emcoop.envs.maze.grading import CAUSES
from emcoop.envs.maze.trial import measure

TEAMS: Mapping[str, tuple[tuple[str, ...], Mapping[str, Json]]] = {
    "random x2": (("random",) * 2, {}),
    "noop x2": (("noop",) * 2, {}),
    "random-walk x2": (("random-walk",) * 2, {}),
    "greedy x2": (("greedy",) * 2, {}),
    "half-map x2": (("half-map",) * 2, {}),
    "half-map alone": (("half-map",), {"view": "half"}),
    "half-map alone, start in the corner": (("half-map",), {"view": "half", "corner": True}),
    "noisy x2": (("noisy",) * 2, {}),
    "silent x2": (("silent",) * 2, {}),
    "scripted + half-map": (("scripted", "half-map"), {}),
    "half-map + scripted": (("half-map", "scripted"), {}),
    "scripted + noisy": (("scripted", "noisy"), {}),
    "noisy + scripted": (("noisy", "scripted"), {}),
    "scripted x2": (("scripted",) * 2, {}),
    "scripted x2, free": (("scripted",) * 2, {"mode": "free"}),
    "scripted alone, both halves": (("scripted",), {"view": "both"}),
    "oracle x2": (("oracle",) * 2, {}),
}
"""The teams of the table, and the options of their world."""

HEAD = """| team | weighted | binary | failed by |
| --- | --- | --- | --- |"""


def row(name: str, scores: Sequence[Score]) -> str:
    """One line of the table: means with 95 % intervals (BCa for the weighted outcome, Wilson for the binary one)."""
    weighted = mean([float(score.detail["weighted"]) for score in scores])
    binary = rate(sum(score.success for score in scores), len(scores))
    causes = Counter(score.detail["cause"] for score in scores)
    failed = ", ".join(f"{causes[cause]} {cause.replace('_', ' ')}" for cause in CAUSES if causes[cause]) or "-"
    return f"| {name} | {_told(weighted)} | {_told(binary)} | {failed} |"


def _told(value: Estimate) -> str:
    if value.mean is None or value.low is None or value.high is None:
        return "-"
    return f"{value.mean:.3f} ({value.low:.3f} to {value.high:.3f})"


def table(mazes: int, level: str, names: Sequence[str] = ()) -> Iterator[str]:
    """The table's lines, row by row as they are played; all teams when none is named."""
    yield HEAD
    for name in names or TEAMS:
        team, world = TEAMS[name]
        yield row(name, measure(team, range(mazes), level, **world))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Floors and ceilings of the split maze.")
    parser.add_argument("--mazes", type=int, default=1000, help="seeds 0 to this, without the last")
    parser.add_argument("--level", default="medium")
    parser.add_argument("--team", action="append", default=[], choices=list(TEAMS), help="only these rows")
    options = parser.parse_args()
    for line in table(options.mazes, options.level, options.team):
        print(line, flush=True)


if __name__ == "__main__":
    main()
