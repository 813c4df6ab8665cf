"""What agents may know of MA-Crafter: nothing leaks, ids come in order of first sighting, the text is compact."""

import numpy as np
import pytest
from crafter_kit import draw, quiet, random_joint

from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Plan
from emcoop.envs.base import Progress
from emcoop.envs.ma_crafter.actions import Navigate
from emcoop.envs.ma_crafter.arrays import AGENT_CHANNEL, LENGTH, SEMANTIC
from emcoop.envs.ma_crafter.constants import (
    COL,
    DIAMOND,
    ENERGY,
    GRASS,
    LAVA,
    ROW,
    SLEEPING,
    STONE,
    TREE,
    UNKNOWN,
    VIEW_COLS,
    VIEW_ROWS,
)
from emcoop.envs.ma_crafter.env import make
from emcoop.envs.ma_crafter.observe import GROUND_SYMBOLS
from emcoop.envs.ma_crafter.state import CrafterState

ONE, TWO, THREE = quiet(1), quiet(2), quiet(3, level="hard")


def walked(env, seed, steps):
    stream, state = Stream.named(seed, "walk"), env.reset(seed)
    for _ in range(steps):
        state = env.step(state, random_joint(env, stream)).state
    return state


def out_of_view(state: CrafterState, agent: int) -> np.ndarray:
    rows, cols = np.indices(state.shape)
    return (abs(rows - state.agents[agent, ROW]) > VIEW_ROWS // 2) | (
        abs(cols - state.agents[agent, COL]) > VIEW_COLS // 2
    )


@pytest.mark.parametrize("seed", range(4))
def test_nothing_out_of_view_reaches_an_observation_a_check_or_a_grounding(seed: int) -> None:
    env = make(3, "hard", on_death="continue")
    state = walked(env, seed, 40)
    hidden = out_of_view(state, 0) & (state.occupant == 0)
    changed = state.copy()
    for material in (LAVA, DIAMOND, GRASS):
        changed.material[hidden] = material
        assert env.observe(changed, "agent_0") == env.observe(state, "agent_0")
        assert np.array_equal(env.array(changed, "agent_0"), env.array(state, "agent_0"))
        for target in env.observe(state, "agent_0").targets:
            action = Navigate(object_type=target.kind, item_id=target.id)
            plan = Plan(NO_TASK, (action,))
            assert env.check_plan(changed, "agent_0", plan) == env.check_plan(state, "agent_0", plan)
            if not env.check_plan(state, "agent_0", plan):
                assert env.ground(changed, "agent_0", action, Progress()) == env.ground(
                    state, "agent_0", action, Progress()
                )


def test_the_inventories_and_vitals_of_others_are_not_shown() -> None:
    state = draw(TWO, "0.1")
    richer = state.copy()
    richer.inventory[1] = 5
    assert TWO.observe(richer, "agent_0") == TWO.observe(state, "agent_0")
    assert TWO.observe(richer, "agent_1") != TWO.observe(state, "agent_1")


def test_ids_follow_the_order_of_first_sighting_and_say_nothing_of_positions() -> None:
    state = draw(ONE, "T.......T", "....0....", ".........")
    assert {t.name for t in ONE.observe(state, "agent_0").targets} == {"tree_1", "tree_2"}
    wide = draw(ONE, "T" * 3 + "." * 10 + "0" + "." * 3 + "i")
    assert [t.name for t in ONE.observe(wide, "agent_0").targets] == ["iron_1"]
    for _ in range(10):
        wide = ONE.step(wide, {"agent_0": 1}).state
    assert [(t.name, t.col) for t in ONE.observe(wide, "agent_0").targets] == [
        ("tree_2", 2),
        ("tree_3", 1),
        ("tree_4", 0),
        ("iron_1", 17),
    ]


def test_what_a_teammate_took_out_of_sight_is_remembered_until_it_is_seen() -> None:
    state = draw(TWO, "T.0.....1")
    for _ in range(3):
        state = TWO.step(state, {"agent_0": 0, "agent_1": 1}).state
    away = state.copy()
    for _ in range(1):
        away = TWO.step(away, {"agent_0": 1, "agent_1": 0}).state
    taken = TWO.step(away, {"agent_0": 17, "agent_1": 0}).state
    assert taken.material[0, 0] == GRASS
    assert TWO.observe(taken, "agent_0").target("tree_1") is None
    assert TWO.observe(taken, "agent_1").target("tree_1") is None
    far = draw(TWO, "T1...0......")
    for _ in range(4):
        far = TWO.step(far, {"agent_0": 2, "agent_1": 0}).state
    before = TWO.observe(far, "agent_0")
    far = TWO.step(far, {"agent_0": 0, "agent_1": 17}).state
    assert far.material[0, 0] == GRASS
    after = TWO.observe(far, "agent_0")
    assert (before.target("tree_1"), after.map) == (after.target("tree_1"), before.map)


