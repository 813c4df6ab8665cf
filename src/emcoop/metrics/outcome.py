"""The outcome of an episode and what it cost."""

from __future__ import annotations

from emcoop.core.types import SECOND
from emcoop.metrics.base import Direction, Value, metric, ratio
from emcoop.metrics.trace import Trace


@metric("success", "success", "share", Direction.HIGHER)
def success(trace: Trace) -> Value:
    """Y_g: 1 if the episode ended in success, else 0. None when it has no end. Paper, section 3."""
    return None if trace.success is None else float(trace.success)


@metric("progress", "progress", "share", Direction.HIGHER)
def progress(trace: Trace) -> Value:
    """The environment's own measure of how far the team came, in [0, 1]; 1 exactly on success."""
    return trace.progress


@metric("steps", "environment steps", "steps", Direction.LOWER)
def steps(trace: Trace) -> Value:
    """T: the number of environment steps."""
    return float(len(trace.steps))


@metric("duration", "simulated time", "s", Direction.LOWER)
def duration(trace: Trace) -> Value:
    """The length of the episode on the cognitive clock, in simulated seconds."""
    return trace.end / SECOND


@metric("input_tokens", "input tokens", "tokens", Direction.LOWER)
def input_tokens(trace: Trace) -> Value:
    """Tokens of all prompts, cached ones included."""
    return float(trace.usage.input_tokens)


@metric("output_tokens", "output tokens", "tokens", Direction.LOWER)
def output_tokens(trace: Trace) -> Value:
    """Tokens of all answers."""
    return float(trace.usage.output_tokens)


@metric("model_calls", "model calls", "calls", Direction.LOWER)
def model_calls(trace: Trace) -> Value:
    """Calls to language models, re-asks included."""
    return float(trace.usage.calls)


@metric("cost_usd", "cost", "USD", Direction.LOWER)
def cost_usd(trace: Trace) -> Value:
    """Money paid for the models. None when any part of it has no known price."""
    return trace.usage.cost_usd


@metric("invalid_action_rate", "invalid actions", "share", Direction.LOWER)
def invalid_action_rate(trace: Trace) -> Value:
    """(primitives that had no effect) / (all primitives). None when there was no step."""
    return ratio(sum(step.invalid for step in trace.steps), sum(step.actions for step in trace.steps))


@metric("fallback_rate", "fallbacks", "share", Direction.LOWER)
def fallback_rate(trace: Trace) -> Value:
    """(decisions for which the declared fallback stood in) / (all decisions). None without decisions."""
    return ratio(trace.fallbacks, trace.decisions)
