"""Writing a log: episodes side by side in one file, events appended as they happen.

What `flush` has returned from survives the death of the process. Events are buffered for the whole store and
committed together, those of each episode as a chunk; the order of events *within* an episode is `seq`, and its digest
depends on nothing else. One thread writes; any number of processes may read meanwhile.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from emcoop.core.canonical import canonical_json
from emcoop.core.errors import LogError
from emcoop.core.types import Json
from emcoop.log.blobs import BlobBuffer
from emcoop.log.chunks import ChunkBuffer
from emcoop.log.database import open_for_writing, transaction, translated
from emcoop.log.dictionaries import Dictionaries
from emcoop.log.events import EpisodeRow, Status
from emcoop.log.joining import last, take_in
from emcoop.log.lock import WriterLock, cannot_write
from emcoop.log.packing import BLOBS, CHUNKS
from emcoop.log.reader import read_episodes
from emcoop.log.writer import EpisodeWriter

FLUSH_BYTES = 8 << 20
"""So many bytes of blobs are buffered at most; of events it is FLUSH_EVENTS."""

COMMIT_S = 0.1
"""Steps that follow one another faster, of one episode or of many, share a commit."""

SHARED_S = 0.02
"""So long the end of an episode may wait for those of others, to share a commit with them."""

End = tuple[Status, str, str, int]
"""How an episode ended: status, digest, outcome, and its number."""

BEGUN = "INSERT OR IGNORE INTO episodes(id, cell, seed, status, setup) VALUES (?, ?, ?, ?, ?)"
ENDED = "UPDATE episodes SET status = ?, digest = ?, outcome = ? WHERE id = ?"


class LogStore:
    """The one writer of a log file; a context manager. Use `open`."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: WriterLock) -> None:
        self.path = path
        self._db = db
        self._lock = lock
        self._dictionaries = Dictionaries(last(db, "dictionaries"))
        self._blobs = BlobBuffer(self._dictionaries.packer(db, BLOBS), last(db, "packs"))
        self._chunks = ChunkBuffer(self._dictionaries.packer(db, CHUNKS))
        self._last_episode = last(db, "episodes")
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
        writer = EpisodeWriter(self, self._chunks, self._last_episode, cell, seed)
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
            self._last_episode = last(self._db, "episodes")
            self._blobs.number_on(last(self._db, "packs"))
            self._dictionaries.number_on(last(self._db, "dictionaries"))
        return taken

    def _delete(self, episode: int) -> None:
        self._db.execute("DELETE FROM chunks WHERE episode = ?", (episode,))
        self._db.execute("DELETE FROM episodes WHERE id = ?", (episode,))

    def flush(self) -> None:
        """Commit everything that was appended. Raises LogFull; the buffer is kept then, for another try."""
        if self._begun or self._chunks or self._blobs or self._ends:
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
        self._chunks.pack()
        with translated(self.path):
            self._blobs.pack(self._db)
        with translated(self.path), transaction(self._db):
            # A flush that an interrupt cut off after its commit is repeated by the next one: it then changes nothing.
            self._db.executemany(BEGUN, self._begun)
            self._dictionaries.write(self._db)
            self._blobs.write(self._db)
            self._chunks.write(self._db)
            self._db.executemany(ENDED, (*self._ends, *ends))
        self._begun.clear()
        self._blobs.clear()
        self._chunks.clear()
        self._dictionaries.clear()
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

    def _checkpoint(self) -> None:
        if time.monotonic() - self._committed >= COMMIT_S:
            self.flush()

    # -- for EpisodeWriter ---------------------------------------------------------------------------------------

    def _keep(self, content: bytes) -> str:
        name = self._blobs.keep(content)
        if self._blobs.size >= FLUSH_BYTES:
            self.flush()
        return name

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
