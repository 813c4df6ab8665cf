"""Whole episodes of reference teams, played in memory and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.in_memory import Event, played

from emcoop.episode.loop import Outcome
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.metrics import Trace, measure


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
    outcome, events = played(setup, seed)
    return Played(outcome, events, measure(Trace.build(events)))
