"""What a metric is: a named pure function from the trace of one episode to one number, or to None."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from emcoop.metrics.trace import Trace

Value = float | None
"""A metric's value; None where it is not defined (a rate with an empty denominator, an unknown price)."""


class Direction(StrEnum):
    """Which way is better, all else equal; `NONE` where neither is (a description of style)."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


@dataclass(frozen=True)
class Metric:
    """A metric: call it with a `Trace`.

    `name` is its key (``M4``, ``steps``), `title` what a table prints, `unit` what its values are counted in.
    """

    name: str
    title: str
    unit: str
    direction: Direction
    function: Callable[[Trace], Value]

    def __call__(self, trace: Trace) -> Value:
        return self.function(trace)

    @property
    def definition(self) -> str:
        """Formula and source: the docstring of the function."""
        return inspect.getdoc(self.function) or ""


def metric(name: str, title: str, unit: str, direction: Direction) -> Callable[[Callable[[Trace], Value]], Metric]:
    """Declare the decorated function a metric of this name."""
    return lambda function: Metric(name, title, unit, direction, function)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0 for no values."""
    return math.fsum(values) / len(values) if values else 0.0


def std(values: Sequence[float]) -> float:
    """The population standard deviation (ddof 0); 0 for no values, exactly 0 for equal ones."""
    if not values or min(values) == max(values):
        return 0.0
    centre = mean(values)
    return math.sqrt(mean([(v - centre) ** 2 for v in values]))


def ratio(numerator: float, denominator: float) -> Value:
    """numerator / denominator, None when the denominator is 0."""
    return numerator / denominator if denominator else None
