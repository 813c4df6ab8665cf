"""Symbolic actions for a way: walking in runs, clearing what stands in it, putting things down, facing a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from emcoop.envs.ma_crafter.actions import MAX_STEPS, Collect, Move, Navigate, Noop, Place
from emcoop.envs.ma_crafter.constants import DIRECTIONS, LAVA, MATERIALS, UNKNOWN, WATER
from emcoop.envs.ma_crafter.knowledge import COW, Bag, Cell, Knowledge, ahead, towards
from emcoop.envs.ma_crafter.planner import FAR, Ways
from emcoop.envs.ma_crafter.recipes import GIVES

TARGETS = {**GIVES, "water": "drink", "cow": "cow"}
"""What `collect` calls the yield of a resource."""
STRIDE = 6
"""Cells that are walked before looking around again."""


def move(direction: int, cells: int = 1) -> Move:
    """A move in a direction, 1 to 4."""
    return Move.model_validate({"direction": DIRECTIONS[direction], "num_steps": cells})


def take(resource: str, tries: int = 1) -> Collect:
    """Collecting of a resource, for so many steps."""
    return Collect.model_validate({"target": TARGETS[resource], "timeout": tries})


def put(thing: str) -> Place:
    """Placing in front."""
    return Place.model_validate({"item": thing})


@dataclass(frozen=True)
class Mover:
    """Turns ways into actions for one agent in one moment; `stride` cells at most."""

    know: Knowledge
    ways: Ways
    bag: Bag
    stride: int = STRIDE

    def along(self, path: Sequence[Cell]) -> list[BaseModel]:
        """The next actions on a way: some cells of walking, or the clearing of the first cell."""
        if not path:
            return []
        if not self.know.free(path[0]):
            return self.clear(path[0])
        runs: list[list[int]] = []
        here = self.know.me
        for cell in path[: self.stride]:
            if not self.know.free(cell):
                break
            direction = towards(here, cell)
            if runs and runs[-1][0] == direction and runs[-1][1] < MAX_STEPS:
                runs[-1][1] += 1
            else:
                runs.append([direction, 1])
            here = cell
        return [move(direction, count) for direction, count in runs]

    def to(self, cell: Cell) -> list[BaseModel]:
        """The next actions to a cell; empty on it, or without a way."""
        return self.along(self.ways.path(cell)) if self.ways.to(cell) < FAR else []

    def clear(self, cell: Cell) -> list[BaseModel]:
        """Make a cell beside the agent walkable, or wait for the body on it to go."""
        material = self.know.material(cell)
        kind = MATERIALS[material]
        if cell in self.know.bodies:
            return [take("cow")] if self.know.bodies[cell] == COW else [Noop()]
        if material == UNKNOWN:
            return [move(towards(self.know.me, cell))]
        if material in (WATER, LAVA):
            return [*self.face(cell), put("stone"), take("stone")]
        return [*self.face(cell), take(kind)]

    def face(self, cell: Cell) -> list[BaseModel]:
        """Turn to a cell beside the agent where nobody can walk; empty when it is faced."""
        faced = ahead(self.know.me, self.know.facing) == cell
        return [] if faced else [Navigate(object_type="cell", row=cell[0], col=cell[1])]

    def puttable(self, cell: Cell, ground: Iterable[int]) -> bool:
        """Whether something could be put onto this cell now."""
        return self.know.material(cell) in tuple(ground) and cell not in self.know.bodies

    def put_from(self, thing: str, stands: Iterable[Cell], ground: Iterable[int]) -> list[BaseModel]:
        """Go to one of these cells so as to face this ground, and put the thing there; empty if impossible."""
        ground = tuple(ground)
        best: tuple[int, Cell, int] | None = None
        for stand in stands:
            for direction in (1, 2, 3, 4):
                if not self.puttable(ahead(stand, direction), ground):
                    continue
                run_up = ahead(stand, direction, -1)
                if stand == self.know.me and self.know.facing == direction:
                    return [put(thing)]
                if self.know.free(stand) or stand == self.know.me:
                    key = (self.ways.to(run_up), run_up, direction)
                    if key[0] < FAR and (best is None or key < best):
                        best = key
        if best is None:
            return []
        _, run_up, direction = best
        return self.to(run_up) if run_up != self.know.me else [move(direction), put(thing)]

    def anywhere(self, reach: int) -> list[Cell]:
        """The free cells within so many cells, the agent's own first."""
        near = [
            (self.know.me[0] + dr, self.know.me[1] + dc)
            for dr in range(-reach, reach + 1)
            for dc in range(-reach, reach + 1)
        ]
        return [cell for cell in sorted(near, key=self.ways.to) if self.ways.to(cell) < FAR]
