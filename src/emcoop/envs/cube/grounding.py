"""Gamma: the grounding of CUBE's symbolic actions (paper, equations 4 and 8).

One primitive per step, computed from the present state. What an action carries from step to step (its memo) is a
small mapping; grounding the same step twice gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import BaseModel

from emcoop.core.types import AgentId, Failure, Json, Phase, agent_index
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.cube.actions import (
    FAILURES,
    MAX_TIMEOUT,
    PATIENCE,
    Move,
    MoveToBlock,
    Push,
    Rendezvous,
    Wait,
    WaitFor,
    Yield,
    failure,
)
from emcoop.envs.cube.contact import at_face, faced_block, push_direction
from emcoop.envs.cube.state import (
    DCOL,
    DOWN,
    DROW,
    LEFT,
    MOVED,
    NO_ROOM,
    PRIMITIVES,
    PUSHED,
    RESULTS,
    RIGHT,
    STAY,
    TOO_WEAK,
    UP,
    WALL,
    CubeState,
)
from emcoop.envs.paths import first_step


def ground(state: CubeState, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
    """The next primitive of this action, or how it ended. Raises TypeError for what is no CUBE action."""
    try:
        grounding = _GROUNDINGS[type(action)]
    except KeyError:
        raise TypeError(f"{type(action).__name__} is no symbolic action of CUBE") from None
    return grounding(state, agent_index(agent), action, progress)


def _tally(state: CubeState, agent: int, progress: Progress, **carried: Json) -> dict[str, Json]:
    """The memo with the count of primitives that had an effect (`done`), each counted once."""
    memo: dict[str, Json] = dict(progress.memo or {"done": 0, "at": 0, **carried})
    if progress.steps > memo["at"]:
        memo["at"] = progress.steps
        memo["done"] += int(state.last[agent, 0]) in (MOVED, PUSHED)
    return memo


def _move(state: CubeState, agent: int, action: Move, progress: Progress) -> Grounding:
    memo = _tally(state, agent, progress)
    result = int(state.last[agent, 0])
    hit_wall = progress.steps > 0 and result == WALL
    if progress.steps < action.num_steps and not hit_wall:
        return Primitive(PRIMITIVES.index(action.direction), memo)
    if memo["done"] == action.num_steps:
        return Done()
    code = RESULTS[result] if RESULTS[result] in FAILURES else "occupied"
    text = f"moved {memo['done']} of {action.num_steps} cells {action.direction}; the last try: {_why(state, agent)}"
    return Failed(failure(code, text, moved=memo["done"], wanted=action.num_steps))


def _why(state: CubeState, agent: int) -> str:
    result, force, need = (int(v) for v in state.last[agent])
    return {
        "wall": "a wall is in the way",
        "occupied": "the cell is occupied",
        "contested": "a teammate of a smaller index took the cell",
        "insufficient_force": f"pushing needed a force of {need}, there was {force}",
        "blocked_destination": "something stands behind the block",
    }.get(RESULTS[result], RESULTS[result])


def _wait(state: CubeState, agent: int, action: Wait, progress: Progress) -> Grounding:
    return Primitive(STAY) if progress.steps < action.num_steps else Done()


def _push(state: CubeState, agent: int, action: Push, progress: Progress) -> Grounding:
    block = action.block_id
    if not state.alive[block]:
        if progress.steps:
            return Done()
        return Failed(failure("already_delivered", f"block {block} has been delivered", phase=Phase.EXECUTION))
    memo = _tally(state, agent, progress, direction=push_direction(state, agent, block))
    direction = memo["direction"]
    if direction is None:
        text = f"agent_{agent} does not stand at a face of block {block}"
        return Failed(failure("no_contact", text, phase=Phase.EXECUTION, block=block))
    if progress.steps >= action.num_steps:
        return Done() if memo["done"] else Failed(_push_failure(state, agent, block))
    if faced_block(state, agent, direction) != block:
        text = f"block {block} is no longer in front of agent_{agent}, after {memo['done']} pushes"
        return Failed(failure("lost_contact", text, block=block, pushed=memo["done"]))
    return Primitive(direction, memo)


def _push_failure(state: CubeState, agent: int, block: int) -> Failure:
    result, force, need = (int(v) for v in state.last[agent])
    if result == NO_ROOM:
        return failure("blocked_destination", f"block {block} did not move: its way is blocked", block=block)
    if result != TOO_WEAK:
        # In line behind a teammate who did not push: no force of this agent reached the block.
        need, force = int(state.blocks[block, 2]), 0
        text = f"block {block} did not move: the teammate between it and agent_{agent} did not push"
    else:
        text = f"block {block} did not move: it needs a force of {need} from this side, there was {force}"
    return failure("insufficient_force", text, block=block, need=need, have=force)


def _walk(
    state: CubeState, agent: int, targets: list[tuple[int, int]], progress: Progress, limit: int
) -> Primitive | Failed:
    """One step towards the nearest target; waits for a path for a while, fails after `limit` steps."""
    memo: dict[str, Json] = dict(progress.memo or {"stuck": 0, "at": -1})
    if progress.steps >= limit:
        return Failed(failure("navigation_timeout", f"did not arrive within {limit} steps", steps=limit))
    row, col = (int(v) for v in state.agents[agent])
    primitive = first_step(state.grid, row, col, np.array(targets, np.int64).reshape(-1, 2))
    if primitive > 0:
        return Primitive(int(primitive), {"stuck": 0, "at": progress.steps})
    if progress.steps > memo["at"]:
        memo = {"stuck": memo["stuck"] + 1, "at": progress.steps}
    if memo["stuck"] <= PATIENCE:
        return Primitive(STAY, memo)
    inside = [(r, c) for r, c in targets if 0 <= r < state.side and 0 <= c < state.side]
    if inside and all(state.grid[r, c] < 0 for r, c in inside):
        return Failed(failure("face_occupied", "other agents hold every cell of that face"))
    return Failed(failure("no_path", "there is no free path to that face"))


def _move_to_block(state: CubeState, agent: int, action: MoveToBlock, progress: Progress) -> Grounding:
    block = action.block_id
    if not state.alive[block]:
        return Failed(failure("already_delivered", f"block {block} has been delivered", phase=Phase.EXECUTION))
    targets = state.contact_cells(block, action.side)
    if action.slot is not None:
        targets = targets[action.slot : action.slot + 1]
    if tuple(int(v) for v in state.agents[agent]) in targets:
        return Done()
    return _walk(state, agent, targets, progress, 4 * state.side)


def _rendezvous(state: CubeState, agent: int, action: Rendezvous, progress: Progress) -> Grounding:
    block = action.block_id
    if not state.alive[block]:
        return Failed(failure("already_delivered", f"block {block} has been delivered", phase=Phase.EXECUTION))
    there, need = at_face(state, block, action.side), int(state.blocks[block, 2])
    if agent in there and len(there) >= need:
        return Done()
    if progress.steps >= action.timeout:
        text = (
            f"{len(there)} of {need} agents came to the {action.side} face of block {block} in {action.timeout} steps"
        )
        return Failed(failure("rendezvous_timeout", text, have=len(there), need=need))
    if agent in there:
        return Primitive(STAY, progress.memo)
    return _walk(state, agent, state.contact_cells(block, action.side), progress, MAX_TIMEOUT + 1)


def _yield(state: CubeState, agent: int, action: Yield, progress: Progress) -> Grounding:
    if progress.steps and int(state.last[agent, 0]) == MOVED:
        return Done()
    free = _free_neighbours(state, agent)
    if not free or progress.steps >= PATIENCE:
        return Failed(failure("no_free_cell", "no free neighbouring cell to step into"))
    return Primitive(min(free)[1])


def _free_neighbours(state: CubeState, agent: int) -> list[tuple[int, int]]:
    """(how many blocks the cell touches, primitive) for each free neighbouring cell."""
    side, grid = state.side, state.grid
    row, col = (int(v) for v in state.agents[agent])
    free = []
    for d in (UP, DOWN, LEFT, RIGHT):
        r, c = row + DROW[d], col + DCOL[d]
        if 0 <= r < side and 0 <= c < side and grid[r, c] == 0:
            around = [(r + DROW[e], c + DCOL[e]) for e in (UP, DOWN, LEFT, RIGHT)]
            touched = {int(grid[i, j]) for i, j in around if 0 <= i < side and 0 <= j < side and grid[i, j] > 0}
            free.append((len(touched), d))
    return free


def _wait_for(state: CubeState, agent: int, action: WaitFor, progress: Progress) -> Grounding:
    if action.event == "message":
        met = action.agent_id in progress.heard
    else:
        met = tuple(int(v) for v in state.agents[agent_index(action.agent_id)]) == (action.row, action.col)
    if met:
        return Done()
    if progress.steps >= action.timeout:
        wanted = "a message" if action.event == "message" else f"arrival at ({action.row}, {action.col})"
        text = f"waited {action.timeout} steps for {wanted} of {action.agent_id}"
        return Failed(failure("wait_timeout", text, steps=action.timeout))
    return Primitive(STAY)


_GROUNDINGS: dict[type[BaseModel], Callable[[CubeState, int, Any, Progress], Grounding]] = {
    Move: _move,
    Wait: _wait,
    Push: _push,
    MoveToBlock: _move_to_block,
    Rendezvous: _rendezvous,
    Yield: _yield,
    WaitFor: _wait_for,
}
