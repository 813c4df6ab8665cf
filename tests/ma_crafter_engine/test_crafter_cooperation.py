"""What agents do together: collect with a quorum, craft with a leader, share; and what it comes to when it fails."""

from __future__ import annotations

import numpy as np
import pytest
from crafter_play import step

from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter.state import CrafterState, make_state
from emcoop.envs.ma_crafter.tables import Rules, crafter_rules

TREE, STONE = c.COLLECT + c.R_TREE, c.COLLECT + c.R_STONE
MAKE_WOOD_PICKAXE = c.MAKE


def meadow(places: list[tuple[int, int]], *, side: int = 16, **cells: list[tuple[int, int]]) -> CrafterState:
    """Grass with these materials at these cells, agents at these places, no mobs."""
    ground = np.full((side, side), c.GRASS)
    for name, where in cells.items():
        for cell in where:
            ground[cell] = c.MATERIALS.index(name)
    return make_state(ground, places)


def quiet(**changes: object) -> Rules:
    """Crafter's rules with these changes and without mobs."""
    return crafter_rules(monsters=False, cows=False, **changes)  # type: ignore[arg-type]


def codes(state: CrafterState) -> list[str]:
    return [c.RESULTS[code] for code in state.result[:, c.CODE]]


def give(state: CrafterState, agent: int, **items: int) -> None:
    for name, amount in items.items():
        state.inventory[agent, c.ITEMS.index(name)] = amount


def test_a_quorum_takes_a_tree_and_each_gets_one() -> None:
    state = meadow([(5, 4), (5, 6), (9, 9)], tree=[(5, 5)])
    after, rewards, _ = step(state, [TREE, TREE, c.NOOP], quiet(required={"tree": 2}))
    assert codes(after) == ["collected", "collected", "waited"]
    assert after.inventory[:, c.WOOD].tolist() == [1, 1, 0]
    assert after.material[5, 5] == c.GRASS
    assert after.result[0].tolist() == [c.COLLECTED, 2, 2, 5 * 16 + 5]
    assert rewards.tolist() == [1, 1, 0]


def test_too_few_take_nothing_and_hear_how_many_it_needs() -> None:
    state = meadow([(5, 4), (5, 6)], tree=[(5, 5)])
    after, _, _ = step(state, [TREE, c.NOOP], quiet(required={"tree": 2}))
    assert after.result[0].tolist() == [c.TOO_FEW, 1, 2, 85]
    assert after.material[5, 5] == c.TREE


def test_only_agents_with_the_tool_count_and_the_others_hear_what_they_lack() -> None:
    state = meadow([(5, 4), (5, 6), (4, 5)], stone=[(5, 5)])
    give(state, 0, wood_pickaxe=1)
    rules = quiet(required={"stone": 2})
    after, _, _ = step(state, [STONE] * 3, rules)
    assert codes(after) == ["too_few_agents", "missing_tool", "missing_tool"]
    assert after.result[1, c.NEED] == c.WOOD_PICKAXE
    give(state, 2, wood_pickaxe=1)
    after, _, _ = step(state, [STONE] * 3, rules)
    assert codes(after) == ["collected", "missing_tool", "collected"]
    assert after.inventory[:, c.STONES].tolist() == [1, 0, 1]


def test_an_agent_takes_part_in_the_nearest_cell_and_ties_go_to_the_smallest() -> None:
    state = meadow([(5, 5), (9, 9)], tree=[(5, 7), (3, 5), (9, 8), (8, 9)])
    after, _, _ = step(state, [TREE, TREE], quiet(reach=2))
    assert after.result[:, c.TARGET].tolist() == [3 * 16 + 5, 8 * 16 + 9]
    assert (after.material == c.TREE).sum() == 2


def test_agents_at_different_cells_are_no_quorum() -> None:
    state = meadow([(5, 4), (5, 8)], tree=[(5, 3), (5, 9)])
    after, _, _ = step(state, [TREE, TREE], quiet(required={"tree": 2}))
    assert codes(after) == ["too_few_agents"] * 2


def test_do_and_collect_join_at_the_same_cell() -> None:
    state = meadow([(5, 4), (6, 5)], tree=[(5, 5)])
    state.agents[0, c.FACING] = c.RIGHT
    after, _, _ = step(state, [c.DO, TREE], quiet(required={"tree": 2}))
    assert codes(after) == ["collected"] * 2


