"""The numbers of a level as arrays, as the kernels take them.

Indices of resources, placed and crafted things, items and materials are those of `constants`. A set of materials is a
bit mask: bit m for material m.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    CRAFTED,
    END,
    GRASS,
    IRON_PICKAXE,
    ITEMS,
    MATERIALS,
    MOST,
    ON_DEATH,
    PATH,
    PLACED,
    RESOURCES,
    STONE_PICKAXE,
    VIEW_COLS,
    VIEW_ROWS,
    VITALS,
    WOOD_PICKAXE,
)

# Columns of `collect` and `make`.
REQUIRED, TOOL, REACH, LEAVES = range(4)
STATIONS_NEEDED, GIVES = 1, 2

# Entries of `limits`.
CAP, CAPACITY, SHARE_DISTANCE, STATION_DISTANCE, LEADER_FACES, MONSTERS, COWS, WHEN_DEAD, SEE_ROWS, SEE_COLS = range(10)
UNLIMITED = 2**30
"""A CAPACITY that nobody reaches."""

CRAFTER_USES: Mapping[str, Mapping[str, int]] = {
    "stone": {"stone": 1},
    "table": {"wood": 2},
    "furnace": {"stone": 4},
    "plant": {"sapling": 1},
    "wood_pickaxe": {"wood": 1},
    "stone_pickaxe": {"wood": 1, "stone": 1},
    "iron_pickaxe": {"wood": 1, "coal": 1, "iron": 1},
    "wood_sword": {"wood": 1},
    "stone_sword": {"wood": 1, "stone": 1},
    "iron_sword": {"wood": 1, "coal": 1, "iron": 1},
}
"""Crafter's costs (data.yaml of 1.8.3)."""
CRAFTER_ON: Mapping[str, tuple[str, ...]] = {
    "stone": ("grass", "sand", "path", "water", "lava"),
    "table": ("grass", "sand", "path"),
    "furnace": ("grass", "sand", "path"),
    "plant": ("grass",),
}
"""What Crafter's things can be placed on."""
CRAFTER_NEAR: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("wood_pickaxe", "stone_pickaxe", "wood_sword", "stone_sword"), ("table",)),
    **dict.fromkeys(("iron_pickaxe", "iron_sword"), ("table", "furnace")),
}
"""The stations that Crafter wants near; its furnace needs none."""


class Rules(NamedTuple):
    """A level as arrays: a tuple of them, so that a kernel takes it whole. All int64, but for `chance`.

    `collect` [9, 4], per resource: REQUIRED agents, TOOL (a column of `inventory`, or -1), REACH (largest Manhattan
    distance of a participant), LEAVES (the material that a taken cell becomes).
    `chance` [9] float64, per resource: the probability that a participant finds a unit.
    `place_uses` [4, 16], per placed thing: items that it costs. `place_on` [4]: mask of ground it can be placed on.
    `place_near` [4]: mask of stations that must be within STATION_DISTANCE.
    `make_uses` [6, 16], per crafted thing: items that the leader pays. `make` [6, 3]: REQUIRED agents,
    STATIONS_NEEDED (a mask), GIVES (how many each participant gets).
    `weights` [16]: of one unit of each item; vitals weigh nothing.
    `limits` [10]: CAP (of each item), CAPACITY (of a bag's weight), SHARE_DISTANCE (Manhattan), STATION_DISTANCE
    (square around an agent), LEADER_FACES (1: a leader must face a station of the recipe), MONSTERS and COWS (0:
    none), WHEN_DEAD (ON_DEATH), SEE_ROWS and SEE_COLS (odd: the view).
    `goal` [22]: 1 for every achievement that some agent must reach.
    """

    collect: NDArray[np.int64]
    chance: NDArray[np.float64]
    place_uses: NDArray[np.int64]
    place_on: NDArray[np.int64]
    place_near: NDArray[np.int64]
    make_uses: NDArray[np.int64]
    make: NDArray[np.int64]
    weights: NDArray[np.int64]
    limits: NDArray[np.int64]
    goal: NDArray[np.int64]


def material_mask(names: Iterable[str]) -> int:
    """The bit mask of these materials. Raises ValueError for an unknown one."""
    return sum(1 << MATERIALS.index(name) for name in names)


