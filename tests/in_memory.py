"""Whole episodes, played without a file."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emcoop.core.canonical import canonical_json
from emcoop.core.types import AgentId
from emcoop.episode.latency import make_latency
from emcoop.episode.loop import Outcome, Table
from emcoop.episode.setup import Setup


@dataclass(frozen=True)
class Event:
    cog_time: int
    env_step: int
    agent: AgentId | None
    kind: str
    payload: Mapping[str, Any]


@dataclass
class MemoryLog:
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


def played(setup: Setup, seed: int) -> tuple[Outcome, list[Event]]:
    """One episode of a set-up whose agents need no model, and what it logged."""
    env = setup.make_env()
    topology = setup.make_topology(env.agents)
    team = setup.make_team(env, seed, {})
    log = MemoryLog()
    table = Table(
        env=env,
        topology=topology,
        team=team,
        seed=seed,
        latency=make_latency(setup.latency, seed),
        writer=log,
        limits=setup.limits,
        step_s=setup.step_s,
    )
    return asyncio.run(table.play(setup.opening(env, topology, team, seed))), log.events
