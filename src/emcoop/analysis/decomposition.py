"""What each factor contributes: main effects, interactions and Shapley values, with intervals over seeds.

A factor is a faculty or a seat that another agent took over (see `emcoop.experiment.factorial`). v(S) is the outcome
of a seed when the factors of the coalition S are taken over. A factor that gains a lot by being taken over is where
the team fails; one that loses a lot by being replaced with its null is what the team lives on.

Everything is computed per seed first, and then summarised over seeds: the seed is the unit, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from emcoop.analysis.cells import EpisodeRecord
from emcoop.analysis.contrasts import holm, sign_flip
from emcoop.analysis.stats import Estimate, mean
from emcoop.core.errors import ConfigError
from emcoop.core.types import Json

Coalition: TypeAlias = frozenset[str]
Outcomes: TypeAlias = Mapping[Coalition, Mapping[int, float]]
"""Coalition -> seed -> outcome."""

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one factor, or the interaction of several; `p` by sign flips, `adjusted` by Holm over its kind."""

    factors: tuple[str, ...]
    estimate: Estimate
    p: float | None
    adjusted: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        effect = {**self.estimate.to_json(), "p": self.p, "p_holm": self.adjusted}
        return {"factors": list(self.factors), **effect}


@dataclass(frozen=True)
class Decomposition:
    """All effects over the `seeds` that every coalition has; `base` is v of the untouched team.

    `shapley` sums to v(all) - v(nothing) where the factorial is full; from a fraction (each factor alone, all but
    each) it is the mean of being taken over first and last. `interactions` are those of pairs, of a full factorial.
    """

    seeds: tuple[int, ...]
    base: Estimate
    top: Estimate
    main: tuple[Effect, ...]
    interactions: tuple[Effect, ...]
    shapley: tuple[Effect, ...]

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        kinds = {"main_effects": self.main, "interactions": self.interactions, "shapley": self.shapley}
        found: dict[str, Json] = {name: [e.to_json() for e in effects] for name, effects in kinds.items()}
        return {"n": len(self.seeds), "base": self.base.to_json(), "all": self.top.to_json(), **found}


def outcomes(
    records: Sequence[EpisodeRecord], cells: Mapping[Coalition, str], metric: str, *, lower_is_better: bool = False
) -> dict[Coalition, dict[int, float]]:
    """The outcome of each coalition from the records of its cell, turned so that more is better."""
    sign = -1.0 if lower_is_better else 1.0
    found: dict[Coalition, dict[int, float]] = {coalition: {} for coalition in cells}
    by_cell: dict[str, list[Coalition]] = {}
    for coalition, cell in cells.items():
        by_cell.setdefault(cell, []).append(coalition)
    for record in records:
        value = record.metrics.get(metric) if record.status == "finished" else None
        if value is not None:
            for coalition in by_cell.get(record.cell, ()):
                found[coalition][record.seed] = sign * value
    return found


def decompose(factors: Sequence[str], values: Outcomes) -> Decomposition:
    """All effects of these factors. Raises ConfigError when neither the full factorial nor the fraction is there, or
    when no seed has been played in every coalition."""
    every = {frozenset(chosen) for size in range(len(factors) + 1) for chosen in combinations(factors, size)}
    full = every <= values.keys()
    alone = {f: frozenset({f}) for f in factors}
    nothing, whole = frozenset[str](), frozenset(factors)
    needed = every if full else {nothing, whole, *alone.values(), *(whole - own for own in alone.values())}
    if missing := sorted(sorted(c) for c in needed - values.keys()):
        raise ConfigError(f"coalitions are missing: {'; '.join('+'.join(c) or 'none' for c in missing[:5])}")
    seeds = tuple(sorted(set.intersection(*(set(values[coalition]) for coalition in needed))))
    if not seeds:
        raise ConfigError("no seed has been played in every coalition; effects are paired by seed")
    coalitions = list(needed)
    return Decomposition(
        seeds=seeds,
        base=mean([values[nothing][seed] for seed in seeds]),
        top=mean([values[whole][seed] for seed in seeds]),
        main=_effects([((f,), _gains(values, coalitions, f, seeds, weighted=False)) for f in factors]),
        interactions=_effects(
            [((f, g), _synergy(values, factors, f, g, seeds)) for f, g in combinations(factors, 2)] if full else []
        ),
        shapley=_effects([((f,), _gains(values, coalitions, f, seeds, weighted=True)) for f in factors]),
    )


