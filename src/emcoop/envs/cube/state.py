"""The state of CUBE as arrays. N agents, M blocks, side K; rows grow downwards, columns to the right."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

PRIMITIVES = ("stay", "up", "down", "left", "right")
STAY, UP, DOWN, LEFT, RIGHT = range(5)
DROW = (0, -1, 1, 0, 0)
DCOL = (0, 0, 0, -1, 1)

SIDES = ("left", "right", "up", "down")
"""The faces of a block: where agents stand, not where it goes."""
PUSH_OF_SIDE = {"left": RIGHT, "right": LEFT, "up": DOWN, "down": UP}
"""The primitive that pushes a block from this face."""
SIDE_OF_PUSH = {push: side for side, push in PUSH_OF_SIDE.items()}

# What became of an agent's last primitive; `last[i]` is (result, force that was there, force that was needed).
STAYED, MOVED, PUSHED, WALL, OCCUPIED, CONTESTED, TOO_WEAK, NO_ROOM = range(8)
RESULTS = ("stayed", "moved", "pushed", "wall", "occupied", "contested", "insufficient_force", "blocked_destination")

_MAGIC = b"CUBE1\0\0\0"
_HEAD = Struct("<8s4i")
_NUMBER = np.dtype("<i4")
_AS_STORED = np.dtype(np.int32) == _NUMBER
"""Whether this machine's numbers are the snapshot's."""


@dataclass(frozen=True, slots=True, eq=False)
class CubeState:
    """One state.

    `agents` [N, 2] is (row, col); `blocks` [M, 3] is (row, col, weight) of the top-left cell of a weight x weight
    square; `alive` [M] is 1 until the block is delivered; `last` [N, 3] see `RESULTS`. `grid` [K, K] follows from
    the rest: 0 empty, b + 1 block b, -(i + 1) agent i. Nothing may write into these arrays.
    """

    step: int
    agents: Ints
    blocks: Ints
    alive: NDArray[np.uint8]
    last: Ints
    grid: Ints

    @property
    def side(self) -> int:
        """K."""
        return int(self.grid.shape[0])

    def contact_cells(self, block: int, side: str) -> list[tuple[int, int]]:
        """The cells (row, col) along this face of the block, also those outside the grid."""
        row, col, weight = (int(v) for v in self.blocks[block])
        if side == "left":
            return [(row + k, col - 1) for k in range(weight)]
        if side == "right":
            return [(row + k, col + weight) for k in range(weight)]
        if side == "up":
            return [(row - 1, col + k) for k in range(weight)]
        return [(row + weight, col + k) for k in range(weight)]


def make_state(side: int, agents: Ints, blocks: Ints) -> CubeState:
    """The state at step 0 with these agents [N, 2] and blocks [M, 3].

    Raises ValueError when bodies overlap, lie outside, or a block already touches the goal column.
    """
    alive = np.ones(len(blocks), np.uint8)
    last = np.zeros((len(agents), 3), np.int32)
    return CubeState(0, agents, blocks, alive, last, _paint(side, agents, blocks, alive))


def _paint(side: int, agents: Ints, blocks: Ints, alive: NDArray[np.uint8]) -> Ints:
    grid = np.zeros((side, side), np.int32)
    for b, (row, col, weight) in enumerate(blocks.tolist()):
        if not alive[b]:
            continue
        if weight < 1 or row < 0 or col < 0 or row + weight > side or col + weight > side - 1:
            raise ValueError(f"block {b} of weight {weight} at ({row}, {col}) is not inside, left of the goal column")
        cells = grid[row : row + weight, col : col + weight]
        if cells.any():
            raise ValueError(f"block {b} at ({row}, {col}) overlaps another block")
        cells[:] = b + 1
    for i, (row, col) in enumerate(agents.tolist()):
        if not (0 <= row < side and 0 <= col < side):
            raise ValueError(f"agent_{i} at ({row}, {col}) is outside a grid of side {side}")
        if grid[row, col]:
            raise ValueError(f"agent_{i} at ({row}, {col}) stands on another body")
        grid[row, col] = -(i + 1)
    return grid


def to_bytes(state: CubeState) -> bytes:
    """The whole state as canonical little-endian bytes."""
    head = _HEAD.pack(_MAGIC, state.side, state.step, len(state.agents), len(state.blocks))
    alive = state.alive.astype(_NUMBER)
    if not _AS_STORED:
        parts = (state.agents, state.blocks, state.last)
        agents, blocks, last = (part.astype(_NUMBER) for part in parts)
    else:
        agents, blocks, last = state.agents, state.blocks, state.last
    return b"".join((head, agents.tobytes(), blocks.tobytes(), alive.tobytes(), last.tobytes()))


def from_bytes(data: bytes) -> CubeState:
    """The inverse of `to_bytes`. Raises ValueError for anything else."""
    if data[:8] != _MAGIC or len(data) < 24 or len(data) % 4:
        raise ValueError("these bytes are no snapshot of a CUBE state")
    numbers = np.frombuffer(data, "<i4", offset=8)
    side, step, n, m = (int(v) for v in numbers[:4])
    if min(side, step, n, m) < 0 or len(numbers) != 4 + 5 * n + 4 * m:
        raise ValueError("a CUBE snapshot of the wrong length")
    cuts = np.cumsum([4, 2 * n, 3 * m, m])
    agents, blocks, alive, last = (part.astype(np.int32) for part in np.split(numbers, cuts)[1:])
    if not np.isin(alive, (0, 1)).all():
        raise ValueError("a CUBE snapshot with a block that is neither there nor delivered")
    if not np.isin(last[::3], range(len(RESULTS))).all():
        raise ValueError("a CUBE snapshot with an unknown result of a primitive")
    present = alive.astype(np.uint8)
    places, squares = agents.reshape(n, 2), blocks.reshape(m, 3)
    return CubeState(step, places, squares, present, last.reshape(n, 3), _paint(side, places, squares, present))
