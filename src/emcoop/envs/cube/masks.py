"""Which primitives can have an effect in CUBE.

A primitive is masked out only if, whatever the others do in the same step, it leaves the state as `stay` does, but for
what `last` reports of it. That is known without asking what the others do in three cases: the way leads out of the
grid; it leads into a block that is too heavy for the whole team; or into one that lies against the edge and that the
others cannot move aside alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import kernel

_DROW = np.array([0, -1, 1, 0, 0], np.int64)
_DCOL = np.array([0, 0, 0, -1, 1], np.int64)

_SMALL_TEAM = 3
"""From four agents on, a push on a block that never moves can spoil the push of others on blocks beside it: what lies
in front of both makes one compound of them (see `rules.compound`). Three are too few for such a pair."""


@kernel
def mask_agent(grid: Any, agents: Any, blocks: Any, i: int, mask: Any) -> None:
    """Fill `mask` [5] bool with what can have an effect for agent i; `stay` always counts as possible."""
    side, team = grid.shape[0], agents.shape[0]
    mask[0] = True
    for d in range(1, 5):
        row, col = agents[i, 0] + _DROW[d], agents[i, 1] + _DCOL[d]
        if not (0 <= row < side and 0 <= col < side):
            mask[d] = False
            continue
        mask[d] = True
        if grid[row, col] > 0:
            b = grid[row, col] - 1
            top, left, weight = blocks[b, 0], blocks[b, 1], blocks[b, 2]
            edge = (
                (d == 1 and top == 0)
                or (d == 2 and top + weight == side)
                or (d == 3 and left == 0)
                or (d == 4 and left + weight == side)
            )
            too_heavy = weight > team and team <= _SMALL_TEAM
            mask[d] = not (too_heavy or (edge and weight >= team))
