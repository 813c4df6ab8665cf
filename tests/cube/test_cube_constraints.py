"""The four kinds of constraints of CUBE's tasks, worked out by hand, and against what pushes really do."""

from __future__ import annotations

import sys

import numpy as np
from cube_maps import ACTIONS, parse, play
from test_cube_kernel import kernel_step, random_world

from emcoop.core.types import Constraint, TaskConstraints
from emcoop.envs.cube import rules
from emcoop.envs.cube.constraints import constraints
from emcoop.envs.cube.state import PUSH_OF_SIDE, RESULTS, SIDE_OF_PUSH, make_state

LONE = "......\n..AA..\n.aAA..\n......\n......\n......"


def names(indices: str) -> frozenset[str]:
    """``"ac"``: agents 0 and 2."""
    return frozenset(f"agent_{ord(letter) - ord('a')}" for letter in indices)


def found(text: str, joint: str, *named: str) -> dict[str, TaskConstraints]:
    state = parse(text)
    actions = {f"agent_{i}": ACTIONS[letter] for i, letter in enumerate(joint)}
    return constraints(state, actions, frozenset(named))


def check(
    task: TaskConstraints, required: int, spatial: str, temporal: str, dependency: str, participation: str
) -> None:
    assert task.required == required
    assert task.satisfied == {
        Constraint.SPATIAL: names(spatial),
        Constraint.TEMPORAL: names(temporal),
        Constraint.DEPENDENCY: names(dependency),
        Constraint.PARTICIPATION: names(participation),
    }


def test_two_at_a_face_who_push_hold_every_kind() -> None:
    task = found("......\n.bAA..\n.aAA..\n......\n......\n......", "RR")["block_0:left"]
    check(task, 2, "ab", "ab", "ab", "ab")
    assert all(task.holds(kind) for kind in Constraint)
    assert task.attempting == names("ab")


def test_one_who_waits_at_the_face_is_there_but_not_in_time() -> None:
    task = found("......\n.bAA..\n.aAA..\n......\n......\n......", "R.")["block_0:left"]
    check(task, 2, "ab", "a", "ab", "a")
    assert [task.holds(kind) for kind in Constraint] == [True, False, True, False]


def test_a_line_behind_the_face_counts_as_far_as_it_is_contiguous() -> None:
    task = found("........\na.bcAA..\n....AA..\n........\n........\n........\n........\n........", "RRR")[
        "block_0:left"
    ]
    check(task, 2, "bc", "bc", "abc", "bc")


def test_who_pushes_behind_one_who_does_not_attempts_but_lends_no_force() -> None:
    task = found("......\nabAA..\n..AA..\n......\n......\n......", "R.")["block_0:left"]
    check(task, 2, "ab", "", "ab", "")
    assert task.attempting == names("a")


def test_a_chain_of_blocks_needs_the_force_for_all_of_it() -> None:
    task = found("......\nabAB..\n......\n......\n......\n......", "RR")["block_0:left"]
    check(task, 2, "ab", "ab", "ab", "ab")


def test_a_way_that_is_shut_shuts_it_for_everybody() -> None:
    blocked = "......\n.bAAc.\n.aAA..\n......\n......\n......"
    listed = found(blocked, "RR.")
    check(listed["block_0:left"], 2, "ab", "ab", "", "")
    # From the other face the pushers' own cells are in the way.
    check(listed["block_0:right"], 2, "c", "", "", "")


def test_the_wall_shuts_the_way_too() -> None:
    listed = found("A...\na...\n....\n....", "U")
    check(listed["block_0:down"], 1, "a", "a", "", "")


def test_only_tasks_with_somebody_at_the_face_are_listed_and_those_named() -> None:
    assert set(found(LONE, "R")) == {"block_0:left"}
    listed = found(LONE, "R", "block_0:up", "block_9:up", "nonsense")
    assert set(listed) == {"block_0:left", "block_0:up"}
    check(listed["block_0:up"], 2, "", "", "a", "")


def test_a_delivered_block_has_no_tasks() -> None:
    state, _ = play(parse("....\n.aA.\n....\n...."), "R")
    assert constraints(state, {"agent_0": 4}, frozenset({"block_0:left"})) == {}


def test_the_cost_does_not_grow_with_the_grid() -> None:
    """Counted in interpreter steps, not seconds: the same small scene in a corner of a large grid costs the same."""

    def cost(side: int) -> int:
        state = make_state(side, np.array([[2, 1]], np.int32), np.array([[2, 2, 1]], np.int32))
        events = 0

        def count(*_: object) -> None:
            nonlocal events
            events += 1

        constraints(state, {"agent_0": 4}, frozenset())
        sys.setprofile(count)
        try:
            constraints(state, {"agent_0": 4}, frozenset())
        finally:
            sys.setprofile(None)
        return events

    assert cost(400) == cost(8)


def test_when_all_kinds_hold_the_block_moves() -> None:
    """A sufficient condition: with one direction pushed at a time, a task that holds is a block that moves."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(2500):
        way = int(rng.integers(1, 5))
        before = random_world(rng, way)
        joint = np.where(rng.random(len(before.agents)) < 0.9, way, 0).tolist()
        after, _ = kernel_step(before, joint)
        listed = constraints(before, {f"agent_{i}": a for i, a in enumerate(joint)}, frozenset())
        moved = {b for b in range(len(before.blocks)) if (before.blocks[b] != after.blocks[b]).any()}
        for name, task in listed.items():
            block, side = int(name.split(":")[0].removeprefix("block_")), name.split(":")[1]
            if all(task.holds(kind) for kind in Constraint):
                assert PUSH_OF_SIDE[side] == way
                assert block in moved
                held += 1
        for i, (code, _, _) in enumerate(after.last):
            if code == RESULTS.index("pushed"):
                nobody = np.zeros(len(joint), np.uint8)
                block = rules.pushed_block(before.grid, before.agents, np.array(joint), nobody, i)
                side = SIDE_OF_PUSH[way]
                assert f"agent_{i}" in listed[f"block_{block}:{side}"].attempting
    assert held > 100
