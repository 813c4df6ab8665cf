"""Any directed graph, given in YAML, with free communication along its edges.

edges:                      # each line: who can send to whom
  agent_0: [agent_1]
  agent_1: [agent_0, agent_2]
both_ways: false            # true adds every edge's reverse
channel: {sends: 2, delay_s: 0.5, loss: 0.1}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError
from emcoop.core.types import AgentId, Json
from emcoop.topologies.base import Channel, channel_from
from emcoop.topologies.decentralized import FreeTalk


class GraphFile(StrictModel):
    """The content of a topology file."""

    edges: dict[str, list[str]]
    both_ways: bool = False
    channel: Channel = Channel()


@dataclass(frozen=True)
class Graph(FreeTalk):
    """Free communication along given edges."""

    pairs: tuple[tuple[AgentId, AgentId], ...] = ()

    name = "graph"

    def edges(self) -> Iterable[tuple[AgentId, AgentId]]:
        return self.pairs


def _pairs(
    edges: Mapping[str, list[str]], both_ways: bool, team: tuple[AgentId, ...], source: str
) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for sender, receivers in edges.items():
        for name in [sender, *receivers]:
            if name not in team:
                raise ConfigError(f"{source}: no agent {name!r} in a team of {len(team)}; {nearest(name, team)}")
        for receiver in receivers:
            if receiver == sender:
                raise ConfigError(f"{source}: {sender} cannot send to itself")
            found.add((sender, receiver))
            if both_ways:
                found.add((receiver, sender))
    return found


def make(
    team: tuple[AgentId, ...],
    file: str | None = None,
    edges: Mapping[str, list[str]] | None = None,
    both_ways: bool = False,
    **parameters: Json,
) -> Graph:
    """The topology of a YAML file, or of `edges`; further parameters are the channel's and win over the file's.

    Raises ConfigError for a missing file, unknown keys, agents that are not in the team, and edges to oneself.
    """
    if (file is None) == (edges is None):
        raise ConfigError("topology graph needs either file=PATH.yaml or edges={agent: [agents]}")
    if file is not None:
        content = load(GraphFile, read_yaml(Path(file)), file)
    else:
        content = load(GraphFile, {"edges": edges, "both_ways": both_ways}, "topology graph")
    pairs = _pairs(content.edges, content.both_ways, team, file or "topology graph")
    settings = {**content.channel.model_dump(exclude_unset=True), **parameters}
    order = {agent: place for place, agent in enumerate(team)}
    return Graph(
        team,
        channel_from(settings, Graph.name),
        tuple(sorted(pairs, key=lambda pair: (order[pair[0]], order[pair[1]]))),
    )
