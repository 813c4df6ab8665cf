"""The symbolic actions of MA-Crafter: what each does, and the typed reason when it cannot."""

from pathlib import Path

import numpy as np
import pytest
from crafter_kit import bag, carry_out, draw, end_of, quiet, ripen

from emcoop.core.types import NO_TASK, Phase, Plan
from emcoop.envs.base import Done, Failed, Primitive, Progress
from emcoop.envs.ma_crafter.actions import (
    Collect,
    Craft,
    Move,
    Navigate,
    Noop,
    Place,
    Share,
    Sleep,
    WaitFor,
)
from emcoop.envs.ma_crafter.constants import COL, DEAD, ENERGY, FACING, ROW, SLEEPING
from emcoop.envs.ma_crafter.env import make

ONE = quiet(1)
TWO = quiet(2)
HARD = quiet(3, level="hard")


def place(state, agent=0):
    return int(state.agents[agent, ROW]), int(state.agents[agent, COL])


def name_of(env, state, kind, agent="agent_0"):
    target = next(t for t in env.observe(state, agent).targets if t.kind == kind)
    return target.id


def test_noop_waits_its_steps() -> None:
    ends, after, played = carry_out(ONE, draw(ONE, "...", ".0.", "..."), {"agent_0": Noop(num_steps=3)})
    assert isinstance(ends["agent_0"], Done)
    assert played["agent_0"] == [0, 0, 0]
    assert after.step == 3


def test_move_walks_and_says_why_it_could_not() -> None:
    state = draw(ONE, ".....", "0..T.", ".....")
    assert end_of(ONE, state, Move(direction="right", num_steps=2))[0] == "done"
    code, after = end_of(ONE, state, Move(direction="right", num_steps=4))
    assert (code, place(after)) == ("blocked", (1, 2))
    assert end_of(ONE, state, Move(direction="left"))[0] == "blocked"
    two = draw(TWO, "01.")
    assert end_of(TWO, two, Move(direction="right"))[0] == "occupied"


def test_one_agent_collects_alone_where_one_suffices() -> None:
    code, after = end_of(ONE, draw(ONE, "...", ".0T", "..."), Collect(target="wood"))
    assert (code, bag(after)) == ("done", {"wood": 1})


def test_collecting_needs_the_tool_the_thing_and_room(tmp_path: Path) -> None:
    assert end_of(ONE, draw(ONE, ".0#"), Collect(target="stone"))[0] == "missing_tool"
    assert end_of(ONE, draw(ONE, ".0#"), Collect(target="wood"))[0] == "nothing_in_reach"
    level = tmp_path / "laden.yaml"
    level.write_text("bag: {capacity: 3}\n")
    laden = quiet(1, level=str(level))
    assert end_of(laden, draw(laden, ".0T", bags={0: {"wood": 3}}), Collect(target="wood"))[0] == "bag_full"


def test_a_tenth_unit_is_thrown_away_as_in_crafter() -> None:
    code, after = end_of(ONE, draw(ONE, ".0T", bags={0: {"wood": 9}}), Collect(target="wood"))
    assert (code, bag(after)) == ("done", {"wood": 9})


def test_of_things_as_near_the_faced_one_is_collected() -> None:
    state = draw(ONE, ".#.", "#0#", ".#.", bags={0: {"wood_pickaxe": 1}})
    for direction, cell in {"left": (1, 0), "right": (1, 2), "up": (0, 1), "down": (2, 1)}.items():
        _, turned, _ = carry_out(ONE, state, {"agent_0": Move(direction=direction)})
        _, after = end_of(ONE, turned, Collect(target="stone"))
        assert np.argwhere(after.material != state.material).tolist() == [list(cell)]


def test_a_quorum_collects_together_and_each_gets_one() -> None:
    state = draw(HARD, "..0..", ".1T2.", ".....")
    ends, after, _ = carry_out(HARD, state, {a: Collect(target="wood") for a in ("agent_0", "agent_1")})
    assert all(isinstance(end, Done) for end in ends.values())
    assert [bag(after, i) for i in range(3)] == [{"wood": 1}, {"wood": 1}, {}]


