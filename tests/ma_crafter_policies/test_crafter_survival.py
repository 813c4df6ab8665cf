"""Staying alive in MA-Crafter: chambers that close, nights in them, and episodes that last."""

from __future__ import annotations

import numpy as np
import pytest
from crafter_seats import play
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.envs.base import Primitive, Progress
from emcoop.envs.ma_crafter import trial
from emcoop.envs.ma_crafter.actions import Collect, Craft, Move, Navigate, Place
from emcoop.envs.ma_crafter.config import read_level
from emcoop.envs.ma_crafter.constants import ENERGY, GRASS, LAVA, PATH, STEP, STONE, TABLE, TREE, WATER
from emcoop.envs.ma_crafter.env import make
from emcoop.envs.ma_crafter.knowledge import SKELETON, ZOMBIE, Cell, Knowledge, ahead, towards
from emcoop.envs.ma_crafter.moving import Mover
from emcoop.envs.ma_crafter.observe import CrafterObservation
from emcoop.envs.ma_crafter.planner import Digging, Ways, entering
from emcoop.envs.ma_crafter.reach import could_win
from emcoop.envs.ma_crafter.shelter import Site, build, enclosure, find_site
from emcoop.envs.ma_crafter.squads import picked
from emcoop.envs.ma_crafter.survival import DAWN, DUSK, Body, is_dark

DIRECTIONS = {"left": 1, "right": 2, "up": 3, "down": 4}
GROUND = st.sampled_from([GRASS, GRASS, GRASS, GRASS, TREE, WATER, STONE])


def standing(grid: np.ndarray, me: Cell, facing: int = 4) -> Knowledge:
    know = Knowledge(me=me, facing=facing, grid=grid)
    know.looked = np.zeros(grid.shape, np.int64)
    return know


def mover(know: Knowledge, stones: int) -> Mover:
    bag = {"stone": stones, "wood_pickaxe": 1}
    return Mover(know, Ways.over(entering(know, Digging()), know.me), bag)


def build_all(know: Knowledge, stones: int, *, can_dig: bool = False) -> int:
    """Do what `build` says, by the rules of walking, placing and collecting; returns the stones that are left."""
    nowhere = np.zeros(know.grid.shape, np.int64)
    found = find_site(know, mover(know, stones).ways, stones, nowhere, can_dig=can_dig)
    assert found is not None
    for _ in range(60):
        actions = build(found[0], mover(know, stones))
        if not actions:
            break
        for action in actions:
            faced = ahead(know.me, know.facing)
            if isinstance(action, Place):
                assert stones
                assert know.free(faced) or know.material(faced) == WATER
                know.grid[faced] = STONE
                stones -= 1
            elif isinstance(action, Navigate):
                assert action.row is not None
                assert action.col is not None
                assert not know.free((action.row, action.col))
                know.facing = towards(know.me, (action.row, action.col))
            elif isinstance(action, Collect):
                assert can_dig
                assert know.material(faced) == STONE
                know.grid[faced] = PATH
                stones = min(9, stones + 1)
            else:
                assert isinstance(action, Move)
                know.facing = DIRECTIONS[action.direction]
                for _ in range(action.num_steps):
                    there = ahead(know.me, know.facing)
                    know.me = there if know.free(there) else know.me
    return stones


def test_a_hut_closes_anywhere_on_open_grass_with_eight_stones() -> None:
    know = standing(np.full((40, 40), GRASS, np.uint8), (20, 20))
    assert enclosure(know) is None
    assert build_all(know, 8) == 0
    assert len(enclosure(know) or []) == 4


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(GROUND, min_size=12, max_size=12), min_size=12, max_size=12))
def test_every_chamber_that_is_found_can_be_closed_from_within(rows: list[list[int]]) -> None:
    grid = np.array(rows, np.uint8)
    grid[6, 6] = GRASS
    know = standing(grid, (6, 6))
    if find_site(know, mover(know, 8).ways, 8, np.zeros(grid.shape, np.int64), can_dig=False) is None:
        return
    assert build_all(know, 8) >= 0
    assert enclosure(know) is not None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(GROUND, min_size=12, max_size=12), min_size=12, max_size=12), st.integers(0, 9))
