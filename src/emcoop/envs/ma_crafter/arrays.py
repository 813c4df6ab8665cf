"""MA-Crafter as vectors for reinforcement learning: what one agent sees, and the whole world."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import lean_kernel
from emcoop.core.types import AgentId, agent_index
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    COL,
    DAY,
    DEAD,
    DIRECTIONS,
    FACING,
    FATIGUE,
    HUNGER,
    ITEMS,
    KIND,
    MATERIALS,
    MOB_COL,
    MOB_DIRECTION,
    MOB_HEALTH,
    MOB_ROW,
    MOBS,
    MOST,
    RECOVER,
    RIPE,
    ROW,
    SLEEPING,
    STEP,
    THIRST,
    TIMER,
    UNKNOWN,
    VIEW_COLS,
    VIEW_ROWS,
)
from emcoop.envs.ma_crafter.light import daylight
from emcoop.envs.ma_crafter.navigate import window
from emcoop.envs.ma_crafter.state import CrafterState

SEMANTIC = len(MATERIALS) + len(MOBS)
"""Channels of the view: MATERIALS, then agents and the kinds of MOBS without its first entry."""

AGENT_CHANNEL = len(MATERIALS)

EXTRA = len(ITEMS) + len(DIRECTIONS) - 1 + 3

LENGTH = VIEW_ROWS * VIEW_COLS * SEMANTIC + EXTRA
"""The view, one-hot, row by row [7, 9, SEMANTIC]; then `inventory` / 9 (vitals first), the facing one-hot (left, right,
up, down), asleep, alive, and the daylight."""

_ITEMS, _FACINGS = len(ITEMS), len(DIRECTIONS) - 1
_LIGHT = np.array([daylight(step) for step in range(DAY)], np.float32)

_COUNTERS = np.array([HUNGER, THIRST, FATIGUE, RECOVER])
_COUNTERS_MOST = 50.0

BODY = 4 + len(ITEMS) + len(DIRECTIONS) - 1 + len(_COUNTERS) + len(ACHIEVEMENTS)
"""Entries per agent in `global_array`."""

PLANES = SEMANTIC + 3
"""Entries per cell in `global_array`."""


def array(state: CrafterState, agent: AgentId) -> NDArray[np.float32]:
    """[LENGTH] float32, every entry within 0 to 1. The view is all unknown for who sleeps or is dead."""
    me = agent_index(agent)
    body = state.agents[me]
    view = np.zeros((VIEW_ROWS, VIEW_COLS, SEMANTIC), np.float32)
    view[..., UNKNOWN] = 1.0
    if not body[SLEEPING] and not body[DEAD]:
        rows, cols = window(state, me)
        top, left = rows.start - (int(body[ROW]) - VIEW_ROWS // 2), cols.start - (int(body[COL]) - VIEW_COLS // 2)
        part = view[top : top + rows.stop - rows.start, left : left + cols.stop - cols.start]
        bodies = state.occupant[rows, cols]
        kinds = state.mobs[np.maximum(-bodies - 1, 0), KIND]
        channel = np.where(bodies == 0, state.material[rows, cols], AGENT_CHANNEL + np.where(bodies > 0, 0, kinds))
        part[...] = np.eye(SEMANTIC, dtype=np.float32)[channel]
    facing = np.zeros(len(DIRECTIONS) - 1, np.float32)
    facing[int(body[FACING]) - 1] = 1.0
    flags = [float(body[SLEEPING]), float(not body[DEAD]), float(_LIGHT[state.step % DAY])]
    bag = state.inventory[me].astype(np.float32) / MOST
    return np.concatenate([view.ravel(), bag, facing, np.array(flags, np.float32)])


@lean_kernel
def see(state: Any, me: int, seen: Any) -> None:
    """`array` of agent `me`, written into `seen` [LENGTH]: the same numbers."""
    seen[:] = 0.0
    top, left = state.agents[me, ROW] - VIEW_ROWS // 2, state.agents[me, COL] - VIEW_COLS // 2
    rows, cols = state.material.shape
    awake = not state.agents[me, SLEEPING] and not state.agents[me, DEAD]
    place = 0
    for r in range(top, top + VIEW_ROWS):
        for c in range(left, left + VIEW_COLS):
            channel = UNKNOWN
            if awake and 0 <= r < rows and 0 <= c < cols:
                body = int(state.occupant[r, c])
                if body == 0:
                    channel = int(state.material[r, c])
                else:
                    channel = AGENT_CHANNEL + (0 if body > 0 else int(state.mobs[-body - 1, KIND]))
            seen[place + channel] = 1.0
            place += SEMANTIC
    for item in range(_ITEMS):
        seen[place + item] = np.float32(state.inventory[me, item]) / np.float32(MOST)
    place += _ITEMS
    seen[place + state.agents[me, FACING] - 1] = 1.0
    place += _FACINGS
    seen[place] = state.agents[me, SLEEPING]
    seen[place + 1] = 1 - state.agents[me, DEAD]
    seen[place + 2] = _LIGHT[state.clock[STEP] % DAY]


def global_array(state: CrafterState, horizon: int) -> NDArray[np.float32]:
    """The whole world for a critic that sees everything: all that the next step depends on, but chance.

    float32 [H * W * PLANES + N * BODY + 2]. First the map, row by row [H, W, PLANES]: the material one-hot (it stays
    under bodies), an agent, each kind of MOBS, then of a mob its health / 9, its TIMER / 300 and its direction / 4.
    Then the agents by index [N, BODY]: row / H, column / W, asleep, alive, `inventory` / 9, the facing one-hot, hunger,
    thirst, fatigue and recovery / 50, and which ACHIEVEMENTS it has reached. Last the daylight and step / `horizon`.
    """
    rows, cols = state.shape
    planes = np.zeros((rows, cols, PLANES), np.float32)
    planes[..., :AGENT_CHANNEL] = np.eye(AGENT_CHANNEL, dtype=np.float32)[state.material]
    planes[..., AGENT_CHANNEL] = state.occupant > 0
    mobs = state.mobs[state.mobs[:, KIND] > 0]
    where = mobs[:, MOB_ROW], mobs[:, MOB_COL]
    planes[(*where, AGENT_CHANNEL + mobs[:, KIND])] = 1.0
    for plane, field, most in ((0, MOB_HEALTH, MOST), (1, TIMER, RIPE), (2, MOB_DIRECTION, len(DIRECTIONS) - 1)):
        planes[(*where, np.full(len(mobs), SEMANTIC + plane))] = mobs[:, field] / most
    agents = state.agents
    parts = [
        agents[:, [ROW]] / rows,
        agents[:, [COL]] / cols,
        agents[:, [SLEEPING]],
        1 - agents[:, [DEAD]],
        state.inventory / MOST,
        np.eye(len(DIRECTIONS) - 1)[agents[:, FACING] - 1],
        agents[:, _COUNTERS] / _COUNTERS_MOST,
        state.achievements > 0,
    ]
    clock = np.array([_LIGHT[state.step % DAY], state.step / horizon])
    return np.concatenate([planes.ravel(), np.hstack(parts).ravel(), clock]).astype(np.float32)
