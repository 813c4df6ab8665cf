"""Ways through the known world for a policy: cheapest paths that may dig and bridge, where to explore, where to sleep.

Costs count steps: walking one, digging a few, unseen ground two. Nothing here draws random numbers; ties go to the
first cell in the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import kernel
from emcoop.envs.ma_crafter.constants import COAL, DCOL, DIAMOND, DROW, IRON, PATH, STONE, TREE, UNKNOWN, UP, WATER
from emcoop.envs.ma_crafter.knowledge import Cell, Ground, Knowledge, ahead, walkable

Costs = NDArray[np.int32]

FAR = 1 << 20
MOST_COST = 15
UNSEEN_COST = 2

_DROW, _DCOL = np.array(DROW, np.int64), np.array(DCOL, np.int64)


@kernel
def cheapest(cost: Any, row: int, col: int) -> Any:
    """[H, W] int32: the least sum of costs of the cells entered from (row, col) to each cell; FAR where no way leads.

    `cost` [H, W] is 0 where nobody can go, else 1 to MOST_COST.
    """
    rows, cols = cost.shape
    buckets = MOST_COST + 1
    queue = np.empty((buckets, 4 * rows * cols + 1), np.int32)
    size = np.zeros(buckets, np.int64)
    away = np.full((rows, cols), FAR, np.int32)
    away[row, col] = 0
    queue[0, 0] = row * cols + col
    size[0] = 1
    waiting, now = 1, 0
    while waiting > 0:
        bucket = now % buckets
        k = 0
        while k < size[bucket]:
            cell = queue[bucket, k]
            k += 1
            waiting -= 1
            r, c = cell // cols, cell % cols
            if away[r, c] != now:
                continue
            for d in range(1, 5):
                i, j = r + _DROW[d], c + _DCOL[d]
                if 0 <= i < rows and 0 <= j < cols and cost[i, j] > 0 and now + cost[i, j] < away[i, j]:
                    away[i, j] = now + cost[i, j]
                    target = away[i, j] % buckets
                    queue[target, size[target]] = i * cols + j
                    size[target] += 1
                    waiting += 1
        size[bucket] = 0
        now += 1
    return away


@dataclass(frozen=True)
class Ways:
    """The cheapest ways from one cell: `cost` of entering each cell, `away` the sum to it."""

    start: Cell
    cost: Costs
    away: Costs

    @classmethod
    def over(cls, cost: Costs, start: Cell) -> Ways:
        """All ways over these costs."""
        return cls(start, cost, cheapest(cost, start[0], start[1]))

    def to(self, cell: Cell) -> int:
        """The cost of the way to a cell; FAR for none, or outside."""
        inside = 0 <= cell[0] < self.away.shape[0] and 0 <= cell[1] < self.away.shape[1]
        return int(self.away[cell]) if inside else FAR

    @cached_property
    def sides(self) -> Costs:
        """[H, W]: the cost of the way to the nearest cell beside each cell; FAR where none leads there."""
        rows, cols = self.away.shape
        padded = np.full((rows + 2, cols + 2), FAR, np.int32)
        padded[1:-1, 1:-1] = self.away
        vertical = np.minimum(padded[:-2, 1:-1], padded[2:, 1:-1])
        nearest: Costs = np.minimum(vertical, np.minimum(padded[1:-1, :-2], padded[1:-1, 2:]))
        return nearest

    def to_side(self, cell: Cell) -> int:
        """The cost of the way to a cell beside this one."""
        inside = 0 <= cell[0] < self.away.shape[0] and 0 <= cell[1] < self.away.shape[1]
        return int(self.sides[cell]) if inside else FAR

    def closest(self, mask: NDArray[np.bool_], count: int = 1) -> list[Cell]:
        """The cells of a mask [H, W] that can be reached from beside, the cheapest ways first, at most so many."""
        flat = np.flatnonzero(mask & (self.sides < FAR))
        order = np.argsort(self.sides.ravel()[flat], kind="stable")[:count]
        return [divmod(int(place), int(mask.shape[1])) for place in flat[order]]

    def nearest(self, cells: Iterable[Cell]) -> Cell | None:
        """The cell with the cheapest way among these, None when there is no way to any."""
        best = min(cells, key=lambda cell: (self.to(cell), cell), default=None)
        return best if best is not None and self.to(best) < FAR else None

    def path(self, cell: Cell) -> list[Cell]:
        """The cells of the way, without the start. Raises ValueError when there is none."""
        if self.to(cell) >= FAR:
            raise ValueError(f"no way from {self.start} to {cell}")
        found: list[Cell] = []
        while cell != self.start:
            found.append(cell)
            before = self.away[cell] - self.cost[cell]
            cell = next(n for d in (1, 2, 3, 4) if self.to(n := ahead(cell, d)) == before)
        return found[::-1]


@dataclass(frozen=True)
class Digging:
    """What an agent can clear alone: the materials, and the cost of each."""

    costs: tuple[tuple[int, int], ...] = ()


def entering(know: Knowledge, digging: Digging, *, around_bodies: bool = True) -> Costs:
    """[H, W]: the cost of entering each cell; 0 where the agent cannot go."""
    cost: Costs = walkable(know.grid).astype(np.int32)
    cost[know.grid == UNKNOWN] = UNSEEN_COST
    for material, price in digging.costs:
        cost[know.grid == material] = price
    if around_bodies:
        for cell in know.bodies:
            if know.inside(cell):
                cost[cell] = 0
    return cost


def beside(cells: Iterable[Cell]) -> list[Cell]:
    """The cells next to these, each once, in order."""
    return list(dict.fromkeys(ahead(cell, d) for cell in cells for d in (1, 2, 3, 4)))


_ROCK = np.zeros(13, bool)
_ROCK[[STONE, PATH, COAL, IRON, DIAMOND]] = True


def _spread(mask: NDArray[np.bool_], times: int) -> NDArray[np.bool_]:
    for _ in range(times):
        wider = mask.copy()
        wider[1:] |= mask[:-1]
        wider[:-1] |= mask[1:]
        wider[:, 1:] |= mask[:, :-1]
        wider[:, :-1] |= mask[:, 1:]
        mask = wider
    return mask


def frontier(grid: Ground, ways: Ways, *, rock: bool, bias: NDArray[np.float64] | None = None) -> Cell | None:
    """The unseen cell to explore next: the cheapest way, near rock where ore is looked for; None when all is seen."""
    unseen = grid == UNKNOWN
    edge = unseen & _spread(~unseen, 1) & (ways.away < FAR)
    if not edge.any():
        return None
    near_rock = _spread(_ROCK[grid], 2)
    value = ways.away.astype(np.float64) + np.where(near_rock == rock, 0.0, 18.0)
    if bias is not None:
        value = value + bias
    value[~edge] = np.inf
    row, col = divmod(int(np.argmin(value)), int(grid.shape[1]))
    return row, col


def shelter(know: Knowledge, ways: Ways, *, can_dig: bool) -> tuple[Cell, int] | None:
    """Where one can sleep behind a single stone: (door, direction) of a dead end of two cells.

    The agent walks from the door two cells in the direction and one back: then it faces the door and can close it. Two
    cells of rock will do in direction up, in which collecting takes the cell ahead first.
    """
    grid = know.grid
    open_ = walkable(grid) | (grid == UNKNOWN)
    wall = np.ones((grid.shape[0] + 6, grid.shape[1] + 6), bool)
    wall[3:-3, 3:-3] = ~open_
    best: tuple[int, Cell, int] | None = None
    for direction in (1, 2, 3, 4):
        ok = _dead_ends(grid, wall, direction, can_dig=can_dig)
        value = np.where(ok & walkable(grid), ways.away, FAR)
        place = int(np.argmin(value))
        cell = divmod(place, grid.shape[1])
        if value[cell] < FAR and (best is None or (int(value[cell]), cell, direction) < best):
            best = int(value[cell]), cell, direction
    return (best[1], best[2]) if best is not None else None


def nooks(grid: Ground, *, can_dig: bool) -> NDArray[np.bool_]:
    """[H, W]: the cells that have one open side at most, where a single foe can come near.

    A cell of rock above an open one will do, too: collecting from there takes it first.
    """
    open_ = np.zeros((grid.shape[0] + 2, grid.shape[1] + 2), np.int64)
    open_[1:-1, 1:-1] = walkable(grid) | (grid == UNKNOWN)
    sides = open_[:-2, 1:-1] + open_[2:, 1:-1] + open_[1:-1, :-2] + open_[1:-1, 2:]
    found: NDArray[np.bool_] = walkable(grid) & (sides <= 1)
    if can_dig:
        found |= (grid == STONE) & (sides == 1) & (open_[2:, 1:-1] == 1)
    return found


def _dead_ends(grid: Ground, wall: NDArray[np.bool_], direction: int, *, can_dig: bool) -> NDArray[np.bool_]:
    """[H, W]: whether the two cells from here in the direction have walls all around but here."""
    rows, cols = grid.shape
    inner = np.zeros_like(wall)
    inner[3:-3, 3:-3] = walkable(grid)
    if can_dig and direction == UP:
        inner[3:-3, 3:-3] |= grid == STONE

    def at(mask: NDArray[np.bool_], forward: int, aside: int) -> NDArray[np.bool_]:
        r = 3 + DROW[direction] * forward + abs(DCOL[direction]) * aside
        c = 3 + DCOL[direction] * forward + abs(DROW[direction]) * aside
        return mask[r : r + rows, c : c + cols]

    closed = at(wall, 3, 0) & at(wall, 1, 1) & at(wall, 1, -1) & at(wall, 2, 1) & at(wall, 2, -1)
    return closed & at(inner, 1, 0) & at(inner, 2, 0)


DIG_COST = 4
"""Collecting what stands in the way, a detour through the cells that are taken first included."""
SHED_COST = 9
"""The same with a full bag: something has to be put down before."""
BRIDGE_COST = 9
CLEARABLE = (TREE, STONE, COAL, IRON, DIAMOND)
BRIDGED = (WATER,)
