"""Symbolic actions: what each is grounded into, how it ends, and why it fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cube_maps import draw, parse, play
from pydantic import BaseModel, ValidationError

from emcoop.core.types import Category, Phase, Plan
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.cube.actions import (
    FAILURES,
    CubePlan,
    Move,
    MoveToBlock,
    Push,
    Rendezvous,
    Wait,
    WaitFor,
    Yield,
    check_plan,
)
from emcoop.envs.cube.grounding import ground
from emcoop.envs.cube.state import CubeState

Others = str | Callable[[int], str]


def carry_out(
    text: str | CubeState, action: BaseModel, others: Others = "", heard_after: int | None = None
) -> tuple[CubeState, str, Grounding]:
    """agent_0 carries out this action while the others do `others` at every step (letters, or letters by step).

    Returns the last state, agent_0's primitives as letters, and how the action ended.
    """
    state = parse(text) if isinstance(text, str) else text
    progress, done = Progress(), ""
    for _ in range(60):
        grounding = ground(state, "agent_0", action, progress)
        if not isinstance(grounding, Primitive):
            return state, done, grounding
        done += ".UDLR"[grounding.action]
        rest = others if isinstance(others, str) else others(progress.steps)
        state, _ = play(state, done[-1] + rest)
        heard = ("agent_1",) if heard_after is not None and progress.steps + 1 >= heard_after else ()
        progress = Progress(progress.steps + 1, grounding.memo, heard)
    raise AssertionError("the action did not end in 60 steps")


def code(grounding: Grounding) -> str:
    assert isinstance(grounding, Failed), grounding
    phase, category = FAILURES[grounding.failure.code]
    assert grounding.failure.phase == Phase.EXECUTION
    assert grounding.failure.category == category
    assert phase in Phase
    return grounding.failure.code


ROOM = "......\n......\n.a....\n......\n......\n......"


def test_move_goes_as_far_as_it_says() -> None:
    state, primitives, end = carry_out(ROOM, Move(direction="right", num_steps=3))
    assert (primitives, end, state.agents.tolist()) == ("RRR", Done(), [[2, 4]])


def test_move_fails_at_the_wall_and_says_how_far_it_came() -> None:
    _, primitives, end = carry_out(ROOM, Move(direction="up", num_steps=5))
    assert (primitives, code(end)) == ("UUU", "wall")
    assert isinstance(end, Failed)
    assert end.failure.detail == {"moved": 2, "wanted": 5}


def test_move_fails_against_a_teammate_who_stays_and_names_it() -> None:
    _, primitives, end = carry_out("....\nab..\n....\n....", Move(direction="right", num_steps=2), ".")
    assert (primitives, code(end)) == ("RR", "occupied")


def test_move_pushes_a_block_when_the_force_suffices_else_says_the_force() -> None:
    state, _, end = carry_out("......\naA....\n......\n......\n......\n......", Move(direction="right", num_steps=2))
    assert (end, draw(state).split()[1]) == (Done(), "..aA..")
    _, _, end = carry_out("......\naAA...\n.AA...\n......\n......\n......", Move(direction="right", num_steps=1))
    assert code(end) == "insufficient_force"


def test_wait_stays_for_its_steps() -> None:
    _, primitives, end = carry_out(ROOM, Wait(num_steps=4))
    assert (primitives, end) == ("....", Done())


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("......\n.aA...\n......\n......\n......\n......", "R"),
        ("......\n......\n..Aa..\n......\n......\n......", "L"),
        ("......\n......\n......\n..A...\n..a...\n......", "U"),
        ("......\n..a...\n..A...\n......\n......\n......", "D"),
    ],
)
def test_push_goes_away_from_the_face_at_which_the_agent_stands(text: str, letter: str) -> None:
    _, primitives, end = carry_out(text, Push(block_id=0, num_steps=2))
    assert (primitives, end) == (letter * 2, Done())


def test_push_ends_well_as_soon_as_the_block_is_delivered() -> None:
    _, primitives, end = carry_out(".....\n.aA..\n.....\n.....\n.....", Push(block_id=0, num_steps=9))
    assert (primitives, end) == ("RR", Done())


def test_push_alone_at_a_heavy_block_fails_with_the_numbers() -> None:
    _, primitives, end = carry_out("......\naAA...\n.AA...\nb.....\n......\n......", Push(block_id=0, num_steps=3), ".")
    assert (primitives, code(end)) == ("RRR", "insufficient_force")
    assert isinstance(end, Failed)
    assert (end.failure.detail["need"], end.failure.detail["have"]) == (2, 1)
    assert "2" in end.failure.message
    assert "1" in end.failure.message


def test_push_behind_a_teammate_who_does_not_push_fails_with_the_block_s_weight() -> None:
    _, _, end = carry_out("......\nabA...\n......\n......\n......\n......", Push(block_id=0, num_steps=2), ".")
    assert code(end) == "insufficient_force"
    assert isinstance(end, Failed)
    assert (end.failure.detail["need"], end.failure.detail["have"]) == (1, 0)
    assert "did not push" in end.failure.message


def test_push_into_a_teammate_fails_with_blocked_destination() -> None:
    _, _, end = carry_out("......\n.aAb..\n......\n......\n......\n......", Push(block_id=0, num_steps=2), ".")
    assert code(end) == "blocked_destination"


def test_push_succeeds_when_help_comes_in_time() -> None:
    text = "......\naAA...\nbAA...\n......\n......\n......"
    state, primitives, end = carry_out(text, Push(block_id=0, num_steps=3), lambda step: "R" if step else ".")
    assert (primitives, end, state.blocks.tolist()) == ("RRR", Done(), [[1, 3, 2]])


def test_push_without_contact_fails_at_once() -> None:
    _, primitives, end = carry_out("......\na.A...\n......\n......\n......\n......", Push(block_id=0, num_steps=2))
    assert (primitives, code(end)) == ("", "no_contact")


def test_push_notices_that_a_teammate_has_pushed_the_block_away() -> None:
    text = "......\n......\n.aA...\n..b...\n......\n......"
    _, _, end = carry_out(text, Push(block_id=0, num_steps=4), "U")
    assert code(end) == "lost_contact"


def test_push_of_a_delivered_block_fails() -> None:
    state, _ = play(parse("....\n.aA.\n....\n...."), "R")
    _, primitives, end = carry_out(state, Push(block_id=0, num_steps=2))
    assert (primitives, code(end)) == ("", "already_delivered")


def test_move_to_block_walks_a_shortest_way_round() -> None:
    text = "......\n..A...\n..BB..\na.BB..\n......\n......"
    state, primitives, end = carry_out(text, MoveToBlock(block_id=1, side="right"))
    assert end == Done()
    assert len(primitives) == 6
    assert tuple(state.agents[0].tolist()) in state.contact_cells(1, "right")


@pytest.mark.parametrize("slot", [0, 1])
def test_move_to_block_takes_the_slot_it_names(slot: int) -> None:
    text = "......\n......\n..AA..\na.AA..\n......\n......"
    state, _, end = carry_out(text, MoveToBlock(block_id=0, side="up", slot=slot))
    assert end == Done()
    assert tuple(state.agents[0].tolist()) == state.contact_cells(0, "up")[slot]


def test_move_to_block_is_done_where_it_stands() -> None:
    _, primitives, end = carry_out("....\naA..\n....\n....", MoveToBlock(block_id=0, side="left"))
    assert (primitives, end) == ("", Done())


def test_move_to_block_waits_and_then_fails_when_the_way_is_shut() -> None:
    text = "aB....\nC.....\n......\n...A..\n......\n......"
    _, primitives, end = carry_out(text, MoveToBlock(block_id=0, side="left"))
    assert set(primitives) == {"."}
    assert code(end) == "no_path"


def test_move_to_block_says_that_others_hold_the_face() -> None:
    _, primitives, end = carry_out(
        "......\n......\na..bA.\n......\n......\n......", MoveToBlock(block_id=0, side="left"), "."
    )
    assert set(primitives) == {"."}
    assert code(end) == "face_occupied"


def test_move_to_block_goes_on_when_the_face_becomes_free() -> None:
    text = "......\n......\na..bA.\n......\n......\n......"
    _, primitives, end = carry_out(text, MoveToBlock(block_id=0, side="left"), lambda step: "U" if step == 2 else ".")
    assert (primitives, end) == ("...RRR", Done())


def test_rendezvous_waits_until_as_many_stand_there_as_the_block_weighs() -> None:
    text = "......\n..AA..\na.AA..\n......\n......\nb....."
    state, primitives, end = carry_out(text, Rendezvous(block_id=0, side="left"), "U")
    assert (primitives, end, state.agents.tolist()) == ("R..", Done(), [[2, 1], [2, 0]])


def test_rendezvous_counts_who_stands_in_line_behind() -> None:
    _, primitives, end = carry_out(
        "......\nbaAA..\n..AA..\n......\n......\n......", Rendezvous(block_id=0, side="left"), "."
    )
    assert (primitives, end) == ("", Done())


def test_rendezvous_gives_up_after_its_timeout_with_the_numbers() -> None:
    text = "......\n.aAA..\n..AA..\n......\n......\nb....."
    _, primitives, end = carry_out(text, Rendezvous(block_id=0, side="left", timeout=4), ".")
    assert (primitives, code(end)) == ("....", "rendezvous_timeout")
    assert isinstance(end, Failed)
    assert end.failure.detail == {"have": 1, "need": 2}


def test_yield_steps_aside_where_no_block_is_touched() -> None:
    state, primitives, end = carry_out("......\n......\n..aA..\n......\n......\n......", Yield())
    assert (len(primitives), end) == (1, Done())
    row, col = state.agents[0].tolist()
    assert abs(row - 2) + abs(col - 3) > 1


def test_yield_fails_when_it_is_boxed_in() -> None:
    _, primitives, end = carry_out("ab..\nc...\n....\n..A.", Yield(), "..")
    assert (primitives, code(end)) == ("", "no_free_cell")


def test_wait_for_a_position_ends_when_the_teammate_is_there() -> None:
    action = WaitFor(agent_id="agent_1", event="position", row=3, col=3)
    _, primitives, end = carry_out("....\na...\n....\n.b..", action, "R")
    assert (primitives, end) == ("..", Done())


def test_wait_for_a_message_ends_when_it_has_come_and_else_times_out() -> None:
    text = "....\na...\n....\n.b.."
    _, primitives, end = carry_out(text, WaitFor(agent_id="agent_1", timeout=7), ".", heard_after=3)
    assert (primitives, end) == ("...", Done())
    _, primitives, end = carry_out(text, WaitFor(agent_id="agent_1", timeout=7), ".")
    assert (primitives, code(end)) == ("." * 7, "wait_timeout")


HEAVY = "......\n..AA..\na.AA..\n......\n....B.\n......"


@pytest.mark.parametrize(
    ("task", "action", "reason"),
    [
        ("block_0", Wait(num_steps=1), "unknown_task"),
        ("block_7:left", Wait(num_steps=1), "unknown_block"),
        ("none", Push(block_id=7, num_steps=1), "unknown_block"),
        ("none", MoveToBlock(block_id=7, side="left"), "unknown_block"),
        ("none", Push(block_id=0, num_steps=1), "too_heavy_for_team"),
        ("none", Push(block_id=1, num_steps=1), "no_contact"),
        ("none", MoveToBlock(block_id=0, side="left", slot=2), "bad_arguments"),
        ("none", WaitFor(agent_id="agent_0"), "unknown_agent"),
        ("none", WaitFor(agent_id="agent_5"), "unknown_agent"),
    ],
)
def test_plans_that_cannot_work_are_refused_before_they_start(task: str, action: BaseModel, reason: str) -> None:
    found = check_plan(parse(HEAVY), "agent_0", Plan(task, (action,)))
    assert found is not None
    assert (found.code, (found.phase, found.category)) == (reason, FAILURES[reason])


def test_a_push_after_a_walk_is_not_refused_for_missing_contact() -> None:
    plan = Plan("block_1:left", (MoveToBlock(block_id=1, side="left"), Push(block_id=1, num_steps=1)))
    assert check_plan(parse(HEAVY), "agent_0", plan) is None


def test_plans_for_a_delivered_block_or_a_face_at_the_wall_are_refused() -> None:
    state, _ = play(parse("....\n.aA.\n....\n...."), "R")
    found = check_plan(state, "agent_0", Plan("block_0:left", (Wait(num_steps=1),)))
    assert found is not None
    assert found.code == "already_delivered"
    at_wall = parse("A...\n....\na...\n....")
    found = check_plan(at_wall, "agent_0", Plan("none", (MoveToBlock(block_id=0, side="left"),)))
    assert found is not None
    assert found.code == "no_face"


@pytest.mark.parametrize(
    "answer",
    [
        {"task": "block_0:front", "actions": [{"action_type": "wait", "num_steps": 1}]},
        {"task": "none", "actions": []},
        {"task": "none", "actions": [{"action_type": "wait", "num_steps": 11}]},
        {"task": "none", "actions": [{"action_type": "move", "direction": "north", "num_steps": 1}]},
        {"task": "none", "actions": [{"action_type": "fly"}]},
        {"task": "none", "actions": [{"action_type": "push", "block_id": -1, "num_steps": 1}]},
    ],
)
def test_answers_outside_the_schema_are_refused(answer: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CubePlan.model_validate(answer)


def test_what_is_no_action_of_cube_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="CubePlan"):
        ground(parse(ROOM), "agent_0", CubePlan(task="none", actions=[Wait(num_steps=1)]), Progress())


def test_every_failure_reason_has_a_category_and_no_two_spellings() -> None:
    assert all(code.islower() and code.isidentifier() for code in FAILURES)
    assert {category for _, category in FAILURES.values()} <= set(Category)
