"""What the policies of MA-Crafter know: the technology tree, ways, corners, and their language."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.envs.ma_crafter.config import read_level
from emcoop.envs.ma_crafter.constants import GRASS, STONE, UNKNOWN
from emcoop.envs.ma_crafter.planner import FAR, Ways, cheapest, frontier, in_view
from emcoop.envs.ma_crafter.talk import Call, say_found, understand
from emcoop.envs.ma_crafter.technology import Technology


@given(st.text(max_size=200))
def test_any_text_can_be_understood(text: str) -> None:
    heard = understand(text)
    assert heard.call is None or heard.call.verb in ("GATHER", "FOLLOW")


@pytest.mark.parametrize("call", [Call("GATHER", "iron", (3, 61)), Call("FOLLOW", "", (0, 7))])
def test_a_call_and_a_find_are_understood_as_said(call: Call) -> None:
    heard = understand(f"{say_found('diamond', (12, 40))}. {call.say()}. NEED tree")
    assert (heard.found, heard.call, heard.need) == ((("diamond", (12, 40)),), call, "tree")


def by_heap(cost: np.ndarray, start: tuple[int, int]) -> np.ndarray:
    away = np.full(cost.shape, FAR)
    away[start] = 0
    queue = [(0, start)]
    while queue:
        now, (r, c) = heapq.heappop(queue)
        for i, j in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if 0 <= i < cost.shape[0] and 0 <= j < cost.shape[1] and cost[i, j] and now + cost[i, j] < away[i, j]:
                away[i, j] = now + cost[i, j]
                heapq.heappush(queue, (int(away[i, j]), (i, j)))
    return away


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 15), min_size=6, max_size=6), min_size=5, max_size=5))
def test_cheapest_ways_equal_those_of_a_plain_search(rows: list[list[int]]) -> None:
    cost = np.array(rows, np.int32)
    assert (cheapest(cost, 2, 3) == by_heap(cost, (2, 3))).all()


def test_a_path_costs_what_it_says() -> None:
    cost = np.array([[1, 9, 1], [1, 0, 1], [1, 1, 1]], np.int32)
    ways = Ways.over(cost, (0, 0))
    path = ways.path((0, 2))
    assert sum(int(cost[cell]) for cell in path) == ways.to((0, 2)) == 6
    with pytest.raises(ValueError, match="no way"):
        ways.path((1, 1))


def test_one_sees_as_many_cells_as_the_view_has_and_fewer_at_the_edge() -> None:
    seen = in_view(np.ones((20, 20)))
    assert (seen[10, 10], seen[0, 0], seen[19, 10]) == (7 * 9, 4 * 5, 4 * 9)


def test_exploration_goes_where_a_step_brings_the_most_unseen_cells_into_view() -> None:
    ways = Ways.over(np.ones((5, 9), np.int32), (1, 1))
    grid = np.full((5, 9), GRASS, np.uint8)
    assert frontier(grid, ways, rock=False) is None
    grid[0, 0] = grid[4, 8] = UNKNOWN
    assert frontier(grid, ways, rock=False) == (1, 4)  # from there one sees both


def test_exploration_for_ore_prefers_what_is_near_rock() -> None:
    grid = np.full((9, 41), GRASS, np.uint8)
    grid[:, :8] = grid[:, 33:] = UNKNOWN
    ways = Ways.over(np.ones(grid.shape, np.int32), (4, 20))
    grid[4, 31] = STONE
    ore, other = frontier(grid, ways, rock=True), frontier(grid, ways, rock=False)
    assert ore is not None
    assert ore[1] > 20
    assert other is not None
    assert other[1] < 20


def test_the_technology_tree_is_climbed_in_order() -> None:
    tree = Technology(read_level("easy"))
    bags = [
        ({}, (), ("collect", ("tree",))),
        ({"wood": 9}, (), ("place", ("table",))),
        ({"wood": 7}, ("table",), ("craft", ("wood_pickaxe",))),
        ({"wood": 3, "wood_pickaxe": 1, "wood_sword": 1}, ("table",), ("collect", ("coal", "stone"))),
        (
            {"wood": 3, "coal": 1, "stone": 1, "wood_pickaxe": 1, "wood_sword": 1},
            ("table",),
            ("craft", ("stone_pickaxe",)),
        ),
    ]
    tools = {"wood_pickaxe": 1, "stone_pickaxe": 1, "stone_sword": 1}
    bags += [
        ({**tools, "wood": 3}, (), ("collect", ("coal", "iron"))),
        ({**tools, "wood": 3, "coal": 1, "iron": 1, "stone": 4}, ("table",), ("place", ("furnace",))),
        ({**tools, "wood": 3, "coal": 1, "iron": 1}, ("table", "furnace"), ("craft", ("iron_pickaxe",))),
        ({**tools, "iron_pickaxe": 1}, (), ("collect", ("diamond",))),
    ]
    for bag, stations, (verb, things) in bags:
        need = tree.next(bag, lambda name, known=stations: name in known)
        assert (need.verb, need.things) == (verb, things), bag
