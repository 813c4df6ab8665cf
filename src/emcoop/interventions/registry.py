"""The names of interventions."""

from __future__ import annotations

from emcoop.core.registry import Registry

_COMMUNICATION = "emcoop.interventions.communication:"
_SEATS = "emcoop.interventions.seats:"
_ALONE = "emcoop.interventions.alone:"
_DIALOGUE = "emcoop.interventions.dialogue:"
_EXCHANGE = "emcoop.interventions.exchange:"

INTERVENTIONS = Registry(
    "intervention",
    "emcoop.interventions",
    {
        "silence": _COMMUNICATION + "silence",
        "loss": _COMMUNICATION + "loss",
        "delay": _COMMUNICATION + "delay",
        "price": _COMMUNICATION + "price",
        "noise": _COMMUNICATION + "noise",
        "mute": _COMMUNICATION + "mute",
        "deaf": _COMMUNICATION + "deaf",
        "protocol": _COMMUNICATION + "protocol",
        "feedback": _COMMUNICATION + "feedback",
        "own": _SEATS + "own",
        "faculty": _SEATS + "faculty",
        "seat": _SEATS + "seat",
        "model": _SEATS + "model",
        "prompt": _SEATS + "prompt",
        "solo": _ALONE + "solo",
        "memory_off": _SEATS + "memory_off",
        "incompetent": _SEATS + "incompetent",
        "adversary": _SEATS + "adversary",
        "relay": _SEATS + "relay",
        "primer": _DIALOGUE + "primer",
        "recovery": _DIALOGUE + "recovery",
        "alone": _ALONE + "alone",
        "assist": _EXCHANGE + "assist",
        "incentive": _EXCHANGE + "incentive",
        "policy": _EXCHANGE + "policy",
        "hide": _EXCHANGE + "hide",
        "bandwidth": _EXCHANGE + "bandwidth",
        "habit": _EXCHANGE + "habit",
    },
)
"""Each entry is an `Intervention`."""

ALONE = frozenset({"solo", "alone"})
"""After these no topology matters, whatever the team's was: their control is the same team under `individual`, so that
they are one cell for all."""
