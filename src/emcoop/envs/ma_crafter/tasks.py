"""The names of things and tasks: ``tree_12`` is the tree in the cell (or the mob) of id 12.

Ids are given in the order in which the team first sights things, so they reveal no position. A collectable thing that
has been sighted and is still there is an open task of that name. What a plan makes or places names its task too
(``make_wood_pickaxe``, ``place_table``), but has no cooperation constraints of its own.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import numpy as np

from emcoop.core.types import TaskId
from emcoop.envs.ma_crafter.constants import (
    COAL,
    COW,
    DIAMOND,
    FURNACE,
    IRON,
    KIND,
    MATERIALS,
    MOB_COL,
    MOB_ID,
    MOB_ROW,
    MOBS,
    NEXT_ID,
    PLANT,
    SKELETON,
    STONE,
    TABLE,
    TOP,
    TREE,
    WATER,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.state import CrafterState

Cell: TypeAlias = tuple[int, int]
Hints: TypeAlias = dict[int, Cell]
"""Where ids were found before. A hint is checked before it is believed, so it changes no result."""

COLLECTABLE = (WATER, STONE, TREE, COAL, IRON, DIAMOND)
"""The materials whose cells are tasks."""
LANDMARKS = (*COLLECTABLE, TABLE, FURNACE)
"""The materials that can be walked to by name."""
_LANDMARK_OF = {MATERIALS[material]: material for material in LANDMARKS}
_MOB_OF = {MOBS[kind]: kind for kind in (COW, ZOMBIE, SKELETON, PLANT)}
_EATABLE = (COW, PLANT)

COLLECT_NAMES = {
    "wood": "tree",
    "stone": "stone",
    "coal": "coal",
    "iron": "iron",
    "diamond": "diamond",
    "drink": "water",
    "sapling": "grass",
    "cow": "cow",
    "plant": "plant",
}
"""The resource, by the word that a symbolic collect has for it."""

_NAME = re.compile(r"([a-z]+)_([0-9]{1,5})")

PURPOSES = frozenset(
    [f"make_{material}_{tool}" for material in ("wood", "stone", "iron") for tool in ("pickaxe", "sword")]
    + [f"place_{thing}" for thing in ("stone", "table", "furnace", "plant")]
)
"""Tasks of plans that make or place something."""


def parse(task: TaskId) -> tuple[str, int] | None:
    """The kind and the id in a thing's name; None when it is no such name."""
    match = _NAME.fullmatch(task)
    if match is None:
        return None
    kind, number = match[1], int(match[2])
    return (kind, number) if kind in _LANDMARK_OF or kind in _MOB_OF else None


def is_mob(kind: str) -> bool:
    """Whether things of this kind are mobs (plants included)."""
    return kind in _MOB_OF


def find_mob(state: CrafterState, kind: str, number: int) -> int | None:
    """The slot of the mob of this kind and id, if it is there."""
    top = int(state.clock[TOP])
    slots = np.flatnonzero((state.mobs[:top, MOB_ID] == number) & (state.mobs[:top, KIND] == _MOB_OF[kind]))
    return int(slots[0]) if number > 0 and len(slots) else None


def mob_kind(state: CrafterState, number: int) -> str | None:
    """The kind of the mob of this id, None when it is gone."""
    top = int(state.clock[TOP])
    slots = np.flatnonzero(state.mobs[:top, MOB_ID] == number)
    return MOBS[int(state.mobs[slots[0], KIND])] if len(slots) else None


def cell_of(state: CrafterState, number: int, hints: Hints | None = None) -> Cell | None:
    """The cell of this id, if it was given to one. Scans the map, unless a hint is right."""
    if not 1 <= number < int(state.clock[NEXT_ID]):
        return None
    hint = hints.get(number) if hints is not None else None
    if hint is not None and hint[0] < state.ids.shape[0] and hint[1] < state.ids.shape[1] and state.ids[hint] == number:
        return hint
    places = np.flatnonzero(state.ids.ravel() == number)
    if not len(places):
        return None
    found: Cell = divmod(int(places[0]), state.ids.shape[1])
    if hints is not None:
        hints[number] = found
    return found


def remembered(state: CrafterState, agent: int, kind: str, number: int) -> Cell | None:
    """The cell in which this agent remembers a thing of this kind and id, whatever is there now."""
    cell = cell_of(state, number)
    return cell if cell is not None and state.seen[agent][cell] == _LANDMARK_OF[kind] else None


def known_to_team(state: CrafterState, cell: Cell, kind: str) -> bool:
    """Whether some agent remembers a thing of this kind in a cell."""
    return bool((state.seen[:, cell[0], cell[1]] == _LANDMARK_OF[kind]).any())


def task_at(state: CrafterState, row: int, col: int) -> TaskId | None:
    """The open task in this cell: a cow or a plant before the ground; None for what nobody has sighted."""
    body = int(state.occupant[row, col])
    if body < 0:
        mob = state.mobs[-body - 1]
        kind, number = int(mob[KIND]), int(mob[MOB_ID])
        return f"{MOBS[kind]}_{number}" if number and kind in _EATABLE else None
    material, number = int(state.material[row, col]), int(state.ids[row, col])
    return f"{MATERIALS[material]}_{number}" if number and material in COLLECTABLE else None


def place_of(state: CrafterState, task: TaskId, hints: Hints | None = None) -> Cell | None:
    """Where this open task is; None when it is not open."""
    parsed = parse(task)
    if parsed is None:
        return None
    kind, number = parsed
    if is_mob(kind):
        slot = find_mob(state, kind, number)
        if slot is None or _MOB_OF[kind] not in _EATABLE:
            return None
        return int(state.mobs[slot, MOB_ROW]), int(state.mobs[slot, MOB_COL])
    cell = cell_of(state, number, hints)
    return cell if cell is not None and task_at(state, *cell) == task else None


def open_tasks(state: CrafterState) -> tuple[TaskId, ...]:
    """Every open task, in the order of their cells. Scans the map; `constraints` does not."""
    here = (state.ids > 0) & (np.isin(state.material, COLLECTABLE) | (state.occupant < 0))
    top = int(state.clock[TOP])
    cells = {(int(r), int(c)) for r, c in np.argwhere(here)}
    cells |= {(int(m[MOB_ROW]), int(m[MOB_COL])) for m in state.mobs[:top] if m[KIND] in _EATABLE and m[MOB_ID]}
    found = (task_at(state, *cell) for cell in sorted(cells))
    return tuple(task for task in found if task is not None)
