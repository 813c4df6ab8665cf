"""Whole episodes of reference teams, played in memory and measured."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emcoop.core.canonical import canonical_json
from emcoop.core.types import AgentId
from emcoop.episode.latency import make_latency
from emcoop.episode.loop import Outcome, Table
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.metrics import Trace, measure


@dataclass(frozen=True)
class Event:
    cog_time: int
    env_step: int
    agent: AgentId | None
    kind: str
    payload: Mapping[str, Any]


@dataclass
class MemoryWriter:
    """A log that is a list."""

    events: list[Event] = field(default_factory=list)

    def append(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        cog_time: int,
        env_step: int,
        agent: AgentId | None = None,
        host: Mapping[str, Any] | None = None,
    ) -> int:
        self.events.append(Event(cog_time, env_step, agent, kind, json.loads(canonical_json(payload))))
        return len(self.events)

    def blob(self, data: bytes | str) -> str:
        return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()

    def checkpoint(self) -> None:
        pass

    def flush(self) -> None:
        pass


@dataclass(frozen=True)
class Played:
    outcome: Outcome
    events: Sequence[Event]
    values: Mapping[str, float | None]

    def of_kind(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


def play(
    agent: str | Sequence[str],
    level: str = "hard",
    topology: str = "individual",
    agents: int = 3,
    seed: int = 0,
    topology_options: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Played:
    """One episode of CUBE; `agent` names everybody's policy, or one for each seat."""
    names = [agent] if isinstance(agent, str) else agent
    setup = Setup(
        level=level,
        agents=agents,
        topology=topology,
        topology_options=dict(topology_options or {}),
        team=tuple(SeatConfig(agent=name, options=dict(options or {})) for name in names),
    )
    env = setup.make_env()
    table_topology = setup.make_topology(env.agents)
    team = setup.make_team(env, seed, {})
    writer = MemoryWriter()
    table = Table(
        env=env,
        topology=table_topology,
        team=team,
        seed=seed,
        latency=make_latency(setup.latency, seed),
        writer=writer,
        limits=setup.limits,
        step_s=setup.step_s,
    )
    outcome = asyncio.run(table.play(setup.opening(env, table_topology, team, seed)))
    return Played(outcome, writer.events, measure(Trace.build(writer.events)))
