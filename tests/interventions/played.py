"""Playing small studies into a folder and reading what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emcoop.analysis.cells import EpisodeRecord, read_records
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, log_path, play
from emcoop.interventions import apply
from emcoop.log.events import Event
from emcoop.log.reader import LogReader


def team(*names: str, **parts: Any) -> Setup:
    """CUBE with these interventions on a scripted team of three on hard, centralized, unless told otherwise."""
    base = Setup.model_validate(
        {"env": "cube", "level": "hard", "agents": 3, "topology": "centralized", "team": (SeatConfig(),), **parts}
    )
    return apply(base, names)


def played(folder: Path, cells: Sequence[Setup], seeds: Sequence[int]) -> list[EpisodeRecord]:
    """The records of these cells after playing them; every episode must have finished."""
    errors = asyncio.run(play(Study(cells=tuple(cells), seeds=tuple(seeds)), folder, jobs=4))
    assert errors == []
    with LogReader.open(log_path(folder)) as reader:
        return read_records(reader)


def events_of(folder: Path, cell: Setup, seed: int, *kinds: str) -> list[Event]:
    """The events of one episode."""
    with LogReader.open(log_path(folder)) as reader:
        (row,) = [row for row in reader.episodes() if (row.cell, row.seed) == (cell.cell, seed)]
        return list(reader.events(row.id, kinds=kinds))


def values(records: Sequence[EpisodeRecord], cell: Setup, metric: str) -> list[float]:
    """The metric's values in the episodes of a cell, in the order of their seeds."""
    found = sorted((r.seed, r.metrics[metric]) for r in records if r.cell == cell.cell)
    return [value for _, value in found if value is not None]
