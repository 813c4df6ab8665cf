"""What fits into a bag, what can be paid from it, and how achievements are counted."""

from __future__ import annotations

from typing import Any

from emcoop.core.compile import inner_kernel, lean_kernel
from emcoop.envs.ma_crafter.constants import ITEMS, MATERIALS, VITALS
from emcoop.envs.ma_crafter.tables import CAP, CAPACITY

_ITEMS = len(ITEMS)
_GROUND = len(MATERIALS)


@lean_kernel
def carried(state: Any, rules: Any, i: int) -> int:
    """The weight of what agent i carries."""
    weight = 0
    for item in range(VITALS, _ITEMS):
        weight += state.inventory[i, item] * rules.weights[item]
    return int(weight)


@lean_kernel
def can_carry(state: Any, rules: Any, i: int, item: int, amount: int) -> bool:
    """Whether the weight of so many more of an item fits into agent i's bag; what exceeds its limit weighs nothing."""
    if item < VITALS:
        return True
    # A bag that is over its capacity already can still take what weighs nothing.
    weight = min(amount, rules.limits[CAP] - state.inventory[i, item]) * rules.weights[item]
    return bool(weight <= 0 or carried(state, rules, i) + weight <= rules.limits[CAPACITY])


@lean_kernel
def room_for(state: Any, rules: Any, i: int, item: int, amount: int) -> bool:
    """Whether agent i can take all of so many more of an item: neither its limit nor the capacity is exceeded."""
    if item >= VITALS and state.inventory[i, item] + amount > rules.limits[CAP]:
        return False
    return can_carry(state, rules, i, item, amount)


@inner_kernel
def put_in(state: Any, rules: Any, i: int, item: int, amount: int) -> None:
    """Add to agent i's bag. As in Crafter, what exceeds the limit of an item is thrown away."""
    have = state.inventory[i, item]
    fits = item < VITALS or have + amount <= rules.limits[CAP]
    state.inventory[i, item] = have + amount if fits else max(have, rules.limits[CAP])


@inner_kernel
def missing(state: Any, i: int, uses: Any) -> int:
    """The first item of `uses` [16] of which agent i has too little, or -1."""
    for item in range(_ITEMS):
        if state.inventory[i, item] < uses[item]:
            return item
    return -1


@inner_kernel
def pay(state: Any, i: int, uses: Any) -> None:
    """Take `uses` [16] out of agent i's bag."""
    for item in range(_ITEMS):
        state.inventory[i, item] -= uses[item]


@lean_kernel
def station_missing(state: Any, i: int, mask: int, distance: int) -> int:
    """The first material of the mask that is not within `distance` rows and columns of agent i, or -1."""
    row, col = state.agents[i, 0], state.agents[i, 1]
    found = 0
    for r in range(max(0, row - distance), min(state.material.shape[0], row + distance + 1)):
        for c in range(max(0, col - distance), min(state.material.shape[1], col + distance + 1)):
            found |= 1 << int(state.material[r, c])
    lacking = mask & ~found
    for material in range(_GROUND):
        if lacking >> material & 1:
            return material
    return -1