def test_what_exceeds_nine_is_thrown_away_as_in_crafter() -> None:
    state = meadow([(5, 4), (5, 6)], stone=[(5, 5)])
    give(state, 0, stone=9, wood_pickaxe=1)
    give(state, 1, stone=8, wood_pickaxe=1)
    after, _, _ = step(state, [STONE, STONE], quiet(required={"stone": 2}))
    assert codes(after) == ["collected", "collected"]
    assert after.inventory[:, c.STONES].tolist() == [9, 9]
    assert after.material[5, 5] == c.PATH


def test_an_overloaded_bag_helps_but_gets_nothing_and_nothing_is_taken_for_such_bags_only() -> None:
    state = meadow([(5, 4), (5, 6)], tree=[(5, 5)])
    heavy = quiet(required={"tree": 2}, weights={"stone": 2}, capacity=18)
    give(state, 0, stone=9)
    after, _, _ = step(state, [TREE, TREE], heavy)
    assert codes(after) == ["bag_full", "collected"]
    assert after.inventory[:, c.WOOD].tolist() == [0, 1]
    give(state, 1, stone=9)
    after, _, _ = step(state, [TREE, TREE], heavy)
    assert codes(after) == ["bag_full", "bag_full"]
    assert after.material[5, 5] == c.TREE


def test_collecting_where_there_is_nothing_says_so() -> None:
    after, _, _ = step(meadow([(5, 4)], tree=[(5, 6)]), [TREE], quiet())
    assert after.result[0].tolist() == [c.NOTHING_IN_RANGE, 0, 1, -1]


def test_water_is_drunk_and_cows_fall_to_joint_blows() -> None:
    state = meadow([(5, 4), (5, 6)], water=[(4, 4)])
    state = make_state(state.material, [(5, 4), (5, 6)], [(c.COW, 5, 5, 3)])
    state.inventory[:, [c.FOOD, c.DRINK]] = 2
    cow = c.COLLECT + c.R_COW
    after, _, _ = step(state, [c.COLLECT + c.R_WATER, cow], quiet())
    assert codes(after) == ["drank", "struck"]
    assert after.inventory[0, c.DRINK] == 3
    state.mobs[0, c.MOB_HEALTH] = 2
    after, _, _ = step(state, [cow, cow], quiet(required={"cow": 2}))
    assert codes(after) == ["ate", "ate"]
    assert after.inventory[:, c.FOOD].tolist() == [8, 8]
    assert not after.mobs[:, c.KIND].any()


def test_the_leader_pays_and_everybody_who_takes_part_receives() -> None:
    state = meadow([(5, 4), (5, 6), (4, 6), (9, 9)], table=[(5, 5)])
    give(state, 1, wood=2)
    state.agents[1, c.FACING] = c.LEFT
    rules = quiet(makers={"wood_pickaxe": 3}, leader_faces=True)
    after, _, _ = step(state, [MAKE_WOOD_PICKAXE] * 4, rules)
    assert codes(after) == ["nobody_leads", "too_few_agents", "too_few_agents", "no_station"]
    state.agents[0, c.FACING] = c.RIGHT
    after, _, _ = step(state, [MAKE_WOOD_PICKAXE] * 4, rules)
    assert codes(after) == ["leader_lacks"] * 3 + ["no_station"]
    assert after.result[0].tolist() == [c.LEADER_LACKS, 0, 1, c.WOOD]
    give(state, 0, wood=1)
    after, _, _ = step(state, [MAKE_WOOD_PICKAXE] * 4, rules)
    assert codes(after) == ["crafted"] * 3 + ["no_station"]
    assert after.inventory[:, c.WOOD].tolist() == [0, 2, 0, 0]
    assert after.inventory[:, c.WOOD_PICKAXE].tolist() == [1, 1, 1, 0]


def test_groups_at_different_tables_each_have_their_own_leader() -> None:
    state = meadow([(2, 4), (9, 4)], table=[(2, 5), (9, 5)])
    for agent in (0, 1):
        give(state, agent, wood=1)
        state.agents[agent, c.FACING] = c.RIGHT
    after, _, _ = step(state, [MAKE_WOOD_PICKAXE] * 2, quiet(leader_faces=True))
    assert codes(after) == ["crafted"] * 2
    assert after.inventory[:, c.WOOD].tolist() == [0, 0]


