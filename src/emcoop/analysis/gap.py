"""The cooperation gap: what a team reaches between the floor and the ceiling of its world, beside one agent alone.

Every arm's outcome is put on one scale per task (environment with its options, level, team size, limits): 0 is the mean
of the floor (random, else noop), 1 that of the oracle. So worlds of any kind can be laid side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from emcoop.analysis.cells import EpisodeRecord
from emcoop.analysis.compare import NONE, Arm, arms, refuse_mixed_versions
from emcoop.analysis.stats import Estimate, mean
from emcoop.core.errors import ConfigError
from emcoop.core.types import Json

FLOORS = ("random", "noop")
CEILING = "oracle"
SOLO = "solo"
MATCHED = "solo:matched"
INFORMED = "alone:full"
SILENT = "silence"


@dataclass(frozen=True)
class Gap:
    """One team in one task, normalised. Tasks of equal environment, level and size differ in `world`.

    `informed` plays alone with full information (in a world made for one agent, where the team's own is not fully
    seen), `solo` alone in the team's world with one agent's time, `matched` the same with the team's agent-steps,
    `silent` is the team without messages; each is None where it was not played. `gap` is ceiling minus team,
    `retention` the team's share of the best of the three solos, over the seeds that both have finished (None where that
    is not above the floor), `talk` team minus silent team, paired by seed. `floor` and `ceiling` are means over the
    seeds that these have finished; the intervals of all else are given them.
    """

    where: Mapping[str, str]
    cell: str
    world: str
    floor: float
    ceiling: float
    team: Estimate
    informed: Estimate | None
    solo: Estimate | None
    matched: Estimate | None
    silent: Estimate | None
    gap: Estimate
    retention: float | None
    talk: Estimate | None

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        parts = {"team": self.team, "informed": self.informed, "solo": self.solo, "matched": self.matched}
        parts |= {"silent": self.silent, "gap": self.gap, "talk": self.talk}
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
            found += [_gap(arm, known, metric, floor, ceiling) for arm in mine if _is_team(arm)]
    if not found:
        raise ConfigError(f"no task of this run has a floor ({' or '.join(FLOORS)}) below an oracle and a team between")
    return found


def _task(arm: Arm) -> tuple[str, str, str, str]:
    return arm.axes["env"], arm.axes["level"], arm.axes["agents"], arm.world


def _is_team(arm: Arm) -> bool:
    return arm.axes["intervention"] == NONE and arm.axes["agent"] not in (*FLOORS, CEILING)


def _reference(arms_: list[Arm], names: tuple[str, ...], metric: str) -> float | None:
    for name in names:
        for arm in arms_:
            if arm.axes["agent"] == name and arm.axes["intervention"] == NONE and arm.measure(metric):
                return mean(list(arm.measure(metric).values())).mean
    return None


def _gap(team: Arm, known: list[Arm], metric: str, floor: float, ceiling: float) -> Gap:
    def scaled(arm: Arm | None) -> dict[int, float]:
        values = arm.measure(metric) if arm else {}
        return {seed: round((value - floor) / (ceiling - floor), 12) for seed, value in values.items()}

    def beside(name: str) -> dict[int, float]:
        return scaled(next((a for a in known if team.cell in a.bases and a.axes["intervention"] == name), None))

    def estimate(values: Mapping[int, float]) -> Estimate | None:
        return mean([values[seed] for seed in sorted(values)]) if values else None

    own, silent = scaled(team), beside(SILENT)
    alone = [beside(name) for name in (INFORMED, SOLO, MATCHED)]
    informed, solo, matched = (estimate(values) for values in alone)
    shared = sorted(own.keys() & silent.keys())
    return Gap(
        where={axis: value for axis, value in team.axes.items() if value != NONE},
        cell=team.cell,
        world=team.world,
        floor=floor,
        ceiling=ceiling,
        team=mean(list(own.values())),
        informed=informed,
        solo=solo,
        matched=matched,
        silent=estimate(silent),
        gap=mean([1 - own[seed] for seed in sorted(own)]),
        retention=_retention(own, alone),
        talk=mean([own[s] - silent[s] for s in shared]) if shared else None,
    )


def _retention(own: Mapping[int, float], alone: Sequence[Mapping[int, float]]) -> float | None:
    """The team's share of what the best of the solos reaches, both over the seeds that they share."""
    shared = [(sorted(own.keys() & solo.keys()), solo) for solo in alone]
    sums = [
        (fsum(solo[s] for s in seeds) / len(seeds), fsum(own[s] for s in seeds) / len(seeds))
        for seeds, solo in shared
        if seeds
    ]
    best, reached = max(sums, default=(0.0, 0.0))
    return reached / best if best > 0 else None
