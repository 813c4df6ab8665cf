"""Which cells of a run are compared with which: an intervention with the cell that it was made from.

An agent by itself (``solo``, ``alone``) follows no protocol and hears nobody, so that one cell of it serves the same
team under every topology; its control is that team under ``individual``, which need not be in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from emcoop.core.canonical import content_hash
from emcoop.core.types import Json

ALONE = ("solo", "alone")
"""The interventions, without their parameters, after which no topology matters (`emcoop.interventions.ALONE`)."""

DIGITS = 16
"""So many digits of the hash of its content are a cell's name."""

_UNTIED: Mapping[str, Json] = {"topology": "individual", "topology_options": {}, "control": None}

Logged: TypeAlias = tuple[Mapping[str, Json], str]
"""A cell's set-up, and the version of emcoop that played it."""


def bases(cells: Mapping[str, Logged]) -> dict[str, tuple[str, ...]]:
    """The cells that each of these is compared with, by name; for one that no intervention has changed, itself.

    An agent by itself is compared with its control, and with every team that differs from that in the topology alone
    and has no such cell of its own, as in logs of earlier versions.
    """
    teams: dict[str, list[str]] = {}
    for cell, (setup, emcoop) in cells.items():
        teams.setdefault(content_hash({"emcoop": emcoop, **setup, **_UNTIED})[:DIGITS], []).append(cell)
    served = {(_control(cell, setup), _done(setup)) for cell, (setup, _) in cells.items()}
    found = {}
    for cell, (setup, _) in cells.items():
        control, done = _control(cell, setup), _done(setup)
        others = [team for team in teams.get(control, ()) if (team, done) not in served] if is_alone(setup) else []
        found[cell] = tuple(dict.fromkeys((control, *others)))
    return found


def is_alone(setup: Mapping[str, Json]) -> bool:
    """Whether an intervention has left one agent by itself."""
    return any(name.partition("@")[0].partition(":")[0] in ALONE for name in _done(setup))


def emcoop_of(version: str) -> str:
    """The version of emcoop in an episode's `version`, ``emcoop 0.1.0, cube 1``."""
    return version.partition(", ")[0].removeprefix("emcoop ")


def _control(cell: str, setup: Mapping[str, Json]) -> str:
    return str(setup.get("control") or cell)


def _done(setup: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(str(name) for name in setup.get("interventions") or ())
