"""Worlds drawn as text: ``.`` is free, ``a`` is agent 0, ``b`` agent 1, ..., ``A`` is block 0, ``B`` block 1, ...

The last column is the goal. A block of weight w is a w x w square of its letter.
"""

from __future__ import annotations

import cube_naive as naive
import numpy as np

from emcoop.envs.cube import rules
from emcoop.envs.cube.state import RESULTS, CubeState, make_state

ACTIONS = {".": 0, "U": 1, "D": 2, "L": 3, "R": 4}


def parse(text: str) -> CubeState:
    """The state that this map draws."""
    lines = text.split()
    side = len(lines)
    assert all(len(line) == side for line in lines), "a map is a square"
    places: dict[str, list[tuple[int, int]]] = {}
    for row, line in enumerate(lines):
        for col, mark in enumerate(line):
            if mark != ".":
                places.setdefault(mark, []).append((row, col))
    agents = [places[mark][0] for mark in sorted(places) if mark.islower()]
    blocks = [(*min(cells), round(len(cells) ** 0.5)) for mark, cells in sorted(places.items()) if mark.isupper()]
    return make_state(side, np.array(agents, np.int32).reshape(-1, 2), np.array(blocks, np.int32).reshape(-1, 3))


def draw(state: CubeState) -> str:
    """The map of a state; delivered blocks are not on it."""

    def mark(cell: int) -> str:
        return "." if cell == 0 else chr(ord("A") + cell - 1) if cell > 0 else chr(ord("a") - cell - 1)

    return "\n".join("".join(mark(int(cell)) for cell in row) for row in state.grid)


def play(state: CubeState, *joint: str) -> tuple[CubeState, int]:
    """The state after these joint actions (one letter per agent) by the kernel, and the weight delivered."""
    parts = [a.copy() for a in (state.grid, state.agents, state.blocks, state.alive, state.last)]
    grid, agents, blocks, alive, last = parts
    delivered = 0
    for actions in joint:
        numbers = np.array([ACTIONS[a] for a in actions], np.int32)
        delivered += int(rules.step_in_place(grid, agents, blocks, alive, last, numbers))
    return CubeState(state.step + len(joint), agents, blocks, alive, last, grid), delivered


def results(state: CubeState) -> list[str]:
    """What became of every agent's last primitive."""
    return [RESULTS[code] for code in state.last[:, 0]]


def world(state: CubeState) -> naive.World:
    """The same world for the slow reference."""
    agents = {i: (int(r), int(c)) for i, (r, c) in enumerate(state.agents)}
    blocks = {b: tuple(map(int, state.blocks[b])) for b in range(len(state.blocks)) if state.alive[b]}
    return naive.World(state.side, agents, blocks)  # type: ignore[arg-type]
