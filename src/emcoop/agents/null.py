"""The null of each faculty, and agents put together from the faculties of others.

Nulls are fixed, so that a difference to them means the same in every study: plan: wait one step; speak: silence;
interrupt: resume; act: noop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, field_validator

from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.core.canonical import canonical_json
from emcoop.core.config import StrictModel, load, nearest
from emcoop.core.errors import ConfigError
from emcoop.core.types import Choice, Interrupt, Json, Outgoing, Plan
from emcoop.envs.base import Done, Grounding, Primitive, Progress


class NullAgent:
    """Every faculty is its null."""

    name = "null"
    privileged = False
    instant = True

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def plan(self, view: View) -> Decision[Plan]:
        return Decision(self._seat.env.wait_plan(1))

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        return Decision(None)

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        return Decision(Interrupt(Choice.RESUME))

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        """One noop for each symbolic action, so that a plan of another faculty ends and the next one follows."""
        return Done() if progress.steps else Primitive(0)

    def describe(self) -> Mapping[str, Json]:
        return {"name": self.name, "privileged": False, "options": {}}


class Composite:
    """Takes each faculty from a given agent, so that any subset of a seat's faculties can be swapped.

    The full state reaches only those parts that are privileged themselves.
    """

    name = "composite"

    def __init__(self, *, plan: Agent, speak: Agent, interrupt: Agent, act: Agent) -> None:
        self.parts: Mapping[str, Agent] = {"plan": plan, "speak": speak, "interrupt": interrupt, "act": act}
        self.privileged = any(part.privileged for part in self.parts.values())

    def _seen(self, faculty: str, view: View) -> View:
        return view if self.parts[faculty].privileged else replace(view, state=None)

    async def plan(self, view: View) -> Decision[Plan]:
        decision = await self.parts["plan"].plan(self._seen("plan", view))
        if self.parts["speak"] is self.parts["plan"] or not decision.value.messages:
            return decision
        return replace(decision, value=replace(decision.value, messages=()))  # speech belongs to the other faculty

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        return await self.parts["speak"].speak(self._seen("speak", view))

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        return await self.parts["interrupt"].interrupt(self._seen("interrupt", view))

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self.parts["act"].act(state, action, progress)

    def describe(self) -> Mapping[str, Json]:
        parts = {faculty: dict(part.describe()) for faculty, part in self.parts.items()}
        return {"name": self.name, "privileged": self.privileged, "parts": parts}


class Part(StrictModel):
    """One agent by its registered name, with its options. A bare name stands for itself.

    `model` is one of the seat's models; without it, an agent that needs one gets the seat's own.
    """

    agent: str
    options: dict[str, Any] = {}
    model: str | None = None

    def take(self, seat: Seat) -> Agent:
        """Make the agent in this seat. Raises UnknownName and ConfigError."""
        model = seat.model
        if self.model is not None:
            if self.model not in seat.models:
                known = nearest(self.model, seat.models)
                raise ConfigError(f"{seat.agent}: model {self.model!r} is not among the seat's models; {known}")
            model = seat.models[self.model]
        made: Agent = AGENTS.get(self.agent)(replace(seat, options=self.options, model=model))
        return made


class CompositeOptions(StrictModel):
    """Who gives each faculty; `base` gives those that are not named."""

    base: Part = Part(agent="null")
    plan: Part | None = None
    speak: Part | None = None
    interrupt: Part | None = None
    act: Part | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _bare_name(cls, value: Any) -> Any:
        return {"agent": value} if isinstance(value, str) else value


class NoOptions(StrictModel):
    """An agent without options."""


def make_null(seat: Seat) -> NullAgent:
    """An agent all of whose faculties are null. Raises ConfigError for any option."""
    load(NoOptions, dict(seat.options), "agent null")
    return NullAgent(seat)


def make_composite(seat: Seat) -> Composite:
    """An agent of parts; faculties given by the same agent with the same options share one mind.

    Raises UnknownName and ConfigError, those of the parts' factories included.
    """
    options = load(CompositeOptions, dict(seat.options), "agent composite")
    made: dict[bytes, Agent] = {}

    def part(faculty: Literal["plan", "speak", "interrupt", "act"]) -> Agent:
        spec: Part = getattr(options, faculty) or options.base
        key = canonical_json(spec)
        if key not in made:
            made[key] = spec.take(seat)
        return made[key]

    return Composite(plan=part("plan"), speak=part("speak"), interrupt=part("interrupt"), act=part("act"))
