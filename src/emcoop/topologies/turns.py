"""One agent at a time, in the order of the world: for worlds in which a step is a turn.

The agent whose turn it is speaks once to everybody else, then plans. Nobody is interrupted: who is not on turn reads
what was said when its own turn comes. With two agents and a world that alternates, this is strict alternation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emcoop.agents.base import Role
from emcoop.core.types import AgentId, Json
from emcoop.topologies.base import Channel, Speaker, Topology, channel_from, everyone, others

AMPLE = 10_000
"""Messages per agent and turn unless the channel says otherwise: worlds of this kind bound what a turn may hold."""

ROLE = Role(
    "participant",
    "You and the other agents take turns. When it is your turn, everybody hears what you say; then you act.",
)


@dataclass(frozen=True)
class Turns(Topology):
    """`speaks`: whether an agent is asked for a message before it plans; without, its messages come with its plan."""

    speaks: bool = True

    name = "turns"

    def edges(self) -> Iterable[tuple[AgentId, AgentId]]:
        return everyone(self.team)

    def role(self, agent: AgentId) -> Role:
        return ROLE

    def interrupts(self, sender: AgentId, receiver: AgentId) -> bool:
        return False

    async def deliberate(self, me: Speaker) -> None:
        if self.speaks:
            await me.speak(others(self.team, me.agent))
        await me.plan()

    def parameters(self) -> Mapping[str, Json]:
        return {"speaks": self.speaks}


def make(team: tuple[AgentId, ...], speaks: bool = True, **parameters: Json) -> Turns:
    """The topology of turns; further parameters are the channel's."""
    channel: Channel = channel_from({"sends": AMPLE, "receives": AMPLE, **parameters}, Turns.name)
    return Turns(team, channel, speaks)
