"""Worlds in which agents know the whole map: what they are shown is the ground as it is, everywhere."""

from __future__ import annotations

import numpy as np
from tests.ma_crafter_symbolic.crafter_kit import draw, end_of, quiet

from emcoop.core.canonical import canonical_json
from emcoop.core.types import Plan
from emcoop.envs.ma_crafter.actions import Collect, Navigate
from emcoop.envs.ma_crafter.constants import ITEMS, MATERIALS, SLEEPING, UNKNOWN, VIEW_COLS, VIEW_ROWS
from emcoop.envs.ma_crafter.env import MACrafter, make
from emcoop.envs.ma_crafter.knowledge import ground_of
from emcoop.envs.ma_crafter.prompts import VARIANTS
from emcoop.envs.ma_crafter.state import CrafterState

DIAMOND = MATERIALS.index("diamond")


def world(agents: int = 1, *, whole_map: bool = True, seed: int = 3) -> tuple[MACrafter, CrafterState]:
    env = make(agents, "easy", mobs="none", whole_map=whole_map)
    return env, env.reset(seed)


def out_of_view(state: CrafterState) -> list[tuple[int, int]]:
    """The cells of diamonds that agent_0 does not have in view."""
    row, col = state.agents[0, :2].tolist()
    cells = [(int(r), int(c)) for r, c in np.argwhere(state.material == DIAMOND)]
    return [(r, c) for r, c in cells if abs(r - row) > VIEW_ROWS // 2 or abs(c - col) > VIEW_COLS // 2]


def test_a_diamond_out_of_view_is_known_and_told_with_the_whole_map_only() -> None:
    env, state = world()
    cells = out_of_view(state)
    assert cells
    seen = env.observe(state, "agent_0")
    listed = {(target.row, target.col) for target in seen.targets if target.kind == "diamond"}
    assert listed
    assert listed <= set(cells)
    every = next(line for line in env.describe(seen).splitlines() if line.startswith("- diamond: "))
    assert every == "- diamond: " + " ".join(f"({row}, {col})" for row, col in cells)
    own, same = world(whole_map=False)
    assert np.array_equal(state.material, same.material)
    blind = own.observe(same, "agent_0")
    assert not [target for target in blind.targets if target.kind == "diamond"]
    assert "diamond" not in own.describe(blind)


WIDE = (".0..................T1", "...................d..")


def test_the_map_stays_the_ground_as_it_is_whoever_changes_it() -> None:
    for whole_map, known in ((True, "grass"), (False, "unknown")):
        env = quiet(2, whole_map=whole_map)
        state = draw(env, *WIDE)
        end, after = end_of(env, state, Collect(target="wood"), "agent_1")
        assert (end, MATERIALS[after.material[0, 20]]) == ("done", "grass")
        assert MATERIALS[ground_of(env.observe(after, "agent_0").map)[0, 20]] == known


def test_who_sleeps_knows_the_map_as_it_was() -> None:
    env = quiet(2, whole_map=True)
    state = draw(env, *WIDE)
    state.agents[0, SLEEPING] = 1
    state.inventory[0, ITEMS.index("energy")] = 3
    _, after = end_of(env, state, Collect(target="wood"), "agent_1")
    assert after.agents[0, SLEEPING]
    assert MATERIALS[ground_of(env.observe(after, "agent_0").map)[0, 20]] == "tree"


def test_a_thing_out_of_view_can_be_walked_to_by_its_name() -> None:
    for whole_map in (True, False):
        env = quiet(2, whole_map=whole_map)
        state = draw(env, *WIDE)
        diamond = int(state.ids[1, 19])
        plan = Plan(f"diamond_{diamond}", (Navigate(object_type="diamond", item_id=diamond),))
        refused = env.check_plan(state, "agent_0", plan)
        assert (refused is None) == whole_map
    end, after = end_of(quiet(2, whole_map=True), draw(quiet(2, whole_map=True), *WIDE), plan.actions[0])
    assert (end, after.agents[0, :2].tolist()) == ("done", [1, 18])


def test_without_the_option_nothing_changes_in_what_is_seen_and_logged() -> None:
    env, state = world(whole_map=False)
    seen = env.observe(state, "agent_0")
    assert (ground_of(seen.map) == UNKNOWN).sum() == 64 * 64 - VIEW_ROWS * VIEW_COLS
    assert canonical_json(make(1, "easy", mobs="none").observe(state, "agent_0")) == canonical_json(seen)


def test_the_rules_say_that_the_map_is_known() -> None:
    known, own = make(1, "easy", whole_map=True), make(1, "easy")
    for variant in VARIANTS:
        assert " map" in known.rules(variant)
        assert " map" not in own.rules(variant)
