"""Two arms of a run, side by side under matched conditions (paper, section 4.2, RQ1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from emcoop.analysis.cells import EpisodeRecord
from emcoop.analysis.contrasts import Contrast, adjust, contrast, paired
from emcoop.analysis.pairing import bases, emcoop_of, is_alone
from emcoop.analysis.power import seeds_to_tell_apart
from emcoop.analysis.seats import agent_of, models_of
from emcoop.analysis.words import printable
from emcoop.core.canonical import content_hash
from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.core.types import Json

DEFICITS = ("deficit_spatial", "deficit_temporal", "deficit_dependency", "deficit_participation")
"""How far each kind of constraint fell short: the violated constraints of the paper's RQ1."""

MEASURES = ("success", "progress", "M1", "M4", "M6", "M9", "M10", "M13", "M15", "M16", "M17", "M18", *DEFICITS)
"""What is compared unless other metrics are named."""

AXES = ("env", "level", "agents", "topology", "agent", "model", "prompt", "intervention")
OWN_AXES = ("prompt",)
"""Options of an agent that are an axis of their own."""

NONE = "none"
_OWN = {"env", "level", "agents", "topology", "topology_options", "team", "interventions", "control"}


@dataclass(frozen=True)
class Arm:
    """A cell with its finished episodes: what it is on each axis, and seed -> metric -> value.

    Arms of equal `world` have the same options of the environment and the same limits.
    """

    cell: str
    axes: Mapping[str, str]
    rest: str
    world: str
    team: str
    values: Mapping[int, Mapping[str, float | None]]
    versions: frozenset[str]
    bases: frozenset[str]
    """The cells that it is compared with as an intervention, see `emcoop.analysis.pairing`."""
    alone: bool

    def measure(self, name: str) -> dict[int, float]:
        """Seed -> value, where the metric is defined."""
        return {seed: v for seed, found in self.values.items() if (v := found.get(name)) is not None}


@dataclass(frozen=True)
class Comparison:
    """One metric of arm `a` against arm `b`; `where` says what both have in common, `seeds` how many seeds a repeat
    needs to find such a difference with 80 % power (None: the pilot shows none), `differences` has one per seed."""

    metric: str
    where: Mapping[str, str]
    a: Mapping[str, str]
    b: Mapping[str, str]
    a_cell: str
    b_cell: str
    contrast: Contrast
    seeds: int | None
    differences: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        about: dict[str, Json] = {"metric": self.metric, "where": dict(self.where), "seeds_for_80_percent": self.seeds}
        arms = {"arm_a": {**self.a, "cell": self.a_cell}, "arm_b": {**self.b, "cell": self.b_cell}}
        return {**about, **arms, **self.contrast.to_json()}


def arms(records: Iterable[EpisodeRecord]) -> list[Arm]:
    """One arm per cell that has finished episodes, in the order of the log."""
    cells: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        if record.status == "finished":
            cells.setdefault(record.cell, []).append(record)
    models = models_of({cell: found[0].setup for cell, found in cells.items()}, besides=OWN_AXES)
    beside = bases({cell: (found[0].setup, emcoop_of(found[0].version)) for cell, found in cells.items()})
    return [
        _arm(
            cell,
            found[0].setup,
            models[cell],
            values={record.seed: record.metrics for record in found},
            versions=frozenset(record.version for record in found),
            beside=beside[cell],
        )
        for cell, found in cells.items()
    ]


def cells_of(text: str, setups: Mapping[str, Mapping[str, Json]]) -> list[str]:
    """The cells of these (name -> set-up) that a selector fits, see `parse_selector`; all for an empty one.

    Raises ConfigError for what no cell has, naming the nearest, and where none has all of it.
    """
    if not text:
        return list(setups)
    models = models_of(setups, besides=OWN_AXES)
    known = [_arm(cell, setup, models[cell], values={}, versions=frozenset()) for cell, setup in setups.items()]
    wanted = parse_selector(text, known)
    found = [arm.cell for arm in known if _fits(arm, wanted)]
    if not found:
        raise ConfigError(f"{text!r}: no cell of this run has all of it")
    return found


