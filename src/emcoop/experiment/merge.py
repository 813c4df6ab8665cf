"""Several logs made one: the shards of a study, played on machines that knew nothing of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from emcoop.core.errors import ConfigError, CorruptLog
from emcoop.experiment.study import SHARDS, log_path
from emcoop.log.events import EpisodeRow
from emcoop.log.export import blob_names
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

_FOLDER = re.compile(r"^(\d+)-of-(\d+)$")


def shards_of(run: Path) -> list[Path]:
    """The shard folders of a run. Raises ConfigError naming those that are missing, or where counts differ."""
    found = {m: path for path in sorted((run / SHARDS).glob("*-of-*")) if (m := _FOLDER.match(path.name))}
    if not found:
        raise ConfigError(f"{run}: it has no shards; play them with emcoop run ... --out {run} --shard i/n")
    counts = sorted({int(m[2]) for m in found})
    if len(counts) > 1:
        raise ConfigError(f"{run}: its shards are of {' and '.join(map(str, counts))} parts; keep those of one count")
    have = {int(m[1]): path for m, path in found.items() if log_path(path).exists()}
    missing = [f"{index}/{counts[0]}" for index in range(counts[0]) if index not in have]
    if missing:
        raise ConfigError(f"{run}: shards are missing: {', '.join(missing)}; play them, then merge")
    return [have[index] for index in sorted(have)]


def merge(sources: Sequence[Path], run: Path) -> tuple[int, int]:
    """Copy every finished episode of the sources into the run's log; returns how many were copied and left alone.

    An episode that the log has already is left alone if it is the same one. Raises ConfigError for another version of
    an episode, and for a source with episodes that have not ended; CorruptLog when a copy has another digest.
    """
    copied, same = 0, 0
    with LogStore.open(log_path(run)) as store:
        have = {(row.cell, row.seed): row for row in store.episodes() if row.status == "finished"}
        for source in sources:
            with LogReader.open(log_path(source)) as reader:
                for row in reader.episodes():
                    if _known(row, have.get((row.cell, row.seed)), source):
                        same += 1
                    else:
                        _copy(reader, row, store)
                        copied += 1
    return copied, same


def _known(row: EpisodeRow, before: EpisodeRow | None, source: Path) -> bool:
    if row.status not in ("finished", "failed"):
        raise ConfigError(f"{source}: episode {row.id} is {row.status.value}; finish the shard, then merge")
    if before is None:
        return False
    if row.status == "finished" and before.digest != row.digest:
        raise ConfigError(
            f"{source}: episode {row.id} (cell {row.cell[:8]}, seed {row.seed}) differs from the one merged"
        )
    return True


def _copy(reader: LogReader, row: EpisodeRow, store: LogStore) -> None:
    facts = dict(reader.host(row.id))
    writer = store.start(cell=row.cell, seed=row.seed, setup=row.setup)
    for event in reader.events(row.id):
        for name in blob_names(event.kind, event.payload):
            writer.blob(reader.blob(name))
        writer.append(
            event.kind,
            event.payload,
            cog_time=event.cog_time,
            env_step=event.env_step,
            agent=event.agent,
            host=facts.get(event.seq),
        )
    if writer.digest != row.digest:
        raise CorruptLog(
            f"{reader.path}: episode {row.id}: its events give the digest {writer.digest}, not {row.digest}"
        )
    writer.finish(row.status.value, row.outcome or {})
