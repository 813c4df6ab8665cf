"""Writing a log: episodes side by side in one file, events appended as they happen.

What `flush` has returned from survives the death of the process. Events are buffered for the whole store and
committed together, in the order they were appended; the order of events *within* an episode is `seq`, and its
digest depends on nothing else. One thread writes; any number of processes may read meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from emcoop.core.canonical import canonical_json
from emcoop.core.errors import LogError
from emcoop.core.types import AgentId, Json, Micros
from emcoop.log.database import open_for_writing, transaction, translated
from emcoop.log.events import EpisodeRow, Status
from emcoop.log.joining import last, take_in
from emcoop.log.lock import WriterLock, cannot_write
from emcoop.log.packing import LEVEL, SMALL_LEVEL, ZSTD, Packer, pack_dictionary, unpack_dictionary
from emcoop.log.reader import read_episodes
from emcoop.log.writer import EpisodeWriter

FLUSH_EVENTS = 5_000
"""So many events are buffered at most; the store then flushes by itself."""

FLUSH_BYTES = 8 << 20
"""So many bytes of blobs are buffered at most."""

BLOB_LEAST = 32
EVENT_LEAST = 128
"""Contents of fewer bytes are stored as they are; short payloads stay legible in any SQLite tool."""

PACK_BYTES = 128 << 10
"""Blobs of one commit are joined until they have so many bytes; a reader decompresses that much for one of them."""

COMMIT_S = 0.1
"""Steps that follow one another faster, of one episode or of many, share a commit."""

SHARED_S = 0.02
"""So long the end of an episode may wait for those of others, to share a commit with them."""

ASKED_AT_ONCE = 500
"""Of so many blobs one query asks whether they are there; SQLite admits 999 values in a statement, or more."""

End = tuple[Status, str, str, int]
"""How an episode ended: status, digest, outcome, and its number."""

BEGUN = "INSERT OR IGNORE INTO episodes(id, cell, seed, status, setup) VALUES (?, ?, ?, ?, ?)"
ENDED = "UPDATE episodes SET status = ?, digest = ?, outcome = ? WHERE id = ?"

REMEMBERED_BLOBS = 100_000
"""Of so many blobs, and of as many before them, the store knows that it has kept them already: at most 30 MB. Of a
forgotten one the log is asked at the next commit."""


class _Dictionaries:
    """Those that the next commit adds. Apart from the store, so that packers do not refer back to it: a closed store is
    freed at once."""

    def __init__(self) -> None:
        self.fresh: list[tuple[int, str, bytes]] = []
        self.last = ZSTD

    def keep(self, purpose: str, data: bytes) -> int:
        """Take this one; returns its number."""
        self.last += 1
        self.fresh.append((self.last, purpose, pack_dictionary(data)))
        return self.last


class LogStore:
    """The one writer of a log file; a context manager. Use `open`."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: WriterLock) -> None:
        self.path = path
        self._db = db
        self._lock = lock
        self._events: list[tuple[int, int, Micros, int, AgentId | None, str, bytes]] = []
        self._packed: list[tuple[Any, ...]] = []
        self._host: list[tuple[int, int, str]] = []
        self._contents: list[tuple[bytes, bytes]] = []
        self._content_bytes = 0
        self._blobs: list[tuple[bytes, int, int, int]] = []
        self._packs: list[tuple[int, int, bytes]] = []
        self._dictionaries = _Dictionaries()
        self._count()
        self._blob_packer = self._packer("blob", BLOB_LEAST, LEVEL)
        self._event_packer = self._packer("event", EVENT_LEAST, SMALL_LEVEL)
        self._known: set[bytes] = set()
        self._known_before: set[bytes] = set()
        self._writers: dict[tuple[str, int], EpisodeWriter] = {}
        self._begun: list[tuple[int, str, int, Status, str]] = []
        self._ends: list[End] = []
        self._ending: set[tuple[str, int]] = set()
        """Cells and seeds of `_ends`."""
        self._waiting: list[asyncio.Future[None]] = []
        self._due: asyncio.AbstractEventLoop | None = None
        """Where the next shared commit of ends is due."""
        self._closed = False
        self._committed = time.monotonic()

    @classmethod
    def open(cls, path: Path) -> LogStore:
        """Open or make the log for writing; its folder is made if need be. An older schema is migrated.

        Episodes that a dead process left ``running`` become ``interrupted``. Raises LogLocked while another
        process writes, NewerSchema, CorruptLog, LogFull, or LogError where nothing can be written.
        """
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        lock = WriterLock.acquire(path)
        try:
            db = open_for_writing(path)
            try:
                with translated(path):
                    with transaction(db):
                        values = (Status.INTERRUPTED, Status.RUNNING)
                        db.execute("UPDATE episodes SET status = ? WHERE status = ?", values)
                    return cls(path, db, lock)
            except BaseException:
                db.close()
                raise
        except BaseException:
            lock.release()
            raise

    def _packer(self, purpose: str, least: int, level: int) -> Packer:
        """A packer that goes on with the log's latest dictionary for this purpose."""
        query = "SELECT id, data FROM dictionaries WHERE purpose = ? ORDER BY id DESC LIMIT 1"
        row = self._db.execute(query, (purpose,)).fetchone()
        latest = None if row is None else (row[0], unpack_dictionary(row[1]))
        return Packer(partial(self._dictionaries.keep, purpose), latest, least=least, level=level)

    def _count(self) -> None:
        """Number on from what the log has. Whether it keeps a blob it is asked only if some are there, or forgotten."""
        self._last_pack = last(self._db, "packs")
        self._last_episode = last(self._db, "episodes")
        self._dictionaries.last = max(ZSTD, last(self._db, "dictionaries"))
        self._asks = self._last_pack > 0

    def __enter__(self) -> LogStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit what is buffered, mark episodes without an end ``interrupted``, and let the next writer in.

        Raises LogFull when the last commit finds no space; the log is closed all the same.
        """
        if self._closed:
            return
        self._closed = True
        for writer in self._writers.values():
            writer._ended = True
        try:
            self.flush()
            with translated(self.path):
                with transaction(self._db):
                    for writer in self._writers.values():
                        self._db.execute(ENDED, (Status.INTERRUPTED, None, None, writer.id))
                self._leave_one_file()
        finally:
            self._db.close()
            self._lock.release()

    def _leave_one_file(self) -> None:
        """A closed log is one plain file that also reads from a read-only medium, unless a reader is at it."""
        self._db.execute("PRAGMA busy_timeout=0")
        try:
            self._db.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if not str(error.sqlite_errorname).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise

    def episodes(self) -> list[EpisodeRow]:
        """All episodes of the log, in the order they were begun; what is buffered is committed first."""
        self.flush()
        with translated(self.path):
            return read_episodes(self._db, self.path)

    def finished(self) -> set[tuple[str, int]]:
        """Cell and seed of every finished episode; without reading the set-ups and outcomes, which may be many."""
        with translated(self.path):
            return set(self._db.execute("SELECT cell, seed FROM episodes WHERE status = ?", (Status.FINISHED,)))

    def start(self, *, cell: str, seed: int, setup: Mapping[str, Json]) -> EpisodeWriter:
        """Begin the episode of this cell and seed; beside others that are being written, by their next commit.

        An earlier attempt that did not finish is replaced: its events are deleted in a commit of their own. Raises
        LogError when the episode is being written or is finished.
        """
        if (cell, seed) in self._writers:
            raise LogError(f"{self.path}: the episode of cell {cell} with seed {seed} is being written already")
        if (cell, seed) in self._ending:
            self.flush()
        with translated(self.path):
            row = self._db.execute(
                "SELECT id, status FROM episodes WHERE cell = ? AND seed = ?", (cell, seed)
            ).fetchone()
            if row is not None and row[1] == Status.FINISHED:
                raise LogError(f"{self.path}: the episode of cell {cell} with seed {seed} is finished already")
            if row is not None:
                with transaction(self._db):
                    self._delete(row[0])
        self._last_episode += 1
        self._begun.append((self._last_episode, cell, seed, Status.RUNNING, canonical_json(setup).decode()))
        if not self._writers:
            try:
                self._commit()
            except LogError:
                self._begun.pop()
                raise
        writer = EpisodeWriter(self, self._last_episode, cell, seed)
        self._writers[cell, seed] = writer
        return writer

    def take(self, other: Path) -> int:
        """Copy what has ended, or was cut off, in another log that nobody writes; returns how many episodes came.

        An episode that this log has finished is left alone, another attempt at it is replaced. The other log's digests
        are believed (`experiment.merge` compares them). Raises LogError while an episode is being written here.
        """
        if self._writers:
            raise LogError(f"{self.path}: nothing can be taken in while an episode is being written")
        self.flush()
        taken = take_in(self._db, self.path, other)
        with translated(self.path):
            self._count()
        return taken

    def _delete(self, episode: int) -> None:
        for table in ("events", "host"):
            self._db.execute(f"DELETE FROM {table} WHERE episode = ?", (episode,))
        self._db.execute("DELETE FROM episodes WHERE id = ?", (episode,))

    def flush(self) -> None:
        """Commit everything that was appended. Raises LogFull; the buffer is kept then, for another try."""
        if self._begun or self._events or self._packed or self._contents or self._packs or self._ends:
            self._commit()

    def sync(self) -> bool:
        """Commit everything that was appended, and write it through to the disk: it survives a loss of power then.

        False where a reader that is in the middle of something is in the way: it may then survive that, or not.
        """
        self.flush()
        with translated(self.path):
            return not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def _commit(self, *ends: End) -> None:
        """Commit what was appended and, in the same transaction, the ends of episodes."""
        with translated(self.path):
            self._pack_blobs()
        self._pack_events()
        with translated(self.path), transaction(self._db):
            # A flush that an interrupt cut off after its commit is repeated by the next one: it then changes nothing.
            self._db.executemany(BEGUN, self._begun)
            self._db.executemany("INSERT OR IGNORE INTO dictionaries VALUES (?, ?, ?)", self._dictionaries.fresh)
            self._db.executemany("INSERT OR IGNORE INTO packs VALUES (?, ?, ?)", self._packs)
            # Their names are random: in order, each page of the table is looked for and changed once.
            self._db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?)", sorted(self._blobs))
            self._db.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._packed)
            self._db.executemany("INSERT OR IGNORE INTO host VALUES (?, ?, ?)", self._host)
            self._db.executemany(ENDED, (*self._ends, *ends))
        self._begun.clear()
        self._packed.clear()
        self._host.clear()
        self._blobs.clear()
        self._packs.clear()
        self._dictionaries.fresh.clear()
        self._ends.clear()
        self._ending.clear()
        self._settle(None)
        self._committed = time.monotonic()

    def _settle(self, error: LogError | None) -> None:
        """Tell those who wait for a shared commit that it is done, or why it is not."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.done():
                continue  # nobody waits any more: the episode was cancelled at its very end
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    def _pack_blobs(self) -> None:
        """Contents that the log does not have yet, joined into packs of about PACK_BYTES."""
        pack: list[tuple[bytes, bytes]] = []
        size = 0
        kept = self._kept()
        for key, content in self._contents:
            if key not in kept:
                pack.append((key, content))
                size += len(content)
            if size >= PACK_BYTES:
                self._add_pack(pack)
                pack, size = [], 0
        if pack:
            self._add_pack(pack)
        self._contents.clear()
        self._content_bytes = 0

    def _kept(self) -> set[bytes]:
        """Which of the buffered contents the log has already, though nobody here remembers them."""
        kept: set[bytes] = set()
        if not self._asks:
            return kept
        for start in range(0, len(self._contents), ASKED_AT_ONCE):
            keys = [key for key, _ in self._contents[start : start + ASKED_AT_ONCE]]
            marks = ",".join("?" * len(keys))
            kept.update(key for (key,) in self._db.execute(f"SELECT hash FROM blobs WHERE hash IN ({marks})", keys))
        return kept

    def _add_pack(self, contents: list[tuple[bytes, bytes]]) -> None:
        self._last_pack += 1
        start = 0
        for key, content in contents:
            self._blobs.append((key, self._last_pack, start, len(content)))
            start += len(content)
        codec, data = self._blob_packer.pack(b"".join(content for _, content in contents))
        self._packs.append((self._last_pack, codec, data))
        for _, content in contents:
            self._blob_packer.learn(content)

    def _pack_events(self) -> None:
        for *head, body in self._events:
            codec, data = self._event_packer.pack(body)
            if codec:
                self._event_packer.learn(body)
            self._packed.append((*head, codec, data if codec else body.decode()))
        self._events.clear()

    def _checkpoint(self) -> None:
        if time.monotonic() - self._committed >= COMMIT_S:
            self.flush()

    # -- for EpisodeWriter ---------------------------------------------------------------------------------------

    def _append(
        self, row: tuple[int, int, Micros, int, AgentId | None, str, bytes], host: Mapping[str, Json] | None
    ) -> None:
        self._events.append(row)
        if host is not None:
            self._host.append((row[0], row[1], canonical_json(host).decode()))
        if len(self._events) >= FLUSH_EVENTS:
            self.flush()

    def _keep(self, content: bytes) -> str:
        key = hashlib.sha256(content).digest()
        if key not in self._known and key not in self._known_before:
            self._contents.append((key, content))
            self._content_bytes += len(content)
            if len(self._known) >= REMEMBERED_BLOBS:
                self._asks = self._asks or bool(self._known_before)
                self._known_before, self._known = self._known, set()
            self._known.add(key)
            if self._content_bytes >= FLUSH_BYTES:
                self.flush()
        return key.hex()

    def _finish(self, writer: EpisodeWriter, status: Status, digest: str, outcome: Mapping[str, Json]) -> None:
        self._commit((status, digest, canonical_json(outcome).decode(), writer.id))
        del self._writers[writer.cell, writer.seed]

    async def _finish_soon(
        self, writer: EpisodeWriter, status: Status, digest: str, outcome: Mapping[str, Json]
    ) -> None:
        if len(self._writers) == 1:  # nobody to share a commit with
            self._finish(writer, status, digest, outcome)
            return
        loop = asyncio.get_running_loop()
        committed: asyncio.Future[None] = loop.create_future()
        del self._writers[writer.cell, writer.seed]
        self._ends.append((status, digest, canonical_json(outcome).decode(), writer.id))
        self._ending.add((writer.cell, writer.seed))
        self._waiting.append(committed)
        if self._due is not loop:
            self._due = loop
            loop.call_later(SHARED_S, self._commit_ends)
        try:
            await committed
        except LogError:
            self._writers[writer.cell, writer.seed] = writer
            raise

    def _commit_ends(self) -> None:
        self._due = None
        if not self._ends or self._closed:
            return
        try:
            self._commit()
        except LogError as error:
            self._ends.clear()
            self._ending.clear()
            self._settle(error)
