"""The contract of an environment: pure functions over a state that is a value (paper, section 4).

Two layers. The primitive layer is a Dec-POMDP with integer actions: `reset`, `step`. The symbolic layer is what
language agents plan in: a schema of symbolic actions, their grounding into one primitive per step (the paper's
Gamma), observations as data and as text, tasks and their cooperation constraints.

Nothing here mutates a state it is given. The random stream is part of the state, so a restored state has the
same future.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.core.types import (
    ActionRecord,
    AgentId,
    Capabilities,
    Failure,
    Json,
    Move,
    Plan,
    Score,
    TaskConstraints,
    TaskId,
    primitive_of,
)

S = TypeVar("S")


class Transition(NamedTuple, Generic[S]):
    """The result of one joint step.

    `rewards` has every agent; `terminated` means the task is over (`score` says how), `truncated` the horizon;
    `events` are the environment's own facts ({"kind": "delivered", ...}), in a deterministic order; a primitive that
    had no effect is one of kind ``blocked``, with its ``agent`` and a ``code``.
    """

    state: S
    rewards: Mapping[AgentId, float]
    terminated: bool
    truncated: bool
    events: tuple[Mapping[str, Json], ...] = ()


class Progress(NamedTuple):
    """How far a symbolic action has come when it is grounded.

    `steps` primitives of it have been executed; `memo` is what the action carries from step to step (JSON, given
    back as the last `Primitive` returned it, None at first); `heard` are the senders of messages that reached
    the agent since the action began.
    """

    steps: int = 0
    memo: Json = None
    heard: tuple[AgentId, ...] = ()


class Primitive(NamedTuple):
    """The action goes on: execute this move next, and carry `memo`."""

    action: Move
    memo: Json = None


@dataclass(frozen=True, slots=True)
class Done:
    """The action has ended well; the next one of the plan is grounded in the same step."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The action has failed; the plan ends with it."""

    failure: Failure


Grounding = Primitive | Done | Failed


