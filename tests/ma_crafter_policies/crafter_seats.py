"""Teams of reference policies in MA-Crafter, played in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.in_memory import Event, played

from emcoop.episode.loop import Limits, Outcome
from emcoop.episode.setup import SeatConfig, Setup


@dataclass(frozen=True)
class Played:
    """An episode and the events that it logged."""

    outcome: Outcome
    events: Sequence[Event]

    def of_kind(self, kind: str) -> list[Mapping[str, Any]]:
        return [event.payload for event in self.events if event.kind == kind]

    @property
    def achievements(self) -> set[str]:
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
    return Played(*played(setup, seed))
