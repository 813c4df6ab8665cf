"""No communication: each agent plans alone (figure 6a)."""

from __future__ import annotations

from emcoop.agents.base import Role
from emcoop.core.types import AgentId, Json
from emcoop.topologies.base import Topology, channel_from

ROLE = Role(
    "independent",
    "You act on your own. You can neither send messages to the other agents nor receive any: "
    "decide from what you observe.",
)


class Individual(Topology):
    """Agents without edges. Waiting for others happens only at the environment's step."""

    name = "individual"

    def role(self, agent: AgentId) -> Role:
        return ROLE


def make(team: tuple[AgentId, ...], **parameters: Json) -> Individual:
    """The individual topology; takes the channel's parameters, which have no effect without edges."""
    return Individual(team, channel_from(parameters, Individual.name))
