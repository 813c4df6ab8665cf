"""A board of CUBE as a planner sees it: where everybody is, what can be pushed, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from emcoop.envs.cube.observe import CubeObservation
from emcoop.envs.cube.paths import Cell, inside, shifted
from emcoop.envs.cube.rules import step_in_place
from emcoop.envs.cube.state import (
    DCOL,
    DOWN,
    DROW,
    LEFT,
    MOVED,
    PUSHED,
    RIGHT,
    SIDE_OF_PUSH,
    STAY,
    UP,
    CubeState,
    make_state,
)


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """A block that is still there; (row, col) is its top-left cell."""

    id: int
    row: int
    col: int
    weight: int

    def cells(self) -> list[Cell]:
        """All its cells."""
        span = range(self.weight)
        return [(self.row + i, self.col + j) for i in span for j in span]

    def moved(self, direction: int) -> Block:
        """The same block one cell further."""
        return replace(self, row=self.row + DROW[direction], col=self.col + DCOL[direction])


@dataclass(frozen=True, slots=True)
class Board:
    """What the planner needs of a state: the side K, every agent's cell by index, and the blocks by id."""

    side: int
    agents: tuple[Cell, ...]
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, state: CubeState) -> Board:
        """The board of a state."""
        agents = tuple((int(r), int(c)) for r, c in state.agents)
        blocks = (Block(b, *map(int, state.blocks[b])) for b in range(len(state.blocks)) if state.alive[b])
        return cls(state.side, agents, tuple(blocks))

    @classmethod
    def seen(cls, observation: CubeObservation) -> Board:
        """The board that an agent sees: in CUBE, all of it."""
        blocks = tuple(Block(b.id, b.row, b.col, b.weight) for b in observation.blocks)
        return cls(observation.side, tuple((a.row, a.col) for a in observation.agents), blocks)

    def solid(self) -> dict[Cell, Block]:
        """Every cell that a block covers, with the block."""
        return {cell: block for block in self.blocks for cell in block.cells()}


@dataclass(frozen=True, slots=True)
class Job:
    """One push to be done: from `slots` (at the face and in lines behind it) in a direction.

    `sweep[s]` are the cells of all blocks that move in step s, before it; its last entry is where they end up.
    `delivers` says whether the last step delivers a block.
    """

    block: Block
    direction: int
    slots: tuple[Cell, ...]
    sweep: tuple[tuple[Cell, ...], ...]
    delivers: bool

    @property
    def task(self) -> str:
        """The task's name."""
        return f"block_{self.block.id}:{SIDE_OF_PUSH[self.direction]}"

    @property
    def pushes(self) -> int:
        """The number of steps."""
        return len(self.sweep) - 1

    def lane(self) -> set[Cell]:
        """Every cell that its blocks and its pushers need from the assembly on."""
        cells = {cell for cells in self.sweep for cell in cells}
        return cells | {shifted(slot, self.direction, s) for slot in self.slots for s in range(self.pushes + 1)}


# -- what can be pushed --------------------------------------------------------------------------------------------


def slide(board: Board, block: Block, direction: int, steps: int | None = None) -> tuple[list[list[Block]], int] | None:
    """The blocks that move when this one is pushed, before each step and at the end, and the largest force needed.

    Goes on for `steps`, or until a block of the chain is delivered. None when the chain would leave the grid.
    """
    still = {b.id: b for b in board.blocks}
    chain, need, frames = {block.id: still.pop(block.id)}, 0, []
    while True:
        grew = True
        while grew:
            front = {shifted(cell, direction) for b in chain.values() for cell in b.cells()}
            met = [b for b in still.values() if front.intersection(b.cells())]
            grew = bool(met)
            for b in met:
                chain[b.id] = still.pop(b.id)
        need = max(need, sum(b.weight for b in chain.values()))
        frames.append(list(chain.values()))
        chain = {k: b.moved(direction) for k, b in chain.items()}
        if not all(inside(cell, board.side) for b in chain.values() for cell in b.cells()):
            return None
        delivered = any(b.col + b.weight - 1 >= board.side - 1 for b in chain.values())
        if delivered or len(frames) == steps:
            frames.append(list(chain.values()))
            return frames, need


