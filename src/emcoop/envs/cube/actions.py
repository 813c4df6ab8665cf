"""The symbolic actions of CUBE (paper, table 4, and the original CUBE), why they fail, and their checks."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from emcoop.core.types import NO_TASK, AgentId, Category, Failure, Json, Phase, Plan, TaskId, agent_index
from emcoop.envs.cube.contact import parse_task, push_direction
from emcoop.envs.cube.state import (
    CubeState,
)
from emcoop.envs.symbolic import Reasons, Symbolic, failed

Direction = Literal["up", "down", "left", "right"]
Side = Literal["left", "right", "up", "down"]
MAX_STEPS = 10
MAX_TIMEOUT = 30
MAX_ACTIONS = 8

PATIENCE = 5
"""Steps that a walk waits for a free path before it fails."""


class Move(Symbolic):
    """Move num_steps cells in a direction (pushing what stands in the way, if the force suffices)."""

    action_type: Literal["move"] = "move"
    direction: Direction
    num_steps: int = Field(ge=1, le=MAX_STEPS)


class Wait(Symbolic):
    """Do nothing for num_steps steps."""

    action_type: Literal["wait"] = "wait"
    num_steps: int = Field(ge=1, le=MAX_STEPS)


class Push(Symbolic):
    """Push the block whose face the agent stands at, for num_steps steps."""

    action_type: Literal["push"] = "push"
    block_id: int = Field(ge=0)
    num_steps: int = Field(ge=1, le=MAX_STEPS)


class MoveToBlock(Symbolic):
    """Walk to a free cell along one face of a block; slot counts from the top or left."""

    action_type: Literal["move_to_block"] = "move_to_block"
    block_id: int = Field(ge=0)
    side: Side
    slot: int | None = Field(default=None, ge=0)


class Rendezvous(Symbolic):
    """Walk to a face of a block and wait there until as many agents stand at it as the block weighs."""

    action_type: Literal["rendezvous"] = "rendezvous"
    block_id: int = Field(ge=0)
    side: Side
    timeout: int = Field(default=15, ge=1, le=MAX_TIMEOUT)


class Yield(Symbolic):
    """Step aside into a free neighbouring cell, if possible one that touches no block."""

    action_type: Literal["yield"] = "yield"


class WaitFor(Symbolic):
    """Wait until a teammate has sent a message, or stands on (row, col); fails after timeout steps."""

    action_type: Literal["wait_for"] = "wait_for"
    agent_id: str
    event: Literal["message", "position"] = "message"
    row: int | None = None
    col: int | None = None
    timeout: int = Field(default=10, ge=1, le=MAX_TIMEOUT)


Action = Annotated[Move | Wait | Push | MoveToBlock | Rendezvous | Yield | WaitFor, Field(discriminator="action_type")]


class CubePlan(Symbolic):
    """A plan: why, which task (block and the face the agents stand at), and the actions in order."""

    reasoning: str = Field(default="", max_length=300)
    task: str = Field(pattern=r"^(none|block_[0-9]{1,4}:(left|right|up|down))$")
    actions: list[Action] = Field(min_length=1, max_length=MAX_ACTIONS)


FAILURES: Reasons = {
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
    return failed(FAILURES, code, message, phase, detail)


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
