"""One seat, two minds: the first plays until so many messages have been exchanged, then the second takes over.

For worlds in which a step is the turn of one speaker: the turns of all speakers count, and who says nothing in its turn
has sent an empty message. (`relay` counts the decisions of its own seat instead.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle, islice
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.agents.null import Part
from emcoop.core.config import StrictModel, load
from emcoop.core.types import Interrupt, Json, Outgoing, Plan
from emcoop.envs.base import Grounding, Progress

CANNED = (
    "Thank you for working on this with me. Let us be careful and patient, think before we speak, listen to each "
    "other, and settle every part of this together."
)
"""What a canned opener says, over and over, as many words as the words it replaces."""


class OpeningOptions(StrictModel):
    """`first` plays until `messages` have been exchanged, `then` after that.

    `words`: ``own``, or ``canned``: what `first` says is replaced by as many words that say nothing of the task.
    """

    first: Part
    then: Part
    messages: int = Field(ge=0)
    words: Literal["own", "canned"] = "own"

    @field_validator("first", "then", mode="before")
    @classmethod
    def _bare_name(cls, value: Any) -> Any:
        return {"agent": value} if isinstance(value, str) else value


def canned(text: str) -> str:
    """The canned words, as many as the text has."""
    return " ".join(islice(cycle(CANNED.split()), max(1, len(text.split()))))


class Opening:
    """Hands over once, between decisions. The full state reaches only a mind that is privileged itself."""

    name = "opening"

    def __init__(self, first: Agent, then: Agent, options: OpeningOptions) -> None:
        self.minds = (first, then)
        self.privileged = first.privileged or then.privileged
        self._options = options
        self._over = options.messages == 0

    def _next(self, view: View) -> tuple[Agent, View]:
        self._over = view.step >= self._options.messages
        mind = self.minds[self._over]
        return mind, view if mind.privileged else replace(view, state=None)

    async def plan(self, view: View) -> Decision[Plan]:
        mind, seen = self._next(view)
        decision = await mind.plan(seen)
        said = tuple(self._spoken(message) for message in decision.value.messages)
        return replace(decision, value=replace(decision.value, messages=said))

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        mind, seen = self._next(view)
        decision = await mind.speak(seen)
        return decision if decision.value is None else replace(decision, value=self._spoken(decision.value))

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        mind, seen = self._next(view)
        return await mind.interrupt(seen)

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self.minds[self._over].act(state, action, progress)

    def describe(self) -> Mapping[str, Json]:
        first, then = (dict(mind.describe()) for mind in self.minds)
        rest: dict[str, Json] = {"messages": self._options.messages, "words": self._options.words}
        return {"name": self.name, "privileged": self.privileged, "first": first, "then": then, **rest}

    def _spoken(self, message: Outgoing) -> Outgoing:
        if self._over or self._options.words == "own":
            return message
        return replace(message, content=canned(message.content))


def make(seat: Seat) -> Opening:
    """Seat both minds. Raises UnknownName and ConfigError, those of their factories included."""
    options = load(OpeningOptions, dict(seat.options), "agent opening")
    return Opening(options.first.take(seat), options.then.take(seat), options)