def test_an_iron_pickaxe_needs_the_stations_of_its_recipe() -> None:
    make = c.MAKE + c.CRAFTED.index("iron_pickaxe")
    state = meadow([(5, 4)], furnace=[(5, 5)])
    state.agents[0, c.FACING] = c.RIGHT
    give(state, 0, wood=1, coal=1, iron=1)
    after, _, _ = step(state, [make], quiet(leader_faces=True))
    assert after.result[0].tolist() == [c.NO_STATION, 0, 0, c.TABLE]
    after, _, _ = step(state, [make], quiet(leader_faces=True, near={"iron_pickaxe": ("furnace",)}))
    assert codes(after) == ["crafted"]
    assert after.inventory[0, c.SAPLING : c.IRON_PICKAXE + 1].tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_placing_takes_the_price_and_wants_ground_and_station() -> None:
    state = meadow([(5, 4)], water=[(6, 4)], table=[(5, 6)])
    furnace, table = c.PLACE + c.PLACED.index("furnace"), c.PLACE + c.PLACED.index("table")
    rules = quiet(near={"furnace": ("table",)})
    give(state, 0, wood=2, stone=4)
    after, _, _ = step(state, [table], rules)
    assert codes(after) == ["wrong_place"]
    state.agents[0, c.FACING] = c.RIGHT
    after, _, _ = step(state, [furnace], rules)
    assert after.result[0].tolist() == [c.NO_STATION, 0, 0, c.TABLE]
    after, _, _ = step(state, [table], rules)
    assert codes(after) == ["placed"]
    assert after.inventory[0, c.WOOD] == 0
    after.agents[0, c.FACING] = c.UP
    after, _, _ = step(after, [furnace], rules)
    assert codes(after) == ["placed"]
    assert after.material[4, 4] == c.FURNACE
    after.agents[0, c.FACING] = c.LEFT
    after, _, _ = step(after, [furnace], rules)
    assert after.result[0].tolist() == [c.MISSING_ITEMS, 0, 4, c.STONES]


@pytest.mark.parametrize(
    ("recipient", "quantity", "result"),
    [(1, 3, "shared"), (0, 1, "to_self"), (2, 1, "too_far"), (3, 1, "no_recipient"), (1, 4, "missing_items")],
)
def test_a_share_hands_over_everything_or_says_why_not(recipient: int, quantity: int, result: str) -> None:
    state = meadow([(5, 4), (5, 5), (5, 7), (9, 9)])
    give(state, 0, wood=3)
    state.agents[3, c.DEAD] = 1
    share = c.share_primitive(recipient, c.WOOD, quantity)
    after, _, _ = step(state, [share, c.RIGHT, c.NOOP, c.NOOP], quiet(on_death="continue"))
    assert codes(after)[0] == result
    assert after.inventory[:, c.WOOD].tolist() == ([0, 3, 0, 0] if result == "shared" else [3, 0, 0, 0])


def test_a_share_that_does_not_fit_is_refused() -> None:
    state = meadow([(5, 4), (5, 5)])
    give(state, 0, stone=3)
    after, _, _ = step(state, [c.share_primitive(1, c.STONES, 3), c.NOOP], quiet(capacity=5, weights={"stone": 2}))
    assert codes(after)[0] == "bag_full"
    assert after.inventory[0, c.STONES] == 3


def test_moves_go_by_index_and_nobody_enters_a_taken_cell() -> None:
    state = meadow([(5, 4), (5, 5), (5, 7)], water=[(4, 4)])
    after, _, _ = step(state, [c.RIGHT, c.RIGHT, c.LEFT], quiet())
    assert codes(after) == ["occupied", "moved", "occupied"]
    after, _, _ = step(after, [c.UP, c.LEFT, c.NOOP], quiet())
    assert codes(after) == ["blocked", "moved", "waited"]
    edge = meadow([(0, 0)])
    assert codes(step(edge, [c.UP], quiet())[0]) == ["edge"]


def test_a_sleeper_ignores_orders_until_it_is_rested() -> None:
    state = meadow([(5, 4)])
    state.inventory[0, c.ENERGY] = 8
    assert codes(step(meadow([(5, 4)]), [c.SLEEP], quiet())[0]) == ["not_tired"]
    state, _, _ = step(state, [c.SLEEP], quiet())
    state, _, _ = step(state, [c.RIGHT], quiet())
    assert codes(state) == ["still_asleep"]
    for _ in range(10):
        state, _, _ = step(state, [c.SLEEP], quiet())
    assert state.inventory[0, c.ENERGY] == 9
    state, _, _ = step(state, [c.RIGHT], quiet())
    assert codes(state) == ["moved"]
    assert state.achievements[0, c.ACHIEVEMENTS.index("wake_up")] == 1