def test_every_chamber_that_is_dug_or_bridged_can_be_closed_from_within(rows: list[list[int]], stones: int) -> None:
    grid = np.array(rows, np.uint8)
    grid[6, 6] = GRASS
    know = standing(grid, (6, 6))
    if find_site(know, mover(know, stones).ways, stones, np.zeros(grid.shape, np.int64), can_dig=True) is None:
        return
    assert build_all(know, stones, can_dig=True) >= 0
    assert enclosure(know) is not None


@pytest.mark.parametrize("facing", [1, 2, 3, 4])
@pytest.mark.parametrize("material", [STONE, WATER])
def test_a_chamber_is_dug_or_bridged_in_every_direction(facing: int, material: int) -> None:
    know = standing(np.full((11, 11), material, np.uint8), (5, 5), facing)
    know.grid[5, 5] = PATH
    assert build_all(know, 1, can_dig=True) == (2 if material == STONE else 0)
    assert len(enclosure(know) or []) == 2


def test_a_chamber_that_cannot_be_reached_is_none_however_good_its_water() -> None:
    grid = np.full((12, 12), TREE, np.uint8)
    grid[6, 6] = grid[2, 2:4] = GRASS
    grid[1, 2] = WATER
    know = standing(grid, (6, 6))
    assert find_site(know, mover(know, 1).ways, 1, np.zeros(grid.shape, np.int64), can_dig=True) is None


def test_a_place_with_a_zombie_in_it_is_no_shelter() -> None:
    grid = np.full((6, 6), STONE, np.uint8)
    grid[2, 2:4] = GRASS
    know = standing(grid, (2, 2))
    assert enclosure(know) == [(2, 2), (2, 3)]
    know.bodies = {(2, 3): ZOMBIE}
    assert enclosure(know) is None


def test_where_there_are_archers_water_is_no_wall() -> None:
    grid = np.full((6, 6), STONE, np.uint8)
    grid[2, 2:4], grid[2, 4] = GRASS, WATER
    know = standing(grid, (2, 2))
    assert enclosure(know) is not None
    know.archers = {(5, 5): 1}
    know.bodies = {(5, 5): SKELETON}
    assert build(find_site_of(know), mover(know, 1))


def test_a_place_beside_lava_is_no_shelter() -> None:
    grid = np.full((6, 6), STONE, np.uint8)
    grid[2, 2:4] = GRASS
    know = standing(grid, (2, 2))
    assert enclosure(know) is not None
    grid[1, 2] = LAVA
    assert enclosure(know) is None


def find_site_of(know: Knowledge) -> Site:
    found = find_site(know, mover(know, 1).ways, 1, np.zeros(know.grid.shape, np.int64), can_dig=False)
    assert found is not None
    return found[0]


def test_what_stands_in_the_way_is_faced_and_taken() -> None:
    grid = np.full((9, 9), STONE, np.uint8)
    grid[4, 3:6] = GRASS
    know = standing(grid, (4, 3), 3)
    turn, collect = mover(know, 9).clear((4, 2))
    assert isinstance(turn, Navigate)
    assert (turn.row, turn.col) == (4, 2)
    assert isinstance(collect, Collect)
    know.facing = 1
    assert mover(know, 9).clear((4, 2)) == [collect]


def test_it_is_dark_from_dusk_to_dawn_of_every_day() -> None:
    assert [is_dark(300 * 3 + time) for time in (DUSK - 1, DUSK, DAWN - 1, DAWN)] == [False, True, True, False]


def test_collecting_takes_the_nearest_then_the_first_by_rows() -> None:
    grid = np.full((5, 5), GRASS, np.uint8)
    grid[1, 2] = grid[2, 1] = TREE
    know = standing(grid, (0, 0))
    assert picked(know, (2, 2), TREE, 1) == (1, 2)
    assert picked(know, (3, 1), TREE, 1) == (2, 1)
    assert picked(know, (4, 4), TREE, 2) is None


