"""Hunger, thirst, fatigue, recovery, and death (Crafter 1.8.3, its half steps counted in whole ones)."""

from __future__ import annotations

from typing import Any

from emcoop.core.compile import inner_kernel
from emcoop.envs.ma_crafter.constants import (
    COL,
    CONTINUE,
    DEAD,
    DEATHS,
    DRINK,
    END,
    ENERGY,
    FACING,
    FATIGUE,
    FOOD,
    HEALTH,
    HOME_COL,
    HOME_ROW,
    HUNGER,
    LAST_HEALTH,
    MOST,
    RECOVER,
    RESPAWN,
    ROW,
    SLEEPING,
    THIRST,
    VITALS,
)
from emcoop.envs.ma_crafter.ground import free_for_mob
from emcoop.envs.ma_crafter.tables import WHEN_DEAD


@inner_kernel
def _live(state: Any, i: int) -> None:
    """One step of one agent's body."""
    agents, inventory = state.agents, state.inventory
    asleep = agents[i, SLEEPING]
    agents[i, HUNGER] += 1 if asleep else 2
    if agents[i, HUNGER] > 50:
        agents[i, HUNGER] = 0
        inventory[i, FOOD] -= 1
    agents[i, THIRST] += 1 if asleep else 2
    if agents[i, THIRST] > 40:
        agents[i, THIRST] = 0
        inventory[i, DRINK] -= 1
    agents[i, FATIGUE] = min(agents[i, FATIGUE] - 1, 0) if asleep else agents[i, FATIGUE] + 1
    if agents[i, FATIGUE] < -10:
        agents[i, FATIGUE] = 0
        inventory[i, ENERGY] += 1
    if agents[i, FATIGUE] > 30:
        agents[i, FATIGUE] = 0
        inventory[i, ENERGY] -= 1
    _recover(state, i)
    for vital in range(VITALS):
        inventory[i, vital] = max(0, min(inventory[i, vital], MOST))
    if inventory[i, HEALTH] < agents[i, LAST_HEALTH]:
        agents[i, SLEEPING] = 0
    agents[i, LAST_HEALTH] = inventory[i, HEALTH]


@inner_kernel
def _recover(state: Any, i: int) -> None:
    """Health comes back while nothing is lacking, and goes while something is. Lava leaves nothing to recover."""
    agents, inventory = state.agents, state.inventory
    if inventory[i, HEALTH] <= 0:
        return
    asleep = agents[i, SLEEPING]
    if inventory[i, FOOD] > 0 and inventory[i, DRINK] > 0 and (inventory[i, ENERGY] > 0 or asleep):
        agents[i, RECOVER] += 4 if asleep else 2
    else:
        agents[i, RECOVER] -= 1 if asleep else 2
    if agents[i, RECOVER] > 50:
        agents[i, RECOVER] = 0
        inventory[i, HEALTH] += 1
    if agents[i, RECOVER] < -30:
        agents[i, RECOVER] = 0
        inventory[i, HEALTH] -= 1


@inner_kernel
def live(state: Any) -> None:
    """One step of every living agent's body."""
    for i in range(state.agents.shape[0]):
        if not state.agents[i, DEAD]:
            _live(state, i)


@inner_kernel
def _nearest_free(state: Any, row: int, col: int) -> tuple[int, int]:
    """The free cell with the smallest Manhattan distance (ties: row by row), or (-1, -1) when there is none."""
    rows, cols = state.material.shape
    for distance in range(rows + cols):
        for r in range(max(0, row - distance), min(rows, row + distance + 1)):
            width = distance - abs(r - row)
            if free_for_mob(state, r, col - width):
                return r, col - width
            if free_for_mob(state, r, col + width):
                return r, col + width
    return -1, -1


@inner_kernel
def _return_home(state: Any, i: int) -> None:
    """Put a dead agent back, rested and with an empty bag, as near as possible to where it started; while there is no
    free cell it stays dead."""
    agents = state.agents
    row, col = _nearest_free(state, agents[i, HOME_ROW], agents[i, HOME_COL])
    if row < 0:
        return
    agents[i, ROW], agents[i, COL], agents[i, FACING] = row, col, 4
    for field in range(SLEEPING, LAST_HEALTH):
        agents[i, field] = 0
    agents[i, LAST_HEALTH] = MOST
    for item in range(state.inventory.shape[1]):
        state.inventory[i, item] = MOST if item < VITALS else 0
    state.occupant[row, col] = i + 1


@inner_kernel
def bury(state: Any, rules: Any) -> None:
    """Who has no health left dies: its body leaves the map, and what it carried is lost. With RESPAWN it comes back."""
    agents = state.agents
    for i in range(agents.shape[0]):
        if not agents[i, DEAD] and state.inventory[i, HEALTH] <= 0:
            agents[i, DEAD] = 1
            agents[i, DEATHS] += 1
            agents[i, SLEEPING] = 0
            state.occupant[agents[i, ROW], agents[i, COL]] = 0
            for item in range(VITALS, state.inventory.shape[1]):
                state.inventory[i, item] = 0
        if agents[i, DEAD] and rules.limits[WHEN_DEAD] == RESPAWN:
            _return_home(state, i)


@inner_kernel
def all_over(state: Any, rules: Any) -> bool:
    """Whether death ends the episode: the first one with END, the last one's with CONTINUE."""
    dead = 0
    for i in range(state.agents.shape[0]):
        dead += state.agents[i, DEAD]
    if rules.limits[WHEN_DEAD] == END:
        return bool(dead > 0)
    return bool(rules.limits[WHEN_DEAD] == CONTINUE and dead == state.agents.shape[0])