def _arm(
    cell: str,
    setup: Mapping[str, Json],
    model: str,
    *,
    values: Mapping[int, Mapping[str, float | None]],
    versions: frozenset[str],
    beside: Iterable[str] = (),
) -> Arm:
    team: Sequence[Mapping[str, Any]] = setup.get("team") or ()
    changed = bool(setup.get("interventions"))
    prompts = dict.fromkeys(
        str(seat["options"]["prompt"]) for seat in team if (seat.get("options") or {}).get("prompt")
    )
    axes = {
        "env": str(setup.get("env", "?")),
        "level": str(setup.get("level", "?")),
        "agents": str(setup.get("agents", "?")),
        "topology": str(setup.get("topology", "?")),
        "agent": "+".join(dict.fromkeys(agent_of(seat, changed) for seat in team)),
        "model": model or NONE,
        "prompt": "+".join(prompts) or NONE,
        "intervention": ",".join(map(str, setup.get("interventions") or ())) or NONE,
    }
    return Arm(
        cell=cell,
        axes={name: printable(value) for name, value in axes.items()},
        rest=content_hash({key: value for key, value in setup.items() if key not in _OWN}),
        world=content_hash([setup.get("env_options") or {}, setup.get("limits") or {}]),
        team=content_hash([team, setup.get("topology_options") or {}]),
        values=values,
        versions=versions,
        bases=frozenset(beside),
        alone=is_alone(setup),
    )


def parse_selector(text: str, known: Sequence[Arm]) -> dict[str, str]:
    """``topology=debate,level=hard``, the value of an axis alone (``debate``), or the beginning of a cell's name.

    Raises ConfigError for what no arm has, naming the nearest.
    """
    wanted: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        axis, equals, value = part.partition("=")
        if equals and axis in AXES:
            values = {arm.axes[axis] for arm in known}
            if value not in values:
                raise ConfigError(f"{part!r}: no cell of this run has this {axis}; {nearest(value, values)}")
            wanted[axis] = value
            continue
        if equals and not _axes_with(part, known):
            raise ConfigError(f"{part!r}: no axis {axis!r}; {nearest(axis, AXES)}")
        wanted.update(_bare(part, known))
    if not wanted:
        raise ConfigError("name an arm: an axis' value such as debate, axis=value, or the beginning of a cell's name")
    return wanted


def _axes_with(value: str, known: Sequence[Arm]) -> list[str]:
    return [axis for axis in AXES if any(arm.axes[axis] == value for arm in known)]


def _bare(value: str, known: Sequence[Arm]) -> dict[str, str]:
    axes = _axes_with(value, known)
    if value == NONE:
        axes = ["intervention"]
    if len(axes) > 1:
        raise ConfigError(f"{value!r} is a value of {' and '.join(axes)}; write {axes[0]}={value}")
    if axes:
        return {axes[0]: value}
    if len(value) >= 4 and any(arm.cell.startswith(value) for arm in known):
        return {"cell": value}
    values = {v for arm in known for v in arm.axes.values()}
    raise ConfigError(f"{value!r}: no cell of this run has it; {nearest(value, values)}")


def _fits(arm: Arm, wanted: Mapping[str, str]) -> bool:
    return all(arm.cell.startswith(v) if axis == "cell" else arm.axes[axis] == v for axis, v in wanted.items())


