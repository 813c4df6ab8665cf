"""The symbolic actions of CUBE (paper, table 4, and the original CUBE), their checks and their grounding.

`ground` is Gamma: one primitive per step, computed from the present state. What an action carries from step to
step (its memo) is a small mapping; grounding the same step twice gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from emcoop.core.types import NO_TASK, AgentId, Category, Failure, Json, Phase, Plan, TaskId, agent_index
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.cube.state import (
    DCOL,
    DOWN,
    DROW,
    LEFT,
    MOVED,
    NO_ROOM,
    PRIMITIVES,
    PUSH_OF_SIDE,
    PUSHED,
    RESULTS,
    RIGHT,
    SIDES,
    STAY,
    TOO_WEAK,
    UP,
    WALL,
    CubeState,
)
from emcoop.envs.paths import first_step

Direction = Literal["up", "down", "left", "right"]
Side = Literal["left", "right", "up", "down"]
MAX_STEPS = 10
MAX_TIMEOUT = 30
MAX_ACTIONS = 8

PATIENCE = 5
"""Steps that a walk waits for a free path before it fails."""


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Move(_Action):
    """Move num_steps cells in a direction (pushing what stands in the way, if the force suffices)."""

    action_type: Literal["move"] = "move"
    direction: Direction
    num_steps: int = Field(ge=1, le=MAX_STEPS)


class Wait(_Action):
    """Do nothing for num_steps steps."""

    action_type: Literal["wait"] = "wait"
    num_steps: int = Field(ge=1, le=MAX_STEPS)


class Push(_Action):
    """Push the block whose face the agent stands at, for num_steps steps."""

    action_type: Literal["push"] = "push"
    block_id: int = Field(ge=0)
    num_steps: int = Field(ge=1, le=MAX_STEPS)


class MoveToBlock(_Action):
    """Walk to a free cell along one face of a block; slot counts from the top or left."""

    action_type: Literal["move_to_block"] = "move_to_block"
    block_id: int = Field(ge=0)
    side: Side
    slot: int | None = Field(default=None, ge=0)


class Rendezvous(_Action):
    """Walk to a face of a block and wait there until as many agents stand at it as the block weighs."""

    action_type: Literal["rendezvous"] = "rendezvous"
    block_id: int = Field(ge=0)
    side: Side
    timeout: int = Field(default=15, ge=1, le=MAX_TIMEOUT)


class Yield(_Action):
    """Step aside into a free neighbouring cell, if possible one that touches no block."""

    action_type: Literal["yield"] = "yield"


class WaitFor(_Action):
    """Wait until a teammate has sent a message, or stands on (row, col); fails after timeout steps."""

    action_type: Literal["wait_for"] = "wait_for"
    agent_id: str
    event: Literal["message", "position"] = "message"
    row: int | None = None
    col: int | None = None
    timeout: int = Field(default=10, ge=1, le=MAX_TIMEOUT)


Action = Annotated[Move | Wait | Push | MoveToBlock | Rendezvous | Yield | WaitFor, Field(discriminator="action_type")]


class CubePlan(BaseModel):
    """A plan: why, which task (block and the face the agents stand at), and the actions in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reasoning: str = Field(default="", max_length=300)
    task: str = Field(pattern=r"^(none|block_[0-9]{1,4}:(left|right|up|down))$")
    actions: list[Action] = Field(min_length=1, max_length=MAX_ACTIONS)


FAILURES: Mapping[str, tuple[Phase, Category]] = {
    "unknown_block": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "unknown_task": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "unknown_agent": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "bad_arguments": (Phase.PRE_CHECK, Category.FORMAT),
    "already_delivered": (Phase.PLAN_CHECK, Category.WORLD_UNDERSTANDING),
    "no_contact": (Phase.PLAN_CHECK, Category.WORLD_UNDERSTANDING),
    "no_face": (Phase.PLAN_CHECK, Category.NAVIGATION),
    "too_heavy_for_team": (Phase.PLAN_CHECK, Category.CAPABILITY),
    "lost_contact": (Phase.EXECUTION, Category.COORDINATION),
    "insufficient_force": (Phase.EXECUTION, Category.COORDINATION),
    "blocked_destination": (Phase.EXECUTION, Category.CONTENTION),
    "wall": (Phase.EXECUTION, Category.NAVIGATION),
    "occupied": (Phase.EXECUTION, Category.CONTENTION),
    "contested": (Phase.EXECUTION, Category.CONTENTION),
    "no_path": (Phase.EXECUTION, Category.NAVIGATION),
    "face_occupied": (Phase.EXECUTION, Category.CONTENTION),
    "no_free_cell": (Phase.EXECUTION, Category.CONTENTION),
    "navigation_timeout": (Phase.EXECUTION, Category.TIMEOUT),
    "rendezvous_timeout": (Phase.EXECUTION, Category.TIMEOUT),
    "wait_timeout": (Phase.EXECUTION, Category.TIMEOUT),
}
"""Every reason why a plan or an action fails in CUBE."""


