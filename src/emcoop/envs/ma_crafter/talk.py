"""The messages of the scripted team: short sentences that people and programs can read.

    FOUND diamond at 12 40                I have seen this there (row, column)
    GATHER tree at 30 31                  let us take this together; come and collect it
    FOLLOW 28 30                          come to me; I am there
    NEED tree                             this is what I lack next

A message may hold several sentences, separated by ". ". Whatever is no such sentence is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Verb = Literal["GATHER", "FOLLOW"]

_PLACE = r"(\d{1,3}) (\d{1,3})\b"
_FOUND = re.compile(rf"\bFOUND (diamond|iron|coal|water|table|furnace) at {_PLACE}")
_CALL = re.compile(rf"\b(?:GATHER (tree|stone|coal|iron|diamond) at|(FOLLOW)) {_PLACE}")
_NEED = re.compile(r"\bNEED (tree|stone|coal|iron|diamond)\b")

LONGEST = 4_000
"""Characters of a message that are read."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a captain asks its squad to do together, and where."""

    verb: Verb
    thing: str
    cell: tuple[int, int]

    def say(self) -> str:
        """The sentence."""
        at = f"{self.cell[0]} {self.cell[1]}"
        return f"FOLLOW {at}" if self.verb == "FOLLOW" else f"{self.verb} {self.thing} at {at}"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message says."""

    found: tuple[tuple[str, tuple[int, int]], ...] = ()
    call: Call | None = None
    need: str | None = None


def understand(text: str) -> Heard:
    """The sentences of a message; any text can be read, and says nothing where it has none."""
    text = text[:LONGEST]
    found = tuple((kind, (int(row), int(col))) for kind, row, col in _FOUND.findall(text))
    need = _NEED.search(text)
    call = _CALL.search(text)
    return Heard(found, _call(call) if call is not None else None, need[1] if need is not None else None)


def _call(match: re.Match[str]) -> Call:
    return Call("FOLLOW" if match[2] else "GATHER", match[1] or "", (int(match[3]), int(match[4])))


def say_found(kind: str, cell: tuple[int, int]) -> str:
    """The sentence that tells of a find."""
    return f"FOUND {kind} at {cell[0]} {cell[1]}"
