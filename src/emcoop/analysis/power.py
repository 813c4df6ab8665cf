"""How many seeds it takes to tell two arms apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from emcoop.analysis.contrasts import standardised
from emcoop.core.errors import ConfigError
from emcoop.core.types import Json

MOST_SEEDS = 1_000_000
LARGE_SHIFT = 35.0
"""Beyond this shift the non-central t underflows; the mean then hardly varies, and only the spread decides."""

NO_OTHER_TAIL = 6.0
"""From this shift on the wrong sign has a chance below 1e-9, and scipy's value for it may not be a number."""


def power(effect: float, n: int, alpha: float = 0.05) -> float:
    """The chance that a two-sided paired t-test at `alpha` finds a standardised difference of `effect` in n seeds.

    From the non-central t distribution (Cohen 1988, chapter 2). Raises ValueError for n < 2.
    """
    if n < 2:
        raise ValueError(f"a paired test needs at least 2 seeds, not {n}")
    from scipy import stats

    critical = float(stats.t.isf(alpha / 2, n - 1))
    shift = abs(effect) * math.sqrt(n)
    if shift > LARGE_SHIFT:
        return float(stats.chi2.cdf((n - 1) * (shift / critical) ** 2, n - 1))
    found = float(stats.nct.sf(critical, n - 1, shift))
    other = float(stats.nct.cdf(-critical, n - 1, shift)) if shift < NO_OTHER_TAIL else 0.0
    return found + (other if other > 0 else 0.0)  # not a number where it is far below alpha


def _check(power_wanted: float, alpha: float) -> None:
    for name, value in (("power", power_wanted), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ConfigError(f"{name} {value} is not between 0 and 1")


def seeds_needed(effect: float, *, power_wanted: float = 0.8, alpha: float = 0.05) -> int | None:
    """The least number of seeds with that power; None when more than MOST_SEEDS would be needed.

    `effect` is the mean of the paired differences over their standard deviation (`Contrast.d_paired`). Raises
    ConfigError for a power or alpha outside (0, 1).
    """
    _check(power_wanted, alpha)
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
    """The smallest standardised difference that n seeds find with that power.

    Raises ValueError for n < 2, ConfigError for a power or alpha outside (0, 1).
    """
    _check(power_wanted, alpha)
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
    permutation test can reach `alpha` at all. Raises ValueError for fewer than two differences, ConfigError for a power
    or alpha outside (0, 1).
    """
    _check(power_wanted, alpha)
    n = len(differences)
    if n < 2:
        raise ValueError("a pilot needs at least 2 pairs")
    centre = math.fsum(differences) / n
    if centre == 0:
        return None
    fewest = math.ceil(math.log2(2 / alpha))  # the smallest two-sided p of n sign flips is 2 / 2^n
    effect = standardised(differences)
    if effect is None:
        return fewest
    needed = seeds_needed(effect, power_wanted=power_wanted, alpha=alpha)
    return None if needed is None else max(needed, fewest)


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a pilot of `n` pairs says about a repeat.

    `effect` is its standardised paired difference (None without spread), `power` the chance that a repeat with as many
    seeds finds it, `needed` the seeds that find it with the power that is wanted (None: the pilot shows no
    difference), and `smallest` the smallest standardised difference that n seeds find with that power.
    """

    n: int
    effect: float | None
    power: float | None
    needed: int | None
    smallest: float

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        found: dict[str, Json] = {"n": self.n, "effect": self.effect, "power_with_n": self.power}
        return {**found, "seeds_needed": self.needed, "smallest_effect_found": self.smallest}


def pilot(differences: Sequence[float], *, power_wanted: float = 0.8, alpha: float = 0.05) -> Pilot:
    """What these paired differences say about a repeat.

    Raises ConfigError for fewer than two of them, and for a power or alpha outside (0, 1).
    """
    n = len(differences)
    if n < 2:
        raise ConfigError(f"a pilot needs at least 2 seeds that both arms have; there are {n}")
    needed = seeds_to_tell_apart(differences, power_wanted=power_wanted, alpha=alpha)
    smallest = detectable(n, power_wanted=power_wanted, alpha=alpha)
    effect = standardised(differences)
    return Pilot(n, effect, None if effect is None else power(effect, n, alpha), needed, smallest)
