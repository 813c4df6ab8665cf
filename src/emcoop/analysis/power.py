"""How many seeds it takes to tell two arms apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from emcoop.core.errors import ConfigError

MOST_SEEDS = 1_000_000


def power(effect: float, n: int, alpha: float = 0.05) -> float:
    """The chance that a two-sided paired t-test at `alpha` finds a standardised difference of `effect` in n seeds.

    From the non-central t distribution (Cohen 1988, chapter 2). Raises ValueError for n < 2.
    """
    if n < 2:
        raise ValueError(f"a paired test needs at least 2 seeds, not {n}")
    from scipy import stats

    critical = float(stats.t.ppf(1 - alpha / 2, n - 1))
    shift = abs(effect) * math.sqrt(n)
    if shift > 35:  # beyond this the distribution's tails underflow, and nothing is in doubt
        return 1.0
    return float(stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift))


def seeds_needed(effect: float, *, power_wanted: float = 0.8, alpha: float = 0.05) -> int | None:
    """The least number of seeds with that power; None when more than MOST_SEEDS would be needed.

    `effect` is the mean of the paired differences over their standard deviation (`Contrast.d_paired`). Raises
    ConfigError for a power or alpha outside (0, 1).
    """
    for name, value in (("power", power_wanted), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ConfigError(f"{name} {value} is not between 0 and 1")
    if power(effect, MOST_SEEDS, alpha) < power_wanted:
        return None
    low, high = 1, 2
    while power(effect, high, alpha) < power_wanted:
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, middle, alpha) >= power_wanted else (middle, high)
    return high


def detectable(n: int, *, power_wanted: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest standardised difference that n seeds find with that power. Raises ValueError for n < 2."""
    low, high = 0.0, 1.0
    while power(high, n, alpha) < power_wanted:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle, n, alpha) >= power_wanted else (middle, high)
    return high


def seeds_to_tell_apart(differences: Sequence[float], *, power_wanted: float = 0.8, alpha: float = 0.05) -> int | None:
    """From a pilot's paired differences: the seeds a repeat needs, were the pilot's effect the true one.

    None where the pilot has no difference. A pilot without spread and with a difference needs the fewest seeds whose
    permutation test can reach `alpha` at all. Raises ValueError for fewer than two differences.
    """
    n = len(differences)
    if n < 2:
        raise ValueError("a pilot needs at least 2 pairs")
    centre = math.fsum(differences) / n
    if centre == 0:
        return None
    fewest = math.ceil(math.log2(2 / alpha))  # the smallest two-sided p of n sign flips is 2 / 2^n
    spread = math.sqrt(math.fsum((d - centre) ** 2 for d in differences) / (n - 1))
    if spread == 0:
        return fewest
    needed = seeds_needed(centre / spread, power_wanted=power_wanted, alpha=alpha)
    return None if needed is None else max(needed, fewest)
