"""What the scripted partners say and understand: a map as lines of symbols, and three short sentences.

    My map:
    @?.#          the rows of the speaker's copy, from the top
    ..

    I propose: right.      I agree: right.      I refuse: right.

Maps are understood in whatever words stand around them, with spaces, commas or ``/`` between symbols and rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from emcoop.envs.maze.state import GOAL, HIDDEN, START, SYMBOLS

LONGEST = 20_000
"""Characters of a message that are read."""

_SENTENCE = re.compile(r"\bI (propose|agree|refuse): (up|down|left|right|done)\b")


def say_map(rows: Sequence[str]) -> str:
    """The sentence that shares a map."""
    return "My map:\n" + "\n".join(rows)


def say(verb: str, what: str) -> str:
    """``propose``, ``agree`` or ``refuse`` as a sentence."""
    return f"I {verb}: {what}."


def sentences(text: str) -> list[tuple[str, str]]:
    """The (verb, what) of every such sentence, in order."""
    return _SENTENCE.findall(text[:LONGEST])


def read_maps(text: str, size: int) -> Iterator[tuple[str, ...]]:
    """Every map of this size in the text, in order."""
    run: list[str] = []
    for line in re.split(r"[\n/|;]", text[:LONGEST]):
        row = re.sub(r"[\s,`'\"]", "", line)
        row = re.sub(r"^[Rr]?(?:ow)?\d*[:)]", "", row)
        if len(row) != size or set(row) - set(SYMBOLS):
            run = []
            continue
        run.append(row)
        if len(run) == size:
            joined = "".join(run)
            if joined.count(START) == joined.count(GOAL) == 1:
                yield tuple(run)
            run = []


def merged(maps: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """One map of several: the first that shows a cell decides."""
    size = len(maps[0])
    return tuple(
        "".join(next((m[r][c] for m in maps if m[r][c] != HIDDEN), HIDDEN) for c in range(size)) for r in range(size)
    )
