"""One leader, everybody else follows (figure 6c).

The leader speaks to all followers, waits for their answers, then plans. A follower waits for the leader, answers,
then plans. A follower that is executing is interrupted by the leader's message: it decides to resume or to
replan, then answers. A follower whose plan has ended while the leader executes reports, which interrupts the leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emcoop.agents.base import Role
from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.core.types import AgentId, Choice, Json
from emcoop.topologies.base import Speaker, Topology, channel_from, others

LEADER = Role(
    "leader",
    "You lead the team. Tell every follower what to do, wait for their answers, then make your own plan. "
    "You decide what the whole team works on.",
)
FOLLOWER = Role(
    "follower",
    "You follow the team's leader. Wait for the leader's instruction, answer it, and plan so that it is carried out.",
)


@dataclass(frozen=True)
class Centralized(Topology):
    """A star around the leader."""

    leader: AgentId = ""

    name = "centralized"

    def edges(self) -> Iterable[tuple[AgentId, AgentId]]:
        followers = others(self.team, self.leader)
        return [(self.leader, f) for f in followers] + [(f, self.leader) for f in followers]

    def role(self, agent: AgentId) -> Role:
        return LEADER if agent == self.leader else FOLLOWER

    async def deliberate(self, me: Speaker) -> None:
        if me.agent == self.leader:
            await self._lead(me)
        else:
            if self.leader in me.deliberating:
                await me.hear(self.leader)
            await me.speak([self.leader])
            await me.plan()

    async def respond(self, me: Speaker) -> None:
        choice = await me.decide()
        if me.agent != self.leader:
            await me.speak([self.leader])
            if choice is Choice.REPLAN:
                await me.plan()
        elif choice is Choice.REPLAN:
            await self._lead(me)

    async def _lead(self, me: Speaker) -> None:
        followers = others(self.team, self.leader)
        if await me.speak(followers):
            for follower in followers:
                await me.hear(follower)
        await me.plan()

    def parameters(self) -> Mapping[str, Json]:
        return {"leader": self.leader}


def make(team: tuple[AgentId, ...], leader: str | None = None, **parameters: Json) -> Centralized:
    """The centralized topology. Raises ConfigError for a leader who is not in the team."""
    if leader is not None and leader not in team:
        raise ConfigError(f"topology centralized: no agent {leader!r} in the team; {nearest(leader, team)}")
    return Centralized(team, channel_from(parameters, Centralized.name), leader or team[0])