def _gains(
    values: Outcomes, coalitions: Sequence[Coalition], factor: str, seeds: Sequence[int], *, weighted: bool
) -> list[float]:
    """Per seed: the mean of v(S + factor) - v(S) over the coalitions S; for Shapley every size of S weighs the same."""
    without = sorted((c for c in coalitions if factor not in c and c | {factor} in values), key=sorted)
    without = [c for c in without if c | {factor} in set(coalitions)]
    sizes: dict[int, int] = {}
    for coalition in without:
        sizes[len(coalition)] = sizes.get(len(coalition), 0) + 1
    weights = [1 / (sizes[len(c)] * len(sizes)) if weighted else 1 / len(without) for c in without]
    return [
        math.fsum(w * (values[c | {factor}][seed] - values[c][seed]) for w, c in zip(weights, without, strict=True))
        for seed in seeds
    ]


def _synergy(values: Outcomes, factors: Sequence[str], f: str, g: str, seeds: Sequence[int]) -> list[float]:
    """Per seed: the mean over S of v(S + f + g) - v(S + f) - v(S + g) + v(S)."""
    others = [x for x in factors if x not in (f, g)]
    rest = [frozenset(chosen) for size in range(len(others) + 1) for chosen in combinations(others, size)]

    def of(coalition: Coalition, seed: int) -> float:
        both = values[coalition | {f, g}][seed] - values[coalition | {f}][seed]
        return both - values[coalition | {g}][seed] + values[coalition][seed]

    return [math.fsum(of(coalition, seed) for coalition in rest) / len(rest) for seed in seeds]


def _effects(samples: Sequence[tuple[tuple[str, ...], list[float]]]) -> tuple[Effect, ...]:
    found = [
        Effect(factors, mean(_clean(sample)), sign_flip(_clean(sample)) if len(sample) > 1 else None)
        for factors, sample in samples
    ]
    adjusted = holm([effect.p for effect in found])
    return tuple(replace(effect, adjusted=value) for effect, value in zip(found, adjusted, strict=True))


def _clean(sample: Sequence[float]) -> list[float]:
    """Without the rounding that weights leave where nothing happened."""
    return [0.0 if abs(value) < 1e-12 else value for value in sample]


def single_effects(values: Outcomes) -> tuple[Effect, ...]:
    """Each factor taken over alone against the untouched team, on the seeds that both have; Holm over all factors.

    Raises ConfigError when the untouched team was not played.
    """
    nothing = frozenset[str]()
    if not values.get(nothing):
        raise ConfigError("the untouched team was not played; there is nothing to compare with")
    samples = []
    for coalition in sorted((c for c in values if len(c) == 1), key=sorted):
        seeds = sorted(values[coalition].keys() & values[nothing].keys())
        samples.append((tuple(coalition), [values[coalition][s] - values[nothing][s] for s in seeds]))
    return _effects(samples)


def culprit(effects: Sequence[Effect], alpha: float = ALPHA) -> Effect | None:
    """The factor whose being taken over helps most, if it helps beyond chance (Holm); None for a healthy team."""
    return max(_clear(effects, 1, alpha), key=_size, default=None)


def mainstay(effects: Sequence[Effect], alpha: float = ALPHA) -> Effect | None:
    """The factor whose being taken over costs most, if it costs beyond chance (Holm): what the team lives on."""
    return max(_clear(effects, -1, alpha), key=_size, default=None)


def _clear(effects: Sequence[Effect], sign: int, alpha: float) -> list[Effect]:
    """Those beyond chance of this sign."""
    found = [effect for effect in effects if effect.adjusted is not None and effect.adjusted <= alpha]
    return [effect for effect in found if sign * (effect.estimate.mean or 0.0) > 0]


def _size(effect: Effect) -> tuple[float, tuple[str, ...]]:
    return abs(effect.estimate.mean or 0.0), effect.factors


def fewest_seeds(factors: int, alpha: float = ALPHA) -> int:
    """With fewer seeds no factor of so many can be named: n sign flips have no p below 2 / 2^n, before Holm."""
    return math.ceil(math.log2(2 * factors / alpha))
