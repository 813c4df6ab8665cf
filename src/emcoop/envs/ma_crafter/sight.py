"""What agents see: the map they remember, where they last saw one another, and ids in order of first sighting.

A living agent that is awake sees the rectangle of SEE_ROWS x SEE_COLS cells around it, day and night, through
everything, as in Crafter. Within a step agents look by index, each row by row.

`rules` compiles this; a new world is looked at uncompiled, so that its first observation waits for no compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.envs.ma_crafter.constants import (
    ARROW,
    COL,
    DEAD,
    KIND,
    MATERIALS,
    MOB_ID,
    MOB_SEEN,
    NAMED,
    NEXT_ID,
    ROW,
    SLEEPING,
    STEP,
)
from emcoop.envs.ma_crafter.tables import SEE_COLS, SEE_ROWS

_NAMED = np.array([material in NAMED for material in range(len(MATERIALS))], np.uint8)


def look(state: Any, rules: Any) -> None:
    """Everybody looks around. A mob seen for the first time gets an id; an arrow, too quick to be named, gets none."""
    rows, cols = state.material.shape
    high, wide = rules.limits[SEE_ROWS] // 2, rules.limits[SEE_COLS] // 2
    mobs = state.mobs
    for i in range(state.agents.shape[0]):
        if state.agents[i, DEAD] or state.agents[i, SLEEPING]:
            continue
        row, col = state.agents[i, ROW], state.agents[i, COL]
        for r in range(max(0, row - high), min(rows, row + high + 1)):
            for c in range(max(0, col - wide), min(cols, col + wide + 1)):
                material, body = state.material[r, c], state.occupant[r, c]
                state.seen[i, r, c] = material
                if state.ids[r, c] == 0 and _NAMED[material]:
                    state.ids[r, c] = state.clock[NEXT_ID]
                    state.clock[NEXT_ID] += 1
                if body > 0:
                    state.sighted[i, body - 1, 0] = r
                    state.sighted[i, body - 1, 1] = c
                    state.sighted[i, body - 1, 2] = state.clock[STEP]
                elif body < 0:
                    mobs[-body - 1, MOB_SEEN] |= 1 << i
                    if mobs[-body - 1, MOB_ID] == 0 and mobs[-body - 1, KIND] != ARROW:
                        mobs[-body - 1, MOB_ID] = state.clock[NEXT_ID]
                        state.clock[NEXT_ID] += 1
