"""Shortest paths for one agent on a grid of free and taken cells, for every world that has one."""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import kernel

_DROW = np.array([0, -1, 1, 0, 0], np.int64)
_DCOL = np.array([0, 0, 0, -1, 1], np.int64)


@kernel
def first_step(grid: Any, row: int, col: int, targets: Any) -> int:
    """The first direction of a shortest path from (row, col) to one of the `targets` [T, 2] over cells of value 0.

    Directions are 1 up, 2 down, 3 left, 4 right; 0 when it stands on a target, -1 when there is no path. Ties go to
    the smaller direction. Targets outside the grid or on a cell of another value are no targets.
    """
    rows, cols = grid.shape
    for t in range(targets.shape[0]):
        if targets[t, 0] == row and targets[t, 1] == col:
            return 0
    queue = np.empty((rows * cols, 2), np.int32)
    distance = np.full((rows, cols), -1, np.int32)
    head, tail = 0, 0
    for t in range(targets.shape[0]):
        r, c = targets[t, 0], targets[t, 1]
        if 0 <= r < rows and 0 <= c < cols and grid[r, c] == 0 and distance[r, c] < 0:
            distance[r, c] = 0
            queue[tail, 0], queue[tail, 1] = r, c
            tail += 1
    # Backwards from the targets; the search stops one ring after it has come beside the agent.
    found = -1
    while head < tail:
        r, c = queue[head, 0], queue[head, 1]
        head += 1
        if found >= 0 and distance[r, c] > found:
            break
        if abs(r - row) + abs(c - col) == 1:
            found = distance[r, c]
        for d in range(1, 5):
            i, j = r + _DROW[d], c + _DCOL[d]
            if 0 <= i < rows and 0 <= j < cols and grid[i, j] == 0 and distance[i, j] < 0:
                distance[i, j] = distance[r, c] + 1
                queue[tail, 0], queue[tail, 1] = i, j
                tail += 1
    if found < 0:
        return -1
    for d in range(1, 5):
        i, j = row + _DROW[d], col + _DCOL[d]
        if 0 <= i < rows and 0 <= j < cols and distance[i, j] == found:
            return d
    return -1


@kernel
def distances(grid: Any, row: int, col: int) -> Any:
    """[rows, columns] int32: the steps from (row, col) to every cell over cells of value 0; -1 where no path leads.

    The start counts as free whatever its value.
    """
    rows, cols = grid.shape
    queue = np.empty((rows * cols, 2), np.int32)
    distance = np.full((rows, cols), -1, np.int32)
    distance[row, col] = 0
    queue[0, 0], queue[0, 1] = row, col
    head, tail = 0, 1
    while head < tail:
        r, c = queue[head, 0], queue[head, 1]
        head += 1
        for d in range(1, 5):
            i, j = r + _DROW[d], c + _DCOL[d]
            if 0 <= i < rows and 0 <= j < cols and grid[i, j] == 0 and distance[i, j] < 0:
                distance[i, j] = distance[r, c] + 1
                queue[tail, 0], queue[tail, 1] = i, j
                tail += 1
    return distance
