"""Which primitives can have an effect in MA-Crafter.

A primitive is masked out only if, whatever the others do in the same step, it leaves the state as `noop` does, but for
what `result` reports of it. Who has no other living agent anywhere near gets the exact answer; with company, everything
counts as possible that some joint action could still bring about: a cell that somebody takes or leaves, a table that
somebody places, things that somebody hands over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import inner_kernel, lean_kernel
from emcoop.envs.ma_crafter.bag import can_carry, missing
from emcoop.envs.ma_crafter.collect import has_tool, part_of, resource_at
from emcoop.envs.ma_crafter.constants import (
    COL,
    COLLECT,
    CRAFTED,
    DEAD,
    DO,
    DOWN,
    ENERGY,
    FACING,
    ITEMS,
    KIND,
    LAVA,
    LEFT,
    MAKE,
    MOST,
    NOOP,
    PLACE,
    PLACED,
    QUANTITIES,
    R_PLANT,
    RESOURCE_ITEM,
    RESOURCES,
    RIPE,
    ROW,
    SHARE,
    SHAREABLE,
    SKELETON,
    SLEEP,
    SLEEPING,
    TIMER,
    VITALS,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.craft import station_of
from emcoop.envs.ma_crafter.ground import dcol_of, drow_of, inside, walkable
from emcoop.envs.ma_crafter.tables import (
    CAP,
    LEAVES,
    REACH,
    REQUIRED,
    SHARE_DISTANCE,
    STATION_DISTANCE,
    STATIONS_NEEDED,
)

_CRAFTED, _PLACED, _RESOURCES, _ITEMS = len(CRAFTED), len(PLACED), len(RESOURCES), len(ITEMS)
_ITEM = np.array(RESOURCE_ITEM, np.int64)


@inner_kernel
def _apart(state: Any, i: int, j: int) -> int:
    """The Manhattan distance of two agents."""
    agents = state.agents
    return int(abs(agents[i, ROW] - agents[j, ROW]) + abs(agents[i, COL] - agents[j, COL]))


@inner_kernel
def _living(state: Any) -> int:
    alive = 0
    for j in range(state.agents.shape[0]):
        alive += 1 - state.agents[j, DEAD]
    return int(alive)


@inner_kernel
def _accompanied(state: Any, rules: Any, i: int) -> bool:
    """Whether another living agent is so near that what it does could matter to what agent i does."""
    far = max(rules.limits[SHARE_DISTANCE], 4 * rules.limits[STATION_DISTANCE] + 4)
    for resource in range(_RESOURCES):
        far = max(far, 2 * rules.collect[resource, REACH] + 2)
    for j in range(state.agents.shape[0]):
        if j != i and not state.agents[j, DEAD] and _apart(state, i, j) <= far:
            return True
    return False


@inner_kernel
def _can_enter(state: Any, rules: Any, row: int, col: int, company: bool) -> bool:
    """Whether this cell may be free when agents move."""
    if not inside(state, row, col) or (not company and state.occupant[row, col] != 0):
        return False
    material = int(state.material[row, col])
    if walkable(material) or material == LAVA:
        return True
    # What can be taken away may be gone by then. A body on it would only hide that.
    return company and (state.occupant[row, col] != 0 or _can_change(state, rules, row, col, material))


@inner_kernel
def _can_change(state: Any, rules: Any, row: int, col: int, material: int) -> bool:
    resource = resource_at(state, row, col)
    return bool(resource >= 0 and rules.collect[resource, LEAVES] != material)


@inner_kernel
def _can_collect(state: Any, rules: Any, i: int, action: int, team: int, company: bool) -> bool:
    """Whether a cell may be taken with this agent's part in it."""
    resource, cell = part_of(state, rules, i, action)
    need = rules.collect[resource, REQUIRED]
    if cell < 0 or not has_tool(state, rules, i, resource) or need > team:
        return False
    if resource == R_PLANT:
        cols = state.material.shape[1]
        plant = -int(state.occupant[cell // cols, cell % cols]) - 1
        if state.mobs[plant, TIMER] <= RIPE:
            return False
    return bool(company or (need <= 1 and can_carry(state, rules, i, _ITEM[resource], 1)))


@inner_kernel
def _can_use(state: Any, rules: Any, i: int, row: int, col: int, team: int, company: bool) -> bool:
    """Whether `do` at the cell in front can change anything."""
    if resource_at(state, row, col) >= 0:
        return _can_collect(state, rules, i, DO, team, company)
    body = int(state.occupant[row, col])
    kind = state.mobs[-body - 1, KIND] if body < 0 else 0
    return kind in (ZOMBIE, SKELETON)


@inner_kernel
def _can_pay(state: Any, i: int, uses: Any, company: bool) -> bool:
    """Whether agent i has these things, or could be given what is missing."""
    if not company:
        return bool(missing(state, i, uses) < 0)
    for item in range(_ITEMS):
        if state.inventory[i, item] < uses[item]:
            have = 0
            for j in range(state.agents.shape[0]):
                have += state.inventory[j, item]
            if have < uses[item]:
                return False
    return True


@inner_kernel
def _materials_near(state: Any, i: int, distance: int) -> int:
    """The materials within so many rows and columns of agent i, as a bit mask (see `bag.station_missing`)."""
    row, col = state.agents[i, ROW], state.agents[i, COL]
    found = 0
    for r in range(max(0, row - distance), min(state.material.shape[0], row + distance + 1)):
        for c in range(max(0, col - distance), min(state.material.shape[1], col + distance + 1)):
            found |= 1 << int(state.material[r, c])
    return found


@inner_kernel
def _can_place(state: Any, rules: Any, i: int, thing: int, row: int, col: int, near: int, company: bool) -> bool:
    if not _can_pay(state, i, rules.place_uses[thing], company):
        return False
    if company:
        return True
    fits = state.occupant[row, col] == 0 and rules.place_on[thing] >> int(state.material[row, col]) & 1
    return bool(fits and not rules.place_near[thing] & ~near)


@inner_kernel
def _can_make(state: Any, rules: Any, i: int, kind: int, near: int, team: int, company: bool) -> bool:
    """Crafting comes before placing: the stations are those that stand already."""
    mask, need = rules.make[kind, STATIONS_NEEDED], rules.make[kind, REQUIRED]
    if need > team or mask & ~near:
        return False
    if company:
        return True
    return bool(need <= 1 and station_of(state, rules, i, mask) >= 0 and missing(state, i, rules.make_uses[kind]) < 0)


@inner_kernel
def _in_reach(state: Any, rules: Any, i: int) -> int:
    """The resources that agent i could name in `collect` and find, as a bit mask."""
    row, col = state.agents[i, ROW], state.agents[i, COL]
    far = 0
    for resource in range(_RESOURCES):
        far = max(far, rules.collect[resource, REACH])
    found = 0
    for r in range(row - far, row + far + 1):
        width = far - abs(r - row)
        for c in range(col - width, col + width + 1):
            resource = resource_at(state, r, c)
            if resource >= 0 and abs(r - row) + abs(c - col) <= rules.collect[resource, REACH]:
                found |= 1 << resource
    return found


@inner_kernel
def _mask_shares(state: Any, rules: Any, i: int, mask: Any) -> None:
    """Sharing goes by index: what agent i can hand over is what it has, and what those before it may give it."""
    for j in range(state.agents.shape[0]):
        if j == i or state.agents[j, DEAD] or _apart(state, i, j) > rules.limits[SHARE_DISTANCE]:
            continue
        for item in range(SHAREABLE):
            most = 0
            for k in range(i + 1):
                most += state.inventory[k, VITALS + item]
            first = SHARE + (j * SHAREABLE + item) * QUANTITIES
            for quantity in range(1, min(most, rules.limits[CAP], QUANTITIES) + 1):
                mask[first + quantity - 1] = True


@lean_kernel
def mask_agent(state: Any, rules: Any, i: int, mask: Any) -> None:
    """Fill `mask` [P] bool with what can have an effect for agent i; `noop` always counts as possible.

    The dead, and sleepers who are not rested, can do nothing else.
    """
    mask[:] = False
    mask[NOOP] = True
    awake = not state.agents[i, SLEEPING] or state.inventory[i, ENERGY] >= MOST
    if state.agents[i, DEAD] or not awake:
        return
    company, team = _accompanied(state, rules, i), _living(state)
    facing = state.agents[i, FACING]
    for direction in range(LEFT, DOWN + 1):
        row, col = state.agents[i, ROW] + drow_of(direction), state.agents[i, COL] + dcol_of(direction)
        mask[direction] = facing != direction or _can_enter(state, rules, row, col, company)
    row, col = state.agents[i, ROW] + drow_of(facing), state.agents[i, COL] + dcol_of(facing)
    reaches = inside(state, row, col)
    mask[DO] = reaches and _can_use(state, rules, i, row, col, team, company)
    mask[SLEEP] = state.inventory[i, ENERGY] < MOST
    near = _materials_near(state, i, rules.limits[STATION_DISTANCE])
    for thing in range(_PLACED):
        mask[PLACE + thing] = reaches and _can_place(state, rules, i, thing, row, col, near, company)
    for kind in range(_CRAFTED):
        mask[MAKE + kind] = _can_make(state, rules, i, kind, near, team, company)
    found = _in_reach(state, rules, i)
    for resource in range(_RESOURCES):
        if found >> resource & 1:
            mask[COLLECT + resource] = _can_collect(state, rules, i, COLLECT + resource, team, company)
    _mask_shares(state, rules, i, mask)
