"""The contract of a topology: a directed graph over the agents and a protocol.

A protocol is two async functions over a `Speaker`, the view of one agent's turn in the interaction loop:
`deliberate` runs when the agent has no active plan, `respond` when messages have interrupted its plan. They may
await only what the speaker offers (`speak`, `hear`, `plan`, `decide`); the loop drives them on simulated time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pydantic import Field

from emcoop.agents.base import Role
from emcoop.core.config import StrictModel, load
from emcoop.core.types import SECOND, AgentId, Choice, Json, Micros

if TYPE_CHECKING:
    import networkx as nx


class Channel(StrictModel):
    """What every message is subject to.

    `sends` and `receives` are the capacity per agent and decision step (None: the team's size, as in the paper);
    `delay_s` seconds of simulated time on the way; `loss` the probability that one recipient's copy is lost;
    `price_usd` what one message costs; `max_chars` the longest content; `patience_s` how long a protocol waits for
    a message before it goes on without.
    """

    sends: int | None = Field(default=None, ge=0)
    receives: int | None = Field(default=None, ge=0)
    delay_s: float = Field(default=0.0, ge=0)
    loss: float = Field(default=0.0, ge=0, le=1)
    price_usd: float = Field(default=0.0, ge=0)
    max_chars: int = Field(default=4000, ge=1)
    patience_s: float = Field(default=600.0, gt=0)

    @property
    def delay(self) -> Micros:
        """The delay in microseconds."""
        return round(self.delay_s * SECOND)

    @property
    def patience(self) -> Micros:
        """The patience in microseconds."""
        return round(self.patience_s * SECOND)


class Speaker(Protocol):
    """One agent's turn, as its protocol sees it."""

    agent: AgentId

    @property
    def deliberating(self) -> Sequence[AgentId]:
        """The agents that deliberate at this decision step, in index order; who executes a plan is not among them."""
        ...

    @property
    def sends_left(self) -> int:
        """How many more messages this agent may send in this decision step."""
        ...

    async def speak(self, to: Iterable[AgentId]) -> bool:
        """Ask the agent for one message to these teammates and send it; False when it stays silent.

        Nobody is asked when there is nobody to speak to or nothing left of the budget.
        """
        ...

    async def hear(self, sender: AgentId) -> bool:
        """Wait until a message that the sender sent in this decision step has arrived.

        False as soon as none can come any more (its turn to speak is over, and nothing is on the way), or when the
        channel's patience is over.
        """
        ...

    async def plan(self) -> None:
        """Ask the agent for a plan until one passes the checks, and commit it."""
        ...

    async def decide(self) -> Choice:
        """Ask the agent whether to resume or to replan; a new plan that comes with the answer is committed."""
        ...


@dataclass(frozen=True)
class Topology:
    """Base of all topologies. Subclasses say the edges, the roles and the protocol.

    `interruptible`: whether a message interrupts a receiver that has an active plan (else it is read at the next
    prompt).
    """

    team: tuple[AgentId, ...]
    channel: Channel

    name = "topology"

    def edges(self) -> Iterable[tuple[AgentId, AgentId]]:
        """The pairs (i, j) such that i can send messages to j (paper, equation 12)."""
        return ()

    def role(self, agent: AgentId) -> Role:
        """The agent's role and its text."""
        raise KeyError(agent)

    def interrupts(self, sender: AgentId, receiver: AgentId) -> bool:
        """Whether this sender's message interrupts this receiver's active plan."""
        return True

    async def deliberate(self, me: Speaker) -> None:
        """The turn of an agent without a plan; must end with one."""
        await me.plan()

    async def respond(self, me: Speaker) -> None:
        """The turn of an agent whose plan messages have interrupted."""
        if await me.decide() is Choice.REPLAN:
            await me.plan()

    def graph(self) -> nx.DiGraph[AgentId]:
        """H = (I, E) as a networkx graph."""
        import networkx as nx

        graph: nx.DiGraph[AgentId] = nx.DiGraph()
        graph.add_nodes_from(self.team)
        graph.add_edges_from(self.edges())
        return graph

    def hears(self, sender: AgentId) -> tuple[AgentId, ...]:
        """The agents that this sender can reach directly, in index order."""
        return self._reached[sender]

    @cached_property
    def _reached(self) -> Mapping[AgentId, tuple[AgentId, ...]]:
        reached: dict[AgentId, set[AgentId]] = {agent: set() for agent in self.team}
        for i, j in self.edges():
            reached[i].add(j)
        return {i: tuple(agent for agent in self.team if agent in theirs) for i, theirs in reached.items()}

    def describe(self) -> Mapping[str, Json]:
        """Name, parameters, roles and edges for the log."""
        return {
            "name": self.name,
            "channel": self.channel.model_dump(mode="json"),
            "roles": {agent: self.role(agent).name for agent in self.team},
            "edges": [[i, j] for i, j in self.edges()],
            **self.parameters(),
        }

    def parameters(self) -> Mapping[str, Json]:
        """Parameters beyond the channel's."""
        return {}


def everyone(team: Sequence[AgentId]) -> list[tuple[AgentId, AgentId]]:
    """Every ordered pair of different agents."""
    return [(i, j) for i in team for j in team if i != j]


def others(team: Sequence[AgentId], agent: AgentId) -> tuple[AgentId, ...]:
    """The rest of the team, in index order."""
    return tuple(a for a in team if a != agent)


def channel_from(parameters: Mapping[str, Json], topology: str) -> Channel:
    """The channel of these parameters. Raises ConfigError for an unknown key or an impossible value."""
    return load(Channel, dict(parameters), f"topology {topology}")
