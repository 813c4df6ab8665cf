"""One agent in the interaction loop: its stage, its active plan, its mail, and its turn as protocols see it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel

from emcoop.agents.base import Agent, Decision, Note, Role, View
from emcoop.core.canonical import to_json
from emcoop.core.seeds import derive
from emcoop.core.types import (
    NO_TASK,
    AgentId,
    Choice,
    Failure,
    Json,
    Message,
    Move,
    Outgoing,
    Plan,
    Stage,
    TaskId,
    Usage,
    agent_index,
)
from emcoop.envs.base import Done, Failed, Primitive, Progress
from emcoop.episode.clock import Until, Work
from emcoop.episode.journal import record_decision
from emcoop.episode.surroundings import Surroundings

T = TypeVar("T")

PLAN_ATTEMPTS = 3
"""How often a rejected plan is asked for again before the fallback (waiting one step) is committed."""

MEMORY_NOTES = 64


class ModelFailed(Exception):
    """An agent's model cannot answer any more; ends the episode."""


@dataclass(slots=True)
class ActivePlan:
    """A committed plan and how far it has come. `executed` counts primitives of the whole plan."""

    id: int
    plan: Plan
    labels: tuple[str, ...]
    index: int = 0
    progress: Progress = field(default_factory=Progress)
    executed: int = 0
    begun: bool = False
    grounded: tuple[Any, Progress, Move] | None = None
    """The state and the progress in which it was grounded last, and the move that came of it."""

    @property
    def action(self) -> BaseModel:
        """The current symbolic action."""
        return self.plan.actions[self.index]

    @property
    def label(self) -> str:
        """The current symbolic action in one line."""
        return self.labels[self.index]

    @property
    def left(self) -> int:
        """How many actions are not finished."""
        return len(self.plan.actions) - self.index


@lru_cache(maxsize=256)
def _has_brief(kind: type[BaseModel]) -> bool:
    """Looked for once: pydantic's types look for what they have not in many places."""
    return hasattr(kind, "brief")


def label(action: BaseModel) -> str:
    """A symbolic action in one line: ``push(block_id=1, steps=3)``, or what the action itself says as its `brief`."""
    if _has_brief(type(action)):
        return str(action.brief())  # type: ignore[attr-defined]
    fields = action.model_dump(mode="json", exclude_none=True)
    name = fields.pop("action_type", type(action).__name__)
    return f"{name}({', '.join(f'{k}={v}' for k, v in fields.items())})"


