"""What a policy of MA-Crafter knows: the ground, the bodies in view, and where things with names are.

Ground comes from the agent's own map and from what teammates have told; a teammate's word counts only for ground that
the agent has not seen itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.constants import (
    DCOL,
    DIRECTIONS,
    DROW,
    GRASS,
    MATERIALS,
    PATH,
    SAND,
    UNKNOWN,
    VIEW_COLS,
    VIEW_ROWS,
)
from emcoop.envs.ma_crafter.observe import GROUND_SYMBOLS, MOB_SYMBOLS, CrafterObservation

Cell = tuple[int, int]
Ground = NDArray[np.uint8]

COW, ZOMBIE, SKELETON, ARROW = (MOB_SYMBOLS[k] for k in (1, 2, 3, 4))
ARCHER_MEMORY = 150
"""Steps for which a skeleton out of sight is believed to be where it was seen."""
NEVER = -10_000
COW_MEMORY = 2000
"""Steps for which a cow out of sight is believed to be where it was seen."""

_CODES = np.zeros(256, np.uint8)
_CODES[np.frombuffer(GROUND_SYMBOLS.encode(), np.uint8)] = np.arange(len(MATERIALS), dtype=np.uint8)
_WALKABLE = np.zeros(len(MATERIALS), bool)
_WALKABLE[[GRASS, PATH, SAND]] = True


def ground_of(lines: Sequence[str]) -> Ground:
    """[H, W] materials of a map in the observation's symbols."""
    codes = _CODES[np.frombuffer("".join(lines).encode(), np.uint8)]
    grid: Ground = codes.reshape(len(lines), -1)
    return grid


def walkable(grid: Ground) -> NDArray[np.bool_]:
    """[H, W]: where one can walk, bodies apart."""
    cells: NDArray[np.bool_] = _WALKABLE[grid]
    return cells


def ahead(cell: Cell, direction: int, cells: int = 1) -> Cell:
    """The cell that lies so many cells in a direction (1 to 4, `constants.DIRECTIONS`)."""
    return cell[0] + DROW[direction] * cells, cell[1] + DCOL[direction] * cells


def apart(a: Cell, b: Cell) -> int:
    """|rows| + |columns|."""
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def towards(a: Cell, b: Cell) -> int:
    """The direction from a cell to one beside it. Raises ValueError when it is not beside."""
    return (1, 2, 3, 4)[[ahead(a, d) for d in (1, 2, 3, 4)].index(b)]


@dataclass
class Knowledge:
    """One agent's knowledge; `update` brings it to the present observation."""

    step: int = -1
    me: Cell = (0, 0)
    facing: int = 4
    grid: Ground = field(default_factory=lambda: np.zeros((1, 1), np.uint8))
    told: dict[Cell, int] = field(default_factory=dict)
    bodies: dict[Cell, str] = field(default_factory=dict)
    names: dict[Cell, str] = field(default_factory=dict)
    cows: dict[Cell, int] = field(default_factory=dict)
    arrows: dict[Cell, int] = field(default_factory=dict)
    """The arrows in view, with the direction in which each flies, 0 for unknown."""
    archers: dict[Cell, int] = field(default_factory=dict)
    """Where skeletons were seen lately, and when."""
    looked: NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 1), np.int64))
    """[H, W]: the step in which each cell was last in view, NEVER for never."""

    def update(self, seen: CrafterObservation, ground: Ground | None = None) -> None:
        """Take in what is seen now; `ground` is a map that is better than the observation's."""
        self.me, self.facing = (seen.row, seen.col), DIRECTIONS.index(seen.facing)
        self.grid = ground_of(seen.map) if ground is None else ground.copy()
        for cell in [cell for cell in self.told if self.grid[cell] != UNKNOWN]:
            del self.told[cell]
        for cell, material in self.told.items():
            self.grid[cell] = material
        self._look(seen)
        for target in seen.targets:
            self.names[target.row, target.col] = target.name

    def _look(self, seen: CrafterObservation) -> None:
        if seen.step == self.step:
            return
        self.step = seen.step
        top, left = seen.row - VIEW_ROWS // 2, seen.col - VIEW_COLS // 2
        before, self.bodies = self.bodies, {}
        if self.looked.shape != self.grid.shape:
            self.looked = np.full(self.grid.shape, NEVER, np.int64)
        for i, line in enumerate(seen.view):
            for j, symbol in enumerate(line):
                if symbol not in _QUIET:
                    self.bodies[top + i, left + j] = symbol
        if seen.view:
            self.cows = {
                cell: step
                for cell, step in self.cows.items()
                if step + COW_MEMORY > seen.step
                and (abs(cell[0] - seen.row) > VIEW_ROWS // 2 or abs(cell[1] - seen.col) > VIEW_COLS // 2)
            }
            self.cows |= {cell: seen.step for cell, symbol in self.bodies.items() if symbol == COW}
            self.looked[max(0, top) : top + VIEW_ROWS, max(0, left) : left + VIEW_COLS] = seen.step
        self.archers = {
            cell: step
            for cell, step in self.archers.items()
            if step + ARCHER_MEMORY > seen.step and not (seen.view and self.looked[cell] == seen.step)
        }
        self.archers |= {cell: seen.step for cell, symbol in self.bodies.items() if symbol == SKELETON}
        self.arrows = {
            cell: next((d for d in (1, 2, 3, 4) if before.get(ahead(cell, d, -1)) in (ARROW, SKELETON)), 0)
            for cell, symbol in self.bodies.items()
            if symbol == ARROW
        }

    def approaches(self, arrow: Cell) -> bool:
        """Whether an arrow in view may be flying towards the agent."""
        direction = self.arrows.get(arrow, 0)
        return direction == 0 or apart(ahead(arrow, direction), self.me) < apart(arrow, self.me)

    def hear_of(self, cell: Cell, material: int) -> None:
        """Believe a teammate about ground that this agent has not seen."""
        rows, cols = self.grid.shape
        if 0 <= cell[0] < rows and 0 <= cell[1] < cols and self.grid[cell] == UNKNOWN:
            self.told[cell] = material
            self.grid[cell] = material

    def inside(self, cell: Cell) -> bool:
        """Whether the world has this cell."""
        rows, cols = self.grid.shape
        return bool(0 <= cell[0] < rows and 0 <= cell[1] < cols)

    def material(self, cell: Cell) -> int:
        """What is known of a cell; UNKNOWN outside the world."""
        return int(self.grid[cell]) if self.inside(cell) else UNKNOWN

    def free(self, cell: Cell) -> bool:
        """Whether one can step there now."""
        return cell not in self.bodies and self.material(cell) in (GRASS, PATH, SAND)

    def mobs(self, symbol: str) -> list[Cell]:
        """The cells in view that hold this kind, nearest first."""
        return sorted((c for c, s in self.bodies.items() if s == symbol), key=lambda c: (apart(c, self.me), c))

    def name(self, cell: Cell, kind: str) -> str:
        """The name of the thing of this kind in a cell, ``none`` if it has not been named."""
        name = self.names.get(cell, "none")
        return name if name.startswith(f"{kind}_") else "none"

    def cells(self, material: int) -> list[Cell]:
        """Every known cell of a material, row by row."""
        return [(int(r), int(c)) for r, c in np.argwhere(self.grid == material)]


_QUIET = frozenset(GROUND_SYMBOLS) | {"@", "x"}

Bag = Mapping[str, int]
