"""A chunk as it is read back: its events, found line by line, and their host facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from emcoop.core.errors import CorruptLog
from emcoop.core.types import Json
from emcoop.log.events import Event
from emcoop.log.lines import kind_bits, line_of_kinds, read_event, read_facts
from emcoop.log.packing import Unpacker

COLUMNS = "first, count, kinds, host, codec, data"
"""What is read of a chunk's row."""


class StoredChunk:
    """The chunk of a row of COLUMNS; `name` says in errors which it is. Raises CorruptLog, as everything here does."""

    def __init__(self, name: str, row: tuple[Any, ...], unpacker: Unpacker) -> None:
        if [type(value) for value in row] != [int, int, int, int, int, bytes]:
            raise CorruptLog(f"{name}: its row is damaged")
        self.first: int
        self.first, self._count, self._kinds, host, codec, data = row
        self._name = name
        try:
            content = unpacker.unpack(codec, data)
        except CorruptLog as error:
            raise CorruptLog(f"{name}: {error}") from error
        if not 0 <= host <= len(content):
            raise CorruptLog(f"{name}: {host} bytes of host facts among {len(content)}")
        self.hashed = content[: len(content) - host]
        """The lines of the events: what their digest is made of."""
        self._host = content[len(content) - host :]
        self._lines: list[str] = []

    def events(self, start: int = 0, kinds: Sequence[str] = ()) -> Iterator[Event]:
        """The events from number `start` on, of these kinds (of all when none is named)."""
        wanted = line_of_kinds(tuple(kinds)) if kinds else None
        skipped = max(0, start - self.first)
        for seq, line in enumerate(self._split()[skipped:], self.first + skipped):
            if wanted is None or wanted.match(line):
                try:
                    yield read_event(line, seq)
                except ValueError as error:
                    raise CorruptLog(f"{self._name}: {error}") from error

    def last(self) -> Event:
        """Its latest event."""
        return next(self.events(self.first + len(self._split()) - 1))

    def count(self, kinds: Sequence[str]) -> int:
        """How many events of these kinds it has."""
        return len(line_of_kinds(tuple(kinds), "\n").findall("\n" + self._text(self.hashed)))

    def _split(self) -> list[str]:
        """The lines of its events without their line feeds."""
        if not self._lines:
            lines = self._text(self.hashed).split("\n")
            if lines.pop() or len(lines) != self._count or not lines:
                raise CorruptLog(f"{self._name}: its content is not {self._count} lines")
            self._lines = lines
        return self._lines

    def facts(self) -> Iterator[tuple[int, dict[str, Json]]]:
        """The host facts of its events, by the event's number."""
        for line in self._text(self._host).split("\n")[:-1]:
            try:
                yield read_facts(line)
            except ValueError as error:
                raise CorruptLog(f"{self._name}: {error}") from error

    def is_found_by(self, kind: str) -> bool:
        """Whether a reader that looks for this kind reads this chunk."""
        return bool(kind_bits((kind,)) & self._kinds)

    def _text(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise CorruptLog(f"{self._name}: its content is no text: {error}") from error