class Environment(Protocol[S]):
    """See the module. Indices follow `agents`; every mapping keyed by agent has each of them once."""

    name: str
    version: str
    agents: tuple[AgentId, ...]
    level: str
    horizon: int
    primitives: tuple[str, ...]
    """Names of the primitive actions; index 0 is the noop."""
    plan_schema: type[BaseModel]
    """What a model answers with: task, actions, reasoning (paper, appendix E)."""
    prompt_variants: tuple[str, ...]
    warnings: tuple[str, ...]
    """What the user must know before the start, e.g. a requirement above the team's size."""
    impossible: str | None
    """Why no team of this size could ever succeed here, or None; such episodes are counted apart."""
    hears: bool
    """Whether words are deeds here: the move of an agent that has spoken since the last step is then a mapping that
    lists what it said under ``said``."""

    def parameters(self) -> Mapping[str, Json]:
        """Everything that, with the seed, determines the world; goes into the log's first event."""
        ...

    def reset(self, seed: int) -> S:
        """The initial state: a function of the parameters and the seed alone, in any process."""
        ...

    def step(self, state: S, actions: Mapping[AgentId, Move]) -> Transition[S]:
        """One joint step. Every agent must act; raises ValueError for a missing agent or unknown primitive.

        Every integer below the number of primitives is a legal move, in every state.
        """
        ...

    def acting(self, state: S) -> tuple[AgentId, ...]:
        """Who decides at this step: everybody, or, where a step is a turn, whose turn it is.

        Who does not act and has no plan is not asked, and its move is 0.
        """
        ...

    def parse_plan(self, answer: BaseModel) -> Plan:
        """An instance of `plan_schema` as a `Plan` with the task's name."""
        ...

    def allowed(self, observation: BaseModel) -> Mapping[str, Sequence[Json]]:
        """The values that exist now for fields of a plan, by field name (CUBE: the blocks that are left).

        Guides models whose answers are constrained; `check_plan` judges all the same.
        """
        ...

    def wait_plan(self, steps: int = 1) -> Plan:
        """The null plan: do nothing for some steps."""
        ...

    def check_plan(self, state: S, agent: AgentId, plan: Plan) -> Failure | None:
        """Why this plan cannot work from here (PRE_CHECK for names that do not exist, else PLAN_CHECK), or None."""
        ...

    def ground(self, state: S, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
        """Gamma (paper, equations 4 and 8): the next primitive of this symbolic action, or how it ended."""
        ...

    def observe(self, state: S, agent: AgentId, history: Sequence[ActionRecord] = ()) -> BaseModel:
        """What the agent may know now, as data. Nothing else leaks."""
        ...

    def describe(self, observation: BaseModel) -> str:
        """The observation as compact text for a prompt: what changes from step to step."""
        ...

    def rules(self, variant: str) -> str:
        """The rules of the world as text for a prompt: what never changes in an episode."""
        ...

    def array(self, state: S, agent: AgentId) -> NDArray[np.float32]:
        """The observation as an array for reinforcement learning."""
        ...

    def tasks(self, state: S) -> tuple[TaskId, ...]:
        """Every open task."""
        ...

    def constraints(
        self, state: S, actions: Mapping[AgentId, Move], named: frozenset[TaskId] = frozenset()
    ) -> Mapping[TaskId, TaskConstraints]:
        """The active tasks G_t and their constraints under this joint action taken in this state.

        Sparse: tasks near an agent, attempted, or in `named` (by an active plan) and open. A task that is not
        listed has no satisfying agent.
        """
        ...

    def score(self, state: S) -> Score:
        """Success and progress so far."""
        ...

    def capabilities(self, state: S, agent: AgentId) -> Capabilities:
        """z_{i,t}."""
        ...

    def snapshot(self, state: S) -> bytes:
        """The whole state, as canonical bytes: equal states, equal bytes."""
        ...

    def restore(self, data: bytes) -> S:
        """The inverse of `snapshot`. Raises ValueError for bytes that are no snapshot of this environment."""
        ...

    def render(self, state: S) -> str:
        """The state as one SVG frame."""
        ...


AnyEnvironment = Environment[Any]


@dataclass(frozen=True, slots=True)
class FullView:
    """How one agent alone knows all that it could ever be told in a world: solo with full information.

    `options` go to the world's factory. With `made_for_one` the world is made for one agent, else it is the team's own,
    in which the others stand and do nothing.
    """

    made_for_one: bool
    options: Mapping[str, Json]


@runtime_checkable
class HasFullView(Protocol):
    """An environment that says what full information is in it; what has none cannot have the arm `alone:full`."""

    def full_view(self) -> FullView:
        """What `FullView` says. That one agent can reach the goal there is checked apart, by `impossible`."""
        ...


class ByTurns(Protocol):
    """An environment in which a step is a turn of one agent, and what is said is most of what happens.

    Measures that compare what several agents do at one step do not apply to it (plan coherence).
    """

    dialogue_notes: int
    """So many of an agent's own notes tell it the dialogue so far; what agents remember unless they are set up
    otherwise."""
    turn_actions: int | None
    """So many actions a plan for a turn has at most, for models whose answers are constrained; None: any number."""


def by_turns(env: object) -> TypeGuard[ByTurns]:
    """Whether the environment is `ByTurns`; asked for every episode and seat, and much faster than `isinstance`."""
    return hasattr(env, "dialogue_notes") and hasattr(env, "turn_actions")


def chosen_primitives(actions: Mapping[AgentId, Move], agents: Sequence[AgentId], primitives: int) -> list[int]:
    """The primitive of each agent, in order. Raises ValueError for a missing agent or an unknown primitive."""
    try:
        chosen = [primitive_of(actions[agent]) for agent in agents]
    except KeyError as error:
        raise ValueError(f"every agent must act; no action of {error.args[0]}") from None
    for agent, action in zip(agents, chosen, strict=True):
        if not 0 <= action < primitives:
            raise ValueError(f"{agent}: no primitive {action!r}; there are 0 to {primitives - 1}")
    return chosen
