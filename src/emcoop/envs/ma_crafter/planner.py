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
from emcoop.envs.ma_crafter.constants import COAL, DCOL, DIAMOND, DROW, IRON, PATH, STONE, UNKNOWN, VIEW_COLS, VIEW_ROWS
from emcoop.envs.ma_crafter.knowledge import ARROW, COW, SKELETON, ZOMBIE, Cell, Ground, Knowledge, ahead, walkable

Costs = NDArray[np.int32]

FAR = 1 << 20
MOST_COST = 15
UNSEEN_COST = 2
BODY_COST = 6
"""What it costs to enter a cell that a moving thing is in now."""
MOVING = (COW, ZOMBIE, SKELETON, ARROW)

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
        for cell, symbol in know.bodies.items():
            if know.inside(cell):
                cost[cell] = BODY_COST if symbol in MOVING and cost[cell] > 0 else 0
    return cost


def beside(cells: Iterable[Cell]) -> list[Cell]:
    """The cells next to these, each once, in order."""
    return list(dict.fromkeys(ahead(cell, d) for cell in cells for d in (1, 2, 3, 4)))


_ROCK = np.zeros(13, bool)
_ROCK[[STONE, PATH, COAL, IRON, DIAMOND]] = True


def spread(mask: NDArray[np.bool_], times: int) -> NDArray[np.bool_]:
    """The mask and the cells within so many steps of it."""
    for _ in range(times):
        wider = mask.copy()
        wider[1:] |= mask[:-1]
        wider[:-1] |= mask[1:]
        wider[:, 1:] |= mask[:, :-1]
        wider[:, :-1] |= mask[:, 1:]
        mask = wider
    return mask


def sums_around(weight: NDArray[np.float64], rows: int, cols: int) -> NDArray[np.float64]:
    """[H, W]: the sum of the weights in the window of so many rows and columns (both odd) around each cell."""
    up, left = rows // 2, cols // 2
    sums = np.zeros((weight.shape[0] + 2 * up + 1, weight.shape[1] + 2 * left + 1))
    sums[up + 1 : up + 1 + weight.shape[0], left + 1 : left + 1 + weight.shape[1]] = weight
    sums = sums.cumsum(axis=0).cumsum(axis=1)
    found: NDArray[np.float64] = sums[rows:, cols:] - sums[:-rows, cols:] - sums[rows:, :-cols] + sums[:-rows, :-cols]
    return found


def in_view(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """[H, W]: the sum of the weights of the cells that one sees from each cell."""
    return sums_around(weight, VIEW_ROWS, VIEW_COLS)


def frontier(grid: Ground, ways: Ways, *, rock: bool, bias: NDArray[np.float64] | None = None) -> Cell | None:
    """Where to look next: the most unseen cells in view per step of the way; None when all is seen.

    Where ore is looked for (`rock`), those near rock count for more, else those that are not.
    """
    unseen = grid == UNKNOWN
    likely = spread(_ROCK[grid], ROCK_NEAR) if rock else ~spread(_ROCK[grid], 2)
    news = in_view(np.where(unseen, np.where(likely, 1.0, UNLIKELY), 0.0))
    value = ways.away + np.float64(LOOK_COST)
    if bias is not None:
        value = value + bias
    value = value / np.maximum(news, 1e-9)
    value[(ways.away >= FAR) | (news < UNLIKELY)] = np.inf
    value[ways.start] = np.inf
    row, col = divmod(int(np.argmin(value)), int(grid.shape[1]))
    return (row, col) if np.isfinite(value[row, col]) else None


ROCK_NEAR, UNLIKELY = 4, 0.3
"""So near known rock there is likely to be more; what the sight of another cell is worth."""
LOOK_COST = 3
"""Steps that a look costs besides the way."""
DIG_COST = 3
"""Turning to what stands in the way, collecting it, and the step."""
BRIDGE_COST = 9