def test_too_few_agents_fail_with_the_numbers_and_a_timeout_waits_for_the_second() -> None:
    state = draw(HARD, "..0..", ".1T2.", ".....")
    ends, _, _ = carry_out(HARD, state, {"agent_0": Collect(target="wood")})
    end = ends["agent_0"]
    assert isinstance(end, Failed)
    assert end.failure.code == "not_enough_agents"
    assert (end.failure.detail["have"], end.failure.detail["need"]) == (1, 2)
    state = draw(HARD, "..0...", "..T1.2", "......")
    actions = {"agent_0": Collect(target="wood", timeout=10), "agent_1": Collect(target="wood")}
    late = HARD.step(state, {**dict.fromkeys(HARD.agents, 0), "agent_0": 17}).state
    ends, after, _ = carry_out(HARD, late, actions)
    assert all(isinstance(end, Done) for end in ends.values())
    assert bag(after, 2) == {}


def test_drinking_eating_and_fighting_end_well() -> None:
    state = draw(ONE, "..~", "C0Z", "..p")
    state.inventory[0, 1:3] = 3
    code, after = end_of(ONE, state, Collect(target="cow"))
    assert code in ("done", "nothing_in_reach")
    assert (after.achievements[0, 9] > 0) == (code == "done")
    water = draw(ONE, ".0~")
    water.inventory[0, 2] = 3
    code, after = end_of(ONE, water, Collect(target="drink"))
    assert (code, after.inventory[0, 2]) == ("done", 4)
    assert end_of(ONE, draw(ONE, "...", ".0.", "..."), Collect(target="zombie"))[0] == "nothing_in_reach"


def test_a_ripe_plant_is_eaten_and_an_unripe_one_is_not() -> None:
    state = draw(ONE, ".0p")
    assert end_of(ONE, state, Collect(target="plant"))[0] == "not_ripe"
    ripen(state, 0)
    assert end_of(ONE, state, Collect(target="plant"))[0] == "done"


def test_a_zombie_beside_the_agent_is_faced_and_brought_down() -> None:
    state = draw(ONE, "TTT", "T0Z", "TTT", bags={0: {"iron_sword": 1}})
    code, after = end_of(ONE, state, Collect(target="zombie"))
    assert code == "done"
    assert after.achievements[0, 8] == 1


def test_crafting_turns_to_the_table_and_the_leader_pays_for_all() -> None:
    state = draw(TWO, "....", ".0t1", "....", bags={0: {"wood": 1}})
    actions = {agent: Craft(item="wood_pickaxe", timeout=4) for agent in TWO.agents}
    ends, after, _ = carry_out(TWO, state, actions)
    assert all(isinstance(end, Done) for end in ends.values())
    assert bag(after, 0) == bag(after, 1) == {"wood_pickaxe": 1}


def test_crafting_fails_without_station_material_or_leader() -> None:
    assert end_of(ONE, draw(ONE, "...", ".0.", "..."), Craft(item="wood_sword"))[0] == "no_station"
    assert end_of(ONE, draw(ONE, ".0t"), Craft(item="wood_sword"))[0] == "missing_items"
    diagonal = draw(ONE, "..t", ".0.", "...", bags={0: {"wood": 1}})
    assert end_of(ONE, diagonal, Craft(item="wood_sword"))[0] == "no_leader"


def test_placing_takes_the_price_and_the_right_ground() -> None:
    state = draw(ONE, "...", ".0.", "...", bags={0: {"wood": 2, "sapling": 1, "stone": 4}})
    code, after = end_of(ONE, state, Place(item="table"))
    assert (code, bag(after)) == ("done", {"sapling": 1, "stone": 4})
    assert end_of(ONE, state, Place(item="plant"))[0] == "done"
    assert end_of(ONE, state, Place(item="furnace"))[0] == "no_station"
    assert end_of(ONE, draw(ONE, "...", ".0.", "..."), Place(item="table"))[0] == "missing_items"
    assert end_of(ONE, draw(ONE, ".0.", ".T."), Place(item="stone"))[0] == "cannot_place_here"


