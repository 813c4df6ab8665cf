"""Crafting with a leader (paper, appendix G.3): one bag pays, everybody who takes part receives.

The leader is the lowest-indexed agent that crafts an item at a station; those who craft the same item in the same step,
with every needed station near and that one among them, take part. Several groups at different stations do not mix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import inner_kernel
from emcoop.envs.ma_crafter.bag import can_carry, carried, missing, pay, put_in, station_missing
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    BAG_FULL,
    CODE,
    COL,
    CRAFTED,
    CRAFTED_IT,
    FACING,
    HAVE,
    LEADER_LACKS,
    MAKE,
    NEED,
    NO_STATION,
    NOBODY_LEADS,
    ROW,
    TARGET,
    TOO_FEW,
    VITALS,
    WOOD_PICKAXE,
)
from emcoop.envs.ma_crafter.ground import dcol_of, drow_of, inside
from emcoop.envs.ma_crafter.tables import (
    CAP,
    CAPACITY,
    GIVES,
    LEADER_FACES,
    REQUIRED,
    STATION_DISTANCE,
    STATIONS_NEEDED,
)

_CRAFTED = len(CRAFTED)
# What the action of an agent is while its group is decided.
_IN_GROUP = -2
_ACHIEVEMENT = np.array([ACHIEVEMENTS.index(f"make_{name}") for name in CRAFTED], np.int64)


@inner_kernel
def station_of(state: Any, rules: Any, i: int, mask: int) -> int:
    """The cell of the station at which agent i would lead, or -1: the one it faces, or, where the rules do not ask for
    that, the first near one (by cell number). A recipe that needs no station is led in the agent's own cell."""
    row, col = state.agents[i, ROW], state.agents[i, COL]
    rows, cols = state.material.shape
    if mask == 0:
        return int(row * cols + col)
    if rules.limits[LEADER_FACES]:
        row += drow_of(state.agents[i, FACING])
        col += dcol_of(state.agents[i, FACING])
        if inside(state, row, col) and mask >> int(state.material[row, col]) & 1:
            return int(row * cols + col)
        return -1
    distance = rules.limits[STATION_DISTANCE]
    for r in range(max(0, row - distance), min(rows, row + distance + 1)):
        for c in range(max(0, col - distance), min(cols, col + distance + 1)):
            if mask >> int(state.material[r, c]) & 1:
                return int(r * cols + c)
    return -1


@inner_kernel
def _near(state: Any, i: int, cell: int, distance: int) -> bool:
    cols = state.material.shape[1]
    drow, dcol = state.agents[i, ROW] - cell // cols, state.agents[i, COL] - cell % cols
    return bool(max(abs(drow), abs(dcol)) <= distance)


@inner_kernel
def _room_after_paying(state: Any, rules: Any, i: int, item: int, kind: int) -> bool:
    """Whether the leader has room for the item once its price is gone."""
    uses, amount = rules.make_uses[kind], rules.make[kind, GIVES]
    kept = min(amount, rules.limits[CAP] - state.inventory[i, item] + uses[item])
    weight = carried(state, rules, i) + max(0, kept) * rules.weights[item]
    for used in range(VITALS, uses.shape[0]):
        weight -= uses[used] * rules.weights[used]
    return bool(weight <= rules.limits[CAPACITY])


@inner_kernel
def _gather(state: Any, rules: Any, actions: Any, leader: int, cell: int, kind: int) -> int:
    """Mark who crafts with this leader; returns how many."""
    have = 0
    for i in range(leader, state.agents.shape[0]):
        if actions[i] == MAKE + kind and _near(state, i, cell, rules.limits[STATION_DISTANCE]):
            actions[i] = _IN_GROUP
            have += 1
    return have


@inner_kernel
def _lead(state: Any, rules: Any, actions: Any, leader: int, cell: int, kind: int) -> None:
    """Decide one group."""
    n = state.agents.shape[0]
    have, need = _gather(state, rules, actions, leader, cell, kind), rules.make[kind, REQUIRED]
    item, amount = WOOD_PICKAXE + kind, rules.make[kind, GIVES]
    lacking = missing(state, leader, rules.make_uses[kind])
    served = _room_after_paying(state, rules, leader, item, kind)
    for i in range(leader + 1, n):
        served = served or (actions[i] == _IN_GROUP and can_carry(state, rules, i, item, amount))
    goes = have >= need and lacking < 0 and served
    if goes:
        pay(state, leader, rules.make_uses[kind])
    for i in range(leader, n):
        if actions[i] != _IN_GROUP:
            continue
        actions[i] = -1
        if have < need:
            state.result[i, CODE] = TOO_FEW
            state.result[i, HAVE] = have
            state.result[i, NEED] = need
            state.result[i, TARGET] = cell
        elif lacking >= 0:
            wanted = rules.make_uses[kind, lacking]
            state.result[i, CODE] = LEADER_LACKS
            state.result[i, HAVE] = state.inventory[leader, lacking]
            state.result[i, NEED] = wanted
            state.result[i, TARGET] = lacking
        elif not goes or not can_carry(state, rules, i, item, amount):
            state.result[i, CODE] = BAG_FULL
            state.result[i, HAVE] = have
            state.result[i, NEED] = need
            state.result[i, TARGET] = cell
        else:
            put_in(state, rules, i, item, amount)
            state.achievements[i, _ACHIEVEMENT[kind]] += 1
            state.result[i, CODE] = CRAFTED_IT
            state.result[i, HAVE] = have
            state.result[i, NEED] = need
            state.result[i, TARGET] = cell


@inner_kernel
def craft(state: Any, rules: Any, actions: Any) -> None:
    """All crafting of a step. An action that was one becomes -1."""
    n = state.agents.shape[0]
    for i in range(n):
        if not MAKE <= actions[i] < MAKE + _CRAFTED:
            continue
        mask = rules.make[actions[i] - MAKE, STATIONS_NEEDED]
        lacking = station_missing(state, i, mask, rules.limits[STATION_DISTANCE])
        if lacking >= 0:
            actions[i] = -1
            state.result[i, CODE] = NO_STATION
            state.result[i, TARGET] = lacking
        else:
            state.result[i, CODE] = NOBODY_LEADS
    for i in range(n):
        if MAKE <= actions[i] < MAKE + _CRAFTED:
            kind = actions[i] - MAKE
            cell = station_of(state, rules, i, rules.make[kind, STATIONS_NEEDED])
            if cell >= 0:
                _lead(state, rules, actions, i, cell, kind)
    for i in range(n):
        if MAKE <= actions[i] < MAKE + _CRAFTED:
            actions[i] = -1
