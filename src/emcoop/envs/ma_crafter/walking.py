"""`navigate`: walk to something that was seen until it is in front, around what moves and what turns up on the way."""

from __future__ import annotations

from emcoop.core.types import Json, Phase
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.ma_crafter.actions import Navigate, failure
from emcoop.envs.ma_crafter.constants import (
    COL,
    FACING,
    MOB_COL,
    MOB_ROW,
    NOOP,
    ROW,
    SIGHT_COL,
    SIGHT_ROW,
    SIGHT_STEP,
)
from emcoop.envs.ma_crafter.navigate import beside, facing_of, in_view, known_obstacles, step_towards
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tasks import Cell, find_mob, is_mob, remembered

PATIENCE = 5
"""Steps that a walk waits for a free path before it fails."""


def navigate(state: CrafterState, agent: int, action: Navigate, progress: Progress) -> Grounding:
    """One step of the walk; see `actions.Navigate`. The memo is where a mob was last seen, and how long it is stuck."""
    memo: dict[str, Json] = dict(progress.memo or {"stuck": 0, "at": -1, "last": None})
    target = _whereabouts(state, agent, action, memo["last"])
    name = _name(action)
    if target is None:
        return Failed(failure("target_gone", f"{name} is no longer there", phase=Phase.EXECUTION, target=name))
    memo["last"] = list(target)
    here = int(state.agents[agent, ROW]), int(state.agents[agent, COL])
    ahead = facing_of(here, target)
    if _arrived(state, agent, action, here, target):
        return Done()
    if progress.steps >= action.timeout:
        text = f"did not reach {name} within {action.timeout} steps"
        return Failed(failure("navigation_timeout", text, steps=action.timeout))
    if ahead is not None and not _enters(state, agent, action, target):
        return Primitive(ahead, {**memo, "stuck": 0, "at": progress.steps})
    goals = [target] if _enters(state, agent, action, target) else beside(target)
    primitive = step_towards(state, agent, goals)
    if primitive > 0:
        return Primitive(primitive, {**memo, "stuck": 0, "at": progress.steps})
    if primitive == 0:
        # Beside the place where it was last seen, and not there: nothing is known of where it went.
        return Failed(failure("target_gone", f"{name} is no longer there", phase=Phase.EXECUTION, target=name))
    if progress.steps > memo["at"]:
        memo = {**memo, "stuck": memo["stuck"] + 1, "at": progress.steps}
    if memo["stuck"] <= PATIENCE:
        return Primitive(NOOP, memo)
    return Failed(failure("no_path", f"there is no free path to {name}", target=name))


def _name(action: Navigate) -> str:
    if action.object_type == "cell":
        return f"({action.row}, {action.col})"
    return f"{action.object_type}_{action.item_id}"


def _whereabouts(state: CrafterState, agent: int, action: Navigate, last: Json) -> Cell | None:
    """Where the agent believes the target to be; None when it sees that it is gone, or knows nothing."""
    kind = action.object_type
    if kind == "cell":
        return None if action.row is None or action.col is None else (action.row, action.col)
    if kind != "agent" and not is_mob(kind):
        return remembered(state, agent, kind, action.item_id)
    now, seen = _sighting(state, agent, action)
    if now is not None:
        return now
    known = seen if seen is not None else (None if last is None else (int(last[0]), int(last[1])))
    return None if known is None or in_view(state, agent, known) else known


def _sighting(state: CrafterState, agent: int, action: Navigate) -> tuple[Cell | None, Cell | None]:
    """(where the agent sees this teammate or mob now, where it last saw this teammate)."""
    if action.object_type == "agent":
        sight = state.sighted[agent, action.item_id]
        cell = int(sight[SIGHT_ROW]), int(sight[SIGHT_COL])
        if cell[0] < 0:
            return None, None
        return (cell, cell) if int(sight[SIGHT_STEP]) == state.step else (None, cell)
    slot = find_mob(state, action.object_type, action.item_id)
    if slot is None:
        return None, None
    cell = int(state.mobs[slot, MOB_ROW]), int(state.mobs[slot, MOB_COL])
    return (cell, None) if in_view(state, agent, cell) else (None, None)


def _enters(state: CrafterState, agent: int, action: Navigate, target: Cell) -> bool:
    """Whether the walk ends on the target and not before it: a cell that is not known to be taken."""
    return action.object_type == "cell" and not known_obstacles(state, agent)[target]


def _arrived(state: CrafterState, agent: int, action: Navigate, here: Cell, target: Cell) -> bool:
    if action.object_type == "cell" and (here == target or _enters(state, agent, action, target)):
        return here == target
    return facing_of(here, target) == int(state.agents[agent, FACING])
