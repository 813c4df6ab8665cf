"""Cooperative collection (paper, appendix G.2): who takes part in which cell, and what is taken.

One collect primitive names one resource; the agent takes part in the nearest such cell within the distance
(Manhattan; ties: the smallest cell number). A `do` takes part in the cell it faces. A cell is taken when at least as
many agents as it requires, each with the tool, take part in the same step and one of them has room; each of them gets
one unit, if its own bag has room. All this happens on the positions at the beginning of the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import inner_kernel, lean_kernel
from emcoop.envs.ma_crafter.bag import can_carry, put_in
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    ATE,
    BAG_FULL,
    CODE,
    COL,
    COLLECT,
    COLLECTED,
    COW,
    DO,
    DRANK,
    FACING,
    FOOD,
    HAVE,
    HUNGER,
    IRON_SWORD,
    KIND,
    MATERIALS,
    MISSING_TOOL,
    MOB_HEALTH,
    NEED,
    NO_MOB,
    NOTHING_IN_RANGE,
    PLANT,
    R_COW,
    R_PLANT,
    R_WATER,
    RESOURCE_ACHIEVEMENT,
    RESOURCE_ITEM,
    RESOURCE_MATERIAL,
    RESOURCE_MOB,
    RIPE,
    ROW,
    SHARE,
    STONE_SWORD,
    STRUCK,
    TARGET,
    THIRST,
    TIMER,
    TOO_FEW,
    UNLUCKY,
    UNRIPE,
    WOOD_SWORD,
)
from emcoop.envs.ma_crafter.ground import (
    dcol_of,
    drow_of,
    inside,
    set_material,
    uniform,
)
from emcoop.envs.ma_crafter.tables import LEAVES, REACH, REQUIRED, TOOL

_RESOURCE_OF = np.array(
    [RESOURCE_MATERIAL.index(m) if m and m in RESOURCE_MATERIAL else -1 for m in range(len(MATERIALS))], np.int64
)
_MOB = np.array(RESOURCE_MOB, np.int64)
_ITEM = np.array(RESOURCE_ITEM, np.int64)
# What an action becomes: done, or (minus the resource) taking part.
_DONE, _TAKES = -1, -2
# The achievement of each resource.
_ACHIEVEMENT = np.array([ACHIEVEMENTS.index(name) for name in RESOURCE_ACHIEVEMENT], np.int64)


@lean_kernel
def resource_at(state: Any, row: int, col: int) -> int:
    """The resource that this cell is or holds, or -1. A body hides the ground under it."""
    if not inside(state, row, col):
        return -1
    body = int(state.occupant[row, col])
    if body > 0:
        return -1
    if body < 0:
        kind = state.mobs[-body - 1, KIND]
        return R_COW if kind == COW else (R_PLANT if kind == PLANT else -1)
    return int(_RESOURCE_OF[state.material[row, col]])


@lean_kernel
def nearest_cell(state: Any, i: int, resource: int, reach: int) -> int:
    """The number of the nearest cell of this resource within `reach` (Manhattan) of agent i, or -1."""
    row, col = state.agents[i, ROW], state.agents[i, COL]
    rows, cols = state.material.shape
    best, least = -1, reach + 1
    for r in range(max(0, row - reach), min(rows, row + reach + 1)):
        width = reach - abs(r - row)
        for c in range(max(0, col - width), min(cols, col + width + 1)):
            distance = abs(r - row) + abs(c - col)
            if distance < least and resource_at(state, r, c) == resource:
                best, least = r * cols + c, distance
    return best


@lean_kernel
def part_of(state: Any, rules: Any, i: int, action: int) -> tuple[int, int]:
    """(resource, cell) that agent i takes part in with this primitive; resource -1 for one that collects nothing, and
    cell -1 when nothing is in range. Of several as near the faced one comes first. Faced grass counts as a resource."""
    if action != DO and not COLLECT <= action < SHARE:
        return -1, -1
    row = state.agents[i, ROW] + drow_of(state.agents[i, FACING])
    col = state.agents[i, COL] + dcol_of(state.agents[i, FACING])
    faced = resource_at(state, row, col)
    if faced >= 0 and (action == DO or faced == action - COLLECT):
        return faced, row * state.material.shape[1] + col
    if action == DO:
        return -1, -1
    resource = action - COLLECT
    return resource, nearest_cell(state, i, resource, rules.collect[resource, REACH])


@lean_kernel
def has_tool(state: Any, rules: Any, i: int, resource: int) -> bool:
    """Whether agent i has what this resource requires."""
    tool = rules.collect[resource, TOOL]
    return bool(tool < 0 or state.inventory[i, tool] > 0)


@inner_kernel
def damage_of(state: Any, i: int) -> int:
    """What a blow of agent i takes from a mob: 1, with a sword of wood 2, stone 3, iron 5."""
    if state.inventory[i, IRON_SWORD]:
        return 5
    if state.inventory[i, STONE_SWORD]:
        return 3
    return 2 if state.inventory[i, WOOD_SWORD] else 1


@inner_kernel
def _takes(state: Any, actions: Any, i: int, cell: int, resource: int) -> bool:
    """Whether agent i takes part in this cell. While collecting is decided, its action says so, its result where."""
    return bool(actions[i] == _TAKES - resource and state.result[i, TARGET] == cell)


@inner_kernel
def _get_unit(state: Any, rules: Any, i: int, resource: int) -> int:
    """One agent's share of a cell of ground that is taken; returns the result."""
    item = _ITEM[resource]
    if resource == R_WATER:
        state.agents[i, THIRST] = 0
    if not can_carry(state, rules, i, item, 1):
        return BAG_FULL
    if rules.chance[resource] < 1 and uniform(state.rng) > rules.chance[resource]:
        return UNLUCKY
    put_in(state, rules, i, item, 1)
    state.achievements[i, _ACHIEVEMENT[resource]] += 1
    return DRANK if resource == R_WATER else COLLECTED


