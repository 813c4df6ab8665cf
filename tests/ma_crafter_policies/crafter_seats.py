"""Teams of reference policies in MA-Crafter, played in memory."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emcoop.core.canonical import canonical_json
from emcoop.episode.latency import make_latency
from emcoop.episode.loop import Limits, Outcome, Table
from emcoop.episode.setup import SeatConfig, Setup


@dataclass
class Played:
    """An episode and the events that it logged, as (kind, payload)."""

    events: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    outcome: Outcome | None = None

    def append(self, kind: str, payload: Mapping[str, Any], **place: Any) -> int:
        self.events.append((kind, json.loads(canonical_json(payload))))
        return len(self.events)

    def blob(self, data: bytes | str) -> str:
        return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()

    def checkpoint(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def of_kind(self, kind: str) -> list[Mapping[str, Any]]:
        return [payload for name, payload in self.events if name == kind]

    @property
    def achievements(self) -> set[str]:
        assert self.outcome is not None
        return set(self.outcome.score.detail["achievements"])


def play(
    agent: str,
    level: str = "easy",
    topology: str = "individual",
    agents: int = 1,
    seed: int = 0,
    steps: int | None = None,
    **options: Any,
) -> Played:
    """One episode, of so many steps at most; further options are the environment's."""
    setup = Setup(
        env="ma-crafter",
        level=level,
        agents=agents,
        topology=topology,
        env_options=options,
        team=(SeatConfig(agent=agent),),
        limits=Limits(max_steps=steps),
    )
    env = setup.make_env()
    table_topology = setup.make_topology(env.agents)
    team = setup.make_team(env, seed, {})
    played = Played()
    table = Table(
        env=env,
        topology=table_topology,
        team=team,
        seed=seed,
        latency=make_latency(setup.latency, seed),
        writer=played,
        limits=setup.limits,
        step_s=setup.step_s,
    )
    played.outcome = asyncio.run(table.play(setup.opening(env, table_topology, team, seed)))
    return played