def test_crafting_asked_twice_in_one_step_answers_the_same_and_turns_to_the_table() -> None:
    env = make(agents=1)
    state = env.reset(0)
    row, col = int(state.agents[0, 0]), int(state.agents[0, 1])
    state.material[row, col - 1] = TABLE
    craft = Craft(item="wood_pickaxe")
    first = env.ground(state, "agent_0", craft, Progress())
    assert isinstance(first, Primitive)
    second = env.ground(state, "agent_0", craft, Progress(0, first.memo))
    assert isinstance(second, Primitive)
    assert (first.action, second.action) == (1, 1)
    third = env.ground(state, "agent_0", craft, Progress(1, second.memo))
    assert isinstance(third, Primitive)
    assert env.primitives[int(str(third.action))] == "make_wood_pickaxe"


def test_most_worlds_of_the_papers_hard_level_cannot_be_won_and_those_of_the_wide_one_might() -> None:
    hard, wide = make(4, "hard"), make(4, "hard-wide")
    states = [hard.reset(seed) for seed in range(3)]
    assert [could_win(state, hard.layout) for state in states] == [False] * 3
    assert [could_win(state, wide.layout) for state in states] == [True] * 3
    assert could_win(states[0], read_level("easy"))


@pytest.mark.parametrize("policy", ["scripted", "oracle", "random"])
def test_a_trial_in_silence_plays_the_very_states_of_the_loop(policy: str) -> None:
    looped = play(policy, agents=2, seed=37, horizon=120)
    tried = trial.play(policy, agents=2, seed=37, horizon=120)
    assert tried.digest == looped.of_kind("step")[-1]["state"]
    assert (tried.steps, tried.progress) == (looped.outcome.steps, looped.outcome.score.progress)


def test_the_trial_says_what_an_agent_died_of() -> None:
    played = trial.play("noop", seed=1)
    assert played.dead == "agent_0"
    assert played.cause
    assert played.last[-1].step == played.steps - 1


def test_with_the_diamond_at_hand_the_oracle_does_not_wait_for_the_day() -> None:
    played = [trial.play("oracle", seed=seed) for seed in range(42, 46)]
    assert any(one.success and is_dark(one.steps) for one in played)


@pytest.mark.slow
def test_where_a_stone_takes_several_nobody_dies_walled_in_or_for_want_of_sleep() -> None:
    played = [trial.play("scripted", "medium", 2, seed, talk=True, mobs="cows", horizon=600) for seed in range(3)]
    assert [(one.seed, one.cause) for one in played if one.dead is not None] == []


def test_a_tired_member_of_a_squad_sleeps_in_the_open_only_at_noon_and_out_of_sight_of_foes() -> None:
    env = make(2, "medium", mobs="none")
    state = env.reset(0)
    state.inventory[:, ENERGY] = 3
    for step, foe, sleeps in ((30, False, True), (30, True, False), (150, False, False)):
        state.clock[STEP] = step
        seen = env.observe(state, "agent_0")
        assert isinstance(seen, CrafterObservation)
        know = Knowledge()
        know.update(seen)
        if foe:
            know.bodies[seen.row - 2, seen.col - 2] = ZOMBIE
        move = Mover(know, Ways.over(entering(know, Digging()), know.me), seen.bag)
        care = Body().care(seen, move, digs=False)
        assert (care is not None and care.why == "sleep in the open") == sleeps


def test_with_the_rule_continue_an_episode_outlives_its_first_dead() -> None:
    end, on = (trial.play("noop", agents=2, seed=1, on_death=rule) for rule in ("end", "continue"))
    assert end.steps < on.steps


@pytest.mark.slow
def test_a_scripted_agent_lives_through_the_first_night_on_most_seeds() -> None:
    played = [trial.play("scripted", seed=seed, horizon=320) for seed in range(10)]
    assert sum(one.dead is None for one in played) >= 8


@pytest.mark.slow
def test_the_oracle_wins_more_often_than_not() -> None:
    assert sum(trial.play("oracle", seed=seed).success for seed in range(8)) >= 5
