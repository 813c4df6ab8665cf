"""The dictionaries of a log: those it has, and those that the next commit adds."""

from __future__ import annotations

import sqlite3
from functools import partial

from emcoop.log.packing import ZSTD, Packer, Recipe, pack_dictionary, unpack_dictionary


class Dictionaries:
    """Numbers new dictionaries and keeps them until they are written.

    Packers refer to this and not to the store, so that a closed store is freed at once.
    """

    def __init__(self, last: int) -> None:
        self._fresh: list[tuple[int, str, bytes]] = []
        self.number_on(last)

    def packer(self, db: sqlite3.Connection, recipe: Recipe) -> Packer:
        """A packer that goes on with the log's latest dictionary for the purpose of this recipe."""
        query = "SELECT id, data FROM dictionaries WHERE purpose = ? ORDER BY id DESC LIMIT 1"
        row = db.execute(query, (recipe.purpose,)).fetchone()
        latest = None if row is None else (row[0], unpack_dictionary(row[1]))
        return Packer(recipe, partial(self._keep, recipe.purpose), latest)

    def _keep(self, purpose: str, data: bytes) -> int:
        self._last += 1
        self._fresh.append((self._last, purpose, pack_dictionary(data)))
        return self._last

    def number_on(self, last: int) -> None:
        """The log has dictionaries up to this number."""
        self._last = max(ZSTD, last)

    def write(self, db: sqlite3.Connection) -> None:
        """Add the new ones, in the transaction that is open; a second time changes nothing."""
        db.executemany("INSERT OR IGNORE INTO dictionaries VALUES (?, ?, ?)", self._fresh)

    def clear(self) -> None:
        """The new ones are in the log."""
        self._fresh.clear()
