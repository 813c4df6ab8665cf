"""Gamma of MA-Crafter: the next primitive of a symbolic action, or how it ended.

Everything is computed from the present state and what the action carries from step to step, and uses only what the
agent knows. Grounding the same step twice gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from emcoop.core.types import AgentId, Failure, Json, Phase, agent_index
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.ma_crafter.actions import (
    Collect,
    Craft,
    Move,
    Navigate,
    Noop,
    Place,
    Share,
    Sleep,
    WaitFor,
    failure,
)
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import (
    ATE,
    BAG_FULL,
    BLOCKED,
    COL,
    COLLECT,
    COLLECTED,
    CRAFTED,
    CRAFTED_IT,
    DEAD,
    DEFEATED,
    DIRECTIONS,
    DO,
    DRANK,
    EDGE,
    ENERGY,
    FACING,
    ITEMS,
    KIND,
    LEADER_LACKS,
    MAKE,
    MATERIALS,
    MOBS,
    MOST,
    MOVED,
    NOBODY_LEADS,
    NOOP,
    PLACE,
    PLACED,
    PLACED_IT,
    RESOURCES,
    ROW,
    SHARED,
    SIGHT_COL,
    SIGHT_ROW,
    SIGHT_STEP,
    SLEEP,
    SLEEPING,
    STRUCK,
    TOO_FEW,
    UNLUCKY,
    UNRIPE,
    share_primitive,
)
from emcoop.envs.ma_crafter.navigate import beside, facing_of
from emcoop.envs.ma_crafter.results import result_failure
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tasks import COLLECT_NAMES, Cell
from emcoop.envs.ma_crafter.walking import navigate

FIGHT_STEPS = 15
"""Steps in which a cow is brought down, or a zombie or skeleton fought."""


def ground(state: CrafterState, level: Level, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
    """The next primitive of this action, or how it ended. Raises TypeError for what is no action of MA-Crafter."""
    try:
        grounding = _GROUNDINGS[type(action)]
    except KeyError:
        raise TypeError(f"{type(action).__name__} is no symbolic action of MA-Crafter") from None
    me = agent_index(agent)
    hindrance = None if isinstance(action, Noop | WaitFor) else hindered(state, me, action)
    return grounding(state, level, me, action, progress) if hindrance is None else Failed(hindrance)


def hindered(state: CrafterState, agent: int, action: BaseModel) -> Failure | None:
    """Why the agent can do nothing but wait: it is dead or sleeps."""
    if state.agents[agent, DEAD]:
        return failure("dead", f"agent_{agent} is dead", phase=Phase.EXECUTION)
    if not isinstance(action, Sleep) and state.agents[agent, SLEEPING] and state.inventory[agent, ENERGY] < MOST:
        return failure("asleep", f"agent_{agent} sleeps until its energy is full; plan sleep() until then")
    return None


def _result(state: CrafterState, agent: int) -> int:
    return int(state.result[agent, 0])


def position(state: CrafterState, agent: int) -> Cell:
    """The agent's cell."""
    return int(state.agents[agent, ROW]), int(state.agents[agent, COL])


def _noop(state: CrafterState, level: Level, agent: int, action: Noop, progress: Progress) -> Grounding:
    return Primitive(NOOP) if progress.steps < action.num_steps else Done()


def _move(state: CrafterState, level: Level, agent: int, action: Move, progress: Progress) -> Grounding:
    memo: dict[str, Json] = dict(progress.memo or {"done": 0, "at": 0})
    if progress.steps > memo["at"]:
        memo = {"done": memo["done"] + (_result(state, agent) == MOVED), "at": progress.steps}
    hopeless = progress.steps > 0 and _result(state, agent) in (EDGE, BLOCKED)
    if progress.steps < action.num_steps and not hopeless:
        return Primitive(DIRECTIONS.index(action.direction), memo)
    if memo["done"] == action.num_steps:
        return Done()
    text = f"moved {memo['done']} of {action.num_steps} cells {action.direction}"
    if _result(state, agent) == MOVED:
        return Failed(failure("occupied", f"{text}: somebody was in the way", moved=memo["done"]))
    return Failed(result_failure(state, agent, text))


def _collect(state: CrafterState, level: Level, agent: int, action: Collect, progress: Progress) -> Grounding:
    if action.target not in COLLECT_NAMES:
        return _fight(state, agent, action, progress)
    resource = RESOURCES.index(COLLECT_NAMES[action.target])
    primitive, result = Primitive(COLLECT + resource), _result(state, agent)
    if progress.steps == 0:
        return primitive
    if result in (COLLECTED, DRANK, ATE):
        return Done()
    limit = max(action.timeout, FIGHT_STEPS) if action.target == "cow" else action.timeout
    if progress.steps < limit and result in (TOO_FEW, UNLUCKY, UNRIPE, STRUCK):
        return primitive
    if result == STRUCK:
        return Failed(failure("out_of_time", f"the {action.target} did not fall in {limit} steps", steps=limit))
    return Failed(result_failure(state, agent, f"collecting {action.target}"))


