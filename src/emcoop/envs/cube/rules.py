"""One joint step of CUBE (paper, appendix H), as kernels over the arrays of a state.

The order of a step, each part documented at its function:

1. Directions are resolved in the order up, down, left, right. Within a direction, pushed blocks that press on one
   another form one compound; compounds are resolved by their smallest pushed block.
2. A block that reached the goal column is removed.
3. Agents that push nothing move into free cells.

Cells hold 0 (empty), b + 1 (block b) or -(i + 1) (agent i). `last[i]` becomes (result, force, need).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emcoop.core.compile import kernel

_STAYED, _MOVED, _PUSHED, _WALL, _OCCUPIED, _CONTESTED, _TOO_WEAK, _NO_ROOM = range(8)
_DROW = np.array([0, -1, 1, 0, 0], np.int64)
_DCOL = np.array([0, 0, 0, -1, 1], np.int64)
# While free moves are resolved.
_NO, _WANTS, _ON_PATH, _GOES = range(4)


@kernel
def pushed_block(grid: Any, agents: Any, actions: Any, settled: Any, i: int) -> int:
    """The block that agent i pushes, or -1.

    It stands in a contiguous line of agents that all push the same way, and the first of them faces the block.
    """
    side = grid.shape[0]
    dr, dc = _DROW[actions[i]], _DCOL[actions[i]]
    row, col = agents[i, 0] + dr, agents[i, 1] + dc
    while 0 <= row < side and 0 <= col < side:
        cell = grid[row, col]
        if cell > 0:
            return int(cell) - 1
        if cell == 0:
            return -1
        j = -cell - 1
        if actions[j] != actions[i] or settled[j]:
            return -1
        row += dr
        col += dc
    return -1


@kernel
def front_cell(blocks: Any, b: int, k: int, dr: int, dc: int) -> tuple[int, int]:
    """The k-th of the cells (row, col) right in front of block b."""
    row, col, weight = blocks[b, 0], blocks[b, 1], blocks[b, 2]
    if dr < 0:
        return row - 1, col + k
    if dr > 0:
        return row + weight, col + k
    if dc < 0:
        return row + k, col - 1
    return row + k, col + weight


@kernel
def chain(grid: Any, blocks: Any, root: int, dr: int, dc: int, members: Any, inside: Any) -> tuple[int, int, bool]:
    """The block chain that a push on `root` would have to move: root and, recursively, all that lie directly in front.

    Fills `members[:count]`, and sets `inside[b]` for them (clear it before). Returns the count, the summed weight
    and whether every destination cell is inside the grid and holds no agent.
    """
    side = grid.shape[0]
    members[0] = root
    inside[root] = 1
    count, done, weight, room = 1, 0, 0, True
    while done < count:
        b = members[done]
        done += 1
        weight += blocks[b, 2]
        for k in range(blocks[b, 2]):
            row, col = front_cell(blocks, b, k, dr, dc)
            if not (0 <= row < side and 0 <= col < side):
                room = False
                continue
            cell = grid[row, col]
            if cell < 0:
                room = False
            elif cell > 0 and not inside[cell - 1]:
                inside[cell - 1] = 1
                members[count] = cell - 1
                count += 1
    return count, weight, room


@kernel
def paint(grid: Any, blocks: Any, b: int, value: int) -> None:
    """Write `value` into the block's cells."""
    row, col, weight = blocks[b, 0], blocks[b, 1], blocks[b, 2]
    for r in range(row, row + weight):
        for c in range(col, col + weight):
            grid[r, c] = value


@kernel
def advance(grid: Any, agents: Any, blocks: Any, members: Any, count: int, pushers: Any, dr: int, dc: int) -> None:
    """Move these blocks and the agents that push them one cell."""
    n = agents.shape[0]
    for k in range(count):
        paint(grid, blocks, members[k], 0)
    for i in range(n):
        if pushers[i]:
            grid[agents[i, 0], agents[i, 1]] = 0
    for k in range(count):
        b = members[k]
        blocks[b, 0] += dr
        blocks[b, 1] += dc
        paint(grid, blocks, b, b + 1)
    for i in range(n):
        if pushers[i]:
            agents[i, 0] += dr
            agents[i, 1] += dc
            grid[agents[i, 0], agents[i, 1]] = -(i + 1)


