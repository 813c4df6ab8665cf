"""One row per cell: the episodes of a log, measured and summarised with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from emcoop.analysis.pairing import bases, emcoop_of
from emcoop.analysis.seats import agent_of, models_of
from emcoop.analysis.stats import Estimate, mean, rate
from emcoop.analysis.words import printable
from emcoop.core.types import Json
from emcoop.metrics import PAPER, Event, Trace, Value, measure, metric_order
from emcoop.metrics.trace import KINDS

FLOORS = ("random", "noop")
CEILINGS = ("oracle", "team-oracle")
REFERENCES = (*FLOORS, *CEILINGS)
DEV = range(100)
TEST = range(9000, 9100)

_LEVELS = ("easy", "medium", "hard")
_TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")


class LoggedEpisode(Protocol):
    """What is read of an episode's row in the log."""

    @property
    def id(self) -> int: ...

    @property
    def cell(self) -> str: ...

    @property
    def seed(self) -> int: ...

    @property
    def status(self) -> str: ...

    @property
    def setup(self) -> Mapping[str, Json]: ...

    @property
    def outcome(self) -> Mapping[str, Json] | None: ...


class Reader(Protocol):
    """What is read of a log; `emcoop.log.reader.LogReader` fits."""

    def episodes(self) -> Iterable[LoggedEpisode]: ...

    def events(self, episode_id: int, kinds: Sequence[str] = ()) -> Iterator[Event]: ...


@dataclass(frozen=True)
class EpisodeRecord:
    """One episode.

    `status` is ``finished``, ``failed`` (an error stopped it; `error` says which) or ``running`` (cut off). Only a
    finished one has a `limit` and `metrics`, each value by the metric's name. `impossible` says why no team could solve
    this set-up. `split` is the official split of its seed: ``dev``, ``test`` or ``other``.
    """

    id: int
    cell: str
    setup: Mapping[str, Json]
    seed: int
    status: str
    limit: str | None
    score: Mapping[str, Json]
    metrics: Mapping[str, Value]
    impossible: str | None
    split: str
    error: str | None = None
    version: str = ""
    """What played it: emcoop and the environment with their versions."""


@dataclass(frozen=True)
class Row:
    """A cell. `n` counts its finished episodes; estimates are over those for which the metric is defined.

    `metrics` is keyed M1-M18, `extras` by the names of all other metrics. `failed` and `unfinished` episodes are in no
    estimate. `limits` counts what ended the finished ones, `impossible` those no team could solve. `error` is the first
    failed episode's. `versions` are those that played the finished ones; more than one are not comparable.
    """

    cell: str
    env: str
    level: str
    agents: int
    topology: str
    agent: str
    model: str | None
    interventions: tuple[str, ...]
    n: int
    failed: int
    unfinished: int
    impossible: int
    success: Estimate
    progress: Estimate
    metrics: Mapping[str, Estimate]
    extras: Mapping[str, Estimate]
    limits: Mapping[str, int]
    seeds: tuple[int, ...]
    split: str
    error: str | None = None
    versions: tuple[str, ...] = ()
    control: str = ""
    """The cell without the interventions; the cell itself where there are none."""
    bases: tuple[str, ...] = ()
    """The cells that it is compared with: its control, or for an agent by itself the team under every topology."""

    @property
    def group(self) -> tuple[str, str, int]:
        """Rows of one group play the same task: environment, level and team size."""
        return self.env, self.level, self.agents

    @property
    def role(self) -> str:
        """``floor`` or ``ceiling`` for a reference policy that nothing was done to, else the empty string."""
        if self.interventions:
            return ""
        return "floor" if self.agent in FLOORS else "ceiling" if self.agent in CEILINGS else ""

    def estimate(self, name: str) -> Estimate:
        """The estimate of this metric. Raises KeyError for an unknown name."""
        known = {"success": self.success, "progress": self.progress, **self.metrics, **self.extras}
        return known[name]

    def to_json(self) -> dict[str, Json]:
        """The row as plain JSON types."""
        return {
            "cell": self.cell,
            "env": self.env,
            "level": self.level,
            "agents": self.agents,
            "topology": self.topology,
            "agent": self.agent,
            "model": self.model,
            "interventions": list(self.interventions),
            "n": self.n,
            "failed": self.failed,
            "unfinished": self.unfinished,
            "impossible": self.impossible,
            "success": self.success.to_json(),
            "progress": self.progress.to_json(),
            "metrics": {name: value.to_json() for name, value in self.metrics.items()},
            "extras": {name: value.to_json() for name, value in self.extras.items()},
            "limits": dict(self.limits),
            "seeds": list(self.seeds),
            "split": self.split,
            "error": self.error,
            "versions": list(self.versions),
            "control": self.control,
            "bases": list(self.bases),
        }


