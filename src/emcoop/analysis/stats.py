"""Estimates with intervals: BCa bootstrap for means, Wilson for rates.

The unit of resampling is the episode, that is, the seed; never the agent. Resamples come from one fixed stream, so the
same sample has the same interval in any process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from emcoop.core.seeds import GAMMA, derive
from emcoop.core.types import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 4999
CHUNK = 1 << 20

LEAST = 3
"""Of fewer values there is no interval: that of two goes from the one to the other and covers half the time."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `n` episodes with its 95 % interval.

    `mean` is None for n = 0. `low` and `high` are None where the sample says too little about its spread: n < LEAST for
    a mean, n = 0 for a rate.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, Json]:
        """mean, low, high and n."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}


def rate(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """The share of successes with Wilson's score interval (Wilson 1927), without continuity correction.

    Raises ValueError unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials")
    if n == 0:
        return Estimate(None, None, None, 0)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = successes / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends are exact where nothing or everything succeeded; rounding must not move them.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return Estimate(share, low, high, n)


def mean(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """The mean with its bias-corrected and accelerated bootstrap interval (Efron 1987).

    A sample of equal values has the interval [mean, mean]; fewer than LEAST values have none, and the interval of few
    covers less often than it says (docs/analyses.md). Raises ValueError for values that are not finite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("a sample must be finite")
    n = len(values)
    if n == 0:
        return Estimate(None, None, None, 0)
    centre = math.fsum(values) / n
    if n < LEAST:
        return Estimate(centre, None, None, n)
    if min(values) == max(values):
        return Estimate(values[0], values[0], values[0], n)
    low, high = _bca(values, centre, level)
    # Summation order may put an end one rounding error beyond the mean.
    return Estimate(centre, min(low, centre), max(high, centre), n)


def _bca(values: Sequence[float], centre: float, level: float) -> tuple[float, float]:
    import numpy as np

    sample = np.sort(np.asarray(values, dtype=np.float64))  # so that the order of the episodes changes nothing
    means = np.sort(sample[_indices(len(values))].mean(axis=1))
    tie = 1e-12 * float(np.abs(sample).max())
    below = np.searchsorted(means, centre - tie, "left") + np.searchsorted(means, centre + tie, "right")
    normal = NormalDist()
    share = min(max(float(below) / (2 * RESAMPLES), 0.5 / RESAMPLES), 1 - 0.5 / RESAMPLES)
    bias = normal.inv_cdf(share)
    deviations = (sample - centre) / (len(values) - 1)  # jackknife: mean of the leave-one-out means minus each
    acceleration = float((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))

    def end(quantile: float) -> float:
        z = bias + normal.inv_cdf(quantile)
        return float(np.quantile(means, normal.cdf(bias + z / (1 - acceleration * z))))

    return end((1 - level) / 2), end((1 + level) / 2)


@lru_cache(maxsize=2)
def _indices(n: int) -> NDArray[np.int32]:
    """RESAMPLES rows of n indices into a sample of n, from the SplitMix64 stream of this n."""
    import numpy as np

    seed = np.uint64(derive(0, "bootstrap", n))
    drawn = np.empty(RESAMPLES * n, dtype=np.int32)
    for first in range(0, len(drawn), CHUNK):
        count = min(CHUNK, len(drawn) - first)
        z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(GAMMA) + seed
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        # The upper 32 bits scaled to [0, n): the bias is below n / 2^32.
        drawn[first : first + count] = ((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return drawn.reshape(RESAMPLES, n)
