"""The value types that every layer shares, each defined once.

Conventions: simulated time is an integer number of microseconds (`Micros`), so that adding latencies is
exact; an agent is named ``agent_0`` ... ``agent_{n-1}`` and its index is the number in its name; a task is
named by its environment (CUBE: ``block_2:left``). All values are immutable; those that are made at every step are
named tuples, which are made several times faster than dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel

AgentId: TypeAlias = str
TaskId: TypeAlias = str
Micros: TypeAlias = int
Json: TypeAlias = Any
"""A value that JSON can carry: None, bool, int, float, str, lists and string-keyed mappings of these."""

Move: TypeAlias = int | Mapping[str, Json]
"""What one agent does in one step: the index of a primitive, or a mapping ``{"primitive": index, ...}`` that carries
what an index cannot (a list of actions, what was said)."""

SECOND: Micros = 1_000_000


def primitive_of(move: Move) -> int:
    """The index of a move's primitive. Raises ValueError for a mapping without one."""
    if isinstance(move, int):
        return move
    index = move.get("primitive")
    if not isinstance(index, int):
        raise ValueError(f"a move that is a mapping needs an integer under 'primitive', not {index!r}")
    return index


@lru_cache(maxsize=256)
def agent_names(n: int) -> tuple[AgentId, ...]:
    """The names of a team of n, in index order."""
    return tuple(f"agent_{i}" for i in range(n))


@lru_cache(maxsize=4096)
def agent_index(agent: AgentId) -> int:
    """The index in an agent's name."""
    return int(agent.rpartition("_")[2])


class Stage(StrEnum):
    """The stages of MAEIL (paper, section 3 and appendix C)."""

    REASON = "R"
    EXECUTE = "X"
    WAIT = "W"
    INTERRUPT = "I"


class Limit(StrEnum):
    """What ended an episode."""

    SUCCESS = "success"
    FAILURE = "failure"
    HORIZON = "horizon"
    TOKENS = "token_budget"
    MONEY = "money_budget"
    WALL_CLOCK = "wall_clock_budget"
    MODEL = "model_failure"


class Phase(StrEnum):
    """When a failure was found: reading the answer, checking the plan, or while it ran."""

    PRE_CHECK = "PRE_CHECK"
    PLAN_CHECK = "PLAN_CHECK"
    EXECUTION = "EXECUTION"


class Category(StrEnum):
    """What kind of mistake a failure is."""

    FORMAT = "FORMAT"
    WORLD_UNDERSTANDING = "WORLD_UNDERSTANDING"
    COORDINATION = "COORDINATION"
    CAPABILITY = "CAPABILITY"
    NAVIGATION = "NAVIGATION"
    CONTENTION = "CONTENTION"
    TIMEOUT = "TIMEOUT"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a plan or an action failed: the same record goes to the agent, the log and the analysis.

    `code` is a stable snake_case reason (``insufficient_force``); `message` says it to the agent in one
    sentence with the numbers; `detail` carries the numbers for programs.
    """

    phase: Phase
    category: Category
    code: str
    message: str
    detail: Mapping[str, Json] = field(default_factory=dict)


class Constraint(StrEnum):
    """The four kinds of embodied cooperation constraints (paper, equation 5)."""

    SPATIAL = "spatial"
    TEMPORAL = "temporal"
    DEPENDENCY = "dependency"
    PARTICIPATION = "participation"


@dataclass(frozen=True, slots=True)
class TaskConstraints:
    """One task's constraints at one step (paper, equations 6 and 22).

    `required` is p(g). `satisfied[kind]` is the set of agents that satisfy that kind; participation holds the
    agents that satisfy all the other kinds at once. `attempting` is the set of agents that act on the task.
    """

    required: int
    satisfied: Mapping[Constraint, frozenset[AgentId]]
    attempting: frozenset[AgentId] = frozenset()

    def holds(self, kind: Constraint) -> bool:
        """The Boolean predicate of equation 6: at least p(g) agents satisfy this kind."""
        return len(self.satisfied.get(kind, frozenset())) >= self.required


@dataclass(frozen=True, slots=True)
class Score:
    """Outcome so far: `progress` in [0, 1], 1 exactly on success; `detail` is the environment's own."""

    success: bool
    progress: float
    detail: Mapping[str, Json] = field(default_factory=dict)


class Capabilities(NamedTuple):
    """z_{i,t}: what an agent has (`tools`: name -> count), can do (`skills`) and where it is (`position`)."""

    tools: Mapping[str, int]
    skills: frozenset[str]
    position: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """m = (p, R): one utterance. A message to several recipients is one message."""

    id: int
    sender: AgentId
    recipients: tuple[AgentId, ...]
    content: str
    sent_at: Micros
    sent_step: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What an agent wants to say, before the topology admits it."""

    recipients: tuple[AgentId, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A committed symbolic plan (paper, equation 2): its task and its symbolic actions, in order.

    `task` is the environment's task name or ``none``; `actions` are members of the environment's action union.
    `messages` are sent as the plan is committed, in worlds where one decision holds both.
    """

    task: TaskId
    actions: tuple[BaseModel, ...]
    reasoning: str = ""
    messages: tuple[Outgoing, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The form in which the log keeps a plan."""
        said = [{"to": list(message.recipients), "content": message.content} for message in self.messages]
        return {
            "task": self.task,
            "actions": [a.model_dump(mode="json") for a in self.actions],
            "reasoning": self.reasoning,
            **({"messages": said} if said else {}),
        }


NO_TASK: TaskId = "none"


class Choice(StrEnum):
    """The interrupt decision of appendix E."""

    RESUME = "resume"
    REPLAN = "replan"


@dataclass(frozen=True, slots=True)
class Interrupt:
    """An agent's answer to an interruption; `new_plan` may come with REPLAN, else a new plan is asked for."""

    choice: Choice
    new_plan: Plan | None = None
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a decision cost. `cost_usd` is None where no price is known (never zero by assumption).

    `part_usd` is of a sum that has no known price: what the parts cost whose prices are known. It is not logged.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    calls: int = 0
    cost_usd: float | None = 0.0
    part_usd: float = field(default=0.0, metadata={"logged": False})

    @property
    def known_usd(self) -> float:
        """What is known to have been spent; more may have been where `cost_usd` is None."""
        return self.part_usd if self.cost_usd is None else self.cost_usd

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.calls + other.calls,
            self.known_usd + other.known_usd if known else None,
            0.0 if known else self.known_usd + other.known_usd,
        )


class ActionRecord(NamedTuple):
    """One entry of the symbolic action history (paper, H.2.1).

    `status` is ``start``, ``in_progress``, ``end`` or ``failed``; `primitive` the primitive it became at `step`.
    """

    agent: AgentId
    step: int
    action: str
    primitive: str
    status: str
