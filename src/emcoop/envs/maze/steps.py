"""Steps as they are written: directions, letters, counted steps, and cells by two numbers or a letter and a number."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """A cell as it was written: two numbers, and what is known of their axes.

    `kind` is ``pair`` (order unknown), ``rc`` (row first, said so), ``cr`` (column first, said so), ``letter`` (a
    letter, counted from 1, and a number), or ``row`` or ``col``: a whole line, its number being `first`.
    """

    kind: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step by its direction, by the cell it leads to, or by both."""

    direction: str = ""
    cell: Named | None = None


DIRECTIONS = {
    "up": "up", "upward": "up", "upwards": "up", "north": "up", "northward": "up", "northwards": "up",
    "down": "down", "downward": "down", "downwards": "down", "south": "down", "southward": "down",
    "southwards": "down",
    "left": "left", "leftward": "left", "leftwards": "left", "west": "left", "westward": "left", "westwards": "left",
    "right": "right", "rightward": "right", "rightwards": "right", "east": "right", "eastward": "right",
    "eastwards": "right",
}  # fmt: skip
INITIALS = {"U": "up", "D": "down", "L": "left", "R": "right", "N": "up", "S": "down", "W": "left", "E": "right"}
NUMBERS = {"one": 1, "once": 1, "two": 2, "twice": 2, "three": 3, "thrice": 3, "four": 4, "five": 5, "six": 6,
           "seven": 7, "eight": 8, "nine": 9, "ten": 10}  # fmt: skip

NUMBER = rf"(?:\d{{1,2}}|(?i:{'|'.join(NUMBERS)}))"
UNIT = r"(?i:steps?|cells?|squares?|moves?|times|tiles?|fields?|more times|x)"
COMPASS = "|".join(sorted(DIRECTIONS, key=len, reverse=True))
_IS = r"(?:\s+|\s*[=:]\s*)"
CELL = (
    r"(?:[(\[]\s*(?P<p1>\d{1,2})\s*[,;]\s*(?P<p2>\d{1,2})\s*[)\]]"
    r"|\[\s*(?P<b1>\d{1,2})\s*\]\s*\[\s*(?P<b2>\d{1,2})\s*\]"
    r"|\b[rR](?P<r1>\d{1,2})\s*[-,]?\s*[cC](?P<c1>\d{1,2})\b"
    rf"|[(\[]?\b(?i:row){_IS}(?P<r2>\d{{1,2}})\s*(?:,|and|/|-)?\s*(?i:col(?:umn)?){_IS}(?P<c2>\d{{1,2}})\b[)\]]?"
    rf"|[(\[]?\b(?i:col(?:umn)?){_IS}(?P<c3>\d{{1,2}})\s*(?:,|and|/|-|in|of)?\s*(?i:row){_IS}(?P<r3>\d{{1,2}})\b[)\]]?"
    r"|[(\[]?\b[xX]\s*[=:]?\s*(?P<x>\d{1,2})\s*(?:,|and|/)?\s*[yY]\s*[=:]?\s*(?P<y>\d{1,2})\b[)\]]?"
    r"|[(\[]\s*(?P<pl>[A-Ja-j])\s*[,;/-]\s*(?P<pn>\d{1,2})\s*[)\]]"
    r"|[(\[]\s*(?P<pn2>\d{1,2})\s*[,;/-]\s*(?P<pl2>[A-Ja-j])\s*[)\]]"
    r"|(?<!\w)(?<![A-Za-z]-)(?P<l>[A-Z]|[a-j])(?P<n>\d{1,2})\b"
    r"|(?<![\w-])(?P<n2>\d{1,2})(?P<l2>[A-J])\b"
    r"|(?<![\d.,/-])(?P<q1>\d{1,2}),(?P<q2>\d{1,2})(?![\d.,/-]|,\d))"
)
CELL_RE = re.compile(CELL)
_JOINT = r"(?:\s*(?:,|-+>|→|>|-|\s|\s(?:and|then)\s)\s*"
_ENDS = rf"(?!\w)(?!\s+(?:to\s+the\s+|towards?\s+the\s+)?(?i:{COMPASS})\b)"
_LONE = r"(?<![A-Za-z0-9'.])(?P<lone>[UDLR])(?![A-Za-z0-9'.]\w|[A-Za-z0-9'=])"
STEP_RE = re.compile(
    rf"(?P<cell>{CELL})"
    rf"|(?:(?<!move )(?<!step )(?<!Move )(?<!Step )\b(?P<before>{NUMBER})(?:\s*{UNIT})?\s+(?:(?:further\s+)?(?:to"
    rf"|towards?)\s+(?:the\s+)?)?)?"
    rf"\b(?P<word>(?i:{COMPASS}))\b"
    rf"(?:\s*(?:[,:]\s*|\(\s*|x\s*|by\s+|for\s+)?(?P<after>{NUMBER}(?=\s*{UNIT})|(?i:twice|thrice)"
    rf"|(?<=x)\d)(?:\s*{UNIT})?{_ENDS}"
    rf"|\s+(?:to|until|till)\s+(?P<line>(?i:row|column|col))\s+(?P<until>\d{{1,2}})\b(?!\s*,?\s*(?i:col|row)))?"
    rf"|(?<![A-Za-z0-9])(?P<row>(?:[UDLR]{_JOINT}(?=[UDLR](?![A-Za-z0-9])))){{2,}}[UDLR]|[UDLR]{{2,}})(?![A-Za-z0-9])"
    rf"|(?<![A-Za-z0-9])(?P<winds>(?:[NSEW]{_JOINT}(?=[NSEW](?![A-Za-z0-9])))){{2,}}[NSEW]|[NSEW]{{3,}})(?![A-Za-z0-9])"
    rf"|{_LONE}"
    r"|\b(?i:over|across|along|back)\s+to\s+(?P<over>(?i:row|column"
    r"|col))\s+(?P<there>\d{1,2})\b(?!\s*,?\s*(?i:col|row))"
)


def steps_of(match: re.Match[str]) -> tuple[Step, ...]:
    """The steps of a match of `STEP_RE`."""
    if match["cell"]:
        return (Step(cell=named(match)),)
    if match["word"]:
        direction = DIRECTIONS[match["word"].lower()]
        if match["line"]:
            return (Step(direction, Named(match["line"][:3].lower(), int(match["until"]), 0)),)
        count = match["before"] or match["after"] or "1"
        number = int(count) if count.isdigit() else NUMBERS[count.lower()]
        return (Step(direction),) * number
    if match["over"]:
        return (Step(cell=Named(match["over"][:3].lower(), int(match["there"]), 0)),)
    letters = match["row"] or match["winds"] or match["lone"]
    return tuple(Step(INITIALS[letter]) for letter in letters if letter in INITIALS)


def named(match: re.Match[str]) -> Named:
    """The cell of a match of `CELL`."""
    for first, second in (("p1", "p2"), ("b1", "b2"), ("x", "y"), ("q1", "q2")):
        if match[first]:
            return Named("pair", int(match[first]), int(match[second]))
    for letter, number in (("l", "n"), ("l2", "n2"), ("pl", "pn"), ("pl2", "pn2")):
        if match[letter]:
            return Named("letter", ord(match[letter].upper()) - ord("A") + 1, int(match[number]))
    if match["c3"]:
        return Named("cr", int(match["c3"]), int(match["r3"]))
    return Named("rc", int(match["r1"] or match["r2"]), int(match["c1"] or match["c2"]))
