"""What calls of a model were like in past logs: how long its answers and how long the wait, per faculty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from emcoop.core.errors import LogError
from emcoop.core.types import Json, agent_index
from emcoop.experiment.parts import SHARDS, WORKERS
from emcoop.experiment.study import log_path
from emcoop.log.events import EpisodeRow
from emcoop.log.reader import LogReader

MOST_LOGS = 20
"""So many of the newest logs beside the run are read."""

MOST_CALLS = 500
"""Of each log so many calls are read, of its last episodes first."""


@dataclass
class Habit:
    """The sums over the calls of one model and faculty that were answered."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def answer_tokens(self) -> float:
        """Mean tokens of an answer."""
        return self.tokens / self.calls

    @property
    def call_s(self) -> float:
        """Mean seconds until an answer, retries included."""
        return self.seconds / self.calls


@dataclass
class Habits:
    """The habits of every model that past logs know, by its name in a set-up and by faculty."""

    by_model: dict[str, dict[str, Habit]] = field(default_factory=dict)

    def of(self, model: str, faculty: str) -> Habit | None:
        """How this model answered this faculty; where it never did, how it answered the others; None if unknown."""
        known = self.by_model.get(model)
        if not known:
            return None
        if faculty in known:
            return known[faculty]
        every = list(known.values())
        return Habit(sum(h.calls for h in every), sum(h.tokens for h in every), sum(h.seconds for h in every))

    def calls(self, model: str) -> int:
        """How many calls of this model are known."""
        return sum(habit.calls for habit in self.by_model.get(model, {}).values())

    def add(self, model: str, faculty: str, tokens: int, seconds: float) -> None:
        """Take note of one answered call."""
        habit = self.by_model.setdefault(model, {}).setdefault(faculty, Habit())
        habit.calls += 1
        habit.tokens += tokens
        habit.seconds += seconds


def logs_of(run: Path) -> list[Path]:
    """The run's own log and those of its shards and workers, as far as they are there."""
    parts = (path for folder in (SHARDS, WORKERS) for path in sorted((run / folder).glob("*/log.db")))
    return [path for path in (log_path(run), *parts) if path.exists()]


def habits(models: Sequence[str], run: Path) -> Habits:
    """What the logs of this run and of the newest run folders beside it know of these models.

    A log that cannot be read, or is of another version, knows nothing.
    """
    found = Habits()
    if not models:
        return found
    beside = [path for path in run.resolve().parent.glob("*/log.db") if path.parent != run.resolve()]
    newest = sorted(beside, key=lambda path: (-path.stat().st_mtime_ns, str(path)))[:MOST_LOGS]
    for path in [*logs_of(run), *newest]:
        try:
            with LogReader.open(path) as reader:
                for call in islice(_calls(reader, set(models)), MOST_CALLS):
                    found.add(*call)
        except LogError:
            continue
    return found


def _calls(reader: LogReader, models: set[str]) -> Iterator[tuple[str, str, int, float]]:
    """Model, faculty, tokens and seconds of the answered calls, the last episodes first."""
    for row in reversed(list(reader.episodes())):
        if models.isdisjoint(_models(row)):
            continue
        facts = dict(reader.host(row.id))
        for event in reader.events(row.id, kinds=("model_call",)):
            name = _model_of(row.setup, event.agent or "")
            usage, fact = event.payload["usage"], facts.get(event.seq) or {}
            if name in models and usage is not None and not fact.get("cached"):
                seconds = float(fact.get("latency_s") or 0.0)
                yield name, str(event.payload["faculty"]), int(usage["output_tokens"]), seconds


def _models(row: EpisodeRow) -> set[str]:
    return {str(seat["model"]) for seat in row.setup.get("team") or () if seat.get("model")}


def _model_of(setup: Mapping[str, Json], agent: str) -> str:
    """The model of this agent's seat; nothing where the seat has several."""
    team: Sequence[Mapping[str, Any]] = setup.get("team") or ()
    seat = team[agent_index(agent) if len(team) > 1 else 0]
    return "" if seat.get("more_models") else str(seat.get("model") or "")
