"""Decision overhead and waiting (paper, section 5.2, equations 17-19): M1-M5.

A stage is entered when the log says that the agent's stage changed to it, the first R of an episode included.
"""

from __future__ import annotations

from collections.abc import Collection

from emcoop.core.types import SECOND, AgentId, Stage
from emcoop.metrics.base import Direction, Value, mean, metric, ratio, std
from emcoop.metrics.trace import Trace

CONTROL = frozenset({Stage.REASON, Stage.INTERRUPT, Stage.WAIT})
"""The stages of the between-step control trajectory."""
DECIDING = frozenset({Stage.REASON, Stage.INTERRUPT})
"""The stages in which an agent thinks."""


def entries(trace: Trace, stages: Collection[Stage]) -> dict[AgentId, int]:
    """How often each agent entered one of these stages."""
    return {agent: sum(i.stage in stages for i in trace.stages[agent]) for agent in trace.team}


def seconds(trace: Trace, stages: Collection[Stage]) -> list[float]:
    """Simulated seconds that each agent spent in these stages, in the order of the team."""
    return [sum(i.end - i.start for i in trace.stages[a] if i.stage in stages) / SECOND for a in trace.team]


def overhead_by_agent(trace: Trace) -> dict[AgentId, int]:
    """D_i: the length of agent i's control trajectory, entries into R, I and W (paper, below equation 17)."""
    return entries(trace, CONTROL)


@metric("M1", "decision overhead per step", "entries/step", Direction.LOWER)
def m1_decision_overhead(trace: Trace) -> Value:
    """(sum over agents of entries into R, I and W) / T. None when T = 0. Paper, equation 17."""
    return ratio(sum(overhead_by_agent(trace).values()), len(trace.steps))


@metric("M2", "decision time, mean", "s", Direction.LOWER)
def m2_decision_time_mean(trace: Trace) -> Value:
    """Mean over agents of the simulated seconds spent in R and I. Paper, appendix J, M2."""
    return mean(seconds(trace, DECIDING))


@metric("M3", "decision time, std", "s", Direction.NONE)
def m3_decision_time_std(trace: Trace) -> Value:
    """Population standard deviation over agents of the seconds spent in R and I. Paper, appendix J, M3."""
    return std(seconds(trace, DECIDING))


@metric("M4", "wait time, mean", "s", Direction.LOWER)
def m4_wait_time_mean(trace: Trace) -> Value:
    """Mean over agents of W_i, the simulated seconds spent in W. Paper, equation 19."""
    return mean(seconds(trace, {Stage.WAIT}))


@metric("M5", "wait time, std", "s", Direction.NONE)
def m5_wait_time_std(trace: Trace) -> Value:
    """Population standard deviation over agents of W_i. Paper, equation 19."""
    return std(seconds(trace, {Stage.WAIT}))


@metric("decisions_per_step", "decisions per step", "entries/step", Direction.LOWER)
def decisions_per_step(trace: Trace) -> Value:
    """(sum over agents of entries into R and I) / T: M1 without waiting. None when T = 0."""
    return ratio(sum(entries(trace, DECIDING).values()), len(trace.steps))


@metric("decision_overhead_mean", "decision overhead per agent, mean", "entries", Direction.LOWER)
def decision_overhead_mean(trace: Trace) -> Value:
    """Mean over agents of D_i, the entries into R, I and W in the whole episode. Paper, equation 18."""
    return mean(list(overhead_by_agent(trace).values()))


@metric("decision_overhead_std", "decision overhead per agent, std", "entries", Direction.NONE)
def decision_overhead_std(trace: Trace) -> Value:
    """Population standard deviation over agents of D_i. Paper, equation 18."""
    return std(list(overhead_by_agent(trace).values()))


@metric("wait_time_mean_reference", "wait time, the reference's count", "s", Direction.LOWER)
def wait_time_mean_reference(trace: Trace) -> Value:
    """Mean over agents of the seconds in those W that were entered from R or I.

    The count of the paper's reference implementation: an agent in the middle of a plan counts as executing while
    others reason, so it waits only from the commitment of a plan until the step starts. Never above M4.
    """
    waits = [
        sum(i.end - i.start for i in trace.stages[a] if i.stage is Stage.WAIT and i.before in DECIDING) / SECOND
        for a in trace.team
    ]
    return mean(waits)