@kernel
def try_chain(
    grid: Any,
    agents: Any,
    blocks: Any,
    pushing: Any,
    settled: Any,
    last: Any,
    members: Any,
    inside: Any,
    count: int,
    weight: int,
    room: bool,
    direction: int,
) -> bool:
    """Move the chain in `members` if the force suffices and there is room; its pushers are settled if it moves.

    The force is the number of agents in the lines behind any face of the chain. Whether it moves or not, the
    pushers' `last` says what was there and what was needed.
    """
    n = agents.shape[0]
    pushers = np.zeros(n, np.uint8)
    force = 0
    for i in range(n):
        if pushing[i] >= 0 and inside[pushing[i]] and not settled[i]:
            pushers[i] = 1
            force += 1
    moves = force >= weight and room
    if moves:
        advance(grid, agents, blocks, members, count, pushers, _DROW[direction], _DCOL[direction])
    for i in range(n):
        if pushers[i]:
            last[i, 0] = _PUSHED if moves else (_TOO_WEAK if force < weight else _NO_ROOM)
            last[i, 1] = force
            last[i, 2] = weight
            settled[i] = moves
    return moves


@kernel
def compound(
    grid: Any, blocks: Any, roots: Any, tried: Any, first: int, dr: int, dc: int, members: Any, inside: Any
) -> int:
    """All pushed blocks whose chains share a block with that of `first`, and their chains; returns the count.

    Blocks side by side behind a third press on it together: their forces and weights add up. Blocks `tried` before
    stay out: one that has moved up behind this chain does not move again.
    """
    own = np.empty_like(members)
    seen = np.zeros_like(inside)
    count, _, _ = chain(grid, blocks, first, dr, dc, members, inside)
    grew = True
    while grew:
        grew = False
        for b in range(blocks.shape[0]):
            if not roots[b] or inside[b] or tried[b]:
                continue
            seen[:] = 0
            size, _, _ = chain(grid, blocks, b, dr, dc, own, seen)
            meets = False
            for k in range(size):
                if inside[own[k]]:
                    meets = True
            if meets:
                grew = True
                for k in range(size):
                    if not inside[own[k]]:
                        inside[own[k]] = 1
                        members[count] = own[k]
                        count += 1
    return count


@kernel
def room_for(grid: Any, blocks: Any, members: Any, count: int, dr: int, dc: int) -> tuple[int, bool]:
    """The summed weight of these blocks, and whether every destination cell is inside and holds no agent."""
    side = grid.shape[0]
    weight, room = 0, True
    for m in range(count):
        b = members[m]
        weight += blocks[b, 2]
        for k in range(blocks[b, 2]):
            row, col = front_cell(blocks, b, k, dr, dc)
            if not (0 <= row < side and 0 <= col < side) or grid[row, col] < 0:
                room = False
    return weight, room


@kernel
def push(grid: Any, agents: Any, blocks: Any, actions: Any, settled: Any, last: Any, direction: int) -> None:
    """Resolve all pushes in one direction.

    Each compound is tried as a whole. If it does not move, each pushed block's own chain is tried, by block index, with
    the force on that chain alone. Who pushed in vain stays where it is in this step.
    """
    n, m = agents.shape[0], blocks.shape[0]
    pushing = np.full(n, -1, np.int64)
    roots = np.zeros(m, np.uint8)
    anyone = False
    for i in range(n):
        if actions[i] == direction and not settled[i]:
            pushing[i] = pushed_block(grid, agents, actions, settled, i)
            if pushing[i] >= 0:
                roots[pushing[i]] = 1
                anyone = True
    if not anyone:
        return
    dr, dc = _DROW[direction], _DCOL[direction]
    members = np.empty(m, np.int64)
    inside = np.zeros(m, np.uint8)
    tried = np.zeros(m, np.uint8)
    for first in range(m):
        if not roots[first] or tried[first]:
            continue
        inside[:] = 0
        count = compound(grid, blocks, roots, tried, first, dr, dc, members, inside)
        pushed = 0
        for k in range(count):
            pushed += roots[members[k]]
            tried[members[k]] = 1
        together = inside.copy()
        weight, room = room_for(grid, blocks, members, count, dr, dc)
        moved = try_chain(grid, agents, blocks, pushing, settled, last, members, inside, count, weight, room, direction)
        if moved or pushed == 1:
            continue
        for b in range(m):
            if together[b] and roots[b]:
                inside[:] = 0
                count, weight, room = chain(grid, blocks, b, dr, dc, members, inside)
                try_chain(grid, agents, blocks, pushing, settled, last, members, inside, count, weight, room, direction)
    for i in range(n):
        if pushing[i] >= 0:
            settled[i] = 1


