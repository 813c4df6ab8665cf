"""Dialogue worlds in one table: what each world measures of its episodes, per cell, with the published rows beside.

A world's module offers ``measure(events) -> {name: value or None}`` for one episode, ``published() -> rows`` (each with
``model``, ``origin`` and ``source`` and figures by name), and may offer ``SHOWN``, the measures for a table, and
``RATES``, those that are 0 or 1 in every episode.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from emcoop.analysis.cells import Reader
from emcoop.analysis.contrasts import Contrast, adjust, contrast
from emcoop.analysis.pairing import bases
from emcoop.analysis.stats import Estimate, mean, rate
from emcoop.analysis.words import printable
from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.core.types import Json
from emcoop.metrics import Event

STUDIES: Mapping[str, str] = {"maze": "emcoop.analysis.maze", "exchange": "emcoop.analysis.exchange"}
"""The worlds that have measures of their own, and where."""

MOST_SHOWN = 7

Value = float | None


class World(Protocol):
    """What a world's module offers."""

    def measure(self, events: Iterable[Event], /) -> dict[str, Value]: ...

    def published(self) -> list[dict[str, Json]]: ...


@dataclass(frozen=True)
class Told:
    """One cell: its measures over its finished episodes, and, where it is an intervention on another cell of the run,
    each measure's paired difference from that (`against`, with Holm over the cells of this world). An agent by itself
    that serves a team under several topologies is told once for each.

    `team` says who sits where, in the order of the seats and before any intervention where that cell is in the run.
    """

    cell: str
    team: str
    interventions: tuple[str, ...]
    env: str
    level: str
    agents: int
    n: int
    values: Mapping[str, Estimate]
    against: Mapping[str, Contrast]

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {
            "cell": self.cell,
            "team": self.team,
            "interventions": list(self.interventions),
            "env": self.env,
            "level": self.level,
            "agents": self.agents,
            "n": self.n,
            "values": {name: value.to_json() for name, value in self.values.items()},
            "against_control": {name: value.to_json() for name, value in self.against.items()},
        }


def world_of(env: str) -> World:
    """The module of this world. Raises ConfigError for a world without measures of its own."""
    if env not in STUDIES:
        raise ConfigError(f"{env} has no measures of its own; {nearest(env, STUDIES)}")
    return cast(World, importlib.import_module(STUDIES[env]))


def shown(env: str) -> Sequence[str]:
    """The measures of this world that a table shows."""
    module = world_of(env)
    return cast(Sequence[str], getattr(module, "SHOWN", ())) or tuple(measures_of(module))[:MOST_SHOWN]


def measures_of(module: World) -> Sequence[str]:
    """The figures that its published rows have."""
    return tuple(key for key in module.published()[0] if key not in ("model", "origin", "source"))


def tell(reader: Reader) -> list[Told]:
    """Every cell of a dialogue world in a log, in the order of its tables. Raises ConfigError when there is none."""
    episodes = [row for row in reader.episodes() if row.status == "finished" and row.setup.get("env") in STUDIES]
    if not episodes:
        raise ConfigError(f"no finished episode of a dialogue world ({', '.join(STUDIES)}) in this run")
    found: dict[str, dict[int, Mapping[str, Value]]] = {}
    setups: dict[str, Mapping[str, Json]] = {}
    played: dict[str, str] = {}
    for row in episodes:
        found.setdefault(row.cell, {})[row.seed] = world_of(str(row.setup["env"])).measure(reader.events(row.id))
        if row.cell not in setups:
            played[row.cell] = _emcoop(reader.events(row.id, kinds=("episode_start",)))
        setups[row.cell] = row.setup
    beside = bases({cell: (setup, played[cell]) for cell, setup in setups.items()})
    told = []
    for cell in setups:
        teams = [base for base in beside[cell] if base in setups and base != cell]
        told += [_told(cell, base, setups, found, several=len(teams) > 1) for base in teams or [""]]
    return _as_families(told)


def _emcoop(opening: Iterable[Event]) -> str:
    """The version of emcoop that played an episode, from the log's first event."""
    return next((str(event.payload.get("emcoop", "")) for event in opening), "")


def _as_families(cells: Sequence[Told]) -> list[Told]:
    """Every measure's differences of one world as one family: adjusted after Holm."""
    against = [dict(cell.against) for cell in cells]
    for env, key in dict.fromkeys((cell.env, key) for cell in cells for key in cell.against):
        family = [i for i, cell in enumerate(cells) if cell.env == env and key in cell.against]
        for i, made in zip(family, adjust([cells[i].against[key] for i in family]), strict=True):
            against[i][key] = made
    return [replace(cell, against=found) for cell, found in zip(cells, against, strict=True)]


def _told(
    cell: str,
    control: str,
    setups: Mapping[str, Mapping[str, Json]],
    found: Mapping[str, Mapping[int, Mapping[str, Value]]],
    *,
    several: bool,
) -> Told:
    """A cell beside its control, if that is in the run; where there are `several`, their topologies tell them apart."""
    mine, setup = found[cell], setups[cell]
    team = _team(setups.get(control, setup))
    measures = list(dict.fromkeys(key for values in mine.values() for key in values))
    against: dict[str, Contrast] = {}
    if control in found:
        for key in measures:
            made = contrast(_by_seed(mine, key), _by_seed(found[control], key))
            if made.difference.n:
                against[key] = made
    return Told(
        cell=cell,
        team=f"{team}, {printable(str(setups[control].get('topology')))}" if several else team,
        interventions=tuple(printable(str(name)) for name in setup.get("interventions") or ()),
        env=str(setup["env"]),
        level=printable(str(setup.get("level"))),
        agents=int(setup.get("agents", 0)),
        n=len(mine),
        values={key: _estimate(str(setup["env"]), key, list(_by_seed(mine, key).values())) for key in measures},
        against=against,
    )


def _team(setup: Mapping[str, Json]) -> str:
    """Who sits where: ``llm openai:NAME, scripted``; equal seats are told once, with their number."""
    seats: list[str] = []
    for seat in setup.get("team") or ():
        model = seat.get("model")
        seats.append(printable(f"{seat.get('agent', '?')}{f' {model}' if model else ''}"))
    agents = int(setup.get("agents", 0))
    if len(set(seats)) == 1:
        return f"{seats[0]} x{agents}" if agents > 1 else seats[0]
    return ", ".join(seats)


def _by_seed(episodes: Mapping[int, Mapping[str, Value]], key: str) -> dict[int, float]:
    return {seed: value for seed, values in sorted(episodes.items()) if (value := values.get(key)) is not None}


def _estimate(env: str, key: str, values: Sequence[float]) -> Estimate:
    """A rate with Wilson's interval where the world says that it is one, else a mean with its bootstrap interval."""
    if key in getattr(world_of(env), "RATES", ()) and set(values) <= {0.0, 1.0}:
        return rate(round(sum(values)), len(values))
    return mean(values)


def relay(cells: Iterable[Told], key: str) -> list[tuple[Told, Contrast]]:
    """Every cell that is an intervention on another, with its paired difference on one measure, Holm over them all."""
    pairs = [(cell, cell.against[key]) for cell in cells if key in cell.against]
    return list(zip((cell for cell, _ in pairs), adjust([made for _, made in pairs]), strict=True))
