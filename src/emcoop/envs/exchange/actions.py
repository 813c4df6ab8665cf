"""The symbolic actions of the exchange, the plan that a model answers with, and the checks before the start.

One decision is a list of actions, carried out in order within one turn: `Turn`. Words go out as messages with the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from emcoop.core.types import NO_TASK, Category, Failure, Json, Outgoing, Phase, Plan
from emcoop.envs.exchange.generator import TOP_VALUE, Spec
from emcoop.envs.exchange.rules import REASONS, request_text
from emcoop.envs.exchange.state import ABSENT, ExchangeState
from emcoop.envs.exchange.work import agent_number
from emcoop.envs.symbolic import Reasons, Symbolic, failed

LONGEST_LIST = 5000
"""A list of more actions is not read at all; how many are carried out is `most_actions`."""

MAX_STEPS = 10_000

BRIEF = 12


class Message(Symbolic):
    """Write a text to one agent."""

    action_type: Literal["message"] = "message"
    to: str
    text: str


class Request(Symbolic):
    """Ask one agent for a piece."""

    action_type: Literal["request"] = "request"
    to: str
    piece: int = Field(ge=0)


class Send(Symbolic):
    """Send a copy of a piece that you hold, with the value that you state."""

    action_type: Literal["send"] = "send"
    to: str
    piece: int = Field(ge=0)
    value: int = Field(ge=0, le=TOP_VALUE)


class Broadcast(Symbolic):
    """Write a text to everybody."""

    action_type: Literal["broadcast"] = "broadcast"
    text: str


class Submit(Symbolic):
    """Submit one of your tasks by its number."""

    action_type: Literal["submit"] = "submit"
    number: int = Field(ge=0)


class Pass(Symbolic):
    """Do nothing for num_steps turns of whomever."""

    action_type: Literal["pass"] = "pass"
    num_steps: int = Field(default=1, ge=1, le=MAX_STEPS)


Plain = Annotated[Message | Request | Send | Broadcast | Submit | Pass, Field(discriminator="action_type")]


class Turn(Symbolic):
    """A whole turn: these actions, in order, and what the agent thinks for itself."""

    action_type: Literal["turn"] = "turn"
    actions: tuple[Plain, ...] = ()
    thought: str = ""

    def brief(self) -> str:
        """The turn in one line, its first actions only."""
        told = "; ".join(in_words(action) for action in self.actions[:BRIEF])
        left = len(self.actions) - BRIEF
        return f"turn: {told}" + (f"; and {left} more" if left > 0 else "")


Action = Annotated[
    Message | Request | Send | Broadcast | Submit | Pass | SkipJsonSchema[Turn], Field(discriminator="action_type")
]
"""Models and people write the plain ones; `parse_plan` packs them into a `Turn`."""


class ExchangePlan(Symbolic):
    """A plan: private thoughts, the task that it serves (or none), and the actions in order."""

    reasoning: str = Field(default="", max_length=300)
    task: str = Field(default=NO_TASK, pattern=r"^(none|agent_[0-9]{1,6}:task_[0-9]{1,6})$")
    actions: list[Action] = Field(min_length=1, max_length=LONGEST_LIST)


def pack(task: str, actions: Sequence[BaseModel], reasoning: str, spec: Spec) -> Plan:
    """The actions as one turn, with the messages that go out with it; a lone pass stays what it is."""
    if len(actions) == 1 and isinstance(actions[0], Pass | Turn):
        turn = actions[0]
        inner = turn.actions if isinstance(turn, Turn) else ()
        return Plan(task, (turn,), reasoning, messages(inner, spec))
    plain = tuple(a for action in actions for a in (action.actions if isinstance(action, Turn) else (action,)))
    turn = Turn.model_construct(action_type="turn", actions=plain, thought=reasoning)
    return Plan(task, (turn,), reasoning, messages(plain, spec))


def messages(actions: Sequence[BaseModel], spec: Spec) -> tuple[Outgoing, ...]:
    """What these actions say, in order; of those that are carried out."""
    everybody = tuple(f"agent_{i}" for i in range(spec.agents))
    found = []
    for action in actions[: spec.most_actions]:
        if isinstance(action, Message):
            found.append(Outgoing((action.to,), action.text))
        elif isinstance(action, Request):
            found.append(Outgoing((action.to,), request_text(action.piece)))
        elif isinstance(action, Broadcast):
            found.append(Outgoing(everybody, action.text))
    return tuple(found)


FAILURES: Reasons = {
    "malformed": (Phase.PRE_CHECK, Category.FORMAT),
    "not_your_turn": (Phase.EXECUTION, Category.COORDINATION),
    "too_many_actions": (Phase.EXECUTION, Category.FORMAT),
    "over_bandwidth": (Phase.EXECUTION, Category.CAPABILITY),
    "not_sent": (Phase.EXECUTION, Category.CAPABILITY),
    "empty_message": (Phase.PRE_CHECK, Category.FORMAT),
    "unknown_agent": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "to_oneself": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "unknown_piece": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "unknown_task": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "value_out_of_range": (Phase.PRE_CHECK, Category.FORMAT),
    "not_held": (Phase.PLAN_CHECK, Category.CAPABILITY),
    "already_held": (Phase.PLAN_CHECK, Category.WORLD_UNDERSTANDING),
    "repeated": (Phase.EXECUTION, Category.COORDINATION),
    "already_submitted": (Phase.PLAN_CHECK, Category.WORLD_UNDERSTANDING),
    "incomplete": (Phase.EXECUTION, Category.COORDINATION),
}
"""The phase and the category of every reason in `rules.REASONS`."""


def failure(code: str, what: str, *, phase: Phase | None = None, **detail: Json) -> Failure:
    """The failure of this code; `what` is the action in words."""
    reason = REASONS[code].format(most=detail.get("most", ""))
    return failed(FAILURES, code, f"{what}: {reason}", phase, detail)


def check_plan(state: ExchangeState, agent: int, plan: Plan, spec: Spec) -> Failure | None:
    """Why nothing of this plan can work, or None.

    A plan with one good action passes: its bad ones are refused one by one as it is carried out, and cost nothing.
    """
    found = _check_task(state, plan.task)
    if found is not None or not plan.actions:
        return found or failure("malformed", "a plan needs at least one action")
    plain = [a for action in plan.actions for a in (action.actions if isinstance(action, Turn) else (action,))]
    first: Failure | None = None
    for action in plain:
        code = _why_not(state, agent, action, spec)
        if code is None:
            return None
        first = first or failure(code, in_words(action), **action.model_dump(mode="json"))
    return first


def _check_task(state: ExchangeState, task: str) -> Failure | None:
    if task == NO_TASK:
        return None
    owner, _, number = task[:60].partition(":task_")
    index = agent_number(owner, len(state.desks))
    if index is None or not (number.isascii() and number.isdecimal()):
        return failure("unknown_task", f"{task[:60]!r} (a task is named like agent_0:task_3)", task=task[:60])
    desk = state.desks[index]
    if int(number) not in [n for n, _ in desk.tasks]:
        code = "already_submitted" if int(number) < desk.dealt else "unknown_task"
        return failure(code, task[:60], task=task[:60])
    return None


def _why_not(state: ExchangeState, agent: int, action: BaseModel, spec: Spec) -> str | None:
    """The code of what the agent could have known to be in the way of this action."""
    if isinstance(action, Message | Request | Send):
        to = agent_number(action.to, spec.agents)
        if to is None or to == agent:
            return "unknown_agent" if to is None else "to_oneself"
    if isinstance(action, Message | Broadcast) and not action.text.strip():
        return "empty_message"
    if isinstance(action, Request | Send):
        if action.piece >= spec.pieces:
            return "unknown_piece"
        held = state.held[agent][action.piece] != ABSENT
        if isinstance(action, Send) and not held:
            return "not_held"
        if isinstance(action, Request) and held:
            return "already_held"
    if isinstance(action, Submit):
        desk = state.desks[agent]
        if action.number not in [number for number, _ in desk.tasks]:
            return "already_submitted" if action.number < desk.dealt else "unknown_task"
    return None


def in_words(action: BaseModel) -> str:
    """An action in one short line."""
    if isinstance(action, Send):
        return f"send({action.piece}={action.value} to {action.to[:20]})"
    fields = action.model_dump(mode="json", exclude={"action_type"})
    name = str(getattr(action, "action_type", type(action).__name__))
    return f"{name}({', '.join(f'{k}={str(v)[:60]}' for k, v in fields.items())})"


def as_json(actions: Sequence[BaseModel]) -> list[dict[str, Json]]:
    """The form in which a move carries actions."""
    return [dict(action.__dict__) for action in actions]
