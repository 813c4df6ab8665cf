"""Where agents stand at blocks: tasks by name, and who faces what."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from emcoop.core.types import TaskId
from emcoop.envs.cube.state import DCOL, DOWN, DROW, LEFT, PUSH_OF_SIDE, RIGHT, SIDE_OF_PUSH, SIDES, UP, CubeState


def task_name(block: int, side: str) -> TaskId:
    """``block_2:left``: push block 2 from its left face."""
    return f"block_{block}:{side}"


def parse_task(task: TaskId) -> tuple[int, str] | None:
    """The block and the face of a task's name; None when it is no such name."""
    block, colon, side = task.partition(":")
    number = block.removeprefix("block_")
    if colon and side in SIDES and block.startswith("block_") and number.isdecimal() and len(number) < 6:
        return int(number), side
    return None


def faced_block(state: CubeState, agent: int, direction: int) -> int | None:
    """The block that a contiguous line of agents, this one at any place in it, faces in this direction."""
    side = state.side
    row, col = state.agents[agent].tolist()
    while True:
        row, col = row + DROW[direction], col + DCOL[direction]
        if not (0 <= row < side and 0 <= col < side):
            return None
        cell = state.grid.item(row, col)
        if cell >= 0:
            return cell - 1 if cell > 0 else None


@lru_cache(maxsize=64)
def standing(state: CubeState) -> Mapping[int, Mapping[str, tuple[int, ...]]]:
    """For each block that agents stand at, or in line behind: face -> these agents, by index.

    Kept for the latest states, since all observations and the constraints of one state ask for the same.
    """
    found: dict[int, dict[str, tuple[int, ...]]] = {}
    taken = _taken_ahead(state)
    for side in SIDES if taken else ():
        ahead = taken.get(side, {})
        for agent, cell in ahead.items():
            line = [agent]
            while cell < 0 and (before := -cell - 1) in ahead:
                line.append(before)
                cell = ahead[before]
            for member in line:  # a line of agents is followed once for all in it
                ahead[member] = max(cell, 0)
            if cell > 0:
                there = found.setdefault(cell - 1, {})
                there[side] = (*there.get(side, ()), agent)
    return found


def _taken_ahead(state: CubeState) -> dict[str, dict[int, int]]:
    """By the face that an agent would push: what the cell before it holds, of agents before which it is not empty."""
    look, side = state.grid.item, state.side
    last = side - 1
    ahead: dict[str, dict[int, int]] = {}
    for agent, (row, col) in enumerate(state.agents.tolist()):
        here = row * side + col
        if row > 0 and (cell := look(here - side)):
            ahead.setdefault(_PUSHES_UP, {})[agent] = cell
        if row < last and (cell := look(here + side)):
            ahead.setdefault(_PUSHES_DOWN, {})[agent] = cell
        if col > 0 and (cell := look(here - 1)):
            ahead.setdefault(_PUSHES_LEFT, {})[agent] = cell
        if col < last and (cell := look(here + 1)):
            ahead.setdefault(_PUSHES_RIGHT, {})[agent] = cell
    return ahead


_PUSHES_UP, _PUSHES_DOWN, _PUSHES_LEFT, _PUSHES_RIGHT = (SIDE_OF_PUSH[push] for push in (UP, DOWN, LEFT, RIGHT))


def push_direction(state: CubeState, agent: int, block: int) -> int | None:
    """The primitive that pushes this block from where the agent stands; at the face itself before in a line."""
    row, col = (int(v) for v in state.agents[agent])
    in_line = None
    for direction in (UP, DOWN, LEFT, RIGHT):
        if faced_block(state, agent, direction) == block:
            i, j = row + DROW[direction], col + DCOL[direction]
            if state.grid[i, j] > 0:
                return direction
            in_line = in_line or direction
    return in_line


def at_face(state: CubeState, block: int, side: str) -> list[int]:
    """The agents that stand at this face or in a contiguous line behind it, by index."""
    direction = PUSH_OF_SIDE[side]
    found: list[int] = []
    for row, col in state.contact_cells(block, side):
        while 0 <= row < state.side and 0 <= col < state.side and state.grid[row, col] < 0:
            found.append(-int(state.grid[row, col]) - 1)
            row, col = row - DROW[direction], col - DCOL[direction]
    return sorted(found)
