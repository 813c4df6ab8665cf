"""Agents speak in order: each waits for the previous speaker, speaks to all, then plans (figure 6b).

Everyone receives every message. An agent that follows the speaker in order acts on it: it is read before that
agent plans, and interrupts a plan it is executing. An agent that comes earlier in order has planned already; it
reads the message at its next decision, unless `interrupts_earlier` is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emcoop.agents.base import Role
from emcoop.core.types import AgentId, Json
from emcoop.topologies.base import Speaker, Topology, channel_from, everyone, others


@dataclass(frozen=True)
class Debate(Topology):
    """The speaking order is the team's order."""

    interrupts_earlier: bool = False

    name = "debate"

    def edges(self) -> Iterable[tuple[AgentId, AgentId]]:
        return everyone(self.team)

    def role(self, agent: AgentId) -> Role:
        place = self.team.index(agent)
        if place == 0:
            text = (
                "You speak first. Set out how you see the situation and what the team should do; "
                "everybody will hear it before they plan."
            )
        elif place == len(self.team) - 1:
            text = "You speak last. You have heard everybody else: weigh what was said and settle what the team does."
        else:
            text = (
                f"You speak as number {place + 1} of {len(self.team)}. Take up what was said before you, "
                "add or object, and tell everybody."
            )
        return Role(f"speaker_{place + 1}", text)

    def interrupts(self, sender: AgentId, receiver: AgentId) -> bool:
        return self.interrupts_earlier or self.team.index(sender) < self.team.index(receiver)

    async def deliberate(self, me: Speaker) -> None:
        before = [a for a in me.deliberating if self.team.index(a) < self.team.index(me.agent)]
        if before:
            await me.hear(before[-1])
        await me.speak(others(self.team, me.agent))
        await me.plan()

    def parameters(self) -> Mapping[str, Json]:
        return {"interrupts_earlier": self.interrupts_earlier}


def make(team: tuple[AgentId, ...], interrupts_earlier: bool = False, **parameters: Json) -> Debate:
    """The debate topology; further parameters are the channel's."""
    return Debate(team, channel_from(parameters, Debate.name), interrupts_earlier)
