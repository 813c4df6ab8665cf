"""Blobs on their way into the log: each content once, those of a commit joined into packs."""

from __future__ import annotations

import hashlib
import sqlite3
from operator import itemgetter

from emcoop.log.packing import Packer

PACK_BYTES = 128 << 10
"""Blobs of one commit are joined until they have so many bytes; a reader decompresses that much for one of them."""

REMEMBERED_BLOBS = 100_000
"""Of so many blobs, and of as many before them, it is known that they were kept already: at most 30 MB. Of a forgotten
one the log is asked at the next commit."""

ASKED_AT_ONCE = 500
"""Of so many blobs one query asks whether they are there; SQLite admits 999 values in a statement, or more."""


class BlobBuffer:
    """The blobs that the next commit adds, and the names of those that earlier ones added."""

    def __init__(self, packer: Packer, last_pack: int) -> None:
        self._packer = packer
        self._contents: list[tuple[bytes, bytes]] = []
        self.size = 0
        """Bytes of the contents that are buffered."""
        self._blobs: list[tuple[bytes, int, int, int]] = []
        self._packs: list[tuple[int, int, bytes]] = []
        self._known: set[bytes] = set()
        self._known_before: set[bytes] = set()
        self.number_on(last_pack)

    def number_on(self, last_pack: int) -> None:
        """The log has packs up to this number. Whether it keeps a blob it is asked only if some are there, or were
        forgotten."""
        self._last_pack = last_pack
        self._asks = last_pack > 0

    def __bool__(self) -> bool:
        return bool(self._contents or self._packs)

    @property
    def remembered(self) -> int:
        """Of how many blobs it is known that they were kept."""
        return len(self._known) + len(self._known_before)

    def keep(self, content: bytes) -> str:
        """Buffer the content unless it was kept before; its SHA-256 in hexadecimal."""
        key = hashlib.sha256(content).digest()
        if key not in self._known and key not in self._known_before:
            self._contents.append((key, content))
            self.size += len(content)
            if len(self._known) >= REMEMBERED_BLOBS:
                self._asks = self._asks or bool(self._known_before)
                self._known_before, self._known = self._known, set()
            self._known.add(key)
        return key.hex()

    def pack(self, db: sqlite3.Connection) -> None:
        """Join the contents that the log does not have yet into packs of about PACK_BYTES."""
        pack: list[tuple[bytes, bytes]] = []
        size = 0
        kept = self._kept(db)
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
        self.size = 0

    def _kept(self, db: sqlite3.Connection) -> set[bytes]:
        """Which of the buffered contents the log has already, though nobody here remembers them."""
        kept: set[bytes] = set()
        if not self._asks:
            return kept
        for start in range(0, len(self._contents), ASKED_AT_ONCE):
            keys = [key for key, _ in self._contents[start : start + ASKED_AT_ONCE]]
            marks = ",".join("?" * len(keys))
            kept.update(key for (key,) in db.execute(f"SELECT hash FROM blobs WHERE hash IN ({marks})", keys))
        return kept

    def _add_pack(self, contents: list[tuple[bytes, bytes]]) -> None:
        self._last_pack += 1
        start = 0
        for key, content in contents:
            self._blobs.append((key, self._last_pack, start, len(content)))
            start += len(content)
        codec, data = self._packer.pack(b"".join(content for _, content in contents))
        self._packs.append((self._last_pack, codec, data))
        for _, content in contents:
            self._packer.learn(content)

    def write(self, db: sqlite3.Connection) -> None:
        """Add the packs, in the transaction that is open; a second time changes nothing."""
        db.executemany("INSERT OR IGNORE INTO packs VALUES (?, ?, ?)", self._packs)
        # Their names are random: in order, each page of the table is looked for and changed once.
        db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?)", sorted(self._blobs, key=itemgetter(0)))

    def clear(self) -> None:
        """What was packed is in the log."""
        self._blobs.clear()
        self._packs.clear()
