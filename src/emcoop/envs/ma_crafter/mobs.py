"""What cows, zombies, skeletons, arrows and plants do in a step, and how chunks are kept in balance.

As in Crafter 1.8.3, with two differences: a mob minds the nearest living agent, and one that has no health left is gone
before it does anything more. Chunks are visited row by row, all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import inner_kernel
from emcoop.envs.ma_crafter.constants import (
    ACTIVE_DISTANCE,
    ARROW,
    CHUNK,
    COL,
    COW,
    DAY,
    FURNACE,
    GRASS,
    HEALTH,
    KIND,
    MOB_BORN,
    MOB_COL,
    MOB_COUNT,
    MOB_DIRECTION,
    MOB_HEALTH,
    MOB_ROW,
    PATH,
    PLANT,
    ROW,
    SKELETON,
    SLEEPING,
    STEP,
    TABLE,
    TIMER,
    TOP,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.ground import (
    add_mob,
    below,
    dcol_of,
    drow_of,
    free_for_arrow,
    inside,
    move_mob,
    nearest_agent,
    remove_mob,
    set_material,
    shift_mob,
    uniform,
)
from emcoop.envs.ma_crafter.light import daylight
from emcoop.envs.ma_crafter.tables import COWS, MONSTERS


def _wanted_zombies(step: int) -> int:
    return int(3.5 - 3 * daylight(step))


# How many zombies, skeletons and cows a chunk wants at least and bears at most, by the step of the day: whole numbers,
# so that no rounding of a cosine reaches a rule.
_LEAST = np.array([(_wanted_zombies(step), 1, 1) for step in range(DAY)], np.int64)
_MOST = np.array([(_wanted_zombies(step), 2, int(1.5 + daylight(step))) for step in range(DAY)], np.int64)
# For each of the three: kind, the ground it appears on, how many cells of that the chunk must have, its switch, and how
# far from everybody it appears and vanishes.
_KIND, _GROUND, _CELLS, _SWITCH, _NEAR, _FAR = range(6)
_BALANCED = np.array(
    [(ZOMBIE, GRASS, 50, MONSTERS, 6, 0), (SKELETON, PATH, 6, MONSTERS, 7, 7), (COW, GRASS, 30, COWS, 5, 5)], np.int64
)
_APPEARS, _VANISHES = np.array([0.3, 0.1, 0.01]), np.array([0.4, 0.1, 0.1])


@inner_kernel
def _sign(value: int) -> int:
    return 1 if value > 0 else (-1 if value < 0 else 0)


@inner_kernel
def toward(state: Any, slot: int, agent: int, long_axis: bool) -> tuple[int, int]:
    """The step (rows, columns) that brings a mob nearer to an agent, along the longer or the shorter way."""
    drow = state.agents[agent, ROW] - state.mobs[slot, MOB_ROW]
    dcol = state.agents[agent, COL] - state.mobs[slot, MOB_COL]
    sideways = abs(dcol) > abs(drow) if long_axis else abs(dcol) <= abs(drow)
    if sideways:
        return 0, _sign(dcol)
    return _sign(drow), 0


@inner_kernel
def _wander(state: Any, slot: int) -> None:
    direction = 1 + below(state.rng, 4)
    move_mob(state, slot, drow_of(direction), dcol_of(direction))


@inner_kernel
def hurt_agent(state: Any, i: int, damage: int) -> None:
    """Take health from an agent, not below 0."""
    state.inventory[i, HEALTH] = max(0, state.inventory[i, HEALTH] - damage)


@inner_kernel
def _update_zombie(state: Any, slot: int, agent: int, distance: int) -> None:
    if distance <= 8 and uniform(state.rng) < 0.9:
        drow, dcol = toward(state, slot, agent, uniform(state.rng) < 0.8)
        move_mob(state, slot, drow, dcol)
    else:
        _wander(state, slot)
    agent, distance = nearest_agent(state, state.mobs[slot, MOB_ROW], state.mobs[slot, MOB_COL])
    if distance > 1:
        return
    if state.mobs[slot, TIMER]:
        state.mobs[slot, TIMER] -= 1
    else:
        hurt_agent(state, agent, 7 if state.agents[agent, SLEEPING] else 2)
        state.mobs[slot, TIMER] = 5


@inner_kernel
def _shoot(state: Any, slot: int, agent: int) -> None:
    drow, dcol = toward(state, slot, agent, True)
    if state.mobs[slot, TIMER] > 0 or (drow == 0 and dcol == 0):
        return
    row, col = state.mobs[slot, MOB_ROW] + drow, state.mobs[slot, MOB_COL] + dcol
    if free_for_arrow(state, row, col):
        direction = (2 if dcol > 0 else 1) if drow == 0 else (4 if drow > 0 else 3)
        arrow = add_mob(state, ARROW, row, col)
        if arrow >= 0:
            state.mobs[arrow, MOB_DIRECTION] = direction
            state.mobs[slot, TIMER] = 4


@inner_kernel
def _update_skeleton(state: Any, slot: int, agent: int, distance: int) -> None:
    state.mobs[slot, TIMER] = max(0, state.mobs[slot, TIMER] - 1)
    if distance <= 3:
        drow, dcol = toward(state, slot, agent, uniform(state.rng) < 0.6)
        if move_mob(state, slot, -drow, -dcol):
            return
    if distance <= 5 and uniform(state.rng) < 0.5:
        _shoot(state, slot, agent)
    elif distance <= 8 and uniform(state.rng) < 0.3:
        drow, dcol = toward(state, slot, agent, uniform(state.rng) < 0.6)
        move_mob(state, slot, drow, dcol)
    elif uniform(state.rng) < 0.2:
        _wander(state, slot)


@inner_kernel
def _update_arrow(state: Any, slot: int) -> None:
    """Fly on, hurt what is in the way, or break; a table or furnace that is hit becomes path."""
    mobs = state.mobs
    direction = mobs[slot, MOB_DIRECTION]
    row, col = mobs[slot, MOB_ROW] + drow_of(direction), mobs[slot, MOB_COL] + dcol_of(direction)
    if free_for_arrow(state, row, col):
        shift_mob(state, slot, row, col)
        return
    remove_mob(state, slot)
    if not inside(state, row, col):
        return
    body = int(state.occupant[row, col])
    if body > 0:
        hurt_agent(state, body - 1, 2)
    elif body < 0:
        mobs[-body - 1, MOB_HEALTH] = max(0, mobs[-body - 1, MOB_HEALTH] - 2)
    elif state.material[row, col] == TABLE or state.material[row, col] == FURNACE:
        set_material(state, row, col, PATH)


@inner_kernel
def _update_plant(state: Any, slot: int) -> None:
    """Grow, and be eaten by what stands beside it."""
    mobs = state.mobs
    mobs[slot, TIMER] += 1
    eaten = False
    for direction in range(1, 5):
        row, col = mobs[slot, MOB_ROW] + drow_of(direction), mobs[slot, MOB_COL] + dcol_of(direction)
        if inside(state, row, col) and state.occupant[row, col] < 0:
            kind = mobs[-state.occupant[row, col] - 1, KIND]
            eaten = eaten or kind in (COW, ZOMBIE, SKELETON)
    if eaten:
        mobs[slot, MOB_HEALTH] -= 1
    if mobs[slot, MOB_HEALTH] <= 0:
        remove_mob(state, slot)


@inner_kernel
def update_mobs(state: Any) -> None:
    """Every mob near a living agent acts once, by slot. One that appeared in this step waits for the next."""
    mobs = state.mobs
    for slot in range(state.clock[TOP]):
        kind = mobs[slot, KIND]
        if kind == 0 or mobs[slot, MOB_BORN] == state.clock[STEP]:
            continue
        agent, distance = nearest_agent(state, mobs[slot, MOB_ROW], mobs[slot, MOB_COL])
        if distance >= ACTIVE_DISTANCE:
            continue
        if kind == ARROW:
            _update_arrow(state, slot)
        elif kind == PLANT:
            _update_plant(state, slot)
        elif mobs[slot, MOB_HEALTH] <= 0:
            remove_mob(state, slot)
        elif kind == COW:
            if uniform(state.rng) < 0.5:
                _wander(state, slot)
        elif kind == ZOMBIE:
            _update_zombie(state, slot, agent, distance)
        else:
            _update_skeleton(state, slot, agent, distance)


@inner_kernel
def _spawn(state: Any, crow: int, ccol: int, k: int) -> None:
    """Put a mob into a random cell of its ground in the chunk, if that is empty and far enough from everybody."""
    material, distance = _BALANCED[k, _GROUND], _BALANCED[k, _NEAR]
    place = below(state.rng, state.chunks[crow, ccol, material])
    for row in range(crow * CHUNK, min((crow + 1) * CHUNK, state.material.shape[0])):
        for col in range(ccol * CHUNK, min((ccol + 1) * CHUNK, state.material.shape[1])):
            if state.material[row, col] != material:
                continue
            if place == 0:
                if state.occupant[row, col] == 0 and nearest_agent(state, row, col)[1] >= distance:
                    add_mob(state, _BALANCED[k, _KIND], row, col)
                return
            place -= 1


@inner_kernel
def _despawn(state: Any, crow: int, ccol: int, k: int, count: int) -> None:
    """Remove a random one of `count` mobs of this kind from the chunk, if it is far enough from everybody."""
    mobs = state.mobs
    place = below(state.rng, count)
    for slot in range(state.clock[TOP]):
        row, col = mobs[slot, MOB_ROW], mobs[slot, MOB_COL]
        if mobs[slot, KIND] != _BALANCED[k, _KIND] or row // CHUNK != crow or col // CHUNK != ccol:
            continue
        if place == 0:
            if nearest_agent(state, row, col)[1] >= _BALANCED[k, _FAR]:
                remove_mob(state, slot)
            return
        place -= 1


@inner_kernel
def balance_chunks(state: Any, rules: Any) -> None:
    """Let mobs appear and vanish, in every chunk, with Crafter's numbers."""
    chunks = state.chunks
    time = state.clock[STEP] % DAY
    for crow in range(chunks.shape[0]):
        for ccol in range(chunks.shape[1]):
            for k in range(3):
                if not rules.limits[_BALANCED[k, _SWITCH]]:
                    continue
                count = chunks[crow, ccol, MOB_COUNT + _BALANCED[k, _KIND]]
                roomy = chunks[crow, ccol, _BALANCED[k, _GROUND]] >= _BALANCED[k, _CELLS]
                if roomy and count < _LEAST[time, k]:
                    if uniform(state.rng) < _APPEARS[k]:
                        _spawn(state, crow, ccol, k)
                elif count > _MOST[time, k] and uniform(state.rng) < _VANISHES[k]:
                    _despawn(state, crow, ccol, k, count)