def _fight(state: CrafterState, agent: int, action: Collect, progress: Progress) -> Grounding:
    """Turn to a zombie or skeleton beside the agent and strike it until it falls."""
    if progress.steps > 0 and _result(state, agent) == DEFEATED:
        return Done()
    limit = max(action.timeout, FIGHT_STEPS)
    if progress.steps >= limit:
        return Failed(failure("out_of_time", f"the {action.target} did not fall in {limit} steps", steps=limit))
    here, kind = position(state, agent), MOBS.index(action.target)
    foes = [cell for cell in beside(here) if _mob_kind(state, cell) == kind]
    directions = [facing_of(here, cell) for cell in foes]
    if int(state.agents[agent, FACING]) in directions:
        return Primitive(DO)
    if directions and directions[0] is not None:
        return Primitive(directions[0])
    return Failed(failure("nothing_in_reach", f"there is no {action.target} beside you"))


def _mob_kind(state: CrafterState, cell: Cell) -> int:
    """The kind of the mob in a cell, 0 for none."""
    rows, cols = state.shape
    if not (0 <= cell[0] < rows and 0 <= cell[1] < cols):
        return 0
    body = int(state.occupant[cell])
    return int(state.mobs[-body - 1, KIND]) if body < 0 else 0


def _craft(state: CrafterState, level: Level, agent: int, action: Craft, progress: Progress) -> Grounding:
    memo: dict[str, Json] = dict(progress.memo or {"turned": False, "tried": 0, "at": 0})
    result = _result(state, agent)
    if memo["tried"] and progress.steps > 0 and result == CRAFTED_IT:
        return Done()
    patient = result in (TOO_FEW, NOBODY_LEADS, LEADER_LACKS)
    if memo["tried"] and progress.steps > memo["at"] and (not patient or memo["tried"] >= action.timeout):
        return Failed(result_failure(state, agent, f"crafting {action.item}"))
    # Asked twice in one step, it must answer twice the same.
    turns = not memo["turned"] or (memo["at"] == progress.steps and not memo["tried"])
    turn = _turn_to_station(state, level, agent, action.item) if turns else None
    if turn is not None:
        return Primitive(turn, {**memo, "turned": True, "at": progress.steps})
    if progress.steps > memo["at"] or not memo["tried"]:
        memo = {"turned": True, "tried": memo["tried"] + 1, "at": progress.steps}
    return Primitive(MAKE + CRAFTED.index(action.item), memo)


def _turn_to_station(state: CrafterState, level: Level, agent: int, item: str) -> int | None:
    """The primitive that turns the agent to a station of this recipe beside it; None if it faces one or has none."""
    here = position(state, agent)
    stations = {MATERIALS.index(name) for name in level.recipe(item).near}
    rows, cols = state.shape
    there = [
        facing_of(here, cell)
        for cell in beside(here)
        if 0 <= cell[0] < rows and 0 <= cell[1] < cols and int(state.material[cell]) in stations
    ]
    return None if not there or int(state.agents[agent, FACING]) in there else there[0]


def _sleep(state: CrafterState, level: Level, agent: int, action: Sleep, progress: Progress) -> Grounding:
    rested = int(state.inventory[agent, ENERGY]) >= MOST
    if state.agents[agent, SLEEPING]:
        return Done() if rested else Primitive(SLEEP)
    if progress.steps == 0:
        return Failed(failure("already_rested", "your energy is full")) if rested else Primitive(SLEEP)
    return Done() if rested else Failed(failure("hurt_while_asleep", "something woke you before you were rested"))


def _place(state: CrafterState, level: Level, agent: int, action: Place, progress: Progress) -> Grounding:
    if progress.steps == 0:
        return Primitive(PLACE + PLACED.index(action.item))
    if _result(state, agent) == PLACED_IT:
        return Done()
    return Failed(result_failure(state, agent, f"placing {action.item}"))


def _share(state: CrafterState, level: Level, agent: int, action: Share, progress: Progress) -> Grounding:
    if progress.steps == 0:
        recipient, item = agent_index(action.recipient_agent_id), ITEMS.index(action.resource_type)
        return Primitive(share_primitive(recipient, item, action.quantity))
    result = _result(state, agent)
    if result == SHARED:
        return Done()
    text = f"sharing {action.quantity} {action.resource_type} with {action.recipient_agent_id}"
    return Failed(result_failure(state, agent, text, code="recipient_bag_full" if result == BAG_FULL else None))


def _navigate(state: CrafterState, level: Level, agent: int, action: Navigate, progress: Progress) -> Grounding:
    return navigate(state, agent, action, progress)


def _wait_for(state: CrafterState, level: Level, agent: int, action: WaitFor, progress: Progress) -> Grounding:
    if action.event == "message":
        met = action.agent_id in progress.heard
    else:
        sight = state.sighted[agent, agent_index(action.agent_id)]
        now = int(sight[SIGHT_STEP]) == state.step
        met = now and (int(sight[SIGHT_ROW]), int(sight[SIGHT_COL])) == (action.row, action.col)
    if met:
        return Done()
    if progress.steps >= action.timeout:
        wanted = "a message" if action.event == "message" else f"arrival at ({action.row}, {action.col})"
        text = f"waited {action.timeout} steps for {wanted} of {action.agent_id}"
        return Failed(failure("wait_timeout", text, steps=action.timeout))
    return Primitive(NOOP)


_GROUNDINGS: dict[type[BaseModel], Callable[[CrafterState, Level, int, Any, Progress], Grounding]] = {
    Noop: _noop,
    Move: _move,
    Collect: _collect,
    Craft: _craft,
    Sleep: _sleep,
    Place: _place,
    Share: _share,
    Navigate: _navigate,
    WaitFor: _wait_for,
}
