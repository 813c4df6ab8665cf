"""Chunks: the events of one episode since the last commit, stored as one row."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence

from emcoop.log.lines import kind_bits
from emcoop.log.packing import Packer

FLUSH_EVENTS = 5_000
"""So many events are buffered at most; the store then flushes by itself."""

CHUNK_EVENTS = 256
CHUNK_BYTES = 128 << 10
"""A chunk has at most so many events, and bytes unless it is a single event: a reader decompresses it for each."""

INSERT = "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)"

Row = tuple[int, int, int, int, int, int, bytes]
"""Of the table: episode, number of the first event, events, bits of their kinds, bytes of host facts, codec, data."""


class Chunk:
    """Events of one episode as they come. Once its writer has closed it, it stays as it is."""

    __slots__ = ("_rows", "content", "episode", "facts", "first", "kinds", "lines")

    def __init__(self, episode: int, first: int) -> None:
        self.episode = episode
        self.first = first
        self.lines: list[bytes] = []
        self.kinds: list[str] = []
        """Of each line."""
        self.facts: list[tuple[int, bytes]] = []
        """Lines of host facts, each with the number of its event."""
        self.content = b""
        self._rows: list[Row] = []

    def close(self) -> bytes:
        """All lines, which are to be hashed."""
        self.content = b"".join(self.lines)
        return self.content

    def rows(self, packer: Packer) -> list[Row]:
        """What is stored of it: mostly one row."""
        if self.lines and not self._rows:
            if len(self.lines) <= CHUNK_EVENTS and len(self.content) <= CHUNK_BYTES:
                self._rows = [self._row(packer, 0, len(self.lines), self.content)]
            else:
                cuts = _cuts(self.lines)
                self._rows = [self._row(packer, a, b, b"".join(self.lines[a:b])) for a, b in cuts]
        return self._rows

    def _row(self, packer: Packer, start: int, stop: int, content: bytes) -> Row:
        first, last = self.first + start, self.first + stop - 1
        facts = b"".join(line for seq, line in self.facts if first <= seq <= last) if self.facts else b""
        content += facts
        codec, data = packer.pack(content)
        if codec:
            packer.learn(content)
        return self.episode, first, stop - start, kind_bits(set(self.kinds[start:stop])), len(facts), codec, data


def _cuts(lines: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Where many lines are parted: the first line of each part and the one after its last."""
    start = size = 0
    for at, line in enumerate(lines):
        if at > start and (at - start == CHUNK_EVENTS or size + len(line) > CHUNK_BYTES):
            yield start, at
            start, size = at, 0
        size += len(line)
    yield start, len(lines)


class ChunkBuffer:
    """What the episodes of a store have appended since the last commit.

    The rows of a chunk are found by its episode and first event, and a closed chunk never changes: a commit that is
    repeated, because an interrupt cut off what follows it, adds nothing, whatever was appended in between.
    """

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self._chunks: list[Chunk] = []
        self._open: list[Callable[[], object]] = []
        self._rows: list[Row] = []
        self.events = 0
        """How many events are buffered; counted by the writers."""

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def begin(self, episode: int, first: int, close: Callable[[], object]) -> Chunk:
        """A new chunk for the events from `first` on; `close` is called when it is to be written."""
        chunk = Chunk(episode, first)
        self._chunks.append(chunk)
        self._open.append(close)
        return chunk

    def pack(self) -> None:
        """Close the chunks that are being written to, and compress all; what is appended afterwards begins new ones."""
        for close in self._open:
            close()
        self._open.clear()
        self._rows = [row for chunk in self._chunks for row in chunk.rows(self._packer)]

    def write(self, db: sqlite3.Connection) -> None:
        """Add what was packed, in the transaction that is open; a second time changes nothing."""
        db.executemany(INSERT, self._rows)

    def clear(self) -> None:
        """What was packed is in the log."""
        self._chunks.clear()
        self._rows.clear()
        self.events = 0
