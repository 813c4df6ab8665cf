"""What every rule does to the map: draw random numbers, change cells, put bodies in and out, measure distances.

A kernel gets the whole `CrafterState` and changes its arrays in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import COMPILED, inner_kernel
from emcoop.envs.ma_crafter.constants import (
    CHUNK,
    COL,
    DCOL,
    DEAD,
    DROW,
    GRASS,
    KIND,
    LAVA,
    MOB_BORN,
    MOB_COL,
    MOB_COUNT,
    MOB_DIRECTION,
    MOB_FIELDS,
    MOB_HEALTH,
    MOB_HEALTHS,
    MOB_ID,
    MOB_ROW,
    MOB_SEEN,
    NO_MOB,
    PATH,
    ROW,
    SAND,
    STEP,
    TIMER,
    TOP,
    WATER,
)

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / (1 << 53)


def _next53(rng: Any) -> int:
    """The next 53 random bits of the SplitMix64 stream whose counter is `rng` [1] (see `core.seeds.Stream`)."""
    z = rng[0] + _GAMMA
    rng[0] = z
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return np.int64((z ^ (z >> _31)) >> _11)  # type: ignore[return-value]


# Uncompiled, NumPy warns where 64-bit numbers wrap around, as they must here.
next53 = inner_kernel(_next53) if COMPILED else np.errstate(over="ignore")(_next53)


@inner_kernel
def uniform(rng: Any) -> float:
    """A uniform number in [0, 1)."""
    return float(next53(rng)) * _UNIT


@inner_kernel
def below(rng: Any, n: int) -> int:
    """A uniform integer in [0, n); of 2^53 values the first few are likelier by less than one in 10^12."""
    return int(next53(rng) % n)


@inner_kernel
def inside(state: Any, row: int, col: int) -> bool:
    """Whether the map has this cell."""
    return bool(0 <= row < state.material.shape[0] and 0 <= col < state.material.shape[1])


@inner_kernel
def set_material(state: Any, row: int, col: int, material: int) -> None:
    """Change the ground of a cell. It keeps its id, by which agents who have not seen the change remember it."""
    old = int(state.material[row, col])
    if old == material:
        return
    state.chunks[row // CHUNK, col // CHUNK, old] -= 1
    state.chunks[row // CHUNK, col // CHUNK, material] += 1
    state.material[row, col] = material


@inner_kernel
def walkable(material: int) -> bool:
    """Whether mobs walk there."""
    return material in (GRASS, PATH, SAND)


@inner_kernel
def free_for_mob(state: Any, row: int, col: int) -> bool:
    """Whether a cow, zombie or skeleton can step there."""
    return bool(inside(state, row, col) and state.occupant[row, col] == 0 and walkable(int(state.material[row, col])))


@inner_kernel
def free_for_arrow(state: Any, row: int, col: int) -> bool:
    """Whether an arrow can fly there: also over water and lava."""
    if not inside(state, row, col) or state.occupant[row, col] != 0:
        return False
    material = int(state.material[row, col])
    return bool(walkable(material) or material in (WATER, LAVA))


@inner_kernel
def add_mob(state: Any, kind: int, row: int, col: int) -> int:
    """Put a healthy mob into the first free slot; returns the slot, or -1 when there is none."""
    mobs = state.mobs
    for slot in range(mobs.shape[0]):
        if mobs[slot, KIND] == NO_MOB:
            mobs[slot, KIND] = kind
            mobs[slot, MOB_ROW] = row
            mobs[slot, MOB_COL] = col
            mobs[slot, MOB_HEALTH] = _HEALTH[kind]
            mobs[slot, TIMER] = 0
            mobs[slot, MOB_DIRECTION] = 0
            mobs[slot, MOB_ID] = 0
            mobs[slot, MOB_SEEN] = 0
            mobs[slot, MOB_BORN] = state.clock[STEP]
            state.occupant[row, col] = -(slot + 1)
            state.chunks[row // CHUNK, col // CHUNK, MOB_COUNT + kind] += 1
            if slot >= state.clock[TOP]:
                state.clock[TOP] = slot + 1
            return slot
    return -1


@inner_kernel
def remove_mob(state: Any, slot: int) -> None:
    """Take a mob off the map and free its slot."""
    mobs = state.mobs
    row, col = mobs[slot, MOB_ROW], mobs[slot, MOB_COL]
    state.occupant[row, col] = 0
    state.chunks[row // CHUNK, col // CHUNK, MOB_COUNT + mobs[slot, KIND]] -= 1
    for field in range(MOB_FIELDS):
        mobs[slot, field] = 0
    while state.clock[TOP] > 0 and mobs[state.clock[TOP] - 1, KIND] == NO_MOB:
        state.clock[TOP] -= 1


@inner_kernel
def move_mob(state: Any, slot: int, drow: int, dcol: int) -> bool:
    """One step of a cow, zombie or skeleton; False when the cell is not free."""
    mobs = state.mobs
    row, col = mobs[slot, MOB_ROW] + drow, mobs[slot, MOB_COL] + dcol
    if not free_for_mob(state, row, col):
        return False
    shift_mob(state, slot, row, col)
    return True


@inner_kernel
def shift_mob(state: Any, slot: int, row: int, col: int) -> None:
    """Put a mob into another cell, which is free."""
    mobs = state.mobs
    old_row, old_col, kind = mobs[slot, MOB_ROW], mobs[slot, MOB_COL], mobs[slot, KIND]
    state.occupant[old_row, old_col] = 0
    state.chunks[old_row // CHUNK, old_col // CHUNK, MOB_COUNT + kind] -= 1
    state.chunks[row // CHUNK, col // CHUNK, MOB_COUNT + kind] += 1
    mobs[slot, MOB_ROW], mobs[slot, MOB_COL] = row, col
    state.occupant[row, col] = -(slot + 1)


@inner_kernel
def nearest_agent(state: Any, row: int, col: int) -> tuple[int, int]:
    """The living agent with the smallest Manhattan distance (ties: smallest index) and that distance; (-1, 2^30) when
    nobody lives."""
    best, least = -1, 1 << 30
    for i in range(state.agents.shape[0]):
        if state.agents[i, DEAD]:
            continue
        distance = abs(state.agents[i, ROW] - row) + abs(state.agents[i, COL] - col)
        if distance < least:
            best, least = i, distance
    return best, least


@inner_kernel
def cell_number(state: Any, row: int, col: int) -> int:
    """row * columns + column."""
    return int(row * state.material.shape[1] + col)


@inner_kernel
def drow_of(direction: int) -> int:
    """Rows that a direction leads down."""
    return int(_DROW[direction])


@inner_kernel
def dcol_of(direction: int) -> int:
    """Columns that a direction leads right."""
    return int(_DCOL[direction])


_HEALTH = np.array(MOB_HEALTHS, np.int64)
_DROW, _DCOL = np.array(DROW, np.int64), np.array(DCOL, np.int64)
