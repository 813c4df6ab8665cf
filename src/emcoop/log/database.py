"""The SQLite file under a log: how it is opened, what is in it, and what its errors mean here.

Nothing of `sqlite3` leaves this package: every error becomes one of `emcoop.core.errors` and names the file.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from emcoop.core.errors import CorruptLog, LogError, LogFull, LogLocked, NewerSchema
from emcoop.log.migrations import MIGRATIONS, Migration

SCHEMA = 2
"""The version of the tables that this emcoop writes."""

APPLICATION_ID = 0x454D434F
"""Marks the file as an emcoop log (SQLite's `application_id`): "EMCO"."""

PATIENCE_MS = 5_000
"""How long SQLite waits for another connection of the same file before it gives up."""

NEARLY_FULL = 1 << 16
"""Input/output errors on a device with less than this many bytes free are put down to the lack of space."""

CHECKPOINT_PAGES = 4000
"""So many changed pages (16 MB) are gathered beside the file before they are brought into it: names of blobs are spread
over all of their table, and what is changed often is then written once."""

CACHED_KB = 32 << 10
"""So much of the file a writer holds in memory, for the same reason: what does not fit is read again for each blob."""

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE episodes(
    id INTEGER PRIMARY KEY,
    cell TEXT NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL,
    setup TEXT NOT NULL,
    outcome TEXT,
    digest TEXT,
    UNIQUE(cell, seed)
);
CREATE TABLE chunks(
    episode INTEGER NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    kinds INTEGER NOT NULL,
    host INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX chunks_in_order ON chunks(episode, first);
CREATE TABLE blobs(hash BLOB PRIMARY KEY, pack INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE packs(id INTEGER PRIMARY KEY, codec INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE dictionaries(id INTEGER PRIMARY KEY, purpose TEXT NOT NULL, data BLOB NOT NULL);
"""

NEEDED = frozenset({"meta", "episodes", "chunks", "blobs", "packs", "dictionaries"})


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Errors of SQLite inside become LogError and its kinds, with a message that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from error
    except UnicodeDecodeError as error:  # SQLite quotes the damaged text in its own message
        raise CorruptLog(f"{path}: not an emcoop log, or a damaged one ({error})") from error
    except OverflowError as error:
        raise LogError(f"{path}: a number does not fit into 64 bits: {error}") from error


def explain(error: sqlite3.Error, path: Path) -> LogError:
    """The emcoop error for one of SQLite."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith("SQLITE_FULL") or (name.startswith("SQLITE_IOERR") and _nearly_full(path)):
        return LogFull(f"{path}: no space is left for the log; what was committed is kept, free some space and go on")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "decode to UTF-8" in str(error):
        return CorruptLog(f"{path}: not an emcoop log, or a damaged one ({error})")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LogLocked(f"{path}: another process is using the log ({error}); try again when it has ended")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return LogError(f"{path}: the log cannot be opened here ({error}); check the folder and its permissions")
    return LogError(f"{path}: the log cannot be used ({name or type(error).__name__}: {error})")


def _nearly_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < NEARLY_FULL
    except OSError:
        return False


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection in WAL mode with the present schema; the file is made when there is none.

    Raises NewerSchema, CorruptLog, LogLocked, LogFull or LogError. The caller holds the writer's lock.
    """
    with translated(path):
        if not path.exists() or path.stat().st_size == 0:
            _make(path)
        db = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE_MS / 1000)
        try:
            _prepare(db, path)
        except BaseException:
            db.close()
            raise
    return db


def _make(path: Path) -> None:
    """A new log appears complete, so that a reader never meets one that is half made."""
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.unlink(missing_ok=True)
        db = sqlite3.connect(fresh, isolation_level=None)
        try:
            with transaction(db):
                for statement in TABLES.split(";"):
                    if statement.strip():
                        db.execute(statement)
                db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
                db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        finally:
            db.close()
        fresh.replace(path)
    except OSError as error:
        raise LogError(f"{path}: the log cannot be made here: {error.strerror or error}") from error


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    version(db, path)
    if db.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
        raise LogLocked(f"{path}: the log cannot be switched to concurrent writing; another program holds it open")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    db.execute(f"PRAGMA cache_size=-{CACHED_KB}")
    migrate(db, path)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, beside a writer if there is one.

    Raises LogError for a path without a log or one of an older schema, CorruptLog or NewerSchema.
    """
    if not path.is_file():
        raise LogError(f"{path}: {'a folder, not a log file' if path.is_dir() else 'no such log'}")
    if path.stat().st_size == 0 and not _sidecar(path).exists():
        raise CorruptLog(f"{path}: the file is empty, not an emcoop log")
    with translated(path):
        db = _connect_reading(path)
        try:
            found = version(db, path)
        except BaseException:
            db.close()
            raise
    if found < SCHEMA:
        db.close()
        raise LogError(
            f"{path}: the log has schema {found}, this emcoop reads {SCHEMA}; opening it to write migrates it: the "
            "same `emcoop run` into its folder does so, and plays nothing again that is finished"
        )
    return db


def _sidecar(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _connect_reading(path: Path) -> sqlite3.Connection:
    """Where not even the reader's bookkeeping can be written and no writer is about, the file is taken as it is."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE_MS / 1000)
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        barred = str(error.sqlite_errorname).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if not barred or _sidecar(path).exists():
            raise
        db = sqlite3.connect(address + "&immutable=1", uri=True, isolation_level=None)
    except BaseException:
        db.close()
        raise
    return db


def _tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def version(db: sqlite3.Connection, path: Path) -> int:
    """The schema version of an existing log. Raises CorruptLog when it is no log, NewerSchema when it is too new."""
    tables = _tables(db)
    row = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() if "meta" in tables else None
    if (
        row is None
        or not str(row[0]).isdecimal()
        or db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID
    ):
        raise CorruptLog(f"{path}: an SQLite database, but not an emcoop log")
    found = int(row[0])
    if found > SCHEMA:
        raise NewerSchema(f"{path}: the log has schema {found}, this emcoop knows up to {SCHEMA}; use a newer emcoop")
    if found == SCHEMA and not tables >= NEEDED:
        raise CorruptLog(f"{path}: the log lacks the tables {', '.join(sorted(NEEDED - tables))}")
    return found


def migrate(
    db: sqlite3.Connection, path: Path, *, target: int = SCHEMA, steps: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Bring a log to the target version, one committed step after the other; a step that fails leaves its start.

    Raises CorruptLog when a version has no step, or the log is damaged.
    """
    found = int(db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()[0])
    for start in range(found, target):
        if start not in steps:
            raise CorruptLog(f"{path}: no migration leads from schema {start} to {start + 1}")
        try:
            with transaction(db):
                steps[start](db)
                db.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(start + 1),))
        except CorruptLog as error:
            raise CorruptLog(f"{path}: {error}; it stays at schema {start}") from error


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
