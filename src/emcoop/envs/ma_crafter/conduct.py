"""What an agent does alone: sleep and wake, share, move, fight, place. By agent index, the lowest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import inner_kernel
from emcoop.envs.ma_crafter.bag import missing, pay, room_for, station_missing
from emcoop.envs.ma_crafter.collect import damage_of
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    ASLEEP,
    BAG_FULL,
    BLOCKED,
    CODE,
    COL,
    DEAD,
    DEFEATED,
    DO,
    DOWN,
    EDGE,
    ENERGY,
    FACING,
    FURNACE,
    HAVE,
    HEALTH,
    IS_DEAD,
    KIND,
    LAVA,
    LEFT,
    MAKE,
    MISSING_ITEMS,
    MOB_HEALTH,
    MOST,
    MOVED,
    NEED,
    NO_RECIPIENT,
    NO_STATION,
    NOOP,
    NOT_TIRED,
    NOTHING_HERE,
    OCCUPIED,
    PLACE,
    PLACED,
    PLACED_IT,
    PLANT,
    QUANTITIES,
    ROW,
    SHARE,
    SHAREABLE,
    SHARED,
    SKELETON,
    SLEEP,
    SLEEPING,
    STILL_ASLEEP,
    STONE,
    STRUCK,
    TABLE,
    TARGET,
    TO_SELF,
    TOO_FAR,
    VITALS,
    WAITED,
    WORLD_FULL,
    WRONG_PLACE,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.ground import (
    add_mob,
    cell_number,
    dcol_of,
    drow_of,
    inside,
    set_material,
    walkable,
)
from emcoop.envs.ma_crafter.tables import SHARE_DISTANCE, STATION_DISTANCE

_WAKE_UP = ACHIEVEMENTS.index("wake_up")
_DEFEAT_ZOMBIE, _DEFEAT_SKELETON = ACHIEVEMENTS.index("defeat_zombie"), ACHIEVEMENTS.index("defeat_skeleton")
_PLACED_ACHIEVEMENT = np.array([ACHIEVEMENTS.index(f"place_{name}") for name in PLACED], np.int64)
_PLACED_MATERIAL = np.array([STONE, TABLE, FURNACE, 0], np.int64)
_PLANT_THING = PLACED.index("plant")


@inner_kernel
def begin(state: Any, actions: Any) -> None:
    """Clear the results; the dead and the sleeping lose their action (-1), the rested wake up and keep it."""
    for i in range(state.agents.shape[0]):
        state.result[i, CODE] = WAITED
        state.result[i, HAVE] = 0
        state.result[i, NEED] = 0
        state.result[i, TARGET] = -1
        if state.agents[i, DEAD]:
            state.result[i, CODE] = IS_DEAD
            actions[i] = -1
        elif state.agents[i, SLEEPING]:
            if state.inventory[i, ENERGY] < MOST:
                quiet = actions[i] == SLEEP or actions[i] == NOOP
                state.result[i, CODE] = ASLEEP if quiet else STILL_ASLEEP
                actions[i] = -1
            else:
                state.agents[i, SLEEPING] = 0
                state.achievements[i, _WAKE_UP] += 1


@inner_kernel
def _share(state: Any, rules: Any, i: int, action: int) -> None:
    """Hand over the whole quantity, or nothing."""
    code = action - SHARE
    quantity = code % QUANTITIES + 1
    item = code // QUANTITIES % SHAREABLE + VITALS
    other = code // (QUANTITIES * SHAREABLE)
    distance = abs(state.agents[i, ROW] - state.agents[other, ROW])
    distance += abs(state.agents[i, COL] - state.agents[other, COL])
    if other == i:
        state.result[i, CODE] = TO_SELF
    elif state.agents[other, DEAD]:
        state.result[i, CODE] = NO_RECIPIENT
    elif distance > rules.limits[SHARE_DISTANCE]:
        state.result[i, CODE] = TOO_FAR
        state.result[i, HAVE] = distance
        state.result[i, NEED] = rules.limits[SHARE_DISTANCE]
    elif state.inventory[i, item] < quantity:
        state.result[i, CODE] = MISSING_ITEMS
        state.result[i, HAVE] = state.inventory[i, item]
        state.result[i, NEED] = quantity
        state.result[i, TARGET] = item
    elif not room_for(state, rules, other, item, quantity):
        state.result[i, CODE] = BAG_FULL
        state.result[i, TARGET] = item
    else:
        state.inventory[i, item] -= quantity
        state.inventory[other, item] += quantity
        state.result[i, CODE] = SHARED
        state.result[i, HAVE] = quantity
        state.result[i, TARGET] = item


@inner_kernel
def share(state: Any, rules: Any, actions: Any) -> None:
    """All sharing of a step, on the positions at its beginning. An action that was one becomes -1."""
    for i in range(state.agents.shape[0]):
        if actions[i] >= SHARE:
            _share(state, rules, i, actions[i])
            actions[i] = -1


@inner_kernel
def _move(state: Any, i: int, direction: int) -> None:
    """Turn, and step if the cell is free; who steps into lava has no health left."""
    agents = state.agents
    agents[i, FACING] = direction
    row, col = agents[i, ROW] + drow_of(direction), agents[i, COL] + dcol_of(direction)
    if not inside(state, row, col):
        state.result[i, CODE] = EDGE
        return
    material = int(state.material[row, col])
    cell = cell_number(state, row, col)
    if state.occupant[row, col] != 0:
        state.result[i, CODE] = OCCUPIED
        state.result[i, TARGET] = cell
    elif not walkable(material) and material != LAVA:
        state.result[i, CODE] = BLOCKED
        state.result[i, TARGET] = cell
    else:
        state.occupant[agents[i, ROW], agents[i, COL]] = 0
        agents[i, ROW], agents[i, COL] = row, col
        state.occupant[row, col] = i + 1
        if material == LAVA:
            state.inventory[i, HEALTH] = 0
        state.result[i, CODE] = MOVED
        state.result[i, TARGET] = cell


@inner_kernel
def _use(state: Any, i: int, row: int, col: int) -> None:
    """Strike the zombie or skeleton in front; what can be collected is `collect`'s."""
    cell = cell_number(state, row, col)
    body = int(state.occupant[row, col])
    kind = state.mobs[-body - 1, KIND] if body < 0 else 0
    if kind != ZOMBIE and kind != SKELETON:
        state.result[i, CODE] = NOTHING_HERE
        state.result[i, TARGET] = cell
        return
    health = max(0, state.mobs[-body - 1, MOB_HEALTH] - damage_of(state, i))
    state.mobs[-body - 1, MOB_HEALTH] = health
    if health > 0:
        state.result[i, CODE] = STRUCK
        state.result[i, HAVE] = health
        state.result[i, TARGET] = cell
        return
    state.achievements[i, _DEFEAT_ZOMBIE if kind == ZOMBIE else _DEFEAT_SKELETON] += 1
    state.result[i, CODE] = DEFEATED
    state.result[i, TARGET] = cell


