"""Interventions on the information exchange: what the engine takes over, what sharing pays, what is shown and said.

None of them changes who sits where, except `habit`; the assists change no word of any prompt.
"""

from __future__ import annotations

from typing import Any, Literal

from emcoop.core.errors import ConfigError
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.interventions.base import Seats, reseat

EXCHANGE = "exchange"


def assist(setup: Setup, *, what: Literal["request", "fulfil", "submit"]) -> Setup:
    """The engine does one side of sharing for everybody, e.g. ``assist:request``. Control: without it.

    ``request`` asks a holder for every missing piece at the start of each round, ``fulfil`` fills every request for a
    piece that its recipient holds, at once and truthfully, ``submit`` hands in what was complete as its owner's turn
    began.
    """
    return _options(setup, "assist", **{f"auto_{what}": True})


def incentive(
    setup: Setup,
    *,
    amount: float = 1000.0,
    arm: Literal["received", "if_used", "by_recipient", "symbolic"] = "received",
) -> Setup:
    """The sender of a piece that is new to its recipient gets this much, and the rules say so.

    Arms: when ``received``, only ``if_used`` in a submitted task, paid ``by_recipient``, or ``symbolic`` points.
    Control: ``incentive:amount=1000;arm=symbolic`` (the same words without money), or without it.
    """
    if amount < 0:
        raise ConfigError(f"incentive: {amount:g} is below zero")
    return _options(setup, "incentive", incentive=amount, incentive_arm=arm)


def policy(setup: Setup) -> Setup:
    """Three lines of policy in everybody's rules: request, send what is asked, submit. Only readers notice."""
    return _options(setup, "policy", protocol=True)


def hide(setup: Setup, *, what: Literal["revenue_board", "notices", "thoughts", "receipts"]) -> Setup:
    """One part of what agents are shown is not shown, e.g. ``hide:revenue_board``. Control: without it."""
    return _options(setup, "hide", **{what: False})


def bandwidth(setup: Setup, *, messages: int | None = None, sends: int | None = None) -> Setup:
    """At most so many messages, and pieces sent, per turn, e.g. ``bandwidth:messages=3;sends=2``."""
    if messages is None and sends is None:
        raise ConfigError("bandwidth: give messages or sends, such as messages=3")
    if min(messages or 0, sends or 0) < 0:
        raise ConfigError("bandwidth: a limit below zero is not possible")
    changed = setup if sends is None else _options(setup, "bandwidth", most_sends=sends)
    if messages is None:
        return changed
    _only_there(setup, "bandwidth")
    return changed.model_copy(update={"topology_options": {**setup.topology_options, "sends": messages}})


def habit(setup: Setup, *, kind: str, seats: Seats) -> Setup:
    """Scripted players of these habits sit here, e.g. ``habit:selfish@0+1``. Control: ``habit:scripted`` there.

    Unwilling: ``selfish`` (never answers), ``falsifier``. Unable: ``forgetful`` (never submits), ``muddled`` (asks
    those who do not hold the piece). One-sided: ``replier`` (never asks), ``loner``. Also ``flood`` and ``noop``.
    """
    from emcoop.core.config import nearest
    from emcoop.envs.exchange.scripted import KINDS

    _only_there(setup, "habit")
    if kind not in KINDS:
        raise ConfigError(f"habit: no kind {kind!r}; {nearest(kind, KINDS)}")
    return reseat(setup, seats, lambda old: SeatConfig(agent="scripted", options={"kind": kind}))


def _options(setup: Setup, name: str, **values: Any) -> Setup:
    _only_there(setup, name)
    return setup.model_copy(update={"env_options": {**setup.env_options, **values}})


def _only_there(setup: Setup, name: str) -> None:
    if setup.env != EXCHANGE:
        raise ConfigError(f"{name}: only the environment {EXCHANGE!r} knows this, not {setup.env!r}")