@inner_kernel
def _eat(state: Any, i: int, resource: int, slot: int) -> int:
    """One agent's share of a cow that was struck or of a plant; returns the result."""
    mobs = state.mobs
    if resource == R_PLANT and mobs[slot, TIMER] <= RIPE:
        state.result[i, HAVE] = mobs[slot, TIMER]
        state.result[i, NEED] = RIPE + 1
        return UNRIPE
    if resource == R_COW and mobs[slot, MOB_HEALTH] > 0:
        state.result[i, HAVE] = mobs[slot, MOB_HEALTH]
        return STRUCK
    state.inventory[i, FOOD] += 6 if resource == R_COW else 4
    state.achievements[i, _ACHIEVEMENT[resource]] += 1
    if resource == R_COW:
        state.agents[i, HUNGER] = 0
    return ATE


@inner_kernel
def _take(state: Any, rules: Any, actions: Any, cell: int, resource: int) -> None:
    """A quorum takes a cell: everybody with the tool gets its share. Blows at a cow are summed before it is eaten."""
    mobs, cols = state.mobs, state.material.shape[1]
    slot = -int(state.occupant[cell // cols, cell % cols]) - 1
    if resource == R_COW:
        for i in range(state.agents.shape[0]):
            if _takes(state, actions, i, cell, resource) and has_tool(state, rules, i, resource):
                mobs[slot, MOB_HEALTH] = max(0, mobs[slot, MOB_HEALTH] - damage_of(state, i))
    for i in range(state.agents.shape[0]):
        if not _takes(state, actions, i, cell, resource) or not has_tool(state, rules, i, resource):
            continue
        if _MOB[resource] == NO_MOB:
            state.result[i, CODE] = _get_unit(state, rules, i, resource)
        else:
            state.result[i, CODE] = _eat(state, i, resource, slot)
    if _MOB[resource] == NO_MOB:
        set_material(state, cell // cols, cell % cols, rules.collect[resource, LEAVES])
    elif resource == R_PLANT and mobs[slot, TIMER] > RIPE:
        mobs[slot, TIMER] = 0


@inner_kernel
def _with_tool(state: Any, rules: Any, actions: Any, cell: int, resource: int) -> int:
    """How many take part in this cell with the tool; the others are told what they lack."""
    have = 0
    for i in range(state.agents.shape[0]):
        if _takes(state, actions, i, cell, resource):
            if has_tool(state, rules, i, resource):
                have += 1
            else:
                state.result[i, CODE] = MISSING_TOOL
                state.result[i, NEED] = rules.collect[resource, TOOL]
    return have


@inner_kernel
def _settle(state: Any, rules: Any, actions: Any, cell: int, resource: int) -> None:
    """Decide one cell that somebody takes part in."""
    have, need = _with_tool(state, rules, actions, cell, resource), rules.collect[resource, REQUIRED]
    room = False
    for i in range(state.agents.shape[0]):
        if _takes(state, actions, i, cell, resource) and has_tool(state, rules, i, resource):
            room = room or can_carry(state, rules, i, _ITEM[resource], 1)
            state.result[i, CODE] = TOO_FEW if have < need else BAG_FULL
            state.result[i, HAVE] = have
            state.result[i, NEED] = need
    if have >= need and room:
        _take(state, rules, actions, cell, resource)


@inner_kernel
def _assign(state: Any, rules: Any, actions: Any) -> None:
    """Find the cell that each agent takes part in."""
    for i in range(state.agents.shape[0]):
        if actions[i] != DO and not COLLECT <= actions[i] < SHARE:
            continue
        resource, cell = part_of(state, rules, i, actions[i])
        if cell >= 0:
            actions[i] = _TAKES - resource
            state.result[i, TARGET] = cell
        elif resource >= 0:
            actions[i] = _DONE
            state.result[i, CODE] = NOTHING_IN_RANGE
            state.result[i, NEED] = rules.collect[resource, REACH]


@inner_kernel
def collect(state: Any, rules: Any, actions: Any) -> None:
    """All collecting of a step. An action that was one becomes -1, so that nothing else is done for it."""
    _assign(state, rules, actions)
    for i in range(state.agents.shape[0]):
        if actions[i] > _TAKES:
            continue
        resource, cell = _TAKES - actions[i], state.result[i, TARGET]
        _settle(state, rules, actions, cell, resource)
        for j in range(i, state.agents.shape[0]):
            if _takes(state, actions, j, cell, resource):
                actions[j] = _DONE