def failure(code: str, message: str, *, phase: Phase | None = None, **detail: Json) -> Failure:
    """The failure of this code; `phase` overrides the phase in which it is usually found."""
    usual, category = FAILURES[code]
    return Failure(phase or usual, category, code, message, detail)


# -- tasks and contact ---------------------------------------------------------------------------------------------


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
    row, col = (int(v) for v in state.agents[agent])
    while True:
        row, col = row + DROW[direction], col + DCOL[direction]
        if not (0 <= row < side and 0 <= col < side):
            return None
        cell = int(state.grid[row, col])
        if cell >= 0:
            return cell - 1 if cell > 0 else None


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


# -- checks before the start ---------------------------------------------------------------------------------------


def check_plan(state: CubeState, agent: AgentId, plan: Plan) -> Failure | None:
    """Why this plan cannot work from here, or None."""
    found = _check_task(state, plan.task)
    if found is None and not plan.actions:
        found = failure("bad_arguments", "a plan needs at least one action")
    for place, action in enumerate(plan.actions):
        if found is not None:
            return found
        found = _check_action(state, agent, action, first=place == 0)
    return found


def _check_task(state: CubeState, task: TaskId) -> Failure | None:
    if task == NO_TASK:
        return None
    named = parse_task(task)
    if named is None:
        return failure("unknown_task", f"{task[:60]!r} is no task; a task is named like block_0:left", task=task[:60])
    return _check_block(state, named[0])


def _check_block(state: CubeState, block: int) -> Failure | None:
    if block >= len(state.blocks):
        known = ", ".join(str(b) for b in np.flatnonzero(state.alive)[:20])
        return failure("unknown_block", f"there is no block {block}; the blocks are {known}", block=block)
    if not state.alive[block]:
        return failure("already_delivered", f"block {block} has been delivered", block=block)
    return None


def _check_action(state: CubeState, agent: AgentId, action: BaseModel, *, first: bool) -> Failure | None:
    if isinstance(action, WaitFor):
        return _check_wait_for(state, agent, action)
    if not isinstance(action, Push | MoveToBlock | Rendezvous):
        return None
    found = _check_block(state, action.block_id)
    if found is not None:
        return found
    block, weight = action.block_id, int(state.blocks[action.block_id, 2])
    if isinstance(action, Push):
        if weight > len(state.agents):
            text = f"block {block} weighs {weight}, more than the team of {len(state.agents)} can push"
            return failure("too_heavy_for_team", text, need=weight, have=len(state.agents))
        if first and push_direction(state, agent_index(agent), block) is None:
            return failure("no_contact", f"{agent} does not stand at a face of block {block}", block=block)
        return None
    if isinstance(action, MoveToBlock) and action.slot is not None and action.slot >= weight:
        return failure("bad_arguments", f"block {block} has slots 0 to {weight - 1}, not {action.slot}")
    if not any(0 <= r < state.side and 0 <= c < state.side for r, c in state.contact_cells(block, action.side)):
        return failure("no_face", f"the {action.side} face of block {block} lies at the wall", block=block)
    return None


def _check_wait_for(state: CubeState, agent: AgentId, action: WaitFor) -> Failure | None:
    names = [f"agent_{i}" for i in range(len(state.agents))]
    if action.agent_id not in names or action.agent_id == agent:
        others = ", ".join(name for name in names if name != agent) or "nobody else"
        return failure("unknown_agent", f"cannot wait for {action.agent_id[:40]!r}; there is {others}")
    if action.event == "position":
        row, col = action.row, action.col
        if row is None or col is None or not (0 <= row < state.side and 0 <= col < state.side):
            return failure("bad_arguments", f"waiting for a position needs row and col within 0 to {state.side - 1}")
    return None


# -- grounding -----------------------------------------------------------------------------------------------------


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
