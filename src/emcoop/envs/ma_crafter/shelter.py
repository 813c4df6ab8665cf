"""Where one can sleep: chambers of two or four cells that stones close from within.

Whoever walks into a cell faces on; so inside a chamber of two cells the wall at each end can be put, and inside one of
2 x 2 cells every wall: a hut that can stand anywhere, for eight stones at most. Where rock, water and trees stand,
fewer do. Into rock a chamber is dug straight on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.envs.ma_crafter.actions import Noop
from emcoop.envs.ma_crafter.constants import LAVA, STONE, UNKNOWN, WATER
from emcoop.envs.ma_crafter.knowledge import SKELETON, ZOMBIE, Cell, Ground, Knowledge, ahead, towards, walkable
from emcoop.envs.ma_crafter.moving import Mover, move, put
from emcoop.envs.ma_crafter.planner import FAR, Ways

STONE_COST = 3
"""Steps that a wall takes, about."""
DUG_COST = 4
WELL_WORTH = 10
"""Steps that it is worth to have water in the wall."""
LARGEST = 8
"""A closed place of at most so many cells counts as a chamber."""

_WAYS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Site:
    """A chamber to be: its cells, the cells around it, and for one that is dug the cell in front of the last of them,
    from which it is entered."""

    cells: tuple[Cell, ...]
    walls: tuple[Cell, ...]
    entry: Cell | None = None


def _around(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    return tuple(dict.fromkeys(ahead(cell, d) for cell in cells for d in _WAYS if ahead(cell, d) not in cells))


_Shape = tuple[Cell, ...]
_PAIR_UP: _Shape = ((0, 0), (1, 0))
_PAIR_LEFT: _Shape = ((0, 0), (0, 1))
_HUT: _Shape = ((0, 0), (0, 1), (1, 0), (1, 1))
_ENDS = {_PAIR_UP: ((-1, 0), (2, 0)), _PAIR_LEFT: ((0, -1), (0, 2))}


class _Ground:
    """The masks that sites are found by, shifted at will; beyond the map everything is wall."""

    def __init__(self, know: Knowledge, stones: int) -> None:
        self.shape = know.grid.shape
        free = walkable(know.grid)
        open_ = free | (know.grid == UNKNOWN) | (know.grid == LAVA)
        if know.archers:
            open_ |= know.grid == WATER
        for cell in know.bodies:
            if know.inside(cell):
                free[cell] = False
        self.stones = stones
        self.free, self.open = self._wide(free, False), self._wide(open_, False)
        bad = (know.grid == UNKNOWN) | (know.grid == LAVA)
        self.bad, self.rock = self._wide(bad, False), self._wide(know.grid == STONE, False)
        self.water = self._wide(know.grid == WATER, False)

    def _wide(self, mask: NDArray[np.bool_], beyond: bool) -> NDArray[np.bool_]:
        wide = np.full((self.shape[0] + 8, self.shape[1] + 8), beyond)
        wide[4:-4, 4:-4] = mask
        return wide

    def at(self, mask: NDArray[np.bool_], offset: Cell) -> NDArray[np.bool_]:
        """[H, W]: the mask at each cell plus the offset."""
        rows, cols = self.shape
        return mask[4 + offset[0] : 4 + offset[0] + rows, 4 + offset[1] : 4 + offset[1] + cols]

    def all(self, mask: NDArray[np.bool_], offsets: tuple[Cell, ...]) -> NDArray[np.bool_]:
        """[H, W]: whether the mask holds at each of the offsets."""
        found: NDArray[np.bool_] = np.logical_and.reduce([self.at(mask, offset) for offset in offsets])
        return found

    def count(self, mask: NDArray[np.bool_], offsets: tuple[Cell, ...]) -> NDArray[np.int64]:
        """[H, W]: at how many of the offsets the mask holds."""
        found: NDArray[np.int64] = np.sum([self.at(mask, offset) for offset in offsets], axis=0)
        return found


def find_site(
    know: Knowledge, ways: Ways, stones: int, dislike: NDArray[np.int64], *, can_dig: bool
) -> tuple[Site, int] | None:
    """The cheapest chamber that so many stones close, and what it costs in steps; None when there is none.

    `dislike` [H, W] is added to the cost of each cell; water in the walls is worth some steps.
    """
    ground = _Ground(know, stones)
    best: tuple[int, Cell, _Shape] | None = None
    for shape in (_PAIR_UP, _PAIR_LEFT, _HUT):
        walls = _around(shape)
        ok = ground.all(ground.free, shape) & (ground.count(ground.bad, walls) == 0)
        needed = ground.count(ground.open, walls)
        if shape in _ENDS:
            sides = tuple(wall for wall in walls if wall not in _ENDS[shape])
            ok &= ground.count(ground.open, sides) == 0
        ok &= needed <= stones
        nearest = _nearest(ways, shape)
        ok &= nearest < FAR
        cost = nearest + STONE_COST * needed + dislike
        cost -= np.where(ground.count(ground.water, walls) > 0, WELL_WORTH, 0)
        best = _better(best, np.where(ok, cost, FAR), shape)
    dug = _best_dug(ground, ways, dislike) if can_dig else None
    if dug is not None and (best is None or dug[0] < best[0]):
        price, entry, direction = dug
        pair: _Shape = (ahead(entry, direction, 2), ahead(entry, direction))
        return Site(pair, _around(pair), entry), price
    if best is None:
        return None
    cells = tuple((best[1][0] + r, best[1][1] + c) for r, c in best[2])
    return Site(cells, _around(cells)), best[0]


def _nearest(ways: Ways, shape: tuple[Cell, ...]) -> NDArray[np.int64]:
    rows, cols = ways.away.shape
    wide = np.full((rows + 1, cols + 1), FAR, np.int64)
    wide[:rows, :cols] = ways.away
    nearest: NDArray[np.int64] = np.minimum.reduce([wide[r : r + rows, c : c + cols] for r, c in shape])
    return nearest


def _better(
    best: tuple[int, Cell, tuple[Cell, ...]] | None, cost: NDArray[np.int64], shape: tuple[Cell, ...]
) -> tuple[int, Cell, tuple[Cell, ...]] | None:
    place = int(np.argmin(cost))
    row, col = divmod(place, int(cost.shape[1]))
    found = int(cost[row, col]), (row, col), shape
    return found if found[0] < FAR and (best is None or found[0] < best[0]) else best


def _best_dug(ground: _Ground, ways: Ways, dislike: NDArray[np.int64]) -> tuple[int, Cell, int] | None:
    """(cost, cell in front, direction) of the best two cells to be dug or bridged straight on."""
    clear = ground.rock | ground.water if ground.stones else ground.rock
    solid = ground.free | clear
    best: tuple[int, Cell, int] | None = None
    for direction in _WAYS:
        near, far = ahead((0, 0), direction), ahead((0, 0), direction, 2)
        walls = tuple(wall for wall in _around((near, far)) if wall != (0, 0))
        ok = ground.at(ground.free, (0, 0)) & ground.at(solid, near) & ground.at(clear, far) & (ways.away < FAR)
        ok &= (ground.count(ground.open, walls) == 0) & (ground.count(ground.bad, walls) == 0)
        cost = ways.away + DUG_COST * (1 + ground.at(clear, near)) + STONE_COST + dislike
        cost -= np.where(ground.count(ground.water, walls) > 0, WELL_WORTH, 0)
        cost = np.where(ok, cost, FAR)
        row, col = divmod(int(np.argmin(cost)), int(cost.shape[1]))
        if cost[row, col] < FAR and (best is None or cost[row, col] < best[0]):
            best = int(cost[row, col]), (row, col), direction
    return best


def still_good(site: Site, know: Knowledge, stones: int) -> bool:
    """Whether a site can still be made into a chamber."""
    grid: Ground = know.grid
    for cell in site.cells:
        closed = know.material(cell) in (STONE, WATER)
        if cell != know.me and (cell in know.bodies or not (_open(know, cell) or closed)):
            return False
        if closed and (site.entry is None or not stones + (know.material(cell) == STONE)):
            return False
    needed = sum(_open(know, wall) for wall in site.walls)
    dug = sum(grid[cell] == STONE for cell in site.cells)
    return bool(needed <= stones + dug)


def _open(know: Knowledge, cell: Cell) -> bool:
    """Whether a foe or, where there are archers, an arrow can come from there: arrows fly over water."""
    if not know.inside(cell):
        return False
    return bool(walkable(know.grid[cell])) or (bool(know.archers) and know.material(cell) == WATER)


def build(site: Site, mover: Mover) -> list[BaseModel]:
    """The next action towards sitting in the closed chamber; empty when it is closed, or cannot be reached."""
    know = mover.know
    if know.me not in site.cells:
        return _enter(site, mover)
    closed = [cell for cell in site.cells if know.material(cell) in (STONE, WATER)]
    if closed:
        return mover.clear(closed[0])
    gaps = {wall for wall in site.walls if _open(know, wall)}
    if not gaps:
        return []
    free = {gap for gap in gaps if gap not in know.bodies}
    if ahead(know.me, know.facing) in free:
        return [put("stone")]
    turn = _turn(site, know, free)
    if turn is not None:
        return [move(turn)]
    return [Noop()] if free != gaps else []


def _enter(site: Site, mover: Mover) -> list[BaseModel]:
    know = mover.know
    if site.entry is not None and any(know.material(cell) in (STONE, WATER) for cell in site.cells):
        if know.me != site.entry:
            return mover.to(site.entry)
        first = site.cells[-1]
        return [move(towards(know.me, first))] if know.free(first) else mover.clear(first)
    inside = mover.ways.nearest(cell for cell in site.cells if know.free(cell))
    return mover.to(inside) if inside is not None else []


def _turn(site: Site, know: Knowledge, gaps: set[Cell]) -> int | None:
    """The first move inside the chamber that leads, in the fewest, to facing one of the gaps; None for none.

    A move into a free cell of the chamber changes place and facing, one against a wall turns; a gap
    is no wall.
    """
    queue: deque[tuple[Cell, int, int | None]] = deque([(know.me, know.facing, None)])
    met = {(know.me, know.facing)}
    while queue:
        cell, facing, first = queue.popleft()
        if ahead(cell, facing) in gaps and first is not None:
            return first
        for direction in _WAYS:
            there = ahead(cell, direction)
            if there in site.cells and there not in know.bodies:
                state = there, direction
            elif know.material(there) == WATER or (not _open(know, there) and know.material(there) != LAVA):
                state = cell, direction
            else:
                continue
            if state not in met:
                met.add(state)
                queue.append((*state, first if first is not None else direction))
    return None


def enclosure(know: Knowledge) -> list[Cell] | None:
    """The cells of the closed place that the agent is in, its own first; None when it is in the open.

    Lava is no wall: arrows fly over it, and who steps into it is dead.
    """
    found, queue = [know.me], deque([know.me])
    while queue:
        for direction in _WAYS:
            cell = ahead(queue[0], direction)
            if cell in found or not know.inside(cell):
                continue
            if know.material(cell) in (UNKNOWN, LAVA) or know.bodies.get(cell) in (ZOMBIE, SKELETON):
                return None
            if _open(know, cell):
                found.append(cell)
                queue.append(cell)
                if len(found) > LARGEST:
                    return None
        queue.popleft()
    return found
