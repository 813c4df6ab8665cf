"""Hand-written logs: events in the order and form in which the loop writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SECOND = 1_000_000
KINDS = ("spatial", "temporal", "dependency", "participation")


@dataclass(frozen=True)
class Event:
    cog_time: int
    agent: str | None
    kind: str
    payload: Mapping[str, Any]


def task(
    required: int,
    *,
    spatial: int = 0,
    temporal: int = 0,
    dependency: int = 0,
    participation: int = 0,
    attempting: int = 0,
) -> dict[str, Any]:
    """A task's entry in a step event with this many agents under each kind of constraint."""
    counts = dict(zip(KINDS, (spatial, temporal, dependency, participation), strict=True))
    names = {kind: [f"agent_{i}" for i in range(count)] for kind, count in counts.items()}
    return {"required": required, **names, "attempting": [f"agent_{i}" for i in range(attempting)]}


@dataclass
class Script:
    """An episode's events under construction; `stages` remembers where each agent is."""

    agents: int = 2
    now: int = 0
    events: list[Event] = field(default_factory=list)
    stages: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [f"agent_{i}" for i in range(self.agents)]
        self.add("episode_start", team=[{"agent": name} for name in names], seed=0)
        for name in names:
            self.stage(name, "R")

    def at(self, seconds: float) -> Script:
        self.now = round(seconds * SECOND)
        return self

    def add(self, kind: str, agent: str | None = None, **payload: Any) -> Script:
        self.events.append(Event(self.now, agent, kind, payload))
        return self

    def stage(self, agent: str, to: str) -> Script:
        self.add("stage", agent, **{"from": self.stages.get(agent), "to": to})
        self.stages[agent] = to
        return self

    def commit(self, agent: str, plan_id: int, task: str = "block_0:left", origin: str = "new") -> Script:
        return self.add("plan_committed", agent, plan_id=plan_id, origin=origin, plan={"task": task, "actions": []})

    def end_plan(self, agent: str, plan_id: int, outcome: str) -> Script:
        return self.add("plan_ended", agent, plan_id=plan_id, outcome=outcome, failure=None, executed=0)

    def say(self, sender: str, *to: str) -> Script:
        return self.add("message_sent", sender, id=1, to=list(to), content="hello", price=0.0)

    def step(self, named: dict[str, str] | None = None, **parts: Any) -> Script:
        payload = {"actions": {f"agent_{i}": 0 for i in range(self.agents)}, "named": named or {}, **parts}
        return self.add("step", None, **payload)

    def end(self, limit: str = "success", progress: float = 1.0, **parts: Any) -> Script:
        score = {"success": limit == "success", "progress": progress, "detail": {}}
        return self.add("episode_end", None, limit=limit, score=score, steps=0, message=None, **parts)