@kernel
def deliver(grid: Any, blocks: Any, alive: Any) -> int:
    """Remove every block of which a part has reached the goal column; returns their weight."""
    goal = grid.shape[1] - 1
    weight = 0
    for b in range(blocks.shape[0]):
        if alive[b] and blocks[b, 1] + blocks[b, 2] - 1 >= goal:
            paint(grid, blocks, b, 0)
            alive[b] = 0
            weight += blocks[b, 2]
    return weight


@kernel
def claims(grid: Any, agents: Any, actions: Any, settled: Any, last: Any, moving: Any) -> None:
    """Who may want its target cell: inside, no block on it, and no claimant of a smaller index."""
    side = grid.shape[0]
    for i in range(agents.shape[0]):
        if actions[i] == 0 or settled[i]:
            continue
        row, col = agents[i, 0] + _DROW[actions[i]], agents[i, 1] + _DCOL[actions[i]]
        if not (0 <= row < side and 0 <= col < side):
            last[i, 0] = _WALL
        elif grid[row, col] > 0:
            last[i, 0] = _OCCUPIED
        else:
            moving[i] = _WANTS
            # A rival stands beside the target and heads for it.
            for d in range(1, 5):
                r, c = row - _DROW[d], col - _DCOL[d]
                if 0 <= r < side and 0 <= c < side and grid[r, c] < 0:
                    j = -grid[r, c] - 1
                    if j < i and actions[j] == d and not settled[j]:
                        moving[i] = _NO
                        last[i, 0] = _CONTESTED


@kernel
def settle_moves(grid: Any, agents: Any, actions: Any, last: Any, moving: Any) -> None:
    """Follow who waits for whom to leave: a line of movers goes if its head goes; a swap or a cycle does not."""
    n = agents.shape[0]
    path = np.empty(n, np.int64)
    for start in range(n):
        if moving[start] != _WANTS:
            continue
        length, i = 0, start
        while True:
            path[length] = i
            length += 1
            moving[i] = _ON_PATH
            cell = grid[agents[i, 0] + _DROW[actions[i]], agents[i, 1] + _DCOL[actions[i]]]
            if cell == 0:
                goes = True
                break
            j = -cell - 1
            if moving[j] != _WANTS:
                goes = moving[j] == _GOES
                break
            i = j
        for k in range(length):
            moving[path[k]] = _GOES if goes else _NO
            last[path[k], 0] = _MOVED if goes else _OCCUPIED


@kernel
def move_freely(grid: Any, agents: Any, actions: Any, settled: Any, last: Any) -> None:
    """Everybody who pushes nothing moves: the smallest index wins a cell, a cell that is really left can be entered."""
    n = agents.shape[0]
    moving = np.zeros(n, np.uint8)
    claims(grid, agents, actions, settled, last, moving)
    settle_moves(grid, agents, actions, last, moving)
    for i in range(n):
        if moving[i] == _GOES:
            grid[agents[i, 0], agents[i, 1]] = 0
    for i in range(n):
        if moving[i] == _GOES:
            agents[i, 0] += _DROW[actions[i]]
            agents[i, 1] += _DCOL[actions[i]]
            grid[agents[i, 0], agents[i, 1]] = -(i + 1)


@kernel
def step_in_place(grid: Any, agents: Any, blocks: Any, alive: Any, last: Any, actions: Any) -> int:
    """One joint step: `actions` [N] are primitives, everything else changes in place. Returns the weight delivered."""
    n = agents.shape[0]
    settled = np.zeros(n, np.uint8)
    last[:] = 0
    for direction in range(1, 5):
        push(grid, agents, blocks, actions, settled, last, direction)
    weight = deliver(grid, blocks, alive)
    move_freely(grid, agents, actions, settled, last)
    return weight
