"""Differences between two arms that played the same seeds: interval, permutation test, effect sizes, Holm.

The unit is the seed. A test asks whether the signs of the paired differences could as well have been drawn by a coin
(Fisher 1935): exact up to EXACT_N pairs that differ, beyond that from FLIPS sign vectors of one fixed stream.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from emcoop.analysis.stats import LEVEL, Estimate, mean
from emcoop.core.seeds import GAMMA, derive
from emcoop.core.types import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT_N = 13
FLIPS = 9_999
CHUNK_VALUES = 1 << 21


@dataclass(frozen=True, slots=True)
class Contrast:
    """Arm a minus arm b on one measure, over the seeds that both have.

    `difference` is the mean of the paired differences with its BCa interval; `p` the two-sided permutation p-value and
    `adjusted` the same after Holm over its family (equal to `p` until `holm` is applied). `d` is Cohen's d with the
    pooled standard deviation of the arms, `d_paired` with that of the differences; `delta` is Cliff's delta in
    [-1, 1]. Those that the sample does not define are None. `unpaired` counts the seeds that only one arm has.
    """

    a: Estimate
    b: Estimate
    difference: Estimate
    p: float | None
    adjusted: float | None
    d: float | None
    d_paired: float | None
    delta: float | None
    unpaired: int = 0

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {
            "n": self.difference.n,
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "difference": self.difference.to_json(),
            "p": self.p,
            "p_holm": self.adjusted,
            "cohen_d": self.d,
            "cohen_d_paired": self.d_paired,
            "cliff_delta": self.delta,
            "unpaired_seeds": self.unpaired,
        }


def contrast(a: Mapping[int, float], b: Mapping[int, float], level: float = LEVEL) -> Contrast:
    """Compare two arms, each given as seed -> value, on the seeds they share.

    Raises ValueError for values that are not finite.
    """
    shared = sorted(a.keys() & b.keys())
    left, right = [_settled(a[seed]) for seed in shared], [_settled(b[seed]) for seed in shared]
    differences = paired(a, b)
    p = sign_flip(differences) if len(shared) > 1 else None
    return Contrast(
        a=mean(left, level),
        b=mean(right, level),
        difference=mean(differences, level),
        p=p,
        adjusted=p,
        d=cohen_d(left, right),
        d_paired=standardised(differences),
        delta=cliff_delta(left, right),
        unpaired=len(a.keys() ^ b.keys()),
    )


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """a - b for each seed that both have, in the order of the seeds.

    What is below the twelfth digit of the larger value is the rounding of sums, not a difference, and is left out.
    """
    return [_difference(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]


DIGITS = 12


def _difference(x: float, y: float) -> float:
    size = max(abs(x), abs(y))
    if not 0 < size < math.inf:
        return x - y
    return round(x - y, DIGITS - math.ceil(math.log10(size))) + 0.0  # no -0.0


def _settled(value: float) -> float:
    """The value to DIGITS digits, so that ranks do not hang on the rounding of sums."""
    return float(f"{value:.{DIGITS}g}")


def sign_flip(differences: Sequence[float]) -> float:
    """The two-sided p-value of the paired permutation test on the mean difference.

    The share of sign vectors whose |sum| is at least the observed one; the observed vector counts itself, so p is
    never 0. Differences of zero say nothing and are left out; with none left p is 1.
    """
    import numpy as np

    sizes = np.sort(np.abs(np.array([d for d in differences if d != 0.0], dtype=np.float64)))
    if not len(sizes):
        return 1.0
    # Rounding of the sum must not make an equal split look smaller than the observed one.
    least = abs(math.fsum(differences)) - 1e-9 * float(sizes.sum())
    if len(sizes) <= EXACT_N:
        count = 1 << len(sizes)
        bits = (np.arange(count)[:, None] >> np.arange(len(sizes))) & 1
        return float((np.abs((1 - 2 * bits) @ sizes) >= least).sum()) / count
    reached = 0
    rows = max(1, CHUNK_VALUES // len(sizes))
    for first in range(0, FLIPS, rows):
        signs = 1 - 2 * _bits(len(sizes), first, min(rows, FLIPS - first))
        reached += int((np.abs(signs @ sizes) >= least).sum())
    return (reached + 1) / (FLIPS + 1)


def _bits(n: int, first: int, rows: int) -> NDArray[np.int64]:
    """`rows` rows of n fair bits, from row `first` of the SplitMix64 stream of this n."""
    import numpy as np

    z = np.arange(first * n + 1, (first + rows) * n + 1, dtype=np.uint64) * np.uint64(GAMMA)
    z += np.uint64(derive(0, "sign-flip", n))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z >> np.uint64(63)).astype(np.int64).reshape(rows, n)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment (Holm 1979) over a family; None stays None and counts for nothing."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        adjusted[index] = highest
    return adjusted


def adjust(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The contrasts as one family: `adjusted` after Holm."""
    values = holm([c.p for c in contrasts])
    return [replace(c, adjusted=value) for c, value in zip(contrasts, values, strict=True)]


def cohen_d(a: Sequence[float], b: Sequence[float]) -> float | None:
    """(mean a - mean b) / pooled standard deviation (ddof 1); None for fewer than two values or no spread."""
    if len(a) < 2 or len(b) < 2 or (min(a) == max(a) and min(b) == max(b)):
        return None
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    squares = math.fsum((x - mean_a) ** 2 for x in a) + math.fsum((y - mean_b) ** 2 for y in b)
    spread = math.sqrt(squares / (len(a) + len(b) - 2))
    return (mean_a - mean_b) / spread if spread > 0 else None


def standardised(differences: Sequence[float]) -> float | None:
    """Mean over standard deviation (ddof 1) of paired differences; None for fewer than two, or without spread."""
    n = len(differences)
    if n < 2 or min(differences) == max(differences):
        return None
    centre = math.fsum(differences) / n
    spread = math.sqrt(math.fsum((d - centre) ** 2 for d in differences) / (n - 1))
    return centre / spread if spread > 0 else None  # 0: the squares of tiny numbers underflow


def cliff_delta(a: Sequence[float], b: Sequence[float]) -> float | None:
    """P(a > b) - P(a < b) over all pairs of values (Cliff 1993); None when an arm is empty."""
    if not a or not b:
        return None
    import numpy as np

    ordered = np.sort(np.asarray(b, dtype=np.float64))
    below = np.searchsorted(ordered, np.asarray(a), "left").sum()
    not_above = np.searchsorted(ordered, np.asarray(a), "right").sum()
    # below: pairs with b < a; len(b) - not_above: pairs with b > a.
    return float(below - (len(a) * len(b) - not_above)) / (len(a) * len(b))
