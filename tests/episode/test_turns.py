"""Worlds in which a step is a turn: who is not on turn is not asked, and words become part of the move."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest
from tests.episode.seats import Listed, played, waiting

from emcoop.core.types import AgentId, Move, Outgoing, Plan, primitive_of
from emcoop.envs.base import Transition
from emcoop.envs.cube.env import Cube, make
from emcoop.envs.cube.state import CubeState
from emcoop.log.events import Event, validate
from emcoop.topologies import decentralized, turns

TWO = ("agent_0", "agent_1")
TO_1 = Outgoing(("agent_1",), "hello")
TO_0 = Outgoing(("agent_0",), "good day")


class CubeByTurns(Cube):
    """CUBE in which only one agent decides at a time, and which keeps the moves it was given."""

    hears = True

    def acting(self, state: CubeState) -> tuple[AgentId, ...]:
        return (self.agents[state.step % len(self.agents)],)

    def step(self, state: CubeState, actions: Mapping[AgentId, Move]) -> Transition[CubeState]:
        self.moves.append(actions)
        return super().step(state, actions)

    @property
    def moves(self) -> list[Mapping[AgentId, Move]]:
        return self.__dict__.setdefault("_moves", [])  # type: ignore[no-any-return]


def by_turns() -> CubeByTurns:
    world = make(2, "easy")
    return CubeByTurns(**{field.name: getattr(world, field.name) for field in fields(world)})


def play(folder: Path, topology: turns.Turns, team: list[Listed], env: Cube, steps: int) -> list[Event]:
    _, events, _ = asyncio.run(played(folder, topology, team, env, max_steps=steps))
    assert [line for event in events[1:] for line in validate(event)] == []  # the opening is short here
    return events


def stages(events: list[Event], agent: str) -> list[tuple[float, str]]:
    return [(e.cog_time / 1e6, e.payload["to"]) for e in events if e.kind == "stage" and e.agent == agent]


def test_only_the_agent_on_turn_is_asked_and_the_others_stay_waiting(tmp_path: Path) -> None:
    env = by_turns()
    team = [Listed(env), Listed(env)]
    events = play(tmp_path, turns.make(TWO), team, env, 3)
    # Speaking (silence) and planning take 1 s each, a step 0.1 s.
    assert stages(events, "agent_0") == [(0, "R"), (2, "X"), (2.1, "W"), (4.2, "R"), (6.2, "X")]
    assert stages(events, "agent_1") == [(0, "W"), (2.1, "R"), (4.1, "X"), (4.2, "W")]
    assert [faculty for faculty, _ in team[0].views] == ["speak", "plan", "speak", "plan"]
    assert [faculty for faculty, _ in team[1].views] == ["speak", "plan"]
    assert [list(e.payload["labels"]) for e in events if e.kind == "step"] == [["agent_0"], ["agent_1"], ["agent_0"]]


def test_a_message_to_an_agent_that_is_not_on_turn_interrupts_nothing_and_is_read_on_its_turn(tmp_path: Path) -> None:
    env = by_turns()
    team = [Listed(env, messages=[TO_1]), Listed(env)]
    events = play(tmp_path, decentralized.make(TWO), team, env, 2)  # type: ignore[arg-type]
    assert not [e for e in events if e.kind == "plan_interrupted"]
    assert [m.content for m in team[1].views[0][1].unread] == ["hello"]


def test_what_was_said_since_the_last_step_is_part_of_the_speakers_move(tmp_path: Path) -> None:
    env = by_turns()
    team = [Listed(env, messages=[TO_1]), Listed(env, messages=[None])]
    events = play(tmp_path, turns.make(TWO), team, env, 3)
    assert env.moves == [
        {"agent_0": {"primitive": 0, "said": ["hello"]}, "agent_1": 0},
        {"agent_0": 0, "agent_1": 0},
        {"agent_0": 0, "agent_1": 0},
    ]
    assert [e.payload["actions"] for e in events if e.kind == "step"] == env.moves


def test_messages_of_a_plan_are_sent_as_it_is_committed(tmp_path: Path) -> None:
    env = by_turns()
    plan = Plan("none", waiting(1).actions, "", (TO_1, Outgoing(("agent_1", "agent_7"), "again")))
    team = [Listed(env, [plan]), Listed(env, [Plan("none", waiting(1).actions, "", (TO_0,))])]
    events = play(tmp_path, turns.make(TWO, speaks=False), team, env, 2)
    sent = [(e.agent, e.payload["content"], e.cog_time / 1e6) for e in events if e.kind == "message_sent"]
    assert sent == [("agent_0", "hello", 1), ("agent_0", "again", 1), ("agent_1", "good day", 2.1)]
    assert [e.payload["reason"] for e in events if e.kind == "message_refused"] == ["unknown_recipient"]
    assert [m.content for m in team[1].views[0][1].unread] == ["hello", "again"]
    assert env.moves[0]["agent_0"] == {"primitive": 0, "said": ["hello", "again"]}


def test_a_plan_made_on_ones_turn_goes_on_in_the_turn_of_others(tmp_path: Path) -> None:
    env = by_turns()
    team = [Listed(env, [waiting(3)]), Listed(env)]
    events = play(tmp_path, turns.make(TWO), team, env, 3)
    assert [faculty for faculty, _ in team[0].views] == ["speak", "plan"]
    assert stages(events, "agent_0") == [(0, "R"), (2, "X"), (2.1, "W"), (4.1, "X")]


def test_a_mapping_without_a_primitive_is_no_move() -> None:
    assert primitive_of({"primitive": 2, "said": []}) == 2
    with pytest.raises(ValueError, match="integer under 'primitive'"):
        primitive_of({"said": ["hello"]})
