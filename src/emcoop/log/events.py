"""What a log is made of: the event, the row of an episode, and the catalogue of event kinds.

The catalogue states every kind's payload as a strict model. It is the source of the tables in docs/log.md and of
`validate`; writing does not go through it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from emcoop.core.config import nearest
from emcoop.core.types import AgentId, Category, Json, Limit, Micros, Phase, Stage, TaskId


class Status(StrEnum):
    """Where an episode stands. Only a writer turns ``running`` into ``interrupted``: see docs/log.md."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `seq` counts from 0 in its episode, `cog_time` is microseconds of simulated time, `env_step` the
    number of environment steps completed by then (kappa of the time; paper, section 5.1); `agent` is None for
    events of the whole team."""

    seq: int
    cog_time: Micros
    env_step: int
    agent: AgentId | None
    kind: str
    payload: Mapping[str, Json] = field(hash=False)


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One episode of a log. `cell` names the set-up (its content), `setup` is the set-up itself; `outcome` and
    `digest` are None until the episode is finished or failed."""

    id: int
    cell: str
    seed: int
    status: Status
    setup: Mapping[str, Json] = field(hash=False)
    outcome: Mapping[str, Json] | None = field(hash=False)
    digest: str | None


# -- the catalogue ---------------------------------------------------------------------------------------------------


class Payload(BaseModel):
    """Base of all payloads: unknown fields and values of another type are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _field(description: str, **more: Any) -> Any:
    return Field(description=description, **more)


class UsageFields(Payload):
    """What a decision, a call or an episode used."""

    input_tokens: int = _field("tokens read")
    output_tokens: int = _field("tokens written")
    cached_tokens: int = _field("of the tokens read, those the provider had cached")
    calls: int = _field("model calls")
    cost_usd: float | None = _field("price in US dollars, null where no price is known")


class FailureFields(Payload):
    """Why a plan or an action failed."""

    phase: Phase = _field("when it was found")
    category: Category = _field("what kind of mistake it is")
    code: str = _field("stable reason in snake_case")
    message: str = _field("the sentence the agent is told")
    detail: dict[str, Any] = _field("the numbers in it, for programs")


class SpokenFields(Payload):
    """A message as an agent wants to send it."""

    to: list[str] = _field("to whom")
    content: str = _field("its text")


class PlanFields(Payload):
    """A symbolic plan."""

    task: TaskId = _field("the task it serves, `none` for no task")
    actions: list[dict[str, Any]] = _field("the symbolic actions, in order")
    reasoning: str = _field("the agent's reason")
    messages: list[SpokenFields] = _field("what is sent with it; left out when nothing is", default_factory=list)


class FaultFields(Payload):
    """One attempt of a model call that failed, or one thing given up to get an answer."""

    kind: str = _field("`rate_limit`, `server`, `timeout`, `connection`, `truncated`, `refused` and the like")
    attempt: int = _field("which attempt, from 1")
    status: int | None = _field("HTTP status, if there was one")
    message: str = _field("what the provider said")
    waited_s: float = _field("seconds waited before the next attempt")


class CallFacts(Payload):
    """The host facts beside a `model_call`: they differ from run to run, so the digest does not cover them."""

    latency_s: float | None = _field("real seconds until the answer, retries included, or null when none came")
    waited_s: float = _field("of these, seconds waited between attempts")
    cached: bool = _field("whether the answer came from emcoop's cache")
    faults: list[FaultFields] = _field("the attempts that failed before")


class TurnFields(Payload):
    """One turn of a prompt."""

    role: str = _field("`system`, `user` or `assistant`")
    content: str = _field("blob of the text")


class ScoreFields(Payload):
    """How well the team did."""

    success: bool = _field("whether the goal was reached")
    progress: float = _field("from 0 to 1; 1 exactly on success")
    detail: dict[str, Any] = _field("the environment's own figures")


class TaskFields(Payload):
    """One task's constraints at one step (paper, equations 6 and 22)."""

    required: int = _field("p(g), how many agents the task needs")
    spatial: list[AgentId] = _field("agents that satisfy its spatial constraint")
    temporal: list[AgentId] = _field("agents that satisfy its temporal constraint")
    dependency: list[AgentId] = _field("agents that satisfy its dependency constraint")
    participation: list[AgentId] = _field("agents that satisfy the other three at once")
    attempting: list[AgentId] = _field("agents whose primitive acts on the task")


