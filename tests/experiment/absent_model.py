"""Scripted models whose provider is never available, or wants money."""

from __future__ import annotations

from emcoop.core.errors import ConfigError, ModelUnavailable
from emcoop.core.types import Usage
from emcoop.models.base import Completion

ASKED: list[int] = []
"""One entry for each call."""


def never_there(*request: object) -> str:
    ASKED.append(1)
    raise ModelUnavailable("nobody is at home")


def _paid(cost_usd: float | None) -> Completion:
    return Completion("I would rather not say", None, Usage(10, 2, 0, 1, cost_usd), 0.0, "stop", "scripted")


def paid_and_gone(*request: object) -> Completion:
    """One answer for $2, then an error that no episode survives."""
    ASKED.append(1)
    if len(ASKED) % 2 == 0:
        raise ConfigError("the account is closed")
    return _paid(2.0)


def of_two_prices(*request: object) -> Completion:
    """Every other answer is of unknown price."""
    ASKED.append(1)
    return _paid(1.0 if len(ASKED) % 2 else None)