def split_of(seed: int) -> str:
    """The official split of a seed: dev 0-99, test 9000-9099, else other."""
    return "dev" if seed in DEV else "test" if seed in TEST else "other"


def read_records(reader: Reader) -> list[EpisodeRecord]:
    """Every episode of the log, measured in one pass over its events. Raises LogError."""
    return [read_record(reader, episode) for episode in reader.episodes()]


def read_record(reader: Reader, episode: LoggedEpisode) -> EpisodeRecord:
    """One episode of the log. Raises LogError."""
    outcome = episode.outcome or {}
    if episode.status == "finished":
        trace = Trace.build(reader.events(episode.id, kinds=KINDS))
        opening, values, limit = trace.start, measure(trace), trace.limit
    else:
        opening, values, limit = _opening(reader.events(episode.id, kinds=("episode_start",))), {}, None
    return EpisodeRecord(
        id=episode.id,
        cell=episode.cell,
        setup=episode.setup,
        seed=episode.seed,
        status=episode.status,
        limit=limit,
        score=outcome.get("score") or {},
        metrics=values,
        impossible=opening.get("impossible"),
        split=split_of(episode.seed),
        error=outcome.get("error"),
        version=_version(opening),
    )


def _version(opening: Mapping[str, Json]) -> str:
    env = opening.get("env") or {}
    return printable(f"emcoop {opening.get('emcoop', '?')}, {env.get('name', '?')} {env.get('version', '?')}")


def _opening(events: Iterable[Event]) -> Mapping[str, Json]:
    for event in events:
        return event.payload
    return {}


def summarise(records: Iterable[EpisodeRecord]) -> list[Row]:
    """One row per cell, ordered by environment, level, team size, topology and agent.

    Where a seed of a cell was played more than once, a finished episode stands for the ones that failed or were cut
    off; of several of the same status the last one counts.
    """
    cells: dict[str, dict[int, EpisodeRecord]] = {}
    for record in records:
        seeds = cells.setdefault(record.cell, {})
        before = seeds.get(record.seed)
        if before is None or record.status == "finished" or before.status != "finished":
            seeds[record.seed] = record
    models = models_of({cell: next(iter(seeds.values())).setup for cell, seeds in cells.items()})
    told = {cell: max(seeds.values(), key=lambda record: record.status == "finished") for cell, seeds in cells.items()}
    beside = bases({cell: (record.setup, emcoop_of(record.version)) for cell, record in told.items()})
    rows = [
        _row(cell, [seeds[seed] for seed in sorted(seeds)], models[cell], beside[cell]) for cell, seeds in cells.items()
    ]
    return sorted(rows, key=_place)


