"""One seat, two minds: the first decides so many times, then the second takes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, field_validator

from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.agents.null import Part
from emcoop.core.config import StrictModel, load
from emcoop.core.types import Interrupt, Json, Outgoing, Plan
from emcoop.envs.base import Grounding, Progress


class RelayOptions(StrictModel):
    """`first` makes the first `decisions` decisions of the seat (plans, messages and interruptions counted alike),
    `then` all later ones."""

    first: Part
    then: Part
    decisions: int = Field(ge=0)

    @field_validator("first", "then", mode="before")
    @classmethod
    def _bare_name(cls, value: Any) -> Any:
        return {"agent": value} if isinstance(value, str) else value


class Relay:
    """Hands over between decisions; a plan that is under way is carried on by the mind that takes over.

    The full state reaches only a mind that is privileged itself.
    """

    name = "relay"

    def __init__(self, first: Agent, then: Agent, decisions: int) -> None:
        self.minds = (first, then)
        self.decisions = decisions
        self.privileged = first.privileged or then.privileged
        self._made = 0

    @property
    def _mind(self) -> Agent:
        return self.minds[self._made >= self.decisions]

    def _next(self, view: View) -> tuple[Agent, View]:
        mind = self._mind
        self._made += 1
        return mind, view if mind.privileged else replace(view, state=None)

    async def plan(self, view: View) -> Decision[Plan]:
        mind, seen = self._next(view)
        return await mind.plan(seen)

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        mind, seen = self._next(view)
        return await mind.speak(seen)

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        mind, seen = self._next(view)
        return await mind.interrupt(seen)

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._mind.act(state, action, progress)

    def describe(self) -> Mapping[str, Json]:
        first, then = (dict(mind.describe()) for mind in self.minds)
        parts = {"first": first, "then": then, "decisions": self.decisions}
        return {"name": self.name, "privileged": self.privileged, **parts}


def make(seat: Seat) -> Relay:
    """Seat both minds. Raises UnknownName and ConfigError, those of their factories included."""
    options = load(RelayOptions, dict(seat.options), "agent relay")
    return Relay(options.first.take(seat), options.then.take(seat), options.decisions)
