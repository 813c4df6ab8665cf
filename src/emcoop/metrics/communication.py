"""Communication load (paper, section 5.2, equation 20): M6-M8. A message to several recipients counts once."""

from __future__ import annotations

from emcoop.core.types import AgentId
from emcoop.metrics.base import Direction, Value, mean, metric, std
from emcoop.metrics.trace import Trace


def sent_by_agent(trace: Trace) -> dict[AgentId, int]:
    """L_i: how many messages each agent sent."""
    counts = dict.fromkeys(trace.team, 0)
    for message in trace.messages:
        counts[message.sender] += 1
    return counts


@metric("M6", "messages, total", "messages", Direction.NONE)
def m6_messages_total(trace: Trace) -> Value:
    """L^tot: the number of messages sent; one to several recipients counts once. Paper, section 5.2."""
    return float(len(trace.messages))


@metric("M7", "messages per agent, std", "messages", Direction.NONE)
def m7_messages_std(trace: Trace) -> Value:
    """Population standard deviation over agents of L_i, the messages agent i sent. Paper, equation 20."""
    return std(list(sent_by_agent(trace).values()))


@metric("M8", "messages per agent, mean", "messages", Direction.NONE)
def m8_messages_mean(trace: Trace) -> Value:
    """Mean over agents of L_i, the messages agent i sent. Paper, equation 20."""
    return mean(list(sent_by_agent(trace).values()))


@metric("messages_refused", "messages refused", "messages", Direction.LOWER)
def messages_refused(trace: Trace) -> Value:
    """The number of ``message_refused`` events: no edge, a budget used up, an unknown recipient, too long, empty."""
    return float(trace.refused)


@metric("messages_lost", "message copies lost", "copies", Direction.LOWER)
def messages_lost(trace: Trace) -> Value:
    """The number of ``message_lost`` events: one recipient's copy that the channel dropped."""
    return float(trace.lost)