@pytest.mark.parametrize(("on_death", "outcome", "dead"), [("end", 2, 1), ("continue", 0, 1), ("respawn", 0, 0)])
def test_lava_kills_and_the_level_says_what_follows(on_death: str, outcome: int, dead: int) -> None:
    state = meadow([(5, 4), (9, 9)], lava=[(5, 5)])
    give(state, 0, wood=4)
    after, _, found = step(state, [c.RIGHT, c.NOOP], quiet(on_death=on_death))
    assert found == outcome
    assert after.agents[0, [c.DEAD, c.DEATHS]].tolist() == [dead, 1]
    assert after.inventory[0, c.WOOD] == 0
    if on_death == "respawn":
        assert after.agents[0, [c.ROW, c.COL]].tolist() == [5, 4]
        assert after.inventory[0, : c.VITALS].tolist() == [9] * 4
    else:
        assert codes(step(after, [c.RIGHT, c.NOOP], quiet(on_death=on_death))[0])[0] == "dead"


def test_the_last_death_ends_an_episode_that_goes_on_after_deaths() -> None:
    state = meadow([(5, 4)], lava=[(5, 5)])
    assert step(state, [c.RIGHT], quiet(on_death="continue"))[2] == 2


def test_the_goal_is_reached_by_different_agents_together() -> None:
    rules = quiet(goal=("collect_wood", "collect_drink"))
    state = meadow([(5, 4), (9, 9)], tree=[(5, 5)], water=[(9, 8)])
    state, _, outcome = step(state, [TREE, c.NOOP], rules)
    assert outcome == 0
    assert step(state, [c.NOOP, c.COLLECT + c.R_WATER], rules)[2] == 1


def test_agents_remember_what_they_saw_and_ids_follow_the_order_of_sighting() -> None:
    state = meadow([(8, 2), (8, 13)], tree=[(8, 7), (8, 9), (0, 0)], table=[(8, 3)])
    state, _, _ = step(state, [c.NOOP, c.NOOP], quiet())
    assert state.ids[8, 3] == 1
    assert state.ids[8, 9] == 2
    assert state.ids[8, 7] == state.seen[0, 8, 7] == state.ids[0, 0] == 0
    assert state.sighted[0, 1].tolist() == [-1, -1, -1]
    state, _, _ = step(state, [c.NOOP, c.LEFT], quiet())
    state, _, _ = step(state, [c.NOOP, c.LEFT], quiet())
    assert state.ids[8, 7] == 3
    assert state.seen[1, 8, 7] == c.TREE
    assert state.seen[0, 8, 7] == 0
    assert state.sighted[1, 1].tolist() == [8, 11, 3]


def test_a_zombie_hunts_the_nearest_living_agent() -> None:
    state = make_state(np.full((24, 24), c.GRASS), [(12, 2), (12, 16), (2, 2)], [(c.ZOMBIE, 12, 11, 5)])
    state.agents[1, c.DEAD] = 1
    state.occupant[12, 16] = 0
    rules = quiet(on_death="continue")
    for _ in range(60):
        state, _, _ = step(state, [c.NOOP] * 3, rules)
    assert state.inventory[0, c.HEALTH] < 9
    assert state.inventory[2, c.HEALTH] == 9


def test_arrows_hurt_and_break_tables() -> None:
    ground = np.full((9, 9), c.GRASS)
    ground[6, 2] = c.TABLE
    state = make_state(ground, [(2, 2)], [(c.ARROW, 2, 5, 0), (c.ARROW, 6, 4, 0)])
    state.mobs[:2, c.MOB_DIRECTION] = c.LEFT
    for _ in range(3):
        state, _, _ = step(state, [c.NOOP], quiet())
    assert state.inventory[0, c.HEALTH] == 7
    assert state.material[6, 2] == c.PATH
    assert not state.mobs[:, c.KIND].any()


def test_a_full_world_takes_no_more_plants() -> None:
    state = make_state(np.full((8, 8), c.GRASS), [(7, 7)])
    for slot in range(len(state.mobs)):
        state.mobs[slot, c.KIND] = c.PLANT
    give(state, 0, sapling=1)
    state.agents[0, c.FACING] = c.UP
    state.mobs[:, c.MOB_BORN] = 1
    after, _, _ = step(state, [c.PLACE + c.PLACED.index("plant")], quiet())
    assert codes(after) == ["world_full"]
    assert after.inventory[0, c.SAPLING] == 1


def test_primitives_decode_to_what_was_encoded() -> None:
    names = c.primitive_names(3)
    assert len(names) == len(set(names)) == c.primitive_count(3)
    for recipient in range(3):
        for item in range(c.VITALS, len(c.ITEMS)):
            for quantity in range(1, 10):
                found = c.decode_share(c.share_primitive(recipient, item, quantity))
                assert found == c.Share(recipient, item, quantity)
    for item, quantity in ((c.HEALTH, 1), (c.WOOD, 0), (c.WOOD, 10)):
        with pytest.raises(ValueError, match="no share"):
            c.share_primitive(0, item, quantity)
    with pytest.raises(ValueError, match="no share"):
        c.decode_share(c.DO)