def _row(cell: str, records: Sequence[EpisodeRecord], model: str, beside: tuple[str, ...]) -> Row:
    """`records` has one entry per seed, in the order of the seeds."""
    setup = records[0].setup
    team: Sequence[Mapping[str, Json]] = setup.get("team") or ()
    finished = [record for record in records if record.status == "finished"]
    failed = [record for record in records if record.status == "failed"]
    known = [record.metrics["success"] for record in finished if record.metrics.get("success") is not None]
    estimates = {name: _estimate(finished, name) for name in metric_order()}
    return Row(
        cell=cell,
        env=printable(str(setup.get("env", "?"))),
        level=printable(str(setup.get("level", "?"))),
        agents=int(setup.get("agents", 0)),
        topology=printable(str(setup.get("topology", "?"))),
        agent=printable("+".join(dict.fromkeys(agent_of(seat, bool(setup.get("interventions"))) for seat in team))),
        model=printable(model) or None,
        interventions=tuple(printable(str(name)) for name in setup.get("interventions") or ()),
        n=len(finished),
        failed=len(failed),
        unfinished=len(records) - len(finished) - len(failed),
        impossible=sum(record.impossible is not None for record in records),
        success=rate(sum(value == 1.0 for value in known), len(known)),
        progress=estimates.pop("progress"),
        metrics={name: estimates.pop(name) for name in PAPER},
        extras={name: value for name, value in estimates.items() if name != "success"},
        limits=dict(sorted(Counter(record.limit or "none" for record in finished).items())),
        seeds=tuple(record.seed for record in records),
        split="+".join(sorted({record.split for record in records})),
        error=next((record.error for record in failed if record.error), None),
        versions=tuple(dict.fromkeys(record.version for record in finished if record.version)),
        control=str(setup.get("control") or cell),
        bases=beside,
    )


def _estimate(records: Sequence[EpisodeRecord], name: str) -> Estimate:
    values = (record.metrics.get(name) for record in records)
    return mean([value for value in values if value is not None])


def _place(row: Row) -> tuple[Any, ...]:
    return (
        row.env,
        _rank(row.level, _LEVELS),
        row.agents,
        _rank(row.role, ("", "floor", "ceiling")),
        _rank(row.topology, _TOPOLOGIES),
        row.agent in REFERENCES,
        _rank(row.agent, REFERENCES),
        row.model or "",
        row.interventions,
        row.cell,
    )


def _rank(name: str, known: Sequence[str]) -> tuple[int, str]:
    """Known names in their order, then the others by name."""
    return (known.index(name) if name in known else len(known), name)


def split_references(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows themselves, and those that are only floors and ceilings for the others.

    A row of a reference policy (random, noop, oracle, team-oracle) without an intervention is a reference when some
    other row plays the same environment, level and team size; else it is a row in its own right.
    """
    played = {row.group for row in rows if not row.role}
    own: list[Row] = []
    references: list[Row] = []
    for row in rows:
        (references if row.role and row.group in played else own).append(row)
    return own, references


def to_json(rows: Sequence[Row]) -> dict[str, Json]:
    """What ``--json`` prints: the rows, and apart from them their references."""
    own, references = split_references(rows)
    return {"rows": [row.to_json() for row in own], "references": [row.to_json() for row in references]}


def _who(row: Row) -> str:
    return " ".join(filter(None, (row.agent, row.model)))


def names_of(rows: Sequence[Row]) -> dict[str, str]:
    """A short name for each cell inside its group: topology, agent, model and interventions.

    Where two would be alike, that of the team is added without which the cell would not be (such as the
    team that one agent alone is compared with, and only who plays in it where there are several, which differ in the
    topology); where that tells nothing, the beginning of the cell's own name.
    """
    plain = {
        row.cell: " ".join(filter(None, (row.topology, _who(row), *(f"+{name}" for name in row.interventions))))
        for row in rows
    }
    by_cell = {row.cell: row for row in rows}
    beside = {}
    for row in rows:
        teams = [base for base in row.bases if base in plain]
        if row.interventions and teams:
            team = plain[teams[0]] if len(teams) == 1 else _who(by_cell[teams[0]])
            beside[row.cell] = f"{plain[row.cell]} (for {team})"
    alike = Counter((row.group, plain[row.cell]) for row in rows)
    told = Counter((row.group, beside.get(row.cell)) for row in rows)

    def name(row: Row) -> str:
        if alike[row.group, plain[row.cell]] == 1:
            return plain[row.cell]
        if row.cell in beside and told[row.group, beside[row.cell]] == 1:
            return beside[row.cell]
        return f"{plain[row.cell]} #{row.cell[:6]}"

    return {row.cell: name(row) for row in rows}