@inner_kernel
def _place(state: Any, rules: Any, i: int, thing: int, row: int, col: int) -> None:
    """Put a stone, table, furnace or plant in front."""
    cell = cell_number(state, row, col)
    if state.occupant[row, col] != 0:
        state.result[i, CODE] = OCCUPIED
        state.result[i, TARGET] = cell
        return
    if not rules.place_on[thing] >> int(state.material[row, col]) & 1:
        state.result[i, CODE] = WRONG_PLACE
        state.result[i, TARGET] = cell
        return
    station = station_missing(state, i, rules.place_near[thing], rules.limits[STATION_DISTANCE])
    if station >= 0:
        state.result[i, CODE] = NO_STATION
        state.result[i, TARGET] = station
        return
    lacking = missing(state, i, rules.place_uses[thing])
    if lacking >= 0:
        have, need = state.inventory[i, lacking], rules.place_uses[thing, lacking]
        state.result[i, CODE] = MISSING_ITEMS
        state.result[i, HAVE] = have
        state.result[i, NEED] = need
        state.result[i, TARGET] = lacking
        return
    if thing == _PLANT_THING:
        if add_mob(state, PLANT, row, col) < 0:
            state.result[i, CODE] = WORLD_FULL
            state.result[i, TARGET] = cell
            return
    else:
        set_material(state, row, col, _PLACED_MATERIAL[thing])
    pay(state, i, rules.place_uses[thing])
    state.achievements[i, _PLACED_ACHIEVEMENT[thing]] += 1
    state.result[i, CODE] = PLACED_IT
    state.result[i, TARGET] = cell


@inner_kernel
def _face(state: Any, rules: Any, i: int, action: int) -> None:
    """Do something with the cell in front."""
    row = state.agents[i, ROW] + drow_of(state.agents[i, FACING])
    col = state.agents[i, COL] + dcol_of(state.agents[i, FACING])
    if not inside(state, row, col):
        state.result[i, CODE] = EDGE
    elif action == DO:
        _use(state, i, row, col)
    else:
        _place(state, rules, i, action - PLACE, row, col)


@inner_kernel
def act_alone(state: Any, rules: Any, actions: Any) -> None:
    """Everything that is still to do: moves, blows, sleep, placing."""
    for i in range(state.agents.shape[0]):
        action = actions[i]
        if LEFT <= action <= DOWN:
            _move(state, i, action)
        elif action == SLEEP:
            if state.inventory[i, ENERGY] < MOST:
                state.agents[i, SLEEPING] = 1
                state.result[i, CODE] = ASLEEP
            else:
                state.result[i, CODE] = NOT_TIRED
        elif action == DO or PLACE <= action < MAKE:
            _face(state, rules, i, action)
