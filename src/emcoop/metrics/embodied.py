"""Embodied effects (paper, section 5.2 and equation 21): capability gains, M14, and constraints, M15-M18.

The satisfying count of a task under one kind of constraint is the number of agents that satisfy that kind at a
step; a task that a step does not list has the count 0.
"""

from __future__ import annotations

from itertools import pairwise

from emcoop.core.types import Constraint, TaskId
from emcoop.metrics.base import Direction, Value, mean, metric, ratio
from emcoop.metrics.trace import StepFacts, Trace


def _count(step: StepFacts, task: TaskId, kind: Constraint) -> int:
    counts = step.tasks.get(task)
    return 0 if counts is None else counts.satisfied[kind]


def improvement(trace: Trace, kind: Constraint) -> float:
    """|I| / (|I| + |W|); 0.5 when both are empty.

    I and W are the sets of tasks whose satisfying count ever rose, ever fell, between successive steps. A task can
    be in both.
    """
    improved: set[TaskId] = set()
    worsened: set[TaskId] = set()
    for before, after in pairwise(trace.steps):
        for task in {*before.tasks, *after.tasks}:
            change = _count(after, task, kind) - _count(before, task, kind)
            if change > 0:
                improved.add(task)
            elif change < 0:
                worsened.add(task)
    moved = len(improved) + len(worsened)
    return len(improved) / moved if moved else 0.5


def deficit(trace: Trace, kind: Constraint) -> Value:
    """Mean of max(0, 1 - satisfied / required) over attempts; None when there was none.

    An attempt is one task at one step at which some agent acts on it.
    """
    shortfalls = [
        max(0.0, 1.0 - counts.satisfied[kind] / counts.required) if counts.required > 0 else 0.0
        for step in trace.steps
        for counts in step.tasks.values()
        if counts.attempting
    ]
    return mean(shortfalls) if shortfalls else None


@metric("M14", "capability gain rate", "gains/step", Direction.HIGHER)
def m14_capability_gain_rate(trace: Trace) -> Value:
    """(tools and skills gained by any agent) / T. None when T = 0. Paper, section 5.2 (Delta Z)."""
    return ratio(sum(step.gains for step in trace.steps), len(trace.steps))


@metric("M15", "spatial improvement", "share", Direction.HIGHER)
def m15_spatial(trace: Trace) -> Value:
    """|I| / (|I| + |W|) of the spatial constraint, 0.5 when both are empty. Paper, equation 21."""
    return improvement(trace, Constraint.SPATIAL)


@metric("M16", "temporal improvement", "share", Direction.HIGHER)
def m16_temporal(trace: Trace) -> Value:
    """|I| / (|I| + |W|) of the temporal constraint, 0.5 when both are empty. Paper, equation 21."""
    return improvement(trace, Constraint.TEMPORAL)


@metric("M17", "dependency improvement", "share", Direction.HIGHER)
def m17_dependency(trace: Trace) -> Value:
    """|I| / (|I| + |W|) of the dependency constraint, 0.5 when both are empty. Paper, equation 21."""
    return improvement(trace, Constraint.DEPENDENCY)


@metric("M18", "participation improvement", "share", Direction.HIGHER)
def m18_participation(trace: Trace) -> Value:
    """|I| / (|I| + |W|) of participation: agents that satisfy all other kinds at once. Paper, equation 21."""
    return improvement(trace, Constraint.PARTICIPATION)


@metric("deficit_spatial", "spatial deficit", "share", Direction.LOWER)
def deficit_spatial(trace: Trace) -> Value:
    """Mean over attempts of max(0, 1 - agents satisfying the spatial constraint / p(g)). None without attempts."""
    return deficit(trace, Constraint.SPATIAL)


@metric("deficit_temporal", "temporal deficit", "share", Direction.LOWER)
def deficit_temporal(trace: Trace) -> Value:
    """Mean over attempts of max(0, 1 - agents satisfying the temporal constraint / p(g)). None without attempts."""
    return deficit(trace, Constraint.TEMPORAL)


@metric("deficit_dependency", "dependency deficit", "share", Direction.LOWER)
def deficit_dependency(trace: Trace) -> Value:
    """Mean over attempts of max(0, 1 - agents satisfying the dependency constraint / p(g)). None without attempts."""
    return deficit(trace, Constraint.DEPENDENCY)


@metric("deficit_participation", "participation deficit", "share", Direction.LOWER)
def deficit_participation(trace: Trace) -> Value:
    """Mean over attempts of max(0, 1 - agents satisfying all kinds at once / p(g)). None without attempts."""
    return deficit(trace, Constraint.PARTICIPATION)
