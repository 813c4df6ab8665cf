"""A log as two Parquet files for DuckDB, Polars and the like: one row per episode, and one per event."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from emcoop.analysis.cells import EpisodeRecord, read_record
from emcoop.analysis.seats import agent_of
from emcoop.core.errors import ConfigError, MissingDependency
from emcoop.core.types import Json
from emcoop.log.reader import LogReader
from emcoop.metrics import metric_order

ABOUT: Mapping[str, str] = {
    "episode": "BIGINT",
    "cell": "VARCHAR",
    "seed": "BIGINT",
    "split": "VARCHAR",
    "status": "VARCHAR",
    "ended_by": "VARCHAR",
    "env": "VARCHAR",
    "level": "VARCHAR",
    "agents": "BIGINT",
    "topology": "VARCHAR",
    "agent": "VARCHAR",
    "model": "VARCHAR",
    "interventions": "VARCHAR[]",
    "control": "VARCHAR",
    "impossible": "VARCHAR",
    "version": "VARCHAR",
}
"""The columns of an episode before its metrics, which are DOUBLE and named as everywhere."""

EVENTS: Mapping[str, str] = {
    "episode": "BIGINT",
    "seq": "BIGINT",
    "cog_time_us": "BIGINT",
    "env_step": "BIGINT",
    "agent": "VARCHAR",
    "kind": "VARCHAR",
    "payload": "VARCHAR",
}
"""The columns of an event; the payload is JSON text, as docs/log.md describes it."""


def export_parquet(reader: LogReader, folder: Path) -> tuple[Path, Path]:
    """Write episodes.parquet and events.parquet into the folder; returns their paths.

    Raises MissingDependency without DuckDB, ConfigError where the folder cannot be written.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingDependency("Parquet is written by DuckDB: pip install 'emcoop[parquet]'") from None
    columns = {**ABOUT, **dict.fromkeys(metric_order(), "DOUBLE")}
    rows = reader.episodes()
    tables: list[tuple[str, Mapping[str, str], Iterable[Mapping[str, Json]]]] = [
        ("episodes", columns, (_episode(read_record(reader, row)) for row in rows)),
        ("events", EVENTS, (event for row in rows for event in _events(reader, row.id))),
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as db:
            for name, types, found in tables:
                with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".json") as lines:
                    for item in found:
                        lines.write(json.dumps(item) + "\n")
                    lines.flush()
                    source = db.read_json(lines.name, columns=dict(types), format="newline_delimited")
                    source.write_parquet(str(folder / f"{name}.parquet"), compression="zstd")
    except (OSError, duckdb.IOException) as error:
        raise ConfigError(f"{folder}: cannot be written: {error}") from error
    return folder / "episodes.parquet", folder / "events.parquet"


def _episode(record: EpisodeRecord) -> dict[str, Json]:
    setup = record.setup
    team = setup.get("team") or ()
    changed = bool(setup.get("interventions"))
    return {
        "episode": record.id,
        "cell": record.cell,
        "seed": record.seed,
        "split": record.split,
        "status": str(record.status),
        "ended_by": record.limit,
        **{name: setup.get(name) for name in ("env", "level", "agents", "topology", "control")},
        "agent": "+".join(dict.fromkeys(agent_of(seat, changed) for seat in team)),
        "model": "+".join(dict.fromkeys(str(seat["model"]) for seat in team if seat.get("model"))) or None,
        "interventions": list(setup.get("interventions") or ()),
        "impossible": record.impossible,
        "version": record.version,
        **record.metrics,
    }


def _events(reader: LogReader, episode: int) -> Iterable[dict[str, Json]]:
    for event in reader.events(episode):
        yield {
            "episode": episode,
            "seq": event.seq,
            "cog_time_us": event.cog_time,
            "env_step": event.env_step,
            "agent": event.agent,
            "kind": event.kind,
            "payload": json.dumps(event.payload),
        }
