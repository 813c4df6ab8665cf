"""How logs of older schemas become logs of the present one: a step for each version.

A step states the tables as they were then, and is never changed when later versions come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emcoop.core.errors import CorruptLog
from emcoop.log.chunks import CHUNK_EVENTS, INSERT, Chunk
from emcoop.log.dictionaries import Dictionaries
from emcoop.log.lines import event_line, host_line
from emcoop.log.packing import CHUNKS, Unpacker, unpack_dictionary

Migration = Callable[[sqlite3.Connection], None]


def events_into_chunks(db: sqlite3.Connection) -> None:
    """From 1 to 2: the rows of `events` and of `host` become `chunks`, one chunk held at a time. Raises CorruptLog."""
    db.execute(
        "CREATE TABLE chunks(episode INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, "
        "kinds INTEGER NOT NULL, host INTEGER NOT NULL, codec INTEGER NOT NULL, data BLOB NOT NULL)"
    )
    dictionaries = Dictionaries(int(db.execute("SELECT coalesce(max(id), 0) FROM dictionaries").fetchone()[0]))
    packer = dictionaries.packer(db, CHUNKS)
    for chunk in _chunks(db):
        chunk.close()
        db.executemany(INSERT, chunk.rows(packer))
        dictionaries.write(db)
        dictionaries.clear()
    db.execute("CREATE UNIQUE INDEX chunks_in_order ON chunks(episode, first)")
    db.execute("DROP TABLE events")
    db.execute("DROP TABLE host")
    db.execute("DELETE FROM dictionaries WHERE purpose = 'event'")


def _chunks(db: sqlite3.Connection) -> Iterator[Chunk]:
    """The events of schema 1 in order; a new chunk begins where an event is missing, too."""

    def dictionary(number: int) -> bytes | None:
        row = db.execute("SELECT data FROM dictionaries WHERE id = ?", (number,)).fetchone()
        return None if row is None else unpack_dictionary(row[0])

    unpacker = Unpacker(dictionary)
    chunk: Chunk | None = None
    for episode, seq, *rest, facts in db.execute(
        "SELECT e.episode, e.seq, cog_time, env_step, agent, kind, codec, e.payload, h.payload "
        "FROM events e LEFT JOIN host h ON h.episode = e.episode AND h.seq = e.seq ORDER BY e.episode, e.seq"
    ):
        try:
            kind, line = _line(unpacker, seq, *rest)
            fact = None if facts is None else host_line(seq, _one_line(facts))
        except (CorruptLog, TypeError, ValueError) as error:
            raise CorruptLog(f"event {seq} of episode {episode} is damaged: {error}") from error
        full = chunk is not None and (
            len(chunk.lines) == CHUNK_EVENTS or (chunk.episode, chunk.first + len(chunk.lines)) != (episode, seq)
        )
        if chunk is not None and full:
            yield chunk
        if chunk is None or full:
            chunk = Chunk(episode, seq)
        chunk.lines.append(line)
        chunk.kinds.append(kind)
        if fact is not None:
            chunk.facts.append((seq, fact))
    if chunk is not None:
        yield chunk


def _line(
    unpacker: Unpacker, seq: int, cog_time: int, env_step: int, agent: str | None, kind: str, codec: int, stored: Any
) -> tuple[str, bytes]:
    """The kind and the line of an event of schema 1. Raises CorruptLog, or TypeError where a column is damaged."""
    if not (isinstance(kind, str) and isinstance(stored, str | bytes)):
        raise TypeError("a column holds something else than it should")
    body = stored if isinstance(stored, str) else unpacker.unpack(codec, stored).decode()
    return kind, event_line(seq, cog_time, env_step, agent, kind, _one_line(body))


def _one_line(text: str) -> bytes:
    """Text of schema 1 as bytes. Raises ValueError for what is not canonical JSON since it has several lines."""
    if "\n" in text:
        raise ValueError("its text has several lines")
    return text.encode()


MIGRATIONS: Mapping[int, Migration] = {1: events_into_chunks}
"""The step that leads from a schema version to the next one, by the version it starts from. Version 1 is the first."""