def test_sharing_hands_over_the_quantity_or_nothing() -> None:
    state = draw(TWO, ".01..", bags={0: {"wood": 3}})
    code, after = end_of(TWO, state, Share(recipient_agent_id="agent_1", resource_type="wood", quantity=2))
    assert (code, bag(after, 0), bag(after, 1)) == ("done", {"wood": 1}, {"wood": 2})
    assert end_of(TWO, state, Share(recipient_agent_id="agent_1", resource_type="wood", quantity=4))[0] == (
        "missing_items"
    )
    full = draw(TWO, ".01..", bags={0: {"wood": 3}, 1: {"wood": 9}})
    assert end_of(TWO, full, Share(recipient_agent_id="agent_1", resource_type="wood"))[0] == "recipient_bag_full"
    far = draw(TWO, ".0..1", bags={0: {"wood": 3}})
    assert end_of(TWO, far, Share(recipient_agent_id="agent_1", resource_type="wood"))[0] == "recipient_too_far"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Share(recipient_agent_id="agent_0", resource_type="wood"), "share_with_oneself"),
        (Share(recipient_agent_id="agent_7", resource_type="wood"), "unknown_agent"),
        (Share(recipient_agent_id="nobody", resource_type="wood"), "unknown_agent"),
        (Share(recipient_agent_id="agent_1", resource_type="wood", quantity=12), "bad_arguments"),
        (WaitFor(agent_id="agent_0"), "unknown_agent"),
        (WaitFor(agent_id="agent_1", event="position"), "bad_arguments"),
        (WaitFor(agent_id="agent_1", event="position", row=1, col=99), "bad_arguments"),
        (Navigate(object_type="tree", item_id=99), "unknown_target"),
        (Navigate(object_type="cow", item_id=1), "unknown_target"),
        (Navigate(object_type="agent", item_id=0), "unknown_agent"),
        (Navigate(object_type="agent", item_id=5), "unknown_agent"),
        (Navigate(object_type="agent", item_id=1), "teammate_not_seen"),
        (Navigate(object_type="cell", row=3), "bad_arguments"),
    ],
)
def test_what_does_not_exist_is_refused_before_the_start(action, code) -> None:
    state = draw(TWO, "0..............1")
    failure = TWO.check_plan(state, "agent_0", Plan(NO_TASK, (action,)))
    assert failure is not None
    assert failure.code == code
    assert failure.phase in (Phase.PRE_CHECK, Phase.PLAN_CHECK)


def test_a_requirement_above_the_team_is_refused_before_the_start() -> None:
    state = draw(HARD, "0.1.2")
    failure = HARD.check_plan(state, "agent_0", Plan(NO_TASK, (Collect(target="iron"),)))
    assert failure is not None
    assert (failure.code, failure.detail) == ("too_few_in_team", {"need": 4, "have": 3})


def test_only_what_the_agent_has_seen_can_be_walked_to() -> None:
    state = draw(TWO, "T0..........1..i")
    tree, iron = name_of(TWO, state, "tree"), name_of(TWO, state, "iron", "agent_1")
    for agent, kind, number, code in (
        ("agent_0", "tree", tree, None),
        ("agent_1", "iron", iron, None),
        ("agent_1", "tree", tree, "unknown_target"),
        ("agent_0", "iron", iron, "unknown_target"),
        ("agent_0", "iron", tree, "unknown_target"),
    ):
        failure = TWO.check_plan(state, agent, Plan(NO_TASK, (Navigate(object_type=kind, item_id=number),)))
        assert (failure.code if failure else None) == code