def slots_for(board: Board, block: Block, direction: int, need: int) -> tuple[Cell, ...] | None:
    """Cells from which `need` agents push this block: along the face, then in lines behind it; None if too few."""
    solid = board.solid()
    span = range(block.weight)
    if direction in (LEFT, RIGHT):
        col = block.col - 1 if direction == RIGHT else block.col + block.weight
        fronts = [(block.row + k, col) for k in span]
    else:
        row = block.row - 1 if direction == DOWN else block.row + block.weight
        fronts = [(row, block.col + k) for k in span]
    found: list[Cell] = []
    while len(found) < need:
        fronts = [cell for cell in fronts if inside(cell, board.side) and cell not in solid]
        if not fronts:
            return None
        found += fronts[: need - len(found)]
        fronts = [shifted(cell, direction, -1) for cell in fronts]
    return tuple(found)


def job_for(board: Board, block: Block, direction: int = RIGHT, steps: int | None = None) -> Job | None:
    """This push as a job, if the team is strong enough for it and there is room."""
    if direction != RIGHT and steps is None:
        raise ValueError("only a push to the right ends by itself")
    slid = slide(board, block, direction, steps)
    if slid is None or slid[1] > len(board.agents):
        return None
    slots = slots_for(board, block, direction, slid[1])
    if slots is None:
        return None
    frames = slid[0]
    sweep = tuple(tuple(cell for b in frame for cell in b.cells()) for frame in frames)
    delivers = any(b.col + b.weight - 1 >= board.side - 1 for b in frames[-1])
    return Job(block, direction, slots, sweep, delivers)


@lru_cache(maxsize=256)
def delivery_jobs(board: Board) -> tuple[Job, ...]:
    """Every push to the right that delivers something; those that move one block alone come first."""
    jobs = tuple(job for block in board.blocks if (job := job_for(board, block)) is not None)
    alone = tuple(job for job in jobs if len(job.slots) == job.block.weight)
    return alone or jobs


def preparing_jobs(board: Board) -> Iterator[Job]:
    """Pushes up, down or left after which some delivery becomes possible; shortest first."""
    for steps in range(1, board.side):
        for block in board.blocks:
            for direction in (UP, DOWN, LEFT):
                job = job_for(board, block, direction, steps)
                slid = slide(board, block, direction, steps)
                if job is None or slid is None or job.delivers:
                    continue
                moved = {b.id: b for b in slid[0][-1]}
                after = replace(board, blocks=tuple(moved.get(b.id, b) for b in board.blocks))
                if delivery_jobs(after):
                    yield job


# -- what happens ---------------------------------------------------------------------------------------------------


def play(board: Board, steps: Sequence[Sequence[int]]) -> tuple[Board, bool]:
    """The board after these joint steps by the world's rules, and whether every move and push had its effect."""
    blocks = np.array([(b.row, b.col, b.weight) for b in board.blocks], np.int32).reshape(-1, 3)
    state = make_state(board.side, np.array(board.agents, np.int32).reshape(-1, 2), blocks)
    smooth = True
    for step in steps:
        actions = np.array(step, np.int64)
        step_in_place(state.grid, state.agents, state.blocks, state.alive, state.last, actions)
        smooth = smooth and all(state.last[i, 0] in (MOVED, PUSHED) for i, a in enumerate(step) if a != STAY)
    after = Board.of(state)
    return replace(after, blocks=tuple(replace(b, id=board.blocks[b.id].id) for b in after.blocks)), smooth


def carried_out(board: Board, steps: Sequence[Sequence[int]]) -> bool:
    """Whether the world's rules let every move and push of these steps happen."""
    return play(board, steps)[1]
