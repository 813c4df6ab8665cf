"""Random streams: SplitMix64 (Steele, Lea and Flood 2014), a 64-bit counter generator in plain Python.

One integer names an episode. Independent streams are derived from it by name, so that adding a consumer never
shifts another's numbers. A stream is one integer of state, so it can lie inside an environment's state.
"""

from __future__ import annotations

import hashlib
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

MASK64 = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix64(z: int) -> int:
    """The output function of SplitMix64 for counter value z (mod 2^64)."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def derive(seed: int, *names: str | int) -> int:
    """A 64-bit seed for the stream of this name under this seed; the same in every process and version."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


@dataclass(slots=True)
class Stream:
    """A SplitMix64 stream; `counter` is its whole state."""

    counter: int

    @classmethod
    def named(cls, seed: int, *names: str | int) -> Stream:
        """The stream of this name under this seed."""
        return cls(derive(seed, *names))

    def next64(self) -> int:
        """The next 64 random bits."""
        self.counter = (self.counter + GAMMA) & MASK64
        return mix64(self.counter)

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), without modulo bias. Raises ValueError for n < 1."""
        if n < 1:
            raise ValueError(f"below() needs a positive bound, not {n}")
        limit = (1 << 64) - ((1 << 64) % n)
        while True:
            value = self.next64()
            if value < limit:
                return value % n

    def uniform(self) -> float:
        """A uniform number in [0, 1) with 53 random bits."""
        return (self.next64() >> 11) * (1.0 / (1 << 53))

    def choice(self, items: Sequence[T]) -> T:
        """One of the items, uniformly."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Fisher-Yates, in place."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
