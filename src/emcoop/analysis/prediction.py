"""Does the process before a step say that a constraint will fall short at it (paper, equation 14)?

A logistic model of P(violated | stages and messages of the window before), fitted on some seeds and judged on others:
its log-loss there, against that of always saying the base rate. What a window without any information gives is no gain.
The window ends with the step: the last interval in it is the one in which the step was decided (paper, equation 9).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emcoop.analysis.stats import LEVEL, Estimate, mean
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.core.types import Constraint, Json, Micros, Stage
from emcoop.metrics import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEATURES = ("reasoning", "waiting", "interrupted", "interruptions", "messages")
"""Shares of the team's time in R, W and I in the window (the rest is X), entries into I and messages per agent."""

WINDOW = 5
FOLDS = 5
RESAMPLES = 199
RIDGE = 1.0
"""Penalty on standardised coefficients: a prior worth one observation, so that separable samples have a fit."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One step at which somebody was at a task: the window up to it, and whether participation fell short there."""

    seed: int
    features: tuple[float, ...]
    violated: bool


@dataclass(frozen=True, slots=True)
class Coefficient:
    """The change of the log-odds per standard deviation of the feature, with its bootstrap interval over seeds."""

    feature: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """The model of `n` samples from `seeds` seeds.

    `log_loss` is held out by seed, `base_loss` that of the training folds' base rate on the same samples, and `gain`
    the mean over seeds of their difference (above 0: the window helps) with its interval.
    """

    n: int
    seeds: int
    rate: float
    log_loss: float
    base_loss: float
    gain: Estimate
    coefficients: tuple[Coefficient, ...]

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {
            "n": self.n,
            "seeds": self.seeds,
            "rate": self.rate,
            "log_loss": self.log_loss,
            "base_log_loss": self.base_loss,
            "gain": self.gain.to_json(),
            "coefficients": {c.feature: {"mean": c.value, "low": c.low, "high": c.high} for c in self.coefficients},
        }


def samples(trace: Trace, seed: int, window: int = WINDOW) -> list[Sample]:
    """One sample per step, from the second on, at which an agent satisfied a task's spatial constraint.

    Its window are the last `window` intervals between steps, the one that led to this step included.
    """
    times = [0, *(step.time for step in trace.steps)]
    entries = sorted(i.start for intervals in trace.stages.values() for i in intervals if i.stage is Stage.INTERRUPT)
    sent = sorted(message.time for message in trace.messages)
    found = []
    for index, step in enumerate(trace.steps[1:], start=1):
        attended = [task for task in step.tasks.values() if task.satisfied[Constraint.SPATIAL] > 0]
        if attended:
            short = [t for t in attended if t.satisfied[Constraint.PARTICIPATION] < t.required]
            since, until = times[max(0, index + 1 - window)], times[index + 1]
            features = _features(trace, since, until, entries, sent)
            found.append(Sample(seed, features, len(short) == len(attended)))
    return found


def _features(
    trace: Trace, since: Micros, until: Micros, entries: Sequence[Micros], sent: Sequence[Micros]
) -> tuple[float, ...]:
    spent = dict.fromkeys(Stage, 0)
    for intervals in trace.stages.values():
        first = max(0, bisect_left(intervals, since, key=lambda i: i.start) - 1)
        for interval in intervals[first:]:
            if interval.start >= until:
                break
            spent[interval.stage] += max(0, min(interval.end, until) - max(interval.start, since))
    total = sum(spent.values()) or 1
    team = len(trace.team)
    events = (
        (bisect_left(entries, until) - bisect_left(entries, since)) / team,
        (bisect_left(sent, until) - bisect_left(sent, since)) / team,
    )
    return (*(spent[stage] / total for stage in (Stage.REASON, Stage.WAIT, Stage.INTERRUPT)), *events)


def predict(found: Iterable[Sample]) -> Prediction:
    """Fit and judge the model. Raises ConfigError for fewer than FOLDS seeds, or samples all of one outcome."""
    import numpy as np

    rows = list(found)
    seeds = sorted({row.seed for row in rows})
    if len(seeds) < FOLDS:
        raise ConfigError(f"a held-out judgement needs samples of at least {FOLDS} seeds; there are {len(seeds)}")
    rate = sum(row.violated for row in rows) / len(rows)
    if rate in (0.0, 1.0):
        raise ConfigError("constraints fell short always or never; there is nothing to tell apart")
    x = np.array([row.features for row in rows])
    y = np.array([row.violated for row in rows], dtype=np.float64)
    group = np.array([seeds.index(row.seed) for row in rows])
    model, base = _held_out(x, y, group)
    gains = [float((base - model)[group == index].mean()) for index in range(len(seeds))]
    return Prediction(
        n=len(rows),
        seeds=len(seeds),
        rate=rate,
        log_loss=float(model.mean()),
        base_loss=float(base.mean()),
        gain=mean(gains),
        coefficients=_coefficients(x, y, group, len(seeds)),
    )


def _held_out(
    x: NDArray[np.float64], y: NDArray[np.float64], group: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The log-loss of each sample under the model, and under the base rate, of the other folds."""
    import numpy as np

    model, base = np.empty(len(y)), np.empty(len(y))
    for fold in range(FOLDS):
        test = group % FOLDS == fold
        centre, scale, weights = _fit(x[~test], y[~test])
        model[test] = _loss(y[test], _probability((x[test] - centre) / scale, weights))
        # One more of each outcome, so that a fold without one of them is not infinitely surprised.
        base[test] = _loss(y[test], np.full(test.sum(), (y[~test].sum() + 1) / ((~test).sum() + 2)))
    return model, base


def _fit(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Ridge logistic regression by Newton's method on standardised features; weights start with the intercept."""
    import numpy as np

    centre, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    design = np.column_stack([np.ones(len(x)), (x - centre) / scale])
    penalty = np.diag([1e-6, *([RIDGE] * x.shape[1])])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (y - p) - penalty @ weights
        hessian = (design * (p * (1 - p))[:, None]).T @ design + penalty
        change = np.linalg.solve(hessian, gradient)
        weights = weights + np.clip(change, -5, 5)
        if float(np.abs(change).max()) < 1e-8:
            break
    return centre, scale, weights


def _probability(z: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(weights[0] + z @ weights[1:], -30, 30)))
    return found


def _loss(y: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    kept = np.clip(p, 1e-12, 1 - 1e-12)
    found: NDArray[np.float64] = -(y * np.log(kept) + (1 - y) * np.log(1 - kept))
    return found


def _coefficients(
    x: NDArray[np.float64], y: NDArray[np.float64], group: NDArray[np.int64], seeds: int
) -> tuple[Coefficient, ...]:
    import numpy as np

    weights = _fit(x, y)[2][1:]
    members = [np.flatnonzero(group == index) for index in range(seeds)]
    stream = Stream.named(0, "prediction", seeds)
    drawn = []
    for _ in range(RESAMPLES):
        chosen = np.concatenate([members[stream.below(seeds)] for _ in range(seeds)])
        drawn.append(_fit(x[chosen], y[chosen])[2][1:])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.array(drawn), [tail, 1 - tail], axis=0)
    return tuple(
        Coefficient(name, float(w), float(lo), float(hi))
        for name, w, lo, hi in zip(FEATURES, weights, low, high, strict=True)
        if math.isfinite(w)
    )