def item_row(uses: Mapping[str, int]) -> list[int]:
    """These amounts as a row over ITEMS. Raises ValueError for an unknown item."""
    row = [0] * len(ITEMS)
    for name, amount in uses.items():
        row[ITEMS.index(name)] = amount
    return row


def crafter_rules(
    *,
    required: Mapping[str, int] | None = None,
    tools: Mapping[str, str | None] | None = None,
    reach: int = 1,
    uses: Mapping[str, Mapping[str, int]] | None = None,
    near: Mapping[str, tuple[str, ...]] | None = None,
    on: Mapping[str, tuple[str, ...]] | None = None,
    makers: Mapping[str, int] | None = None,
    weights: Mapping[str, int] | None = None,
    cap: int = MOST,
    capacity: int = UNLIMITED,
    share_distance: int = 1,
    station_distance: int = 1,
    leader_faces: bool = False,
    monsters: bool = True,
    cows: bool = True,
    on_death: str = ON_DEATH[END],
    goal: Iterable[str] = ("collect_diamond",),
    sight: tuple[int, int] = (VIEW_ROWS, VIEW_COLS),
) -> Rules:
    """Crafter's own rules, with these replaced.

    `required` agents and `tools` are by name of RESOURCES, `uses` and `near` by name of PLACED and CRAFTED, `on` by
    name of PLACED, `makers` (required agents) by name of CRAFTED; what a mapping leaves out stays Crafter's.
    `sight` are the rows and columns, odd, of what an agent sees around it.
    Raises ValueError or KeyError for names that do not exist.
    """
    every_use = {**CRAFTER_USES, **(uses or {})}
    every_near = {**CRAFTER_NEAR, **(near or {})}
    every_on = {**CRAFTER_ON, **(on or {})}
    chance = np.ones(len(RESOURCES))
    chance[RESOURCES.index("grass")] = 0.1
    weight = dict.fromkeys(ITEMS[VITALS:], 1) | dict(weights or {})
    wanted = set(goal)
    if wanted - set(ACHIEVEMENTS):
        raise ValueError(f"no such achievement: {sorted(wanted - set(ACHIEVEMENTS))}")
    limits = (cap, capacity, share_distance, station_distance, leader_faces, monsters, cows)
    return Rules(
        collect=np.array(_collect(required or {}, tools or {}, reach), np.int64),
        chance=chance,
        place_uses=np.array([item_row(every_use[name]) for name in PLACED], np.int64),
        place_on=np.array([material_mask(every_on[name]) for name in PLACED], np.int64),
        place_near=np.array([material_mask(every_near.get(name, ())) for name in PLACED], np.int64),
        make_uses=np.array([item_row(every_use[name]) for name in CRAFTED], np.int64),
        make=np.array([((makers or {}).get(n, 1), material_mask(every_near.get(n, ())), 1) for n in CRAFTED], np.int64),
        weights=np.array(item_row(weight), np.int64),
        limits=np.array([*limits, ON_DEATH.index(on_death), *sight], np.int64),
        goal=np.array([name in wanted for name in ACHIEVEMENTS], np.int64),
    )


def _collect(required: Mapping[str, int], tools: Mapping[str, str | None], reach: int) -> list[list[int]]:
    """The rows of `Rules.collect`. Crafter leaves grass where a tree stood and path where ore or stone was."""
    own_tool = {
        "stone": ITEMS[WOOD_PICKAXE],
        "coal": ITEMS[WOOD_PICKAXE],
        "iron": ITEMS[STONE_PICKAXE],
        "diamond": ITEMS[IRON_PICKAXE],
    }
    leaves = {"tree": GRASS, "water": MATERIALS.index("water"), "grass": GRASS}
    if (set(required) | set(tools)) - set(RESOURCES):
        raise ValueError(f"no such resource: {sorted((set(required) | set(tools)) - set(RESOURCES))}")
    rows = []
    for name in RESOURCES:
        tool = tools.get(name, own_tool.get(name))
        rows.append([required.get(name, 1), -1 if tool is None else ITEMS.index(tool), reach, leaves.get(name, PATH)])
    return rows