def test_teammates_are_shown_in_view_and_where_they_were_last_seen() -> None:
    state = draw(THREE, "0..1.......2")
    mates = {mate.id: mate for mate in THREE.observe(state, "agent_0").teammates}
    assert (mates["agent_1"].col, mates["agent_1"].in_view) == (3, True)
    assert (mates["agent_2"].row, mates["agent_2"].step) == (None, None)
    for _ in range(3):
        state = THREE.step(state, {"agent_0": 0, "agent_1": 2, "agent_2": 0}).state
    mate = THREE.observe(state, "agent_0").teammates[0]
    assert (mate.col, mate.step, mate.in_view) == (4, 1, False)
    text = THREE.describe(THREE.observe(state, "agent_0"))
    assert "agent_1 at (0, 4) 2 steps ago" in text
    assert "agent_2 not seen yet" in text


def test_readiness_names_what_is_missing() -> None:
    state = draw(THREE, "..0...", ".1#...", ".2T...")
    ready = {t.kind: t.ready for t in THREE.observe(state, "agent_1").targets}
    assert ready == {"tree": "out of reach", "stone": "needs a wood_pickaxe"}
    assert "- stone, 3 agents with wood_pickaxe (you have none): stone_1" in THREE.describe(
        THREE.observe(state, "agent_1")
    )
    state.inventory[1, 10] = 1
    ready = {t.kind: (t.required, t.near, t.ready) for t in THREE.observe(state, "agent_1").targets}
    assert ready["stone"] == (3, 2, "needs 1 more near")
    tree = THREE.observe(state, "agent_2").target("tree_2")
    assert tree is not None
    assert (tree.required, tree.near, tree.ready) == (2, 1, "needs 1 more near")


def test_targets_say_how_many_steps_lead_beside_them_and_which_are_closed_in() -> None:
    state = draw(ONE, ".0..~.", "..#.~T", "..#.~.")
    targets = {t.name: t.steps for t in ONE.observe(state, "agent_0").targets}
    assert targets == {"tree_4": None, "stone_2": 1, "stone_5": 2, "water_1": 2, "water_3": 3, "water_6": 4}
    assert "tree_4 (1, 5) [+1, +4] no way known" in ONE.describe(ONE.observe(state, "agent_0"))


def test_the_last_result_says_what_was_missing() -> None:
    state = draw(THREE, "0T....", "1.....", "2.....")
    state = THREE.step(state, {"agent_0": 17, "agent_1": 3, "agent_2": 0}).state
    seen = THREE.observe(state, "agent_0")
    assert (seen.last_result, seen.last_failed) == ("too_few_agents", True)
    assert "it takes 2 agents" in THREE.describe(seen)
    assert "1 took part" in THREE.describe(seen)


def test_sleepers_see_nothing() -> None:
    state = draw(TWO, "0.1T")
    state.agents[0, SLEEPING], state.inventory[0, ENERGY] = 1, 2
    seen = TWO.observe(state, "agent_0")
    assert (seen.view, seen.asleep, seen.faces) == ((), True, "unknown")
    assert "asleep" in TWO.describe(seen)
    view = TWO.array(state, "agent_0")[: VIEW_ROWS * VIEW_COLS * SEMANTIC].reshape(VIEW_ROWS, VIEW_COLS, SEMANTIC)
    assert view[..., UNKNOWN].all()


def test_the_text_is_compact_and_does_not_list_filler_cell_by_cell() -> None:
    env = make(3, "hard", on_death="continue")
    for seed in range(3):
        state = walked(env, seed, 60)
        for agent in env.agents:
            seen = env.observe(state, agent)
            text = env.describe(seen)
            assert len(text) < 3500
            assert text.count("grass") <= 2
            assert len(seen.targets) < 60


def test_the_view_is_the_map_around_the_agent() -> None:
    state = draw(ONE, "T.~..", ".0#..", ".....")
    assert ONE.observe(state, "agent_0").view == (
        "xxxxxxxxx",
        "xxxxxxxxx",
        "xxxT.~..x",
        "xxx.@#..x",
        "xxx.....x",
        "xxxxxxxxx",
        "xxxxxxxxx",
    )
    assert ONE.observe(state, "agent_0").map == ("T.~..", "..#..", ".....")
    assert len(set(GROUND_SYMBOLS)) == len(GROUND_SYMBOLS)


def test_the_array_is_one_hot_view_then_bag_facing_and_flags() -> None:
    state = draw(TWO, "0T.1", "#...", bags={0: {"wood": 9}})
    array = TWO.array(state, "agent_0")
    assert array.shape == (LENGTH,)
    view = array[: VIEW_ROWS * VIEW_COLS * SEMANTIC].reshape(VIEW_ROWS, VIEW_COLS, SEMANTIC)
    assert (view.sum(axis=2) == 1).all()
    row, col = VIEW_ROWS // 2, VIEW_COLS // 2
    assert view[row, col, AGENT_CHANNEL] == view[row, col + 3, AGENT_CHANNEL] == 1
    assert view[row, col + 1, TREE] == view[row + 1, col, STONE] == view[row - 1, col, UNKNOWN] == 1
    rest = array[VIEW_ROWS * VIEW_COLS * SEMANTIC :]
    assert rest[:6].tolist() == [1, 1, 1, 1, 0, 1]
    assert rest[16:20].tolist() == [0, 0, 0, 1]
    assert (array >= 0).all()
    assert (array <= 1).all()
