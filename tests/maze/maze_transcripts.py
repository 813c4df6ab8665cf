"""The dialogues of maze_transcripts.yaml, where the rules of labelling stand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

_DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

MAZES: dict[str, tuple[str, ...]] = {name: tuple(rows) for name, rows in _DATA["mazes"].items()}


@dataclass(frozen=True)
class Dialogue:
    """A transcript: (speaker, text) in order; `way` are the agreed letters up to the end, None for unresolved."""

    name: str
    maze: str
    said: tuple[tuple[int, str], ...]
    way: str | None
    hit: str = ""


def _group(name: str) -> list[Dialogue]:
    return [Dialogue(**{**entry, "said": _turns(entry["said"])}) for entry in _DATA[name]]


def _turns(text: str) -> tuple[tuple[int, str], ...]:
    said: list[tuple[int, str]] = []
    for line in text.strip().splitlines():
        begun = re.match(r"([ABC]): ?", line.strip())
        if begun:
            said.append(("ABC".index(begun[1]), line.strip()[begun.end() :]))
        else:
            said[-1] = (said[-1][0], said[-1][1] + "\n" + line.strip())
    return tuple(said)


DEVELOPED, HELD_OUT, LATER, FRESH, AGAIN, THIRD, BLIND, PLAIN = map(
    _group, ("developed", "held_out", "later", "fresh", "again", "third", "blind", "plain")
)
