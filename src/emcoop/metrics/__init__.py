"""From the log of an episode to numbers: M1-M18 of the paper, constraint deficits and the outcome.

A metric is a pure function of a `Trace`, which is built in one pass over the events. An installed package adds
its own through the entry-point group ``emcoop.metrics``; each entry is a `Metric`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from emcoop.core.errors import ConfigError
from emcoop.core.registry import Registry
from emcoop.metrics.base import Direction, Metric, Value, metric
from emcoop.metrics.trace import Event, Trace

__all__ = [
    "METRICS",
    "PAPER",
    "Direction",
    "Event",
    "Metric",
    "Trace",
    "Value",
    "compute",
    "load_metric",
    "measure",
    "metric",
    "metric_order",
]

_OVERHEAD = "emcoop.metrics.overhead:"
_COMMUNICATION = "emcoop.metrics.communication:"
_PLANNING = "emcoop.metrics.planning:"
_EMBODIED = "emcoop.metrics.embodied:"
_OUTCOME = "emcoop.metrics.outcome:"

METRICS = Registry(
    "metric",
    "emcoop.metrics",
    {
        "M1": _OVERHEAD + "m1_decision_overhead",
        "M2": _OVERHEAD + "m2_decision_time_mean",
        "M3": _OVERHEAD + "m3_decision_time_std",
        "M4": _OVERHEAD + "m4_wait_time_mean",
        "M5": _OVERHEAD + "m5_wait_time_std",
        "M6": _COMMUNICATION + "m6_messages_total",
        "M7": _COMMUNICATION + "m7_messages_std",
        "M8": _COMMUNICATION + "m8_messages_mean",
        "M9": _PLANNING + "m9_plans",
        "M10": _PLANNING + "m10_interruptions",
        "M11": _PLANNING + "m11_resumption_rate",
        "M12": _PLANNING + "m12_replanning_rate",
        "M13": _PLANNING + "m13_coherence",
        "M14": _EMBODIED + "m14_capability_gain_rate",
        "M15": _EMBODIED + "m15_spatial",
        "M16": _EMBODIED + "m16_temporal",
        "M17": _EMBODIED + "m17_dependency",
        "M18": _EMBODIED + "m18_participation",
        "success": _OUTCOME + "success",
        "progress": _OUTCOME + "progress",
        "steps": _OUTCOME + "steps",
        "duration": _OUTCOME + "duration",
        "input_tokens": _OUTCOME + "input_tokens",
        "output_tokens": _OUTCOME + "output_tokens",
        "model_calls": _OUTCOME + "model_calls",
        "cost_usd": _OUTCOME + "cost_usd",
        "invalid_action_rate": _OUTCOME + "invalid_action_rate",
        "fallback_rate": _OUTCOME + "fallback_rate",
        "deficit_spatial": _EMBODIED + "deficit_spatial",
        "deficit_temporal": _EMBODIED + "deficit_temporal",
        "deficit_dependency": _EMBODIED + "deficit_dependency",
        "deficit_participation": _EMBODIED + "deficit_participation",
        "decisions_per_step": _OVERHEAD + "decisions_per_step",
        "decision_overhead_mean": _OVERHEAD + "decision_overhead_mean",
        "decision_overhead_std": _OVERHEAD + "decision_overhead_std",
        "wait_time_mean_reference": _OVERHEAD + "wait_time_mean_reference",
        "plans_failed": _PLANNING + "plans_failed",
        "plans_truncated": _PLANNING + "plans_truncated",
        "plans_rejected": _PLANNING + "plans_rejected",
        "messages_refused": _COMMUNICATION + "messages_refused",
        "messages_lost": _COMMUNICATION + "messages_lost",
    },
)
"""Each entry is a `Metric` whose name is its key."""

PAPER = tuple(f"M{i}" for i in range(1, 19))
"""The names of the paper's metrics, in its order."""


def load_metric(name: str) -> Metric:
    """The metric of this name. Raises UnknownName, or ConfigError when an installed package offers something else."""
    found = METRICS.get(name)
    if not isinstance(found, Metric):
        raise ConfigError(f"metric {name!r} is a {type(found).__name__}, not an emcoop.metrics.Metric")
    return found


def metric_order() -> list[str]:
    """Every metric's name: M1-M18, the other built-in ones, then those of installed packages by name."""
    return [*METRICS.builtin, *(name for name in METRICS.names() if name not in METRICS.builtin)]


@cache
def _all() -> Mapping[str, Metric]:
    return {name: load_metric(name) for name in metric_order()}


def measure(trace: Trace, metrics: Mapping[str, Metric] | None = None) -> dict[str, Value]:
    """Every metric's value on this trace, by name; `metrics` replaces all registered ones."""
    values: dict[str, Value] = {}
    for name, function in (_all() if metrics is None else metrics).items():
        try:
            values[name] = function(trace)
        except Exception as error:
            error.add_note(f"while computing the metric {name!r}")
            raise
    return values


def compute(events: Iterable[Event]) -> dict[str, Value]:
    """Every metric's value on one episode's events (read once, in order), by name.

    Raises CorruptLog for events that are not an episode.
    """
    return measure(Trace.build(events))
