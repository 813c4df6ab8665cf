"""Several logs made one: the shards of a study, played on machines that knew nothing of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from emcoop.core.canonical import content_hash
from emcoop.core.errors import ConfigError, CorruptLog
from emcoop.experiment.matrix import read_matrix
from emcoop.experiment.parts import SHARDS, Shard
from emcoop.experiment.study import log_path
from emcoop.log.events import EpisodeRow, Status
from emcoop.log.export import blob_names
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

ENDED = frozenset({Status.FINISHED, Status.FAILED})

MATRIX = "run.yaml"
"""The matrix that a run or a shard was played with, kept beside its log."""

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
    for source in sources:
        with LogReader.open(log_path(source)) as reader:
            for row in reader.episodes():
                if row.status not in ENDED:
                    raise ConfigError(f"{source}: episode {row.id} is {row.status.value}; finish the shard, then merge")
    with LogStore.open(log_path(run)) as store:
        return _gather(sources, store)


def unfinished(shards: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """Of shards that were not played to their end: how many episodes are not finished, of how many that they have.

    A shard's episodes are those of the matrix that it was played with, which is kept beside its log. Set-ups are
    compared by their content: the version that merges may be another than the one that played.
    """
    lacking: dict[str, tuple[int, int]] = {}
    for folder in shards:
        kept, name = folder / MATRIX, folder.name.replace("-of-", "/")
        if not kept.exists():
            continue
        study = read_matrix(kept).study()
        wanted = [
            (content_hash(cell.model_dump(mode="json")), seed) for cell, seed in Shard.parse(name).of(study.episodes())
        ]
        with LogReader.open(log_path(folder)) as reader:
            have = {(content_hash(row.setup), row.seed) for row in reader.episodes() if row.status == Status.FINISHED}
        count = sum(episode not in have for episode in wanted)
        if count:
            lacking[name] = count, len(wanted)
    return lacking


def _gather(sources: Sequence[Path], store: LogStore) -> tuple[int, int]:
    """`merge` into an open log."""
    copied, same = 0, 0
    have = {(row.cell, row.seed): row for row in store.episodes() if row.status == "finished"}
    for source in sources:
        with LogReader.open(log_path(source)) as reader:
            for row in (row for row in reader.episodes() if row.status in ENDED):
                before = have.get((row.cell, row.seed))
                if before is None:
                    _copy(reader, row, store)
                    copied += 1
                    if row.status == Status.FINISHED:
                        have[row.cell, row.seed] = row
                    continue
                if row.status == Status.FINISHED and before.digest != row.digest:
                    name = f"episode {row.id} (cell {row.cell[:8]}, seed {row.seed})"
                    raise ConfigError(f"{source}: {name} differs from the one merged")
                same += 1
    return copied, same


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
    if row.digest != writer.digest:
        raise CorruptLog(
            f"{reader.path}: episode {row.id}: its events give the digest {writer.digest}, not {row.digest}"
        )
    writer.finish(row.status.value, row.outcome or {})