def test_a_task_may_be_one_that_only_a_teammate_has_seen_but_not_an_invented_one() -> None:
    state = draw(TWO, "T0..........1..i")
    iron = name_of(TWO, state, "iron", "agent_1")
    assert TWO.check_plan(state, "agent_0", Plan(f"iron_{iron}", (Noop(),))) is None
    for invented in ("iron_77", f"coal_{iron}", f"cow_{iron}", "cow_0"):
        failure = TWO.check_plan(state, "agent_0", Plan(invented, (Noop(),)))
        assert failure is not None
        assert failure.code == "unknown_target"
    assert TWO.check_plan(state, "agent_0", Plan("make_wood_pickaxe", (Noop(),))) is None


def test_navigation_goes_around_obstacles_by_a_shortest_path_and_ends_facing() -> None:
    state = draw(ONE, ".....", ".TTT.", "0#~T.", ".!tT.", "...f.", "...id")
    iron = name_of(ONE, state, "iron")
    ends, after, played = carry_out(ONE, state, {"agent_0": Navigate(object_type="iron", item_id=iron)})
    assert isinstance(ends["agent_0"], Done)
    assert place(after) == (5, 2)
    assert len(played["agent_0"]) == 5
    assert after.agents[0, FACING] == 2
    table = name_of(ONE, after, "table")
    ends, after, _ = carry_out(ONE, after, {"agent_0": Navigate(object_type="table", item_id=table)})
    assert place(after) == (4, 2)
    assert after.agents[0, FACING] == 3


def test_navigation_follows_a_cow_that_moves() -> None:
    env = make(1, "easy", mobs="cows")
    state = draw(env, *["." * 9] * 3, "0......C.", *["." * 9] * 3, seed=5)
    cow = name_of(env, draw(env, "....", "0..C", "...."), "cow")
    moved = 0
    for seed in range(8):
        state = draw(env, "....", "....", "0..C", "....", "....", seed=seed)
        start = {t.kind: (t.row, t.col) for t in env.observe(state, "agent_0").targets}["cow"]
        code, after = end_of(env, state, Navigate(object_type="cow", item_id=cow))
        assert code == "done"
        target = next(t for t in env.observe(after, "agent_0").targets if t.kind == "cow")
        assert env.observe(after, "agent_0").faces == target.name
        moved += (target.row, target.col) != start
    assert moved


def test_navigation_replans_when_a_teammate_steps_into_the_way() -> None:
    state = draw(TWO, "......", "0.1.T.", "......")
    tree = name_of(TWO, state, "tree")
    ends, after, _ = carry_out(TWO, state, {"agent_0": Navigate(object_type="tree", item_id=tree)})
    assert isinstance(ends["agent_0"], Done)
    walk = Navigate(object_type="tree", item_id=tree)
    dance = Move(direction="up", num_steps=1)
    ends, after, _ = carry_out(TWO, state, {"agent_0": walk, "agent_1": dance})
    assert isinstance(ends["agent_0"], Done)
    assert TWO.observe(after, "agent_0").faces == f"tree_{tree}"


def test_navigation_says_that_a_way_is_closed_that_time_is_over_or_that_the_target_is_gone() -> None:
    closed = draw(ONE, "0~T", "~~.", "...")
    tree = name_of(ONE, closed, "tree")
    assert end_of(ONE, closed, Navigate(object_type="tree", item_id=tree))[0] == "no_path"
    far = draw(ONE, "0...T")
    tree = name_of(ONE, far, "tree")
    assert end_of(ONE, far, Navigate(object_type="tree", item_id=tree, timeout=2))[0] == "navigation_timeout"
    state = draw(TWO, "0...T1")
    tree = name_of(TWO, state, "tree")
    actions = {"agent_0": Navigate(object_type="tree", item_id=tree), "agent_1": Collect(target="wood")}
    ends, after, _ = carry_out(TWO, state, actions)
    end = ends["agent_0"]
    assert isinstance(end, Failed)
    assert (end.failure.code, end.failure.phase) == ("target_gone", Phase.EXECUTION)
    failure = TWO.check_plan(after, "agent_0", Plan(NO_TASK, (actions["agent_0"],)))
    assert failure is not None
    assert failure.code == "target_gone"


