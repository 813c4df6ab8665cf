"""Answers kept on disk, so that the same question is paid for once."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from emcoop.core.canonical import canonical_json, content_hash, to_json
from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.core.types import Json, Usage
from emcoop.models.base import Completion, Model, Settings, Turn

log = logging.getLogger(__name__)

BUSY_S = 5.0
"""How long to wait for another process that writes."""


class AnswerCache:
    """Completions by content hash in one SQLite file (WAL), which several processes may share.

    Nothing here is fatal: a damaged file is set aside beside its place with a warning and a new one begun; when
    the file cannot be opened or written, the warning says so and the run goes on without it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._off = False

    def get(self, key: str) -> Completion | None:
        """The answer kept under this key, with ``cached=True`` and its original usage and latency."""
        row = self._run("SELECT answer FROM answers WHERE key = ?", (key,))
        if not row:
            return None
        try:
            kept = json.loads(row[0])
            return Completion(**{**kept, "usage": Usage(**kept["usage"]), "faults": (), "cached": True})
        except (ValueError, TypeError, KeyError) as error:
            log.warning("cache %s: the entry %s cannot be read (%s) and is asked for again", self.path, key, error)
            return None

    def put(self, key: str, completion: Completion) -> None:
        """Keep an answer; a later one under the same key replaces it."""
        kept = {**asdict(replace(completion, faults=(), cached=False)), "parsed": to_json(completion.parsed)}
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, canonical_json(kept).decode()))

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _run(self, sql: str, values: tuple[str, ...]) -> tuple[str] | None:
        if self._off:
            return None
        for _ in range(2):
            try:
                return self._execute(sql, values)
            except sqlite3.OperationalError as error:
                self._switch_off(f"cannot be used ({error})")
                return None
            except sqlite3.DatabaseError as error:
                if not self._set_aside(error):
                    return None
        self._switch_off("is damaged again after it was begun anew")
        return None

    def _execute(self, sql: str, values: tuple[str, ...]) -> tuple[str] | None:
        if self._db is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from error
            self._db = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        row: tuple[str] | None = self._db.execute(sql, values).fetchone()
        return row

    def _set_aside(self, error: sqlite3.DatabaseError) -> bool:
        self.close()
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        try:
            self.path.rename(aside)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as why:
            self._switch_off(f"is damaged ({error}) and cannot be set aside ({why})")
            return False
        log.warning("cache %s is damaged (%s): kept as %s, a new one is begun", self.path, error, aside.name)
        return True

    def _switch_off(self, why: str) -> None:
        self.close()
        self._off = True
        log.warning("cache %s %s: going on without it", self.path, why)


class Cached:
    """A model that looks in the cache first and keeps every answer it gets.

    The key covers what determines an answer: the adapter's own description (name, address, options), the turns,
    the schema, and all settings except the timeout; `Settings.sample` tells repeats apart. Equal questions that are
    asked while the first is on its way wait for its answer, and count as answered from the cache; or for its failure.
    """

    def __init__(self, model: Model, cache: AnswerCache, identity: Mapping[str, Json]) -> None:
        self.model = model
        self.name = model.name
        self.cache = cache
        self.identity = identity
        self._asked: dict[str, asyncio.Future[Completion]] = {}

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """See `Model.complete`."""
        asked = {name: value for name, value in asdict(settings).items() if name != "timeout_s"}
        key = content_hash([self.identity, list(turns), schema, asked])
        while (first := self._asked.get(key)) is not None:
            await asyncio.wait([first])
            if not first.cancelled():
                return replace(first.result(), faults=(), cached=True)
        kept = self.cache.get(key)
        if kept is not None:
            return kept
        answer = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            done = await self.model.complete(turns, schema=schema, settings=settings)
            self.cache.put(key, done)
            answer.set_result(done)
        except (ModelUnavailable, ModelRefused) as failure:
            answer.set_exception(failure)
            answer.exception()  # it is raised here, so nobody need hear of it again
            raise
        finally:
            del self._asked[key]
            answer.cancel()  # whoever asked first was cancelled: the next one asks
        return done

    def describe(self) -> Mapping[str, Json]:
        """The inner model's description: what a cache remembers is no other answer."""
        return self.model.describe()

    async def aclose(self) -> None:
        """Close the file and the model."""
        self.cache.close()
        await self.model.aclose()
