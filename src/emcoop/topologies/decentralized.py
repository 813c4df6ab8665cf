"""Free communication with a budget (figure 6d).

At each decision step an agent may send up to n messages and receive up to n (the channel's `sends` and
`receives`): it speaks as long as it has something to say and budget left, then plans.
"""

from __future__ import annotations

from collections.abc import Iterable

from emcoop.agents.base import Role
from emcoop.core.types import AgentId, Choice, Json
from emcoop.topologies.base import Speaker, Topology, channel_from, everyone

PEER = Role(
    "peer",
    "You and the other agents are equals who may write to each other as needed, within a budget of messages. "
    "Tell the others what they need to know, read what they write, and decide for yourself.",
)


class FreeTalk(Topology):
    """The protocol of free communication, over whatever edges a subclass has."""

    def role(self, agent: AgentId) -> Role:
        return PEER

    async def deliberate(self, me: Speaker) -> None:
        reachable = self.hears(me.agent)
        while me.sends_left and await me.speak(reachable):
            pass
        await me.plan()

    async def respond(self, me: Speaker) -> None:
        if await me.decide() is Choice.REPLAN:
            await self.deliberate(me)


class Decentralized(FreeTalk):
    """Everybody may write to everybody."""

    name = "decentralized"

    def edges(self) -> Iterable[tuple[AgentId, AgentId]]:
        return everyone(self.team)


def make(team: tuple[AgentId, ...], **parameters: Json) -> Decentralized:
    """The decentralized topology; parameters are the channel's."""
    return Decentralized(team, channel_from(parameters, Decentralized.name))