def compare(records: Iterable[EpisodeRecord], a: str, b: str, metrics: Sequence[str] = MEASURES) -> list[Comparison]:
    """Every cell of arm a against the cell of arm b that is alike in all that neither names.

    Holm is applied over the conditions, for each metric apart. Raises ConfigError for an unknown arm, when no pair is
    alike in the rest, and when the two were played by different versions.
    """
    known = arms(records)
    left, right = parse_selector(a, known), parse_selector(b, known)
    named = left.keys() | right.keys()
    others = [arm for arm in known if _fits(arm, right)]
    mine = [arm for arm in known if _fits(arm, left)]
    if len(mine) == len(others) == 1 or "cell" in named:
        pairs = [(x, y) for x in mine for y in others if x.cell != y.cell]
    else:
        pairs = [(x, y) for x in mine for y in others if x.cell != y.cell and _alike(x, y, named)]
    if not pairs:
        raise ConfigError(
            f"no cell of {a!r} and cell of {b!r} are alike in the rest; name more of them: axis=value,..."
        )
    return _compare_pairs(pairs, metrics)


def pairwise(records: Iterable[EpisodeRecord], axis: str, metrics: Sequence[str] = MEASURES) -> list[Comparison]:
    """All pairs of values of one axis under matched conditions: for topologies, the paper's RQ1.

    Holm is applied over all of them, for each metric apart. Raises ConfigError as `compare` does.
    """
    if axis not in AXES:
        raise ConfigError(f"no axis {axis!r}; {nearest(axis, AXES)}")
    known = arms(records)
    pairs = [(x, y) for x, y in combinations(known, 2) if x.axes[axis] != y.axes[axis] and _alike(x, y, {axis})]
    if not pairs:
        raise ConfigError(f"no two cells of this run differ in {axis} alone")
    return _compare_pairs(pairs, metrics)


def _alike(x: Arm, y: Arm, named: set[str]) -> bool:
    if named == {"intervention"} or (x.alone != y.alone and "intervention" in named):
        return bool(x.bases & y.bases)
    if x.rest != y.rest or any(x.axes[axis] != y.axes[axis] for axis in AXES if axis not in named):
        return False
    return bool(named & {"agent", "model", "prompt", "topology", "agents", "intervention"}) or x.team == y.team


def _compare_pairs(pairs: Sequence[tuple[Arm, Arm]], metrics: Sequence[str]) -> list[Comparison]:
    for pair in pairs:
        refuse_mixed_versions(pair)
    found: list[Comparison] = []
    for metric in metrics:
        family = adjust([contrast(x.measure(metric), y.measure(metric)) for x, y in pairs])
        found += [_comparison(metric, x, y, c) for (x, y), c in zip(pairs, family, strict=True)]
    return found


def _comparison(metric: str, x: Arm, y: Arm, found: Contrast) -> Comparison:
    where = {axis: value for axis, value in x.axes.items() if y.axes[axis] == value and value != NONE}
    a = {axis: value for axis, value in x.axes.items() if axis not in where}
    b = {axis: value for axis, value in y.axes.items() if axis not in where}
    differences = tuple(paired(x.measure(metric), y.measure(metric)))
    seeds = seeds_to_tell_apart(differences) if len(differences) > 1 else None
    return Comparison(metric, where, _told(a, b), _told(b, a), x.cell, y.cell, found, seeds, differences)


def _told(mine: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """What sets an arm apart; an axis on which both have nothing is left out."""
    return {axis: value for axis, value in mine.items() if not value == other.get(axis) == NONE}


def refuse_mixed_versions(compared: Iterable[Arm]) -> None:
    """Raise ConfigError when emcoop, or one environment, played some arms in another version than others, saying which.

    Arms of different environments may stand side by side.
    """
    versions: dict[str, dict[str, str]] = {}
    for arm in compared:
        for version in sorted(arm.versions):
            played, _, env = version.partition(", ")
            for what in (played, env):
                versions.setdefault(what.rpartition(" ")[0], {}).setdefault(what, f"{version} (cell {arm.cell[:8]})")
    mixed = dict.fromkeys(told for found in versions.values() if len(found) > 1 for told in found.values())
    if mixed:
        raise ConfigError(
            f"results of different versions cannot be compared: {'; '.join(mixed)}. Play them again with one version"
        )
