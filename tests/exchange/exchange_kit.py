"""One turn by hand, and whole logged episodes in the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emcoop.envs.exchange.env import Exchange
from emcoop.envs.exchange.state import ABSENT, ExchangeState
from emcoop.episode.loop import Outcome
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model

TURNS = {"topology": "turns", "topology_options": {"speaks": False}}


def mover(env: Exchange, state: ExchangeState) -> int:
    return int(env.acting(state)[0].rpartition("_")[2])


def act(env: Exchange, state: ExchangeState, actions: Sequence[dict[str, Any]], **more: Any) -> tuple[Any, list[Any]]:
    """The state after the mover's turn with these actions, and the events."""
    moves: dict[str, Any] = dict.fromkeys(env.agents, 0)
    moves[env.acting(state)[0]] = {"primitive": 1, "actions": list(actions), **more}
    transition = env.step(state, moves)
    return transition.state, [dict(event) for event in transition.events]


def until(env: Exchange, state: ExchangeState, agent: int) -> ExchangeState:
    """Let everybody pass until it is this agent's turn."""
    while mover(env, state) != agent:
        state = env.step(state, dict.fromkeys(env.agents, 0)).state
    return state


def codes(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["code"] for event in events if event["kind"] == "blocked"]


def holds(state: ExchangeState, agent: int, piece: int) -> bool:
    return state.held[agent][piece] != ABSENT


def setup(kinds: Sequence[str], **changes: Any) -> Setup:
    """Scripted players of these habits, one name for all or one for each of the agents."""
    team = tuple(SeatConfig(agent="scripted", options={"kind": kind}) for kind in kinds)
    return Setup(**{"env": "exchange", "agents": 10, **TURNS, "team": team, **changes})


def played(
    folder: Path, cell: Setup, seed: int = 0, models: dict[str, Model] | None = None
) -> tuple[Outcome, list[Event]]:
    """One episode in the loop, and its events."""
    path = folder / f"{len(list(folder.iterdir()))}.db"
    with LogStore.open(path) as store:
        outcome = asyncio.run(play_episode(cell, seed, store, models or {}))
    with LogReader.open(path) as reader:
        assert reader.check() == []
        return outcome, list(reader.events(1))
