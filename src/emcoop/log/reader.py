"""Reading a log, page by page: nothing here holds an episode whole."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from emcoop.core.errors import CorruptLog, LogError
from emcoop.core.types import Json
from emcoop.log.database import open_for_reading, translated
from emcoop.log.events import EpisodeRow, Event, Status, validate
from emcoop.log.lines import kind_bits
from emcoop.log.packing import Unpacker, unpack_dictionary
from emcoop.log.stored import COLUMNS, StoredChunk

PAGE = 1_000
"""How many events are fetched at once."""

CHUNKS_AT_ONCE = 8
"""So many chunks are fetched at once, still compressed; one by one they are decompressed."""

REMEMBERED_CHUNKS = 16
"""Of so many chunks the content is kept: who looks for a place by halving comes by the same ones again and again."""

REMEMBERED_PACKS = 16
"""Of so many packs of blobs the content is kept: neighbouring events name blobs of the same few packs."""


class LogReader:
    """Reads a log, also while it is being written; a context manager. Use `open`."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._packs: dict[int, bytes] = {}
        self._remembered: dict[tuple[int, int], tuple[tuple[Any, ...], StoredChunk]] = {}
        self._unpacker = Unpacker(self._dictionary)

    @classmethod
    def open(cls, path: Path) -> LogReader:
        """Open an existing log. Raises LogError, CorruptLog or NewerSchema."""
        path = Path(path)
        return cls(path, open_for_reading(path))

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def episodes(self) -> list[EpisodeRow]:
        """All episodes of the log, in the order they were begun."""
        with translated(self.path):
            return read_episodes(self._db, self.path)

    def episode(self, episode_id: int) -> EpisodeRow:
        """One episode. Raises LogError when the log has none with this number."""
        with translated(self.path):
            found = read_episodes(self._db, self.path, episode_id)
        if not found:
            raise LogError(f"{self.path}: no episode {episode_id} in this log")
        return found[0]

    def events(
        self, episode_id: int, kinds: Sequence[str] = (), start_seq: int = 0, page: int = PAGE
    ) -> Iterator[Event]:
        """The events of an episode in order, from `start_seq` on, of these kinds (of all when none is named).

        At most `page` events are held at once, or a few chunks of a log. Events committed meanwhile are seen. Raises
        CorruptLog.
        """
        for chunk in self._chunks(episode_id, start_seq, page, kinds):
            yield from chunk.events(start_seq, kinds)

    def page(self, episode_id: int, kinds: Sequence[str] = (), start_seq: int = 0, size: int = PAGE) -> list[Event]:
        """Up to `size` events from `start_seq` on; found by index, wherever in the episode they lie."""
        return list(islice(self.events(episode_id, kinds, start_seq, size), size))

    def last(self, episode_id: int) -> Event | None:
        """The latest event of the episode, or None; found by index."""
        rows = self._rows(f"{COLUMNS} FROM chunks WHERE episode = ? ORDER BY first DESC LIMIT 1", (episode_id,))
        return self._chunk(episode_id, rows[0]).last() if rows else None

    def count(self, episode_id: int, kinds: Sequence[str] = ()) -> int:
        """How many events of these kinds the episode has (of all kinds when none is named)."""
        if not kinds:
            return int(self._rows("sum(count) FROM chunks WHERE episode = ?", (episode_id,))[0][0] or 0)
        return sum(chunk.count(kinds) for chunk in self._chunks(episode_id, kinds=kinds))

    def host(self, episode_id: int, start_seq: int = 0, page: int = PAGE) -> Iterator[tuple[int, dict[str, Json]]]:
        """The host facts of an episode's events, by the event's number; outside the digest. Held as by `events`."""
        for chunk in self._chunks(episode_id, start_seq, page, host=True):
            for seq, facts in chunk.facts():
                if seq >= start_seq:
                    yield seq, facts

    def _chunks(
        self, episode_id: int, start: int = 0, size: int = PAGE, kinds: Sequence[str] = (), *, host: bool = False
    ) -> Iterator[StoredChunk]:
        """The chunks of an episode from the one with event `start` on, in order.

        Where kinds are named, only those that may have one of them; with `host` those that have host facts. A caller
        that wants `size` events needs no more than as many chunks at once.
        """
        begin = "coalesce((SELECT max(first) FROM chunks WHERE episode = :episode AND first <= :start), :start)"
        which = (" AND kinds & :kinds" if kinds else "") + (" AND host > 0" if host else "")
        at_once = max(1, min(size, CHUNKS_AT_ONCE))
        values = {"episode": episode_id, "start": start, "kinds": kind_bits(kinds)}
        while True:
            query = f"{COLUMNS} FROM chunks WHERE episode = :episode AND first >= {begin}{which} ORDER BY first"
            rows = self._rows(f"{query} LIMIT {at_once}", values)
            for row in rows:
                yield self._chunk(episode_id, row)
            if len(rows) < at_once:
                return
            values["start"] = rows[-1][0] + 1
            begin = ":start"

    def _chunk(self, episode_id: int, row: tuple[Any, ...]) -> StoredChunk:
        """The chunk of a row; the latest few are remembered."""
        place = episode_id, row[0]
        known, chunk = self._remembered.get(place, (None, None))
        if chunk is None or known != row:
            chunk = StoredChunk(f"{self.path}: episode {episode_id}, events from {row[0]} on", row, self._unpacker)
            while len(self._remembered) >= REMEMBERED_CHUNKS:
                self._remembered.pop(next(iter(self._remembered)))
            self._remembered[place] = row, chunk
        return chunk

    def blob(self, name: str) -> bytes:
        """The content whose SHA-256 in hexadecimal this is. Raises LogError when it is not kept, CorruptLog."""
        try:
            key = bytes.fromhex(name)
        except ValueError:
            raise LogError(f"{self.path}: {name!r} is not the name of a blob (64 hexadecimal digits)") from None
        rows = self._rows("pack, start, size FROM blobs WHERE hash = ?", (key,))
        if not rows:
            raise LogError(f"{self.path}: the log does not keep the blob {name}")
        pack, start, size = rows[0]
        try:
            content = self._pack(pack)[start : start + size]
        except CorruptLog as error:
            raise CorruptLog(f"{self.path}: the blob {name}: {error}") from error
        if hashlib.sha256(content).digest() != key:
            raise CorruptLog(f"{self.path}: the blob {name} is damaged: its content has another hash")
        return content

    def _pack(self, number: int) -> bytes:
        """The blobs of a pack, one after the other; the latest few packs are remembered."""
        if number not in self._packs:
            rows = self._rows("codec, data FROM packs WHERE id = ?", (number,))
            if not rows:
                raise CorruptLog(f"its pack {number} is not there")
            content = self._unpacker.unpack(*rows[0])
            while len(self._packs) >= REMEMBERED_PACKS:
                self._packs.pop(next(iter(self._packs)))
            self._packs[number] = content
        return self._packs[number]

    def _dictionary(self, number: int) -> bytes | None:
        rows = self._rows("data FROM dictionaries WHERE id = ?", (number,))
        return unpack_dictionary(rows[0][0]) if rows else None

    def digest(self, episode_id: int) -> str:
        """The digest of an episode, computed anew from its stored events."""
        digest = hashlib.sha256()
        for chunk in self._chunks(episode_id):
            digest.update(chunk.hashed)
        return digest.hexdigest()

    def check(self) -> list[str]:
        """Read the whole log and say what is wrong with it, one line per fault; nothing for a sound one.

        Checks the file's structure, that events have no gaps and fit the catalogue, digests, and every blob
        against its name. Takes as long as reading everything does. Raises CorruptLog where not even the table of
        episodes can be read.
        """
        problems = [f"{self.path}: {line}" for (line,) in self._pragma("integrity_check") if line != "ok"]
        for row in self.episodes():
            problems += [f"{self.path}: episode {row.id}: {line}" for line in self._check_episode(row)]
        last = b""
        while keys := self._rows("hash FROM blobs WHERE hash > ? ORDER BY hash LIMIT ?", (last, PAGE)):
            for (last,) in keys:
                try:
                    self.blob(last.hex())
                except CorruptLog as error:
                    problems.append(str(error))
        return problems

    def _check_episode(self, row: EpisodeRow) -> Iterator[str]:
        expected, digest = 0, hashlib.sha256()
        try:
            for chunk in self._chunks(row.id):
                if chunk.first != expected:
                    yield f"event {expected} is missing"
                    return
                for event in chunk.events():
                    yield from validate(event)
                    if not chunk.is_found_by(event.kind):
                        yield f"event {event.seq} is not among those that are found by its kind"
                    expected += 1
                for seq, _ in chunk.facts():
                    if not chunk.first <= seq < expected:
                        yield f"host facts of event {seq} are kept with other events"
                digest.update(chunk.hashed)
            if row.digest is not None and digest.hexdigest() != row.digest:
                yield "its events do not give the digest it was finished with"
        except CorruptLog as error:
            yield str(error)

    def _pragma(self, name: str) -> list[tuple[Any, ...]]:
        with translated(self.path):
            return self._db.execute(f"PRAGMA {name}").fetchall()

    def _rows(self, query: str, values: tuple[object, ...] | dict[str, Any]) -> list[tuple[Any, ...]]:
        with translated(self.path):
            return self._db.execute("SELECT " + query, values).fetchall()


def read_episodes(db: sqlite3.Connection, path: Path, episode_id: int | None = None) -> list[EpisodeRow]:
    """The rows of the table of episodes, one of them or all. Raises CorruptLog; passes sqlite3 errors."""
    query = "SELECT id, cell, seed, status, setup, outcome, digest FROM episodes"
    which, values = (" WHERE id = ?", (episode_id,)) if episode_id is not None else ("", ())
    found = []
    for number, cell, seed, status, setup, outcome, digest in db.execute(f"{query}{which} ORDER BY id", values):
        try:
            end = None if outcome is None else json.loads(outcome)
            found.append(EpisodeRow(number, cell, seed, Status(status), json.loads(setup), end, digest))
        except (ValueError, TypeError) as error:
            raise CorruptLog(f"{path}: episode {number} has a damaged record: {error}") from error
    return found
