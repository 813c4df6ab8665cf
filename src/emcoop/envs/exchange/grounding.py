"""Gamma: the grounding of the exchange's symbolic actions. A turn is one move; out of turn, an action waits."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from emcoop.core.types import Phase
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.exchange.actions import (
    Broadcast,
    Message,
    Pass,
    Request,
    Send,
    Submit,
    Turn,
    as_json,
    failure,
    in_words,
)
from emcoop.envs.exchange.generator import Spec, turn_order
from emcoop.envs.exchange.state import ExchangeState

PASS, TURN, ASK, ANSWER, SUBMIT = range(5)
"""Indices of primitives; SUBMIT is the first of one for each open task."""


def primitives(spec: Spec) -> tuple[str, ...]:
    """The names of the primitives: ``turn`` carries a list of actions, the others stand for themselves."""
    return ("pass", "turn", "ask", "answer", *(f"submit_{slot}" for slot in range(spec.open_tasks)))


def mover(state: ExchangeState) -> int:
    """Whose turn it is."""
    agents = len(state.desks)
    return turn_order(state.seed, state.turn // agents, agents)[state.turn % agents]


def ground(state: ExchangeState, agent: int, action: BaseModel, progress: Progress, spec: Spec) -> Grounding:
    """The next move of this action, or how it ended. Raises TypeError for what is no action of the exchange."""
    if isinstance(action, Pass):
        return Primitive(PASS) if progress.steps < action.num_steps else Done()
    if not isinstance(action, Message | Request | Send | Broadcast | Submit | Turn):
        raise TypeError(f"{type(action).__name__} is no symbolic action of the exchange")
    plain: Sequence[BaseModel] = action.actions if isinstance(action, Turn) else (action,)
    acted_at = None if progress.memo is None else progress.memo["acted_at"]
    if acted_at is not None and progress.steps > acted_at:
        return _outcome(state, agent, plain, spec)
    if mover(state) != agent:
        return Primitive(PASS, {"acted_at": None})
    thought = action.thought if isinstance(action, Turn) else ""
    move = {"primitive": TURN, "actions": as_json(plain), "thought": thought, "said": []}
    return Primitive(move, {"acted_at": progress.steps})


def _outcome(state: ExchangeState, agent: int, plain: Sequence[BaseModel], spec: Spec) -> Grounding:
    """Failed if every action was refused, with the reason of the first."""
    desk = state.desks[agent]
    if desk.worked or not desk.refused:
        return Done()
    place, code = desk.refused[0]
    detail = {"refused": [list(pair) for pair in desk.refused], "most": spec.most_actions}
    return Failed(failure(code, in_words(plain[place]), phase=Phase.EXECUTION, **detail))
