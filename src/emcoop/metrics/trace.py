"""The trace of one episode: what metrics need, gathered from its events in one pass and without any blob.

An agent's control state is a sequence of stages (paper, section 3); `StageInterval` is one of them with its
bounds on the cognitive clock. `StepFacts` is the part of the aligned per-step log (paper, equation 9) that can
be counted. Times are microseconds of simulated time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from emcoop.core.errors import CorruptLog
from emcoop.core.types import NO_TASK, AgentId, Constraint, Json, Micros, Stage, TaskId, Usage


class Event(Protocol):
    """What metrics read of one event of the log; every store's event type fits."""

    @property
    def cog_time(self) -> Micros: ...

    @property
    def agent(self) -> AgentId | None: ...

    @property
    def kind(self) -> str: ...

    @property
    def payload(self) -> Mapping[str, Json]: ...


@dataclass(frozen=True, slots=True)
class StageInterval:
    """One stay in a stage: [start, end) on the cognitive clock; `before` is the stage it was entered from."""

    stage: Stage
    before: Stage | None
    start: Micros
    end: Micros


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """A committed plan. `outcome` is ``done``, ``failed``, ``replaced``, ``truncated``, or None if never ended."""

    plan_id: Json
    agent: AgentId
    origin: str
    task: TaskId
    outcome: str | None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """A message that was sent: its sender and how many recipients it names."""

    sender: AgentId
    recipients: int
    time: Micros


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """One task at one step: p(g), how many agents satisfy each kind of constraint, how many attempt the task."""

    required: int
    satisfied: Mapping[Constraint, int]
    attempting: int


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One environment step.

    `named` maps each active agent to the task of its plan (``none`` for no task), `tasks` the active tasks to their
    counts; `gains` is the number of capability gains, `actions` that of primitives, `invalid` of those without effect.
    """

    time: Micros
    named: Mapping[AgentId, TaskId]
    tasks: Mapping[TaskId, TaskCounts]
    gains: int
    actions: int
    invalid: int


@dataclass(frozen=True)
class Trace:
    """One episode. `team` is in index order, every mapping keyed by agent has each of them once.

    `end` is the time of the last event. `usage` is the episode's total (without an end: of what is logged).
    `fallbacks` counts decisions that a declared fallback stood in for, `decisions` all of them. `limit`, `success`
    and `progress` are None when the episode has no end (a run that was killed).
    """

    team: tuple[AgentId, ...]
    start: Mapping[str, Json]
    stages: Mapping[AgentId, tuple[StageInterval, ...]]
    plans: tuple[PlanFacts, ...]
    messages: tuple[MessageFacts, ...]
    steps: tuple[StepFacts, ...]
    end: Micros
    interruptions: int
    resumptions: int
    rejections: int
    refused: int
    lost: int
    decisions: int
    fallbacks: int
    usage: Usage
    limit: str | None
    success: bool | None
    progress: float | None

    @property
    def by_turns(self) -> bool:
        """Whether a step of the world is a turn of one agent."""
        return (self.start.get("env") or {}).get("by_turns") is True

    @property
    def finished(self) -> bool:
        """Whether the episode has an end."""
        return self.limit is not None

    @classmethod
    def build(cls, events: Iterable[Event]) -> Trace:
        """The trace of one episode's events, in the order of the log.

        Kinds nobody here knows are passed over. Raises CorruptLog when ``episode_start`` is not the first event
        or a payload has not the form that the log's schema gives it.
        """
        builder = _Builder()
        for event in events:
            builder.add(event)
        return builder.finish()


@dataclass
class _Builder:
    """The state of the one pass."""

    start: Mapping[str, Json] | None = None
    now: Micros = 0
    open: dict[AgentId, tuple[Stage, Stage | None, Micros]] = field(default_factory=dict)
    stages: dict[AgentId, list[StageInterval]] = field(default_factory=dict)
    plans: dict[tuple[AgentId, Any], PlanFacts] = field(default_factory=dict)
    messages: list[MessageFacts] = field(default_factory=list)
    steps: list[StepFacts] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    fallback: dict[AgentId, bool] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    total: Usage | None = None
    limit: str | None = None
    success: bool | None = None
    progress: float | None = None

    def add(self, event: Event) -> None:
        if self.start is None and event.kind != "episode_start":
            raise CorruptLog(f"the episode begins with a {event.kind} event, not with episode_start")
        self.now = event.cog_time
        handler = getattr(self, f"_on_{event.kind}", None)
        if event.kind in _COUNTED:
            self._count(event.kind)
        elif handler is not None:
            try:
                handler(event, event.payload)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                why = f"{type(error).__name__}: {error}"
                raise CorruptLog(
                    f"the {event.kind} event at {event.cog_time} us has a broken payload: {why}"
                ) from error

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def _on_episode_start(self, event: Event, payload: Mapping[str, Json]) -> None:
        if self.start is not None:
            raise CorruptLog("the episode has a second episode_start event")
        self.start = payload
        self.stages = {member["agent"]: [] for member in payload["team"]}

    def _on_stage(self, event: Event, payload: Mapping[str, Json]) -> None:
        agent = self._agent(event)
        self._close(agent)
        before = payload["from"]
        self.open[agent] = (Stage(payload["to"]), None if before is None else Stage(before), event.cog_time)

    def _agent(self, event: Event) -> AgentId:
        if event.agent is None or event.agent not in self.stages:
            raise CorruptLog(f"a {event.kind} event at {event.cog_time} us names {event.agent}, not a team member")
        return event.agent

    def _close(self, agent: AgentId) -> None:
        if agent in self.open:
            stage, before, since = self.open.pop(agent)
            self.stages[agent].append(StageInterval(stage, before, since, self.now))

    def _on_decision(self, event: Event, payload: Mapping[str, Json]) -> None:
        agent = self._agent(event)
        self._count("decisions")
        self.fallback[agent] = payload.get("fallback") is not None
        if self.fallback[agent]:
            self._count("fallbacks")
        self.spent += _usage(payload.get("usage") or {})

    def _on_fallback(self, event: Event, payload: Mapping[str, Json]) -> None:
        """The loop stood in for the agent's last decision; one that stood in for itself counts once."""
        agent = self._agent(event)
        if not self.fallback.get(agent, True):
            self._count("fallbacks")
            self.fallback[agent] = True

    def _on_message_sent(self, event: Event, payload: Mapping[str, Json]) -> None:
        self.spent += Usage(cost_usd=payload.get("price", 0.0))
        self.messages.append(MessageFacts(self._agent(event), len(payload["to"]), event.cog_time))

    def _on_plan_committed(self, event: Event, payload: Mapping[str, Json]) -> None:
        agent = self._agent(event)
        task = (payload.get("plan") or {}).get("task", NO_TASK)
        self.plans[agent, payload["plan_id"]] = PlanFacts(payload["plan_id"], agent, payload["origin"], task, None)

    def _on_plan_ended(self, event: Event, payload: Mapping[str, Json]) -> None:
        plan = self.plans.get((self._agent(event), payload["plan_id"]))
        if plan is not None:
            ended = PlanFacts(plan.plan_id, plan.agent, plan.origin, plan.task, payload["outcome"])
            self.plans[plan.agent, plan.plan_id] = ended

    def _on_step(self, event: Event, payload: Mapping[str, Json]) -> None:
        facts = StepFacts(
            time=event.cog_time,
            named=dict(payload.get("named") or {}),
            tasks={task: _task_counts(value) for task, value in (payload.get("tasks") or {}).items()},
            gains=sum(len(names) for names in (payload.get("gains") or {}).values()),
            actions=len(payload.get("actions") or {}),
            invalid=len(payload.get("invalid") or ()),
        )
        self.steps.append(facts)

    def _on_episode_end(self, event: Event, payload: Mapping[str, Json]) -> None:
        score = payload["score"]
        self.limit = str(payload["limit"])
        self.success = bool(score["success"])
        self.progress = float(score["progress"])
        self.total = _usage(payload["usage"]) if payload.get("usage") is not None else None

    def finish(self) -> Trace:
        if self.start is None:
            raise CorruptLog("the episode has no events; its metrics cannot be computed")
        for agent in list(self.open):
            self._close(agent)
        return Trace(
            team=tuple(self.stages),
            start=self.start,
            stages={agent: tuple(intervals) for agent, intervals in self.stages.items()},
            plans=tuple(self.plans.values()),
            messages=tuple(self.messages),
            steps=tuple(self.steps),
            end=self.now,
            interruptions=self.counts.get("plan_interrupted", 0),
            resumptions=self.counts.get("plan_resumed", 0),
            rejections=self.counts.get("plan_rejected", 0),
            refused=self.counts.get("message_refused", 0),
            lost=self.counts.get("message_lost", 0),
            decisions=self.counts.get("decisions", 0),
            fallbacks=self.counts.get("fallbacks", 0),
            usage=self.spent if self.total is None else self.total,
            limit=self.limit,
            success=self.success,
            progress=self.progress,
        )


_COUNTED = frozenset({"plan_interrupted", "plan_resumed", "plan_rejected", "message_refused", "message_lost"})

KINDS = (
    "episode_start",
    "stage",
    "decision",
    "fallback",
    "message_sent",
    "plan_committed",
    "plan_ended",
    "step",
    "episode_end",
    *sorted(_COUNTED),
)
"""The kinds of events that a trace is made of; a reader may leave out all others of a finished episode."""


def _usage(value: Mapping[str, Json]) -> Usage:
    return Usage(
        input_tokens=value.get("input_tokens", 0),
        output_tokens=value.get("output_tokens", 0),
        cached_tokens=value.get("cached_tokens", 0),
        calls=value.get("calls", 0),
        cost_usd=value.get("cost_usd", 0.0),
    )


def _task_counts(value: Mapping[str, Json]) -> TaskCounts:
    return TaskCounts(
        required=value["required"],
        satisfied={kind: len(value.get(kind.value) or ()) for kind in Constraint},
        attempting=len(value.get("attempting") or ()),
    )
