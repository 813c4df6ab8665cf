"""What is changed on purpose to see what it does: functions from a set-up to another set-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from emcoop.core.errors import ConfigError
from emcoop.core.registry import Registry
from emcoop.episode.setup import Setup

Intervention: TypeAlias = Callable[[Setup], Setup]

INTERVENTIONS = Registry(
    "intervention", "emcoop.interventions", {"silence": "emcoop.interventions.communication:silence"}
)
"""Each entry is an `Intervention`."""


def apply(setup: Setup, names: Iterable[str]) -> Setup:
    """The set-up after these interventions, in order; it keeps their names.

    Raises UnknownName, and ConfigError when an installed package's entry gives something else than a set-up.
    """
    for name in names:
        changed = INTERVENTIONS.get(name)(setup)
        if not isinstance(changed, Setup):
            raise ConfigError(f"intervention {name!r} gave a {type(changed).__name__}, not a Setup")
        setup = changed.model_copy(update={"interventions": (*setup.interventions, name)})
    return setup