class EpisodeStart(Payload):
    """The first event: the set-up and the world before the first step."""

    emcoop: str = _field("version of emcoop that wrote the log")
    setup: dict[str, Any] = _field("the cell as configured")
    env: dict[str, Any] = _field(
        "name, version, level, horizon, parameters and primitives of the environment; `by_turns` in worlds of turns"
    )
    topology: dict[str, Any] = _field("name, edges and channel")
    team: list[dict[str, Any]] = _field("one entry per agent in index order: `agent` and what it says of itself")
    seed: int = _field("the seed of the episode")
    latency: dict[str, Any] = _field("the latency model")
    limits: dict[str, Any] = _field("the budgets beside the environment's horizon")
    warnings: list[str] = _field("what is doubtful about the set-up")
    impossible: str | None = _field("why no team can succeed in it, or null")
    state: str = _field("SHA-256 of the snapshot")
    snapshot: str = _field("blob of the world's state at step 0")


class StageChange(Payload):
    """An agent enters another stage (paper, section 3): R reason, X execute, W wait, I interrupted."""

    from_: Stage | None = _field("the stage it leaves, null at the start", alias="from")
    to: Stage = _field("the stage it enters")


class DecisionMade(Payload):
    """An agent has decided; written at the simulated time at which the decision is there."""

    faculty: Literal["plan", "speak", "interrupt"] = _field("which faculty was asked")
    view: str = _field("blob of the observation, as canonical JSON")
    usage: UsageFields = _field("what the decision used")
    latency_us: int = _field("simulated microseconds from asking to deciding")
    fallback: str | None = _field("why something simpler decided instead, or null")
    failures: list[FailureFields] = _field("mistakes found in the answers on the way")
    calls: int = _field("how many model calls it took")


class ModelCall(Payload):
    """One model call of a decision; comes before its `decision`."""

    faculty: Literal["plan", "speak", "interrupt"] = _field("which faculty asked")
    schema_: str = _field("name of the schema the answer should obey", alias="schema")
    model: str | None = _field("the model that answered, null when none did")
    prompt: list[TurnFields] = _field("the turns of the prompt")
    answer: str | None = _field("blob of the answer's text, null when none came")
    finish_reason: str | None = _field("`stop`, `length` or the provider's word")
    usage: UsageFields | None = _field("what the call used")
    error: str | None = _field("why the answer could not be used, or null")


class MessageSent(Payload):
    """A message was admitted; `agent` is its sender."""

    id: int = _field("number of the message in the episode, from 1")
    to: list[AgentId] = _field("its recipients in index order")
    content: str = _field("its text")
    price: float = _field("what sending it cost, in US dollars")


class MessageDelivered(Payload):
    """A message has arrived; `agent` is the receiver."""

    id: int = _field("the message")
    from_: AgentId = _field("its sender", alias="from")


class MessageRead(Payload):
    """An agent takes unread messages into a decision; `agent` is the reader."""

    ids: list[int] = _field("the messages, in the order of arrival")


class MessageLost(Payload):
    """The channel lost a message on its way; `agent` is the sender."""

    id: int = _field("the message")
    to: AgentId = _field("the recipient it does not reach")


class MessageRefused(Payload):
    """A rule or a budget refused a message; `agent` is the one whose rule or budget it is."""

    id: int | None = _field("the message, null when it was never admitted")
    reason: Literal["not_connected", "send_budget", "receive_budget", "unknown_recipient", "too_long", "empty"] = (
        _field("the rule or budget")
    )
    to: list[str] = _field("the recipients concerned, as the agent named them")
    content: str = _field("its text, cut to the channel's limit")


class PlanCommitted(Payload):
    """A plan passed the checks and is the agent's active plan."""

    plan_id: int = _field("number of the plan in the episode, from 1")
    origin: Literal["new", "replan", "fallback"] = _field(
        "fresh, after an interruption, or in place of a usable answer"
    )
    plan: PlanFields = _field("the plan")


class PlanRejected(Payload):
    """A check refused a plan before it was committed."""

    plan: PlanFields = _field("the plan")
    failure: FailureFields = _field("why")


class PlanInterrupted(Payload):
    """Messages interrupt an agent that has an active plan."""

    plan_id: int = _field("the active plan")
    messages: list[int] = _field("the messages that interrupt")


