"""Which of a study's episodes are played here: those of a shard, or those given to one of several processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from emcoop.core.errors import ConfigError

T = TypeVar("T")

SHARDS = "shards"
WORKERS = "workers"
"""Folders of a run: logs of parts that were played elsewhere, or by other processes of this machine."""


class Part(Protocol):
    """Some of a study's episodes."""

    def of(self, every: list[T]) -> list[T]:
        """Those of all episodes that belong to it, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Picked:
    """The episodes at these places among all."""

    places: tuple[int, ...]

    def of(self, every: list[T]) -> list[T]:
        return [every[place] for place in self.places]


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `index` of `count` equal parts of a study's episodes, for machines that work side by side."""

    index: int
    count: int

    def of(self, every: list[T]) -> list[T]:
        """Each `count`-th one, so that shards take about equally long."""
        return every[self.index :: self.count]

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``0/4`` to ``3/4``. Raises ConfigError."""
        index, slash, count = text.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
            raise ConfigError(f"shard {text!r}: write i/n with i from 0 to n-1, such as 0/4")
        return cls(int(index), int(count))

    @property
    def folder(self) -> str:
        """Its place inside the run folder; `emcoop merge` looks there."""
        return f"{SHARDS}/{self.index}-of-{self.count}"
