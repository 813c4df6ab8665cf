"""Interventions on dialogues: relay inference by messages (The Collaboration Gap) and its controls.

Relay inference for a weak team and a strong agent: ``primer:messages=4;agent=scripted@0`` opens with the strong one in
seat 0; ``recovery:messages=4;agent=scripted@0`` brings it in later. Controls: the relay at the other seat (``@1``); the
opener's moves with words that say nothing, as many as its own (``words=canned``: strength without content); its words
with the seat's own moves (``faculties=speak``: content without strength); ``protocol`` for a protocol in words.
"""

from __future__ import annotations

from typing import Any, Literal

from emcoop.core.errors import ConfigError
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.interventions.base import Seats, known_agent, part, reseat

Words = Literal["own", "canned"]
Faculties = Literal["all", "speak"]


def primer(
    setup: Setup,
    *,
    messages: int,
    agent: str | None = None,
    model: str | None = None,
    words: Words = "own",
    faculties: Faculties = "all",
    seats: Seats,
) -> Setup:
    """Another agent or model plays these seats until so many messages have been exchanged, then the seat's own.

    ``primer:messages=4;agent=scripted@0``; ``primer:messages=4;model=openai:gpt-4o@0``. `words` and `faculties` make
    controls, see the module. Control: ``messages=0``.
    """
    strong = _strong("primer", messages, agent, model)

    def change(old: SeatConfig) -> SeatConfig:
        who = {**part(old), **strong}
        if agent not in (None, old.agent):
            who["options"] = {}
        first = who if faculties == "all" else {"agent": "composite", "options": {"base": part(old), "speak": who}}
        return _opened(old, first, part(old), messages, words, model)

    return reseat(setup, seats, change)


def recovery(setup: Setup, *, messages: int, agent: str | None = None, model: str | None = None, seats: Seats) -> Setup:
    """The seat's own agent plays until so many messages have been exchanged, then another agent or model takes over.

    ``recovery:messages=4;agent=scripted@0``.
    """
    strong = _strong("recovery", messages, agent, model)

    def change(old: SeatConfig) -> SeatConfig:
        who = {**part(old), **strong}
        if agent not in (None, old.agent):
            who["options"] = {}
        return _opened(old, part(old), who, messages, "own", model)

    return reseat(setup, seats, change)


def _strong(name: str, messages: int, agent: str | None, model: str | None) -> dict[str, Any]:
    if messages < 0:
        raise ConfigError(f"{name}: {messages} messages are not possible")
    if agent is None and model is None:
        raise ConfigError(f"{name}: name the agent or the model, such as agent=scripted or model=openai:NAME")
    given = {"agent": known_agent(agent)} if agent is not None else {}
    return {**given, **({"model": model} if model is not None else {})}


def _opened(
    old: SeatConfig, first: dict[str, Any], then: dict[str, Any], messages: int, words: Words, model: str | None
) -> SeatConfig:
    options = {"first": first, "then": then, "messages": messages, "words": words}
    more = tuple(dict.fromkeys((*old.more_models, *([model] if model is not None else []))))
    return old.model_copy(update={"agent": "opening", "options": options, "more_models": more})
