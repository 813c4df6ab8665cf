"""One writer per log: an advisory lock on a file beside it, released by the system when its process dies.

The database itself is not locked this way: closing any descriptor of it would drop SQLite's own locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from emcoop.core.errors import LogError, LogFull, LogLocked


class WriterLock:
    """Held from `acquire` to `release`; the file ``<log>.lock`` exists as long."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, log: Path) -> WriterLock:
        """Take the lock of this log or fail at once. Raises LogLocked, LogFull or LogError."""
        path = log.with_name(log.name + ".lock")
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise cannot_write(log, error) from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _same(descriptor, path):
                    _write(descriptor, f"{os.getpid()}\n".encode())
                    return cls(path, descriptor)
            except BlockingIOError:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                os.close(descriptor)
                raise LogLocked(
                    f"{log}: another process{f' ({holder})' if holder else ''} is writing this log; "
                    "wait until it has ended or choose another folder"
                ) from None
            except OSError as error:
                os.close(descriptor)
                raise cannot_write(log, error) from error
            os.close(descriptor)  # its holder removed the file between our opening and locking it: take the new one

    def release(self) -> None:
        """Remove the file and let the next writer in."""
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def _same(descriptor: int, path: Path) -> bool:
    mine = os.fstat(descriptor)
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _write(descriptor: int, data: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)


def cannot_write(log: Path, error: OSError) -> LogError:
    """The emcoop error for a file that cannot be written beside the log, or the log itself."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LogFull(f"{log}: no space is left for the log; what was committed is kept, free some space and go on")
    return LogError(f"{log}: the log cannot be written here: {error.strerror}; choose a folder that can be written")
