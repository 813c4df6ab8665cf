"""Who influenced whom: messages after which a reader's plans were about another task, and who did what it planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emcoop.core.types import NO_TASK, AgentId, Json, TaskId
from emcoop.metrics import Event

KINDS = ("episode_start", "message_sent", "message_read", "plan_committed", "step")


@dataclass(frozen=True, slots=True)
class Edge:
    """What one agent read of another's messages, and how often its next plan was about another task then."""

    sender: AgentId
    reader: AgentId
    read: int
    changed: int


@dataclass(frozen=True)
class Influence:
    """The process graph of one or several episodes.

    `edges` in the order of the team. `centrality` is each agent's share of all changed plans that it caused (all 0
    where none was). `claimed` counts the steps in which an agent's plan named a task, `actual` those of them in which
    it acted on that task.
    """

    team: tuple[AgentId, ...]
    edges: tuple[Edge, ...]
    centrality: Mapping[AgentId, float]
    claimed: Mapping[AgentId, int]
    actual: Mapping[AgentId, int]

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        edges = [{"from": e.sender, "to": e.reader, "read": e.read, "changed": e.changed} for e in self.edges]
        counts: dict[str, Json] = {"claimed": dict(self.claimed), "actual": dict(self.actual)}
        return {"edges": edges, "centrality": dict(self.centrality), **counts}


def influence(episodes: Iterable[Iterable[Event]]) -> Influence:
    """The graph over these episodes of one team. A change is credited to every message read since the last plan."""
    team: tuple[AgentId, ...] = ()
    read: Counter[tuple[AgentId, AgentId]] = Counter()
    changed: Counter[tuple[AgentId, AgentId]] = Counter()
    claimed: Counter[AgentId] = Counter()
    actual: Counter[AgentId] = Counter()
    for events in episodes:
        sender: dict[int, AgentId] = {}
        fresh: dict[AgentId, list[AgentId]] = {}
        task: dict[AgentId, TaskId] = {}
        for event in events:
            who, payload = event.agent or "", event.payload
            if event.kind == "episode_start":
                team = tuple(member["agent"] for member in payload["team"])
            elif event.kind == "message_sent":
                sender[payload["id"]] = who
            elif event.kind == "message_read":
                senders = [sender[i] for i in payload["ids"] if i in sender]
                fresh.setdefault(who, []).extend(senders)
                read.update((s, who) for s in senders)
            elif event.kind == "plan_committed":
                new = payload["plan"]["task"]
                if who in task and new != task[who]:
                    changed.update((s, who) for s in dict.fromkeys(fresh.get(who, ())))
                task[who] = new
                fresh[who] = []
            elif event.kind == "step":
                _count(payload, claimed, actual)
    total = sum(changed.values())
    caused = Counter({agent: sum(n for (s, _), n in changed.items() if s == agent) for agent in team})
    edges = tuple(Edge(s, r, read[s, r], changed[s, r]) for s in team for r in team if read[s, r])
    shares = {agent: caused[agent] / total if total else 0.0 for agent in team}
    return Influence(team, edges, shares, {a: claimed[a] for a in team}, {a: actual[a] for a in team})


def _count(step: Mapping[str, Json], claimed: Counter[AgentId], actual: Counter[AgentId]) -> None:
    tasks = step.get("tasks") or {}
    for agent, task in (step.get("named") or {}).items():
        if task != NO_TASK:
            claimed[agent] += 1
            actual[agent] += task in tasks and agent in tasks[task]["attempting"]
