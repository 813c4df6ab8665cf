"""Why a plan cannot work from here: names that do not exist, what the agent has not seen, what its team cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from emcoop.core.types import NO_TASK, AgentId, Failure, Phase, Plan, TaskId, agent_index, agent_names
from emcoop.envs.ma_crafter.actions import Collect, Craft, Navigate, Noop, Share, Sleep, WaitFor, failure
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import (
    DEAD,
    ENERGY,
    MATERIALS,
    MOB_COL,
    MOB_ROW,
    MOST,
    NEXT_ID,
    QUANTITIES,
    SIGHT_ROW,
    SLEEPING,
    WALKABLE,
)
from emcoop.envs.ma_crafter.navigate import in_view
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tasks import (
    COLLECT_NAMES,
    PURPOSES,
    Cell,
    cell_of,
    find_mob,
    is_mob,
    known_to_team,
    mob_kind,
    parse,
    remembered,
)


def check_plan(state: CrafterState, level: Level, agent: AgentId, plan: Plan) -> Failure | None:
    """Why this plan cannot work from here, or None."""
    me = agent_index(agent)
    found = check_task(state, me, plan.task)
    if found is None and not plan.actions:
        found = failure("bad_arguments", "a plan needs at least one action")
    if found is None:
        found = _check_awake(state, me, plan)
    for action in plan.actions:
        if found is not None:
            return found
        check = _CHECKS.get(type(action))
        found = None if check is None else check(state, level, me, action)
    return found


def _check_awake(state: CrafterState, agent: int, plan: Plan) -> Failure | None:
    """The dead can only wait; who sleeps can only wait or sleep on before anything else."""
    first = plan.actions[0]
    if state.agents[agent, DEAD]:
        waits = all(isinstance(action, Noop | WaitFor) for action in plan.actions)
        return None if waits else failure("dead", f"agent_{agent} is dead; all it can do is noop")
    sleeps = state.agents[agent, SLEEPING] and state.inventory[agent, ENERGY] < MOST
    if not sleeps or isinstance(first, Noop | WaitFor | Sleep):
        return None
    text = f"agent_{agent} sleeps until its energy is full; begin the plan with sleep()"
    return failure("asleep", text, phase=Phase.PLAN_CHECK)


def check_task(state: CrafterState, agent: int, task: TaskId) -> Failure | None:
    """Why this agent cannot work on this task, or None.

    A task named after a thing need not have been seen by the agent itself: a teammate may have told it. What the agent
    sees, or knows to be gone, it is held to.
    """
    if task == NO_TASK or task in PURPOSES:
        return None
    parsed = parse(task)
    if parsed is None:
        text = f"{task[:60]!r} is no task; a task is named like tree_3, make_wood_pickaxe, place_table or none"
        return failure("unknown_task", text, task=task[:60])
    kind, number = parsed
    known = 1 <= number < int(state.clock[NEXT_ID])
    cell = cell_of(state, number)
    if known and cell is not None and not is_mob(kind):
        return _check_landmark(state, agent, kind, task, cell)
    if known and cell is None and is_mob(kind) and mob_kind(state, number) in (None, kind):
        return None
    return failure("unknown_target", f"nobody has seen {task}", target=task)


def _check_landmark(state: CrafterState, agent: int, kind: str, task: TaskId, cell: Cell) -> Failure | None:
    mine = MATERIALS[int(state.seen[agent][cell])]
    if mine == kind or (not in_view(state, agent, cell) and known_to_team(state, cell, kind)):
        return None
    if MATERIALS.index(mine) in WALKABLE:
        return failure("target_gone", f"{task} is no longer there", target=task)
    return failure("unknown_target", f"nobody has seen {task}", target=task)


def _check_navigate(state: CrafterState, level: Level, agent: int, action: Navigate) -> Failure | None:
    if action.object_type == "cell":
        return check_cell(state, action.row, action.col, "walking to a cell")
    if action.object_type == "agent":
        return _check_mate_seen(state, agent, action.item_id)
    kind, number = action.object_type, action.item_id
    name = f"{kind}_{number}"
    if is_mob(kind):
        slot = find_mob(state, kind, number)
        if slot is not None and in_view(state, agent, (int(state.mobs[slot, MOB_ROW]), int(state.mobs[slot, MOB_COL]))):
            return None
        return failure("unknown_target", f"you see no {name}", target=name)
    if remembered(state, agent, kind, number) is not None:
        return None
    cell = cell_of(state, number)
    if cell is not None and state.seen[agent][cell] in WALKABLE:
        return failure("target_gone", f"{name} is no longer there", target=name)
    return failure("unknown_target", f"you have not seen {name}; only what you have seen can be walked to", target=name)


def _check_mate_seen(state: CrafterState, agent: int, mate: int) -> Failure | None:
    if mate >= state.team or mate == agent:
        return _unknown_agent(state, agent, f"agent_{mate}")
    if state.sighted[agent, mate, SIGHT_ROW] < 0:
        return failure("teammate_not_seen", f"you have not seen agent_{mate} yet", mate=mate)
    return None


def _unknown_agent(state: CrafterState, agent: int, name: str) -> Failure:
    others = ", ".join(other for i, other in enumerate(agent_names(state.team)) if i != agent) or "nobody else"
    return failure("unknown_agent", f"{name[:40]!r} is no teammate of yours; there is {others}")


def check_cell(state: CrafterState, row: int | None, col: int | None, purpose: str) -> Failure | None:
    """Why these are no coordinates of the map, or None."""
    rows, cols = state.shape
    if row is None or col is None or not (0 <= row < rows and 0 <= col < cols):
        return failure("bad_arguments", f"{purpose} needs row within 0 to {rows - 1} and col within 0 to {cols - 1}")
    return None


def _check_collect(state: CrafterState, level: Level, agent: int, action: Collect) -> Failure | None:
    resource = COLLECT_NAMES.get(action.target)
    need = 1 if resource is None else level.required(resource)
    if need > state.team:
        text = f"{action.target} takes {need} agents, more than the team of {state.team}"
        return failure("too_few_in_team", text, need=need, have=state.team)
    return None


def _check_craft(state: CrafterState, level: Level, agent: int, action: Craft) -> Failure | None:
    need = level.recipe(action.item).required_agents
    if need > state.team:
        text = f"crafting a {action.item} takes {need} agents, more than the team of {state.team}"
        return failure("too_few_in_team", text, need=need, have=state.team)
    return None


def _check_share(state: CrafterState, level: Level, agent: int, action: Share) -> Failure | None:
    names = agent_names(state.team)
    if action.recipient_agent_id == names[agent]:
        return failure("share_with_oneself", "you cannot share with yourself")
    if action.recipient_agent_id not in names:
        return _unknown_agent(state, agent, action.recipient_agent_id)
    if action.quantity > QUANTITIES:
        return failure("bad_arguments", f"nobody can carry {action.quantity} of anything; at most {QUANTITIES}")
    return None


def _check_wait_for(state: CrafterState, level: Level, agent: int, action: WaitFor) -> Failure | None:
    names = agent_names(state.team)
    if action.agent_id not in names or action.agent_id == names[agent]:
        return _unknown_agent(state, agent, action.agent_id)
    if action.event == "position":
        return check_cell(state, action.row, action.col, "waiting for a position")
    return None


_CHECKS: dict[type[BaseModel], Callable[[CrafterState, Level, int, Any], Failure | None]] = {
    Navigate: _check_navigate,
    Collect: _check_collect,
    Craft: _check_craft,
    Share: _check_share,
    WaitFor: _check_wait_for,
}
