"""Interventions on who sits in a seat, and with which faculties."""

from __future__ import annotations

from typing import Any

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.interventions.base import Seats, composed, known_agent, part, reseat
from emcoop.interventions.communication import alter


def own(setup: Setup, *, seats: Seats) -> Setup:
    """Nothing but the machinery of a faculty swap: every faculty stays the seat's own (the sham control)."""
    return reseat(setup, seats, lambda seat: composed(seat, {}))


def faculty(
    setup: Setup,
    *,
    plan: str | None = None,
    speak: str | None = None,
    interrupt: str | None = None,
    act: str | None = None,
    seats: Seats,
) -> Setup:
    """These seats get faculties of another agent, e.g. ``faculty:plan=oracle;speak=null@0``. Sham control: ``own``."""
    swapped = {"plan": plan, "speak": speak, "interrupt": interrupt, "act": act}
    given = {name: known_agent(agent) for name, agent in swapped.items() if agent is not None}
    if not given:
        raise ConfigError("faculty: name at least one of plan, speak, interrupt and act, such as plan=oracle")
    return reseat(setup, seats, lambda seat: composed(seat, given))


def seat(setup: Setup, *, agent: str, seats: Seats) -> Setup:
    """Another agent, without a model, sits here, e.g. ``seat:greedy@1``."""
    known_agent(agent)
    return reseat(setup, seats, lambda old: SeatConfig(agent=agent))


def model(setup: Setup, *, name: str, seats: Seats) -> Setup:
    """The same agents with another model, e.g. ``model:openai:gpt-4o-mini@0``."""
    return reseat(setup, seats, lambda old: _with_model(old, name))


def _with_model(old: SeatConfig, name: str) -> SeatConfig:
    if old.model is None:
        raise ConfigError(f"model: a seat with the agent {old.agent!r} has no model to swap")
    return old.model_copy(update={"model": name})


def prompt(setup: Setup, *, variant: str, seats: Seats) -> Setup:
    """These language-model seats read another paraphrase of the rules, e.g. ``prompt:terse``. Control: the default."""
    variants = setup.make_env().prompt_variants
    if variant not in variants:
        raise ConfigError(f"prompt: no variant {variant!r} in {setup.env}; {nearest(variant, variants)}")
    return reseat(setup, seats, lambda old: _with_prompt(old, variant))


def _with_prompt(old: SeatConfig, variant: str) -> SeatConfig:
    if old.agent != "llm":
        raise ConfigError(f"prompt: a seat with the agent {old.agent!r} reads no prompt")
    return old.model_copy(update={"options": {**old.options, "prompt": variant}})


def memory_off(setup: Setup, *, seats: Seats) -> Setup:
    """These seats are shown no memory of their own events."""
    return alter(setup, seats, amnesia=True)


def incompetent(setup: Setup, *, seats: Seats) -> Setup:
    """These seats talk as before and carry out random plans: cooperative in words, without competence."""
    return reseat(setup, seats, lambda old: composed(old, {"plan": "random"}))


def adversary(setup: Setup, *, seats: Seats) -> Setup:
    """These seats mislead in what they say and obstruct at random in what they do. Control: ``incompetent`` or none."""
    return alter(incompetent(setup, seats=seats), seats, lie=True)


def relay(
    setup: Setup,
    *,
    decisions: int,
    first: str | None = None,
    then: str | None = None,
    first_model: str | None = None,
    then_model: str | None = None,
    seats: Seats,
) -> Setup:
    """Another agent or model makes the first decisions, or all later ones.

    ``relay:first=oracle;decisions=5@0``; ``relay:then_model=openai:gpt-4o-mini;decisions=10``. What is not named is
    the seat's own. Control: ``decisions=0``, which hands over at once, and the reverse.
    """
    if decisions < 0:
        raise ConfigError(f"relay: {decisions} decisions are not possible")
    if not any((first, then, first_model, then_model)):
        raise ConfigError("relay: name who is first or then, such as first=oracle or then_model=openai:NAME")
    for agent in filter(None, (first, then)):
        known_agent(agent)

    def change(old: SeatConfig) -> SeatConfig:
        parts = {"first": _part(old, first, first_model), "then": _part(old, then, then_model)}
        more = tuple(dict.fromkeys((*old.more_models, *filter(None, (first_model, then_model)))))
        options = {**parts, "decisions": decisions}
        return old.model_copy(update={"agent": "relay", "options": options, "more_models": more})

    return reseat(setup, seats, change)


def _part(old: SeatConfig, agent: str | None, model: str | None) -> dict[str, Any]:
    who = part(old) if agent is None else {"agent": agent}
    return {**who, "model": model} if model is not None else who
