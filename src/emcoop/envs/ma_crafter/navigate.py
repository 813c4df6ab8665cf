"""Shortest paths by what an agent knows: the ground it remembers and the bodies it sees now.

Water, trees, rock, ore, tables, furnaces, lava, mobs and agents are obstacles. Ground that it has never seen counts as
free: the path is planned anew at every step, as more is seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.constants import (
    COL,
    DCOL,
    DOWN,
    DROW,
    GRASS,
    LEFT,
    MATERIALS,
    PATH,
    RIGHT,
    ROW,
    SAND,
    SLEEPING,
    UNKNOWN,
    UP,
    VIEW_COLS,
    VIEW_ROWS,
)
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tasks import Cell
from emcoop.envs.paths import distances, first_step

_STEPS = (0, UP, DOWN, LEFT, RIGHT)
"""The primitive for each direction of `envs.paths`."""

_TAKEN = np.ones(len(MATERIALS), np.uint8)
_TAKEN[[UNKNOWN, GRASS, PATH, SAND]] = 0

AROUND = (LEFT, RIGHT, UP, DOWN)

FAR = 1 << 20
"""More steps than any way has."""


def window(state: CrafterState, agent: int) -> tuple[slice, slice]:
    """The rows and columns of the map that the agent has in view, cut off at the edges."""
    row, col = int(state.agents[agent, ROW]), int(state.agents[agent, COL])
    rows, cols = state.shape
    half_rows, half_cols = VIEW_ROWS // 2, VIEW_COLS // 2
    return (
        slice(max(0, row - half_rows), min(rows, row + half_rows + 1)),
        slice(max(0, col - half_cols), min(cols, col + half_cols + 1)),
    )


def in_view(state: CrafterState, agent: int, cell: Cell) -> bool:
    """Whether the agent sees this cell now; who sleeps sees nothing."""
    rows, cols = window(state, agent)
    return not state.agents[agent, SLEEPING] and rows.start <= cell[0] < rows.stop and cols.start <= cell[1] < cols.stop


def known_obstacles(state: CrafterState, agent: int) -> NDArray[np.uint8]:
    """[H, W]: 1 where the agent knows that it cannot walk. Its own cell is free."""
    taken: NDArray[np.uint8] = _TAKEN[state.seen[agent]]
    if not state.agents[agent, SLEEPING]:
        view = window(state, agent)
        taken[view] |= state.occupant[view] != 0
    taken[state.agents[agent, ROW], state.agents[agent, COL]] = 0
    return taken


def beside(cell: Cell) -> list[Cell]:
    """The four cells from which this one can be faced."""
    return [(cell[0] + DROW[d], cell[1] + DCOL[d]) for d in AROUND]


def step_towards(state: CrafterState, agent: int, goals: list[Cell]) -> int:
    """The primitive that leads to the nearest of these cells; 0 when the agent is on one, -1 without a path."""
    row, col = int(state.agents[agent, ROW]), int(state.agents[agent, COL])
    targets = np.array(goals, np.int64).reshape(-1, 2)
    direction = int(first_step(known_obstacles(state, agent), row, col, targets))
    return direction if direction < 0 else _STEPS[direction]


def steps_beside(state: CrafterState, agent: int) -> NDArray[np.int32]:
    """[H, W]: the steps of the shortest known way to a cell beside each cell; FAR where no way is known."""
    row, col = int(state.agents[agent, ROW]), int(state.agents[agent, COL])
    rows, cols = state.shape
    padded = np.full((rows + 2, cols + 2), FAR, np.int32)
    steps = distances(known_obstacles(state, agent), row, col)
    padded[1:-1, 1:-1] = np.where(steps < 0, FAR, steps)
    sides = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
    nearest: NDArray[np.int32] = np.minimum(np.minimum(sides[0], sides[1]), np.minimum(sides[2], sides[3]))
    return nearest


def facing_of(origin: Cell, cell: Cell) -> int | None:
    """The direction from a cell to a neighbouring one, or None."""
    offset = (cell[0] - origin[0], cell[1] - origin[1])
    return next((d for d in AROUND if (DROW[d], DCOL[d]) == offset), None)
