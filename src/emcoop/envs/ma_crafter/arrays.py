"""The observation of MA-Crafter as one vector, for reinforcement learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emcoop.core.types import AgentId, agent_index
from emcoop.envs.ma_crafter.constants import (
    COL,
    DEAD,
    DIRECTIONS,
    FACING,
    ITEMS,
    KIND,
    MATERIALS,
    MOBS,
    MOST,
    ROW,
    SLEEPING,
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
    flags = [float(body[SLEEPING]), float(not body[DEAD]), daylight(state.step)]
    bag = state.inventory[me].astype(np.float32) / MOST
    return np.concatenate([view.ravel(), bag, facing, np.array(flags, np.float32)])
