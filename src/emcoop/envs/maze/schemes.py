"""Ways to name cells, and what a dialogue says outright about the one that is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from emcoop.envs.maze.state import Cell
from emcoop.envs.maze.steps import Named


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to name cells; `corner` is ``tl``, ``tr``, ``bl`` or ``br``, `order` ``rc`` or ``cr``."""

    corner: str
    order: str
    base: int

    def cell(self, named: Named, size: int) -> Cell:
        """The cell (row, column) from the top left; it may lie outside."""
        letter = named.kind == "letter"
        first, second = named.first - (1 if letter else self.base), named.second - self.base
        order = named.kind if named.kind in ("rc", "cr") else self.order
        row, col = (first, second) if order == "rc" else (second, first)
        return (size - 1 - row if self.corner[0] == "b" else row, size - 1 - col if self.corner[1] == "r" else col)

    def line(self, named: Named, size: int) -> int:
        """The row or the column, from the top left, of a whole line."""
        index = named.first - self.base
        return size - 1 - index if self.corner[named.kind == "col"] in "br" else index

    def __str__(self) -> str:
        return f"{self.corner} {self.order} {self.base}"


SCHEMES = tuple(
    Scheme(corner, order, base) for corner, order, base in product(("tl", "tr", "bl", "br"), ("rc", "cr"), (0, 1))
)

_RULES = {
    "order": {
        "rc": r"\brows?\s*,\s*col|\br\s*,\s*c\b|\brows?,?\s+first|\brows?\s+(?:and|then|before)\s+(?:the\s+)?col"
        r"|\brows?\s+(?:are\s+|by\s+)?(?:letters|a\s*[-–to]+)|\[row\]\s*\[col",
        "cr": r"\bcol\w*\s*,\s*row|\bcolumns?,?\s+first|\bcolumns?\s+(?:and|then|before)\s+(?:the\s+)?row"
        r"|\bx\b.{0,40}\by\b|\bcolumns?\s+(?:are\s+|by\s+)?(?:letters|a\s*[-–to]+)|\bchess",
    },
    "base": {
        "0": r"\b(?:0|zero)[- ]?(?:based|indexed)|\b(?:from|with|at) (?:0|zero)\b",
        "1": r"\b(?:1|one)[- ]?(?:based|indexed)|\b(?:from|with|at) (?:1|one)\b",
    },
    "corner": {
        "tl": r"\b(?:top|upper)[- ]left\b|\btop[- ](?:to[- ]bottom|down)\b|\bfrom (?:the )?top\b",
        "tr": r"\b(?:top|upper)[- ]right\b",
        "bl": r"\b(?:bottom|lower)[- ]left\b|\bfrom (?:the )?(?:bottom|below)\b|\bbottom[- ]to[- ]top\b"
        r"|\by (?:grows |goes |going |counts )?(?:up|upwards?)\b|\bchess",
        "br": r"\b(?:bottom|lower)[- ]right\b",
    },
}


def hints(text: str) -> dict[str, frozenset[str]]:
    """What a dialogue says outright about its way of naming cells: ``order``, ``base`` and ``corner``, as far as all
    that is said agrees."""
    text = text.lower()
    found = {axis: frozenset(v for v, rule in kinds.items() if re.search(rule, text)) for axis, kinds in _RULES.items()}
    return {axis: values for axis, values in found.items() if len(values) == 1}
