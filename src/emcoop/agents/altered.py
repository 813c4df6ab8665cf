"""An agent with something done to what it hears, remembers, is told or says; its mind is another agent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from emcoop.agents.base import Agent, Decision, Role, Seat, View
from emcoop.agents.null import Part
from emcoop.agents.reference import COOPERATION
from emcoop.core.config import StrictModel, load
from emcoop.core.seeds import Stream
from emcoop.core.types import (
    AgentId,
    Category,
    Constraint,
    Failure,
    Interrupt,
    Json,
    Outgoing,
    Phase,
    Plan,
    TaskConstraints,
    TaskId,
    agent_index,
)
from emcoop.envs.base import Grounding, Progress

FEEDBACK_TASKS = 4
"""Of so many tasks feedback tells at most, those nearest to being possible first."""


class AlteredOptions(StrictModel):
    """`inner` is the mind.

    `deaf`: messages of others never reach it. `amnesia`: it is shown no memory of its own events (what a mind keeps by
    itself it keeps). `garble`: the probability that a word it says is lost in noise. `lie`: it names the next teammate
    and the next number for every one that it means. `feedback`: the violated constraints F_t of the tasks at hand
    (paper, equation 15): ``own`` shows them with its step feedback, ``spoken`` attaches them to what it says.
    `protocol`: a text added to its role.
    """

    inner: Part
    deaf: bool = False
    amnesia: bool = False
    garble: float = Field(default=0.0, ge=0, le=1)
    lie: bool = False
    feedback: Literal["own", "spoken"] | None = None
    protocol: str | None = None

    @field_validator("inner", mode="before")
    @classmethod
    def _bare_name(cls, value: Any) -> Any:
        return {"agent": value} if isinstance(value, str) else value


class Altered:
    """See `AlteredOptions`. The full state reaches the inner agent only if that is privileged itself."""

    name = "altered"

    def __init__(self, seat: Seat, inner: Agent, options: AlteredOptions) -> None:
        self.inner = inner
        self.privileged = inner.privileged or options.feedback is not None
        self._seat = seat
        self._options = options

    async def plan(self, view: View) -> Decision[Plan]:
        return await self.inner.plan(self._shown(view))

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        decision = await self.inner.speak(self._shown(view))
        said = decision.value
        if said is None:
            return decision
        return replace(decision, value=replace(said, content=self._spoken(said.content, view)))

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        return await self.inner.interrupt(self._shown(view))

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self.inner.act(state, action, progress._replace(heard=()) if self._options.deaf else progress)

    def describe(self) -> Mapping[str, Json]:
        options = self._options.model_dump(mode="json", exclude={"inner"}, exclude_defaults=True)
        inner = dict(self.inner.describe())
        return {"name": self.name, "privileged": self.privileged, "options": options, "inner": inner}

    def _shown(self, view: View) -> View:
        options = self._options
        if options.deaf:
            own = tuple(m for m in view.conversation if m.sender == view.agent)
            memory = tuple(note for note in view.memory if note.kind != "read")
            view = replace(view, unread=(), conversation=own, memory=memory)
        if options.amnesia:
            view = replace(view, memory=())
        if options.protocol:
            view = replace(view, role=Role(view.role.name, f"{view.role.text}\n{options.protocol}"))
        if options.feedback == "own":
            view = replace(view, feedback=(*view.feedback, *self._feedback(view)))
        return view if self.inner.privileged else replace(view, state=None)

    def _spoken(self, content: str, view: View) -> str:
        if self._options.lie:
            content = mislead(content, len(view.team))
        if self._options.garble:
            content = garble(content, self._options.garble, Stream.named(view.seed, "garble"))
        if self._options.feedback == "spoken":
            content = " ".join([content, *(failure.message for failure in self._feedback(view))])
        return content

    def _feedback(self, view: View) -> list[Failure]:
        env = self._seat.env
        still = dict.fromkeys(view.team, 0)
        tasks = env.constraints(view.state, still, frozenset(env.tasks(view.state)))
        return shortfalls(tasks)


def make(seat: Seat) -> Altered:
    """Seat the mind and what is done to it. Raises UnknownName and ConfigError, those of its factory included."""
    options = load(AlteredOptions, dict(seat.options), "agent altered")
    return Altered(seat, options.inner.take(seat), options)


def shortfalls(tasks: Mapping[TaskId, TaskConstraints]) -> list[Failure]:
    """F_t: for each task near to being done what its constraints still lack, as step feedback.

    Spatial and dependency constraints only: nobody acts while feedback is made, so nothing is simultaneous yet.
    """
    kinds = (Constraint.SPATIAL, Constraint.DEPENDENCY)
    missing = {
        task: [kind for kind in kinds if not value.holds(kind)] for task, value in tasks.items() if value.required > 0
    }
    near = sorted(
        (task for task, kinds in missing.items() if kinds),
        key=lambda task: (_lack(tasks[task], Constraint.SPATIAL), len(missing[task]), task),
    )
    return [_failure(task, tasks[task], missing[task]) for task in near[:FEEDBACK_TASKS]]


def _lack(value: TaskConstraints, kind: Constraint) -> int:
    return value.required - len(value.satisfied.get(kind, frozenset()))


def _failure(task: TaskId, value: TaskConstraints, missing: list[Constraint]) -> Failure:
    present = sorted(value.satisfied.get(Constraint.SPATIAL, frozenset()), key=agent_index)
    where = ", ".join(present) or "nobody"
    lacks = "; ".join(f"{kind.value} is short by {_lack(value, kind)}" for kind in missing)
    message = f"{task} needs {value.required} agents at once; in place: {where}; {lacks}."
    detail: dict[str, Json] = {"task": task, "required": value.required, "present": list[AgentId](present)}
    return Failure(Phase.EXECUTION, Category.COORDINATION, COOPERATION, message, detail)


def garble(content: str, share: float, stream: Stream) -> str:
    """The content with each word lost with probability `share`."""
    return " ".join("###" if stream.uniform() < share else word for word in content.split(" "))


def mislead(content: str, team: int) -> str:
    """The content with every agent's name replaced by the next one's and every other number by the next."""

    def next_agent(match: re.Match[str]) -> str:
        return f"agent_{(int(match[1]) + 1) % team}"

    def next_number(match: re.Match[str]) -> str:
        return str(int(match[0]) + 1)

    parts = re.split(r"(agent_\d+)", content)
    told = [
        re.sub(r"agent_(\d+)", next_agent, p) if i % 2 else re.sub(r"\d+", next_number, p) for i, p in enumerate(parts)
    ]
    return "".join(told)