class PlanResumed(Payload):
    """The interrupted agent goes on with its plan (RESUME)."""

    plan_id: int = _field("the plan")


class PlanEnded(Payload):
    """An active plan is over."""

    plan_id: int = _field("the plan")
    outcome: Literal["done", "failed", "replaced", "truncated"] = _field(
        "`replaced` at an interruption, `truncated` by the end of the episode"
    )
    failure: FailureFields | None = _field("why it failed, or null")
    executed: int = _field("how many primitives of it were executed")


class Fallback(Payload):
    """No plan passed the checks in the attempts allowed; a waiting plan is committed instead."""

    faculty: str = _field("the faculty that gave up")
    to: str = _field("what is done instead")
    why: str = _field("why")


class ActionChange(Payload):
    """A symbolic action of the active plan begins, ends or fails."""

    plan_id: int = _field("the plan")
    index: int = _field("which action of the plan, from 0")
    action: str = _field("the action in one line")
    status: Literal["start", "end", "failed"] = _field("what happened to it")
    failure: FailureFields | None = _field("why it failed, or null")


class JointStep(Payload):
    """One environment step; its time is the step's completion, its `env_step` the number of it, from 1."""

    actions: dict[AgentId, int | dict[str, Any]] = _field(
        "index of each agent's primitive, or an object with it under `primitive` and what the world needs beside it"
    )
    labels: dict[AgentId, str] = _field("the symbolic action it belongs to")
    rewards: dict[AgentId, float] = _field("the environment's rewards")
    state: str = _field("SHA-256 of the snapshot after the step")
    snapshot: str | None = _field("blob of the world's state after the step, null when it is not kept")
    events: list[dict[str, Any]] = _field("what happened in the world, in the environment's words")
    tasks: dict[TaskId, TaskFields] = _field("the active tasks and who satisfies their constraints (equation 9)")
    named: dict[AgentId, TaskId] = _field("the task of each agent's active plan, `none` for no task")
    gains: dict[AgentId, list[str]] = _field("tools and skills gained in this step")
    invalid: list[AgentId] = _field("agents whose primitive had no effect", default_factory=list)


class EpisodeEnd(Payload):
    """The last event of an episode that came to its end."""

    limit: Limit = _field("what ended it")
    score: ScoreFields = _field("the score in the last state")
    steps: int = _field("T, the number of steps executed")
    usage: UsageFields = _field("what the team used in all, messages included")
    message: str | None = _field("more about the end, or null")


CATALOGUE: Mapping[str, type[Payload]] = {
    "episode_start": EpisodeStart,
    "stage": StageChange,
    "decision": DecisionMade,
    "model_call": ModelCall,
    "message_sent": MessageSent,
    "message_delivered": MessageDelivered,
    "message_read": MessageRead,
    "message_lost": MessageLost,
    "message_refused": MessageRefused,
    "plan_committed": PlanCommitted,
    "plan_rejected": PlanRejected,
    "plan_interrupted": PlanInterrupted,
    "plan_resumed": PlanResumed,
    "plan_ended": PlanEnded,
    "fallback": Fallback,
    "action": ActionChange,
    "step": JointStep,
    "episode_end": EpisodeEnd,
}
"""Every kind of event and the model of its payload, in the order of docs/log.md."""

TEAM_KINDS = frozenset({"episode_start", "step", "episode_end"})
"""The kinds that belong to no single agent."""


def validate(event: Event) -> list[str]:
    """What is wrong with an event by the catalogue, one line per mistake; nothing for a well-formed one."""
    model = CATALOGUE.get(event.kind)
    if model is None:
        return [f"event {event.seq}: unknown kind {event.kind!r}; {nearest(event.kind, CATALOGUE)}"]
    wrong = []
    if (event.agent is None) != (event.kind in TEAM_KINDS):
        what = "names no agent" if event.agent is None else "must not name an agent"
        wrong.append(f"event {event.seq} ({event.kind}): {what}")
    text = json.dumps(event.payload, ensure_ascii=False).encode("utf-8", "replace")
    try:
        model.model_validate_json(text, strict=True)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            where = ".".join(str(part) for part in item["loc"]) or "payload"
            wrong.append(f"event {event.seq} ({event.kind}): {where}: {item['msg']}")
    return wrong
