"""Writing one episode of a log."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from emcoop.core.canonical import canonical_json
from emcoop.core.errors import LogError
from emcoop.core.types import AgentId, Json, Micros
from emcoop.log.chunks import FLUSH_EVENTS, Chunk, ChunkBuffer
from emcoop.log.events import Status
from emcoop.log.lines import event_line, host_line

if TYPE_CHECKING:
    from emcoop.log.store import LogStore


class EpisodeWriter:
    """Writes one episode; made by `LogStore.start`."""

    def __init__(self, store: LogStore, buffer: ChunkBuffer, episode: int, cell: str, seed: int) -> None:
        self.id = episode
        self.cell = cell
        self.seed = seed
        self._store = store
        self._buffer = buffer
        self._seq = 0
        self._chunk: Chunk | None = None
        self._hash = hashlib.sha256()
        """Of the chunks before this one."""
        self._ended = False

    def append(
        self,
        kind: str,
        payload: Mapping[str, Json],
        *,
        cog_time: Micros,
        env_step: int,
        agent: AgentId | None = None,
        host: Mapping[str, Json] | None = None,
    ) -> int:
        """Append one event and return its number in the episode, from 0.

        `cog_time` is microseconds of simulated time, `env_step` the number of steps completed by then. `host`
        holds facts of this machine and this run (real time); they are kept outside the digest. The payload is
        copied now. Raises TypeError or ValueError for what has no canonical JSON, LogError after `finish` or
        `LogStore.close`.
        """
        if self._ended:
            raise LogError(f"{self._store.path}: episode {self.id} has ended; nothing can be appended to it")
        seq = self._seq
        line = event_line(seq, cog_time, env_step, agent, kind, canonical_json(payload))
        facts = None if host is None else host_line(seq, canonical_json(host))
        buffer = self._buffer
        chunk = self._chunk
        if chunk is None:
            chunk = self._chunk = buffer.begin(self.id, seq, self._close_chunk)
        if facts is not None:
            chunk.facts.append((seq, facts))
        chunk.kinds.append(kind)
        self._seq = seq + 1
        chunk.lines.append(line)
        buffer.events += 1
        if buffer.events >= FLUSH_EVENTS:
            self._store.flush()
        return seq

    def _close_chunk(self) -> None:
        """What is appended from now on belongs to another chunk."""
        if self._chunk is not None:
            digest = self._hash.copy()
            digest.update(self._chunk.close())
            self._hash, self._chunk = digest, None  # both or none, should an interrupt come

    def blob(self, data: bytes | str) -> str:
        """Keep data by its content; returns its SHA-256 in hexadecimal. Text is kept as UTF-8."""
        return self._store._keep(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)

    def checkpoint(self) -> None:
        """A step of the episode is over: commit, unless the last commit is less than COMMIT_S ago. Raises LogFull."""
        self._store._checkpoint()

    def flush(self) -> None:
        """Commit what was appended, by this episode and the others of the store. Raises LogFull."""
        self._store.flush()

    @property
    def digest(self) -> str:
        """The digest of what was appended so far (see docs/log.md)."""
        self._close_chunk()
        return self._hash.hexdigest()

    def finish(self, status: str, outcome: Mapping[str, Json]) -> None:
        """End the episode: ``finished`` or ``failed``. Commits. Raises LogFull, and LogError the second time."""
        if self._ended:
            raise LogError(f"{self._store.path}: episode {self.id} has ended already")
        self._store._finish(self, Status(status), self.digest, outcome)
        self._ended = True

    async def finish_soon(self, status: str, outcome: Mapping[str, Json]) -> None:
        """`finish`, by a commit that episodes which end within SHARED_S share; returns when it is committed."""
        if self._ended:
            raise LogError(f"{self._store.path}: episode {self.id} has ended already")
        self._ended = True
        try:
            await self._store._finish_soon(self, Status(status), self.digest, outcome)
        except LogError:
            self._ended = False
            raise