class SeatState:
    """Implements `topologies.base.Speaker` for the protocols."""

    def __init__(self, table: Surroundings, agent: AgentId, mind: Agent, role: Role) -> None:
        self.table = table
        self.agent = agent
        self.index = agent_index(agent)
        self.mind = mind
        self._instant = bool(getattr(mind, "instant", False))
        self.role = role
        self.stage: Stage | None = None
        self.active: ActivePlan | None = None
        self.busy = False
        self.usage = Usage()
        self._unread: list[Message] = []
        self._conversation: list[Message] = []
        self._memory: deque[Note] = deque(maxlen=MEMORY_NOTES)
        self._noted = 0
        self._feedback: list[Failure] = []
        self._arrived: list[AgentId] = []
        self._heard_from = 0
        self.has_spoken = False
        self.said: list[str] = []
        """What it has said since the last step."""
        self._decisions = 0

    # -- what the loop asks ------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Has an active plan and is not deliberating."""
        return self.active is not None and not self.busy

    @property
    def task(self) -> TaskId:
        """The task of the active plan, or NO_TASK."""
        return self.active.plan.task if self.active else NO_TASK

    def new_step(self) -> None:
        """A new decision step begins: what was said in the last one is past."""
        self._conversation.clear()
        self.said.clear()
        self._arrived.clear()
        self._heard_from = 0

    def begin(self, stage: Stage) -> None:
        """A turn begins: the agent is busy in this stage until it ends."""
        self.busy = True
        self.has_spoken = False
        self.enter(stage)

    def enter(self, stage: Stage) -> None:
        """Change the stage, and say so if it is another one."""
        if stage is not self.stage:
            self.table.record("stage", {"from": self.stage, "to": stage}, self.agent)
            self.stage = stage

    def receive(self, message: Message) -> None:
        """A message has arrived."""
        self._unread.append(message)
        self._arrived.append(message.sender)
        if self.active is not None:
            before = self.active.progress
            self.active.progress = Progress(before.steps, before.memo, (*before.heard, message.sender))

    def unread_from(self, interrupts: Callable[[AgentId], bool]) -> list[int]:
        """The ids of unread messages whose senders may interrupt."""
        return [m.id for m in self._unread if interrupts(m.sender)]

    def next_move(self) -> Move | None:
        """Ground the active plan until it wants a primitive; None when the plan has ended (and says how).

        In one state it is grounded again only when its progress or the agent's mind has changed.
        """
        state = self.table.state
        while (active := self.active) is not None:
            known = active.grounded
            if known is not None and known[0] is state and known[1] is active.progress:
                return known[2]
            if not active.begun:
                active.begun = True
                self._record_action("start", None)
            outcome = self.mind.act(state, active.action, active.progress)
            if isinstance(outcome, Primitive):
                before = active.progress
                if outcome.memo is not before.memo:
                    active.progress = Progress(before.steps, outcome.memo, before.heard)
                active.grounded = state, active.progress, outcome.action
                return outcome.action
            if isinstance(outcome, Done):
                self._record_action("end", None)
                active.index += 1
                active.progress = Progress()
                active.begun = False
                if not active.left:
                    self.end_plan("done")
            elif isinstance(outcome, Failed):
                self._record_action("failed", outcome.failure)
                self.end_plan("failed", outcome.failure)
        return None

    def executed(self) -> None:
        """One primitive of the current action has been executed."""
        active = self.active
        if active is not None:
            active.executed += 1
            before = active.progress
            active.progress = Progress(before.steps + 1, before.memo, before.heard)

    def end_plan(self, outcome: str, failure: Failure | None = None) -> None:
        """The active plan is over: ``done``, ``failed``, ``replaced`` or ``truncated``."""
        active = self.active
        if active is None:
            return
        payload = {"plan_id": active.id, "outcome": outcome, "failure": to_json(failure), "executed": active.executed}
        self.table.record("plan_ended", payload, self.agent)
        self.active = None
        if failure is not None:
            self._feedback.append(failure)
        self.note(outcome, f"plan for {active.plan.task}: {failure.message if failure else outcome}")

    def note(self, kind: str, text: str) -> None:
        """Remember an own event."""
        self._memory.append(Note(self.table.step, kind, text))
        self._noted += 1

    # -- Speaker -----------------------------------------------------------------------------------------------

    @property
    def deliberating(self) -> Sequence[AgentId]:
        return self.table.deliberating

    @property
    def sends_left(self) -> int:
        return self.table.post.sends_left(self.agent)

    async def speak(self, to: Iterable[AgentId]) -> bool:
        reach = self.table.post.reach[self.agent]
        recipients = tuple(agent for agent in to if agent in reach)
        said = False
        if recipients and self.sends_left:
            decision = await self._ask("speak", self.mind.speak, recipients)
            said = decision.value is not None and self._send(decision.value)
        self._heard_from = len(self._arrived)
        self.has_spoken = True
        return said

    async def hear(self, sender: AgentId) -> bool:
        other = self.table.seats[sender]
        post = self.table.post

        def came() -> bool:
            return sender in self._arrived[self._heard_from :]

        def over() -> bool:
            still = other.busy and not other.has_spoken
            return not still and not post.on_the_way[sender, self.agent] and not post.on_the_way[self.agent, sender]

        await Until(lambda: came() or over(), self.table.clock.now + self.table.topology.channel.patience)
        return came()

    async def plan(self) -> None:
        origin = "replan" if self.stage is Stage.INTERRUPT else "new"
        for _ in range(PLAN_ATTEMPTS):
            decision = await self._ask("plan", self.mind.plan, self._reach())
            self._feedback[:] = list(decision.failures)
            if self._commit(decision.value, origin if decision.fallback is None else "fallback"):
                return
        self.table.record("fallback", {"faculty": "plan", "to": "wait", "why": "no plan passed"}, self.agent)
        self._commit(self.table.env.wait_plan(1), "fallback")

    async def decide(self) -> Choice:
        decision = await self._ask("interrupt", self.mind.interrupt, self._reach())
        answer = decision.value
        self._feedback.extend(decision.failures)
        if answer.choice is Choice.RESUME:
            if self.active is None:  # its plan ended while it was thinking about the interruption
                return Choice.REPLAN
            self.table.record("plan_resumed", {"plan_id": self.active.id}, self.agent)
            self.note("resumed", f"went on with the plan for {self.active.plan.task}")
            return Choice.RESUME
        self.end_plan("replaced")
        if answer.new_plan is not None and self._commit(answer.new_plan, "replan"):
            return Choice.RESUME
        return Choice.REPLAN

    def _send(self, wanted: Outgoing) -> bool:
        """Hand a message to the post; False when nothing of it was admitted."""
        message = self.table.post.send(self.agent, wanted, self.table.step)
        if message is None:
            return False
        self.said.append(message.content)
        self._conversation.append(message)
        self.note("sent", f"to {', '.join(message.recipients)}: {message.content}")
        return True

    # -- inside ------------------------------------------------------------------------------------------------

    def _reach(self) -> tuple[AgentId, ...]:
        reach = self.table.post.reach[self.agent]
        return tuple(agent for agent in self.table.env.agents if agent in reach)

    async def _ask(
        self, faculty: str, call: Callable[[View], Coroutine[Any, Any, Decision[T]]], recipients: tuple[AgentId, ...]
    ) -> Decision[T]:
        view = self._view(recipients)
        if view.unread:
            self.table.record("message_read", {"ids": [m.id for m in view.unread]}, self.agent)
            self._conversation.extend(view.unread)
            for message in view.unread:
                self.note("read", f"from {message.sender}: {message.content}")
            self._unread.clear()
        decision = await Work(lambda: call(view), lambda d: self.table.latency(self.agent, d), self._instant)
        self.usage = self.usage + decision.usage
        if self.active is not None:
            self.active.grounded = None
        record_decision(self.table, self.agent, faculty, view, decision)
        self.table.watch(self.table.step)
        if decision.fatal is not None:
            raise ModelFailed(f"{self.agent}: {decision.fatal}")
        return decision

    def _view(self, recipients: tuple[AgentId, ...]) -> View:
        table = self.table
        self._decisions += 1
        return View(
            agent=self.agent,
            team=table.env.agents,
            role=self.role,
            step=table.step,
            now=table.clock.now,
            observation=table.observation(self.agent),
            unread=tuple(self._unread),
            conversation=tuple(self._conversation),
            memory=tuple(self._memory),
            feedback=tuple(self._feedback),
            plan=self.active.plan if self.active else None,
            plan_left=self.active.left if self.active else 0,
            recipients=recipients,
            sends_left=self.sends_left,
            seed=derive(table.seed, self.agent, self._decisions),
            state=table.state if self.mind.privileged else None,
            max_chars=table.topology.channel.max_chars,
            forgotten=self._noted - len(self._memory),
        )

    def _commit(self, plan: Plan, origin: str) -> bool:
        """Check and commit a plan; False when it was rejected or ended before its first primitive."""
        failure = self.table.env.check_plan(self.table.state, self.agent, plan)
        if failure is not None:
            self.table.record("plan_rejected", {"plan": plan.to_json(), "failure": to_json(failure)}, self.agent)
            self._feedback.append(failure)
            self.note("rejected", failure.message)
            return False
        plan_id = self.table.next_plan_id()
        payload: dict[str, Json] = {"plan_id": plan_id, "origin": origin, "plan": plan.to_json()}
        self.table.record("plan_committed", payload, self.agent)
        labels = tuple(label(action) for action in plan.actions)
        self.active = ActivePlan(plan_id, plan, labels)
        self.note("plan", f"{plan.task}: {'; '.join(labels)}")
        for message in plan.messages:
            self._send(message)
        return self.next_move() is not None

    def _record_action(self, status: str, failure: Failure | None) -> None:
        active = self.active
        assert active is not None
        payload: dict[str, Any] = {
            "plan_id": active.id,
            "index": active.index,
            "action": active.label,
            "status": status,
            "failure": to_json(failure),
        }
        self.table.record("action", payload, self.agent)
