"""Interventions on who may say what, and what becomes of it."""

from __future__ import annotations

from typing import Any, Literal

from emcoop.core.errors import ConfigError
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.interventions.base import Seats, composed, part, reseat


def silence(setup: Setup) -> Setup:
    """Nobody may send: the same topology, roles and prompts with a budget of no messages (the no-communication arm)."""
    return _channel(setup, sends=0)


def loss(setup: Setup, *, share: float) -> Setup:
    """Each recipient's copy of a message is lost with this probability, e.g. ``loss:0.3``."""
    if not 0 <= share <= 1:
        raise ConfigError(f"loss: {share} is no probability")
    return _channel(setup, loss=share)


def delay(setup: Setup, *, seconds: float) -> Setup:
    """Every message is on its way for so many seconds of simulated time, e.g. ``delay:2.5``."""
    if seconds < 0:
        raise ConfigError(f"delay: {seconds} seconds are not possible")
    return _channel(setup, delay_s=seconds)


def price(setup: Setup, *, usd: float) -> Setup:
    """Every message costs so many US dollars; matters under limits.max_usd, e.g. ``price:0.01``."""
    if usd < 0:
        raise ConfigError(f"price: {usd} is below zero")
    return _channel(setup, price_usd=usd)


def noise(setup: Setup, *, share: float, seats: Seats) -> Setup:
    """Each word that these seats say is lost with this probability, e.g. ``noise:0.2@1``."""
    if not 0 <= share <= 1:
        raise ConfigError(f"noise: {share} is no probability")
    return alter(setup, seats, garble=share)


def mute(setup: Setup, *, seats: Seats) -> Setup:
    """These seats never say anything; all else about them is as it was."""
    return reseat(setup, seats, lambda seat: composed(seat, {"speak": "null"}))


def deaf(setup: Setup, *, seats: Seats) -> Setup:
    """No message of another ever reaches these seats' minds; senders do not notice."""
    return alter(setup, seats, deaf=True)


def protocol(setup: Setup, *, text: str, seats: Seats) -> Setup:
    """A text added to these seats' role: how to cooperate, in words. Only agents that read their role notice."""
    return alter(setup, seats, protocol=text)


def feedback(setup: Setup, *, to: Literal["own", "spoken"] = "own", seats: Seats) -> Setup:
    """Cooperation feedback F_t (paper, equation 15): the constraints that tasks at hand still lack.

    ``feedback`` shows them to these seats with their step feedback; ``feedback:spoken@0`` attaches them to what the
    seat says, as the paper's leader does. Only agents that read feedback or messages notice.
    """
    return alter(setup, seats, feedback=to)


def alter(setup: Setup, seats: Seats, **options: Any) -> Setup:
    """These seats with the options of the agent ``altered`` around what sits there."""

    def change(seat: SeatConfig) -> SeatConfig:
        return seat.model_copy(update={"agent": "altered", "options": {"inner": part(seat), **options}})

    return reseat(setup, seats, change)


def _channel(setup: Setup, **values: Any) -> Setup:
    return setup.model_copy(update={"topology_options": {**setup.topology_options, **values}})
