"""Planning dynamics (paper, section 5.2): M9-M13, and what became of the plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from emcoop.core.types import NO_TASK, AgentId, TaskId
from emcoop.metrics.base import Direction, Value, mean, metric
from emcoop.metrics.trace import Trace


def coherence(named: Mapping[AgentId, TaskId]) -> Value:
    """The share of active agents on the modal task: 0 if no two agree, 1 for one agent alone, None for nobody.

    The task ``none`` agrees with nothing, not even with itself.
    """
    if len(named) <= 1:
        return float(len(named)) or None
    modal = max(Counter(task for task in named.values() if task != NO_TASK).values(), default=0)
    return modal / len(named) if modal >= 2 else 0.0


def _ended(trace: Trace, outcome: str) -> float:
    return float(sum(plan.outcome == outcome for plan in trace.plans))


@metric("M9", "plans", "plans", Direction.NONE)
def m9_plans(trace: Trace) -> Value:
    """P^total: the number of plans committed, fallback plans included. Paper, section 5.2."""
    return float(len(trace.plans))


@metric("M10", "plan interruptions", "interruptions", Direction.NONE)
def m10_interruptions(trace: Trace) -> Value:
    """P^int: how often messages interrupted an active plan. Paper, section 5.2.

    One that arrives while the agent still answers another interrupts again, without I being entered again.
    """
    return float(trace.interruptions)


@metric("M11", "plan resumption rate", "share", Direction.NONE)
def m11_resumption_rate(trace: Trace) -> Value:
    """P^res: RESUME decisions / interruptions; 0 when there was no interruption. Paper, section 5.2."""
    return trace.resumptions / trace.interruptions if trace.interruptions else 0.0


@metric("M12", "replanning rate", "share", Direction.NONE)
def m12_replanning_rate(trace: Trace) -> Value:
    """P^re: 1 - M11 when there were interruptions, else 0. Paper, section 5.2."""
    return 1.0 - trace.resumptions / trace.interruptions if trace.interruptions else 0.0


@metric("M13", "plan coherence", "share", Direction.HIGHER)
def m13_coherence(trace: Trace) -> Value:
    """P^coh: mean over steps of the share of active agents whose plans name the modal task.

    A step counts 0 if no two agents agree and 1 if one agent is active alone; a plan for no task agrees with none.
    None when no step had an active plan, and in worlds of turns, where only one agent plans at a time. Paper, section
    5.2 and appendix J.
    """
    if trace.by_turns:
        return None
    shares = [share for share in (coherence(step.named) for step in trace.steps) if share is not None]
    return mean(shares) if shares else None


@metric("plans_failed", "plans failed", "plans", Direction.LOWER)
def plans_failed(trace: Trace) -> Value:
    """The number of plans that ended because one of their actions failed."""
    return _ended(trace, "failed")


@metric("plans_truncated", "plans cut by the end", "plans", Direction.NONE)
def plans_truncated(trace: Trace) -> Value:
    """The number of plans that were active when the episode ended."""
    return _ended(trace, "truncated")


@metric("plans_rejected", "plans rejected", "plans", Direction.LOWER)
def plans_rejected(trace: Trace) -> Value:
    """The number of proposed plans that a check refused before they could start (PRE_CHECK, PLAN_CHECK)."""
    return float(trace.rejections)
