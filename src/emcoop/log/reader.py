"""Reading a log, page by page: nothing here holds an episode whole."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from emcoop.core.errors import CorruptLog, LogError
from emcoop.core.types import Json
from emcoop.log.database import open_for_reading, translated
from emcoop.log.events import EpisodeRow, Event, Status, event_head, validate
from emcoop.log.packing import Unpacker, unpack_dictionary

PAGE = 1_000
"""How many events are fetched at once."""

REMEMBERED_PACKS = 16
"""Of so many packs of blobs the content is kept: neighbouring events name blobs of the same few packs."""


class LogReader:
    """Reads a log, also while it is being written; a context manager. Use `open`."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._packs: dict[int, bytes] = {}
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

        At most `page` events are held at once. Events committed meanwhile are seen. Raises CorruptLog.
        """
        following = start_seq
        while True:
            found = self.page(episode_id, kinds, following, page)
            yield from found
            if len(found) < page:
                return
            following = found[-1].seq + 1

    def page(self, episode_id: int, kinds: Sequence[str] = (), start_seq: int = 0, size: int = PAGE) -> list[Event]:
        """Up to `size` events from `start_seq` on; found by index, wherever in the episode they lie."""
        rows = self._rows(
            "seq, cog_time, env_step, agent, kind, codec, payload FROM events "
            f"WHERE episode = ? AND seq >= ?{_among(kinds)} ORDER BY seq LIMIT ?",
            (episode_id, start_seq, *kinds, size),
        )
        return [
            Event(seq, cog_time, env_step, agent, kind, self._parse(self._body(codec, body), episode_id, seq))
            for seq, cog_time, env_step, agent, kind, codec, body in rows
        ]

    def last(self, episode_id: int) -> Event | None:
        """The latest event of the episode, or None; found by index."""
        rows = self._rows("max(seq) FROM events WHERE episode = ?", (episode_id,))
        return None if rows[0][0] is None else self.page(episode_id, start_seq=int(rows[0][0]), size=1)[0]

    def count(self, episode_id: int, kinds: Sequence[str] = ()) -> int:
        """How many events of these kinds the episode has (of all kinds when none is named)."""
        rows = self._rows(f"count(*) FROM events WHERE episode = ?{_among(kinds)}", (episode_id, *kinds))
        return int(rows[0][0])

    def host(self, episode_id: int, start_seq: int = 0, page: int = PAGE) -> Iterator[tuple[int, dict[str, Json]]]:
        """The host facts of an episode's events, by the event's number; outside the digest."""
        following = start_seq
        while True:
            query = "seq, payload FROM host WHERE episode = ? AND seq >= ? ORDER BY seq LIMIT ?"
            rows = self._rows(query, (episode_id, following, page))
            for seq, text in rows:
                yield seq, self._parse(text, episode_id, seq)
            if len(rows) < page:
                return
            following = rows[-1][0] + 1

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
        following = 0
        query = "seq, cog_time, env_step, agent, kind, codec, payload FROM events WHERE episode = ? AND seq >= ? "
        while rows := self._rows(query + "ORDER BY seq LIMIT ?", (episode_id, following, PAGE)):
            for *head, codec, body in rows:
                digest.update(event_head(*head) + self._body(codec, body) + b"]\n")
            following = rows[-1][0] + 1
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
        try:
            for expected, event in enumerate(self.events(row.id)):
                if event.seq != expected:
                    yield f"event {expected} is missing"
                    break
                yield from validate(event)
            for _ in self.host(row.id):
                pass
            if row.digest is not None and self.digest(row.id) != row.digest:
                yield "its events do not give the digest it was finished with"
        except CorruptLog as error:
            yield str(error)

    def _pragma(self, name: str) -> list[tuple[Any, ...]]:
        with translated(self.path):
            return self._db.execute(f"PRAGMA {name}").fetchall()

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with translated(self.path):
            return self._db.execute("SELECT " + query, values).fetchall()

    def _body(self, codec: int, stored: str | bytes) -> bytes:
        """The canonical JSON of a payload: stored as text, or compressed as bytes."""
        if isinstance(stored, str):
            return stored.encode()
        try:
            return self._unpacker.unpack(codec, stored)
        except CorruptLog as error:
            raise CorruptLog(f"{self.path}: {error}") from error

    def _parse(self, text: str | bytes, episode_id: int, seq: int) -> dict[str, Json]:
        try:
            value = json.loads(text)
        except (ValueError, TypeError) as error:
            raise CorruptLog(f"{self.path}: event {seq} of episode {episode_id} is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise CorruptLog(f"{self.path}: event {seq} of episode {episode_id} holds no mapping")
        return value


def _among(kinds: Sequence[str]) -> str:
    return f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""


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