def test_navigation_to_a_cell_stands_on_it_or_beside_it_when_it_is_taken() -> None:
    state = draw(ONE, "......", "0....T", "......")
    code, after = end_of(ONE, state, Navigate(object_type="cell", row=2, col=3))
    assert (code, place(after)) == ("done", (2, 3))
    code, after = end_of(ONE, state, Navigate(object_type="cell", row=1, col=5))
    assert (code, place(after)) == ("done", (1, 4))


def test_navigation_to_a_teammate_ends_within_reach_for_sharing() -> None:
    state = draw(TWO, "0.....", "......", "..1...", bags={0: {"coal": 1}})
    code, after = end_of(TWO, state, Navigate(object_type="agent", item_id=1))
    assert code == "done"
    assert end_of(TWO, after, Share(recipient_agent_id="agent_1", resource_type="coal"))[0] == "done"


def test_sleep_lasts_until_the_energy_is_full_and_needs_some_tiredness() -> None:
    state = draw(ONE, "...", ".0.", "...")
    assert end_of(ONE, state, Sleep())[0] == "already_rested"
    state.inventory[0, ENERGY] = 7
    code, after = end_of(ONE, state, Sleep())
    assert (code, after.inventory[0, ENERGY]) == ("done", 9)


def test_who_is_hurt_in_its_sleep_is_told() -> None:
    env = make(1, "easy")
    state = draw(env, "TTTT", "T0ZT", "TTTT")
    state.inventory[0, ENERGY] = 2
    code, after = end_of(env, state, Sleep())
    assert code == "hurt_while_asleep"
    assert not after.agents[0, SLEEPING]


def test_the_sleeping_and_the_dead_get_a_typed_reason() -> None:
    state = draw(TWO, "01T")
    state.inventory[0, ENERGY] = 3
    state.agents[0, SLEEPING] = 1
    grounded = TWO.ground(state, "agent_0", Move(direction="up"), Progress())
    assert isinstance(grounded, Failed)
    assert grounded.failure.code == "asleep"
    failure = TWO.check_plan(state, "agent_0", Plan(NO_TASK, (Move(direction="up"), Sleep())))
    assert failure is not None
    assert failure.code == "asleep"
    assert TWO.check_plan(state, "agent_0", Plan(NO_TASK, (Sleep(), Move(direction="up")))) is None
    assert isinstance(TWO.ground(state, "agent_0", Noop(), Progress()), Primitive)
    events = TWO.step(state, {"agent_0": 3, "agent_1": 0}).events
    assert {"kind": "blocked", "agent": "agent_0", "code": "still_asleep"} in events

    dead = draw(TWO, "01T")
    dead.agents[1, DEAD] = 1
    failure = TWO.check_plan(dead, "agent_1", Plan(NO_TASK, (Collect(target="wood"),)))
    assert failure is not None
    assert failure.code == "dead"
    assert TWO.check_plan(dead, "agent_1", TWO.wait_plan(2)) is None
    grounded = TWO.ground(dead, "agent_1", Collect(target="wood"), Progress())
    assert isinstance(grounded, Failed)
    assert grounded.failure.code == "dead"


def test_waiting_for_a_teammate_ends_with_its_message_or_its_arrival_in_sight() -> None:
    state = draw(TWO, "0..1")
    message = WaitFor(agent_id="agent_1", timeout=3)
    assert isinstance(TWO.ground(state, "agent_0", message, Progress(1, None, ("agent_1",))), Done)
    assert end_of(TWO, state, message)[0] == "wait_timeout"
    arrival = WaitFor(agent_id="agent_1", event="position", row=0, col=2, timeout=9)
    ends, after, _ = carry_out(TWO, state, {"agent_0": arrival, "agent_1": Move(direction="left")})
    assert isinstance(ends["agent_0"], Done)
    assert place(after, 1) == (0, 2)
    unseen = draw(TWO, "0..............1")
    hidden = WaitFor(agent_id="agent_1", event="position", row=0, col=15, timeout=2)
    assert end_of(TWO, unseen, hidden)[0] == "wait_timeout"
