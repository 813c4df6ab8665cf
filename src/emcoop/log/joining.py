"""Taking in another log whole, table by table: its episodes need neither be decoded nor written event by event."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from emcoop.core.errors import LogError
from emcoop.log.database import SCHEMA, explain, transaction, translated
from emcoop.log.events import Status
from emcoop.log.packing import ZSTD

OTHER = "other"

WANTED = f"""
CREATE TEMP TABLE wanted AS
SELECT o.id AS id, m.id AS earlier FROM {OTHER}.episodes o LEFT JOIN main.episodes m USING (cell, seed)
WHERE o.status != '{Status.RUNNING}' AND coalesce(m.status, '') != '{Status.FINISHED}'
"""
"""What is to be taken, and the earlier attempts that it replaces."""

FRESH = f"""
CREATE TEMP TABLE fresh AS
SELECT hash, pack, start, size FROM {OTHER}.blobs WHERE hash NOT IN (SELECT hash FROM main.blobs)
"""

TAKEN = (
    "DELETE FROM main.chunks WHERE episode IN (SELECT earlier FROM wanted)",
    "DELETE FROM main.episodes WHERE id IN (SELECT earlier FROM wanted)",
    "INSERT INTO main.episodes SELECT id + :episodes, cell, seed, status, setup, outcome, digest "
    f"FROM {OTHER}.episodes WHERE id IN (SELECT id FROM wanted) ORDER BY id",
    "INSERT INTO main.chunks SELECT episode + :episodes, first, count, kinds, host, "
    f"iif(codec > {ZSTD}, codec + :dictionaries, codec), data "
    f"FROM {OTHER}.chunks WHERE episode IN (SELECT id FROM wanted) ORDER BY episode, first",
    "INSERT INTO main.blobs SELECT hash, pack + :packs, start, size FROM fresh ORDER BY hash",
    f"INSERT INTO main.packs SELECT id + :packs, iif(codec > {ZSTD}, codec + :dictionaries, codec), data "
    f"FROM {OTHER}.packs WHERE id IN (SELECT pack FROM fresh)",
    f"INSERT INTO main.dictionaries SELECT id + :dictionaries, purpose, data FROM {OTHER}.dictionaries",
)
"""Episodes, packs and dictionaries are numbered on from the last ones of the log that takes them."""


def take_in(db: sqlite3.Connection, log: Path, other: Path) -> int:
    """Copy what has ended, or was cut off, in a closed log into the open one; returns how many episodes came.

    An episode that `log` has finished is left alone, another attempt at it is replaced. Nothing is compared with its
    digest: `LogReader.check` does that. All of it or nothing. Raises LogError, also for another schema than this one's.
    """
    with translated(other):
        db.execute(f"ATTACH ? AS {OTHER}", (str(other),))
    try:
        with translated(other):
            found = db.execute(f"SELECT value FROM {OTHER}.meta WHERE key = 'schema'").fetchone()[0]
        if int(found) != SCHEMA:
            raise LogError(f"{other}: the log has schema {found}, not {SCHEMA}; open it for writing first")
        with transaction(db):
            return _take(db)
    except sqlite3.Error as error:
        damaged = (getattr(error, "sqlite_errorname", None) or "").startswith("SQLITE_CORRUPT")
        raise explain(error, other if damaged else log) from error
    finally:
        db.execute(f"DETACH {OTHER}")


def _take(db: sqlite3.Connection) -> int:
    db.execute(WANTED)
    count = int(db.execute("SELECT count(*) FROM wanted").fetchone()[0])
    if count:
        db.execute(FRESH)
        shift = {name: last(db, name) for name in ("episodes", "packs", "dictionaries")}
        shift["dictionaries"] = max(0, shift["dictionaries"] - ZSTD)
        for statement in TAKEN:
            names = {name: value for name, value in shift.items() if f":{name}" in statement}
            db.execute(statement, names)
        db.execute("DROP TABLE fresh")
    db.execute("DROP TABLE wanted")
    return count


def last(db: sqlite3.Connection, table: str) -> int:
    """The highest number of a row; 0 without any."""
    return int(db.execute(f"SELECT max(id) FROM main.{table}").fetchone()[0] or 0)
