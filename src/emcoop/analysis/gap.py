"""The cooperation gap: what a team reaches between the floor and the ceiling of its world, beside one agent alone.

Every arm's outcome is put on one scale per task (environment, level, team size): 0 is the mean of the floor (random,
else noop), 1 that of the oracle. So worlds of any kind can be laid side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emcoop.analysis.cells import EpisodeRecord
from emcoop.analysis.compare import NONE, Arm, arms, refuse_mixed_versions
from emcoop.analysis.stats import Estimate, mean
from emcoop.core.errors import ConfigError
from emcoop.core.types import Json

FLOORS = ("random", "noop")
CEILING = "oracle"
SOLO = "solo"
MATCHED = "solo:matched"
SILENT = "silence"


@dataclass(frozen=True)
class Gap:
    """One team in one task, normalised.

    `solo` plays alone with one agent's time, `matched` alone with the team's agent-steps, `silent` is the team without
    messages; each is None where it was not played. `gap` is ceiling minus team, `retention` the team's share of the
    better solo (None where that is not above the floor), `talk` team minus silent team, paired by seed.
    """

    where: Mapping[str, str]
    cell: str
    floor: float
    ceiling: float
    team: Estimate
    solo: Estimate | None
    matched: Estimate | None
    silent: Estimate | None
    gap: Estimate
    retention: float | None
    talk: Estimate | None

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        parts = {"team": self.team, "solo": self.solo, "matched": self.matched, "silent": self.silent}
        parts |= {"gap": self.gap, "talk": self.talk}
        found: dict[str, Json] = {name: value.to_json() if value else None for name, value in parts.items()}
        scale = {"floor": self.floor, "ceiling": self.ceiling, "retention": self.retention}
        return {"where": dict(self.where), "cell": self.cell, **scale, **found}


def gaps(records: Iterable[EpisodeRecord], metric: str = "progress") -> list[Gap]:
    """The gap of every team whose task has a floor and a ceiling that differ.

    Raises ConfigError when no task has both, and when versions are mixed.
    """
    known = arms(records)
    refuse_mixed_versions(known)
    found = []
    for task in dict.fromkeys(_task(arm) for arm in known):
        mine = [arm for arm in known if _task(arm) == task]
        floor, ceiling = _reference(mine, FLOORS, metric), _reference(mine, (CEILING,), metric)
        if floor is not None and ceiling is not None and ceiling > floor:
            found += [_gap(arm, mine, metric, floor, ceiling) for arm in mine if _is_team(arm)]
    if not found:
        raise ConfigError(f"no task of this run has a floor ({' or '.join(FLOORS)}) below an oracle and a team between")
    return found


def _task(arm: Arm) -> tuple[str, str, str]:
    return arm.axes["env"], arm.axes["level"], arm.axes["agents"]


def _is_team(arm: Arm) -> bool:
    return arm.axes["intervention"] == NONE and arm.axes["agent"] not in (*FLOORS, CEILING)


def _reference(arms_: list[Arm], names: tuple[str, ...], metric: str) -> float | None:
    for name in names:
        for arm in arms_:
            if arm.axes["agent"] == name and arm.axes["intervention"] == NONE and arm.measure(metric):
                return mean(list(arm.measure(metric).values())).mean
    return None


def _gap(team: Arm, mine: list[Arm], metric: str, floor: float, ceiling: float) -> Gap:
    def scaled(arm: Arm | None) -> dict[int, float]:
        values = arm.measure(metric) if arm else {}
        return {seed: round((value - floor) / (ceiling - floor), 12) for seed, value in values.items()}

    def beside(name: str) -> dict[int, float]:
        return scaled(next((a for a in mine if a.control == team.cell and a.axes["intervention"] == name), None))

    def estimate(values: Mapping[int, float]) -> Estimate | None:
        return mean([values[seed] for seed in sorted(values)]) if values else None

    own, solo, matched, silent = scaled(team), beside(SOLO), beside(MATCHED), beside(SILENT)
    alone = [e.mean for e in (estimate(solo), estimate(matched)) if e is not None and e.mean is not None]
    best, reached = max(alone, default=0.0), mean(list(own.values()))
    shared = sorted(own.keys() & silent.keys())
    return Gap(
        where={axis: value for axis, value in team.axes.items() if value != NONE},
        cell=team.cell,
        floor=floor,
        ceiling=ceiling,
        team=reached,
        solo=estimate(solo),
        matched=estimate(matched),
        silent=estimate(silent),
        gap=mean([1 - own[seed] for seed in sorted(own)]),
        retention=reached.mean / best if best > 0 and reached.mean is not None else None,
        talk=mean([own[s] - silent[s] for s in shared]) if shared else None,
    )
