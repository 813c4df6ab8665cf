"""The contract of an agent: it decides from an immutable view, and touches nothing else.

An agent is called through four faculties: `plan`, `speak`, `interrupt` and `act`. The first three may take real
time (a model call, a human); the loop lets simulated time pass for them by the declared latency of what they
return. Because a faculty sees only its `View`, the order in which real answers arrive cannot matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from emcoop.core.types import (
    AgentId,
    Failure,
    Interrupt,
    Json,
    Message,
    Micros,
    Outgoing,
    Plan,
    Usage,
)
from emcoop.envs.base import AnyEnvironment, Grounding, Progress
from emcoop.models.base import Call, Model

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Role:
    """A topology's role: its name and the text that tells the agent what it means."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of an agent's memory of its own events: plans, outcomes, messages sent and read."""

    step: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """Everything an agent may use to decide.

    `recipients` are the teammates it may address now and `sends_left` how many more messages it may send in this
    decision step. `unread` are the messages delivered and not read before; `conversation` those it has read or sent
    in this decision step. `plan` is its active plan (None when it needs one) and `plan_left` how many of its
    actions remain. `seed` is a fresh random seed for this one decision. `state` is the full world state, given
    only to agents that declare `privileged`. `max_chars` is the longest message that the channel takes. `forgotten`
    counts the notes that were made before those in `memory` and are kept no more.
    """

    agent: AgentId
    team: tuple[AgentId, ...]
    role: Role
    step: int
    now: Micros
    observation: BaseModel
    unread: tuple[Message, ...]
    conversation: tuple[Message, ...]
    memory: tuple[Note, ...]
    feedback: tuple[Failure, ...]
    plan: Plan | None
    plan_left: int
    recipients: tuple[AgentId, ...]
    sends_left: int
    seed: int
    state: Any = None
    max_chars: int = 4000
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """What a faculty returned and what it cost.

    `failures` are PRE_CHECK failures met on the way; `fallback` names the declared fallback that `value` is, when
    no usable answer came; `measured_s` is real time, kept outside the log's digest. `fatal` marks that the model
    cannot answer any more, which may end the episode.
    """

    value: T
    usage: Usage = field(default_factory=Usage)
    calls: tuple[Call, ...] = ()
    failures: tuple[Failure, ...] = ()
    fallback: str | None = None
    measured_s: float = 0.0
    fatal: str | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """Where an agent sits: what a factory needs to make one. `models` has every model of the seat by its name."""

    agent: AgentId
    env: AnyEnvironment
    seed: int
    model: Model | None = None
    options: Mapping[str, Json] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)


class Agent(Protocol):
    """See the module. One whose faculties await nothing real may say so with ``instant = True``; it is asked faster."""

    name: str
    privileged: bool

    async def plan(self, view: View) -> Decision[Plan]:
        """The next plan. Null: wait."""
        ...

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        """One message, or None for silence. Null: silence."""
        ...

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        """What to do about `view.unread` while `view.plan` is active. Null: resume."""
        ...

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        """The grounding of the plan's current action; usually the environment's. Null: noop."""
        ...

    def describe(self) -> Mapping[str, Json]:
        """Name and options for the log."""
        ...
