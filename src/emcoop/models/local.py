"""llama.cpp in this process through `xllamacpp`: a GGUF file, answers constrained by a JSON schema.

Equal questions get equal answers, whatever else is asked and in which order:

- Several questions are evaluated at once by several engines, each with one thread and one question. Sequences that
  share a batch change each other's rounding and, soon, the text: with four in one engine, half of a set of test
  answers differed from the serial ones, for 12% more speed on two cores. More threads in one engine change rounding
  as well, and wait for each other by spinning: on two cores that were busy with other work, two threads took 20 to 87
  seconds for an answer that took one thread 6.
- The state of a prompt's stable prefix (its leading system turns) is kept in one of an engine's `slots` sequences and
  used again. llama.cpp would use the longest common prefix with whatever it evaluated last, which makes rounding
  depend on the order of questions; so before each question the sequence is cut back to the prefix alone.

Engines run in threads of their own, so that the event loop stays free. They share the file's memory.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from emcoop.core.canonical import content_hash
from emcoop.core.errors import MissingDependency
from emcoop.core.types import Json, Usage
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.parsing import encodable, parsed_or_none
from emcoop.models.pull import SOURCES, find
from emcoop.models.remote import count
from emcoop.models.schemas import strict_form

CONTEXT = 4096
SLOTS = 4
MOST_ENGINES = 4
QUIET = -1

COMPACT = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}
"""JSON on one line: a small model otherwise spends many of its tokens on indentation."""

Written: TypeAlias = tuple[str, str, int, int, tuple[Fault, ...]]
"""Text, finish reason, tokens read and written, faults."""


class LocalModel:
    """One GGUF file, loaded at the first question. See the module for what keeps answers equal.

    `context` is the most tokens of prompt and answer together; `engines` answer at once (default: as many as the
    machine has CPUs, at most 4), each with `threads` threads and `slots` kept prefixes. Of these only `threads`
    changes an answer.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        engines: int | None = None,
        threads: int = 1,
        context: int = CONTEXT,
        slots: int = SLOTS,
    ) -> None:
        # A path stays out of the log; the file's name and size tell what it was.
        self.name = f"local:{name if name in SOURCES else path.name}"
        self.path = path
        self.at_once = engines or min(os.cpu_count() or 1, MOST_ENGINES)
        self.threads = threads
        self.context = context
        self.slots = slots
        self._idle: list[_Engine] = []
        self._lock = threading.Lock()
        self._workers = ThreadPoolExecutor(self.at_once, thread_name_prefix="emcoop-local")

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """One attempt. Raises AttemptFailed; a prompt longer than the context is refused with both numbers.

        When the caller stops waiting, the answer being written is stopped after its current token.
        """
        begun = time.perf_counter()
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            text, finish, read, written, faults = await loop.run_in_executor(
                self._workers, self._answer, tuple(turns), schema, settings, stop
            )
        finally:
            stop.set()
        usage = Usage(read, written, 0, 1, 0.0)
        spent = time.perf_counter() - begun
        return Completion(text, parsed_or_none(text, schema), usage, spent, finish, self.name, faults)

    def _answer(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings, stop: threading.Event
    ) -> Written:
        if stop.is_set():
            raise AttemptFailed("timeout", "nobody waits for this answer any more")
        engine = self._take(_prefix(turns))
        try:
            return engine.answer(turns, schema, settings, stop)
        finally:
            with self._lock:
                self._idle.append(engine)

    def _take(self, prefix: str) -> _Engine:
        """An idle engine, if possible one that holds the prefix; there are as many as workers."""
        with self._lock:
            for i, engine in enumerate(self._idle):
                if prefix in engine.prefixes.held:
                    return self._idle.pop(i)
            if self._idle:
                return self._idle.pop()
        return _Engine(self.path, self.threads, self.context, self.slots)

    def describe(self) -> Mapping[str, Json]:
        """The adapter, the name, the file's name and size, and what changes an answer."""
        return {
            "adapter": "local",
            "name": self.name.partition(":")[2],
            "file": self.path.name,
            "bytes": self.path.stat().st_size,
            "threads": self.threads,
            "context": self.context,
        }

    async def aclose(self) -> None:
        """Free the model's memory; waits for questions that are being answered."""
        await asyncio.to_thread(self._workers.shutdown)
        self._idle.clear()


@dataclass(slots=True)
class _Prefixes:
    """Which sequence holds which prefix; the one used longest ago makes room."""

    slots: int
    held: dict[str, int] = field(default_factory=dict)

    def place(self, prefix: str) -> tuple[int, bool]:
        """The sequence for this prefix, and whether it holds it already."""
        known = prefix in self.held
        if known:
            slot = self.held.pop(prefix)
        elif len(self.held) < self.slots:
            slot = len(self.held)
        else:
            slot = self.held.pop(next(iter(self.held)))
        self.held[prefix] = slot
        return slot, known


class _Engine:
    """The loaded model. Used by one thread at a time."""

    def __init__(self, path: Path, threads: int, context: int, slots: int) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_parallel, params.n_ctx = slots, context * slots
        params.kv_unified = False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.n_gpu_layers = 0
        # What follows would make an answer depend on free memory or on what was asked before.
        params.fit_params = False
        params.cache_ram_mib = 0
        params.ctx_shift = False
        params.warmup = False
        params.verbosity = QUIET
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            message = f"{path} cannot be loaded as a GGUF model: {error}"
            raise AttemptFailed("refused", message, repeats=True) from error
        self.prefixes = _Prefixes(slots)

    def answer(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings, stop: threading.Event
    ) -> Written:
        """Raises AttemptFailed."""
        slot, reuse = self._prime(turns)
        request: dict[str, Any] = {
            "messages": _messages(turns),
            "max_tokens": settings.max_tokens,
            "temperature": settings.temperature,
            "seed": ((settings.seed or 0) + settings.sample) & 0x7FFFFFFF,
            "id_slot": slot,
            "cache_prompt": reuse,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if schema is not None:
            request["grammar"] = self._grammar(schema)
        text, finish, read, written = self._stream(request, stop)
        faults: tuple[Fault, ...] = ()
        if schema is not None and text and not text.startswith("{"):
            # llama.cpp leaves out a grammar that it cannot compile, and says so to nobody.
            faults = (Fault("unsupported", 1, "no grammar could be made of this schema: nothing bound the answer"),)
        return text, finish, read, written, faults

    def _grammar(self, schema: Mapping[str, Json]) -> str:
        """Compact JSON of this schema, with no other keys."""
        import xllamacpp

        closed = strict_form(schema) or dict(schema)
        grammar: str = xllamacpp.json_schema_to_grammar(json.dumps({**closed, "x-guidance": COMPACT}))
        return grammar

    def _prime(self, turns: tuple[Turn, ...]) -> tuple[int, bool]:
        """Bring one sequence to the state "prefix alone"; without a prefix, sequence 0 is evaluated afresh."""
        prefix = _leading(turns)
        if not prefix:
            self.prefixes.held = {name: slot for name, slot in self.prefixes.held.items() if slot != 0}
            return 0, False
        slot, known = self.prefixes.place(_prefix(turns))
        request = {"messages": _messages(prefix), "max_tokens": 0, "id_slot": slot, "cache_prompt": known}
        reply = self._server.handle_chat_completions(request)
        if "error" in reply:
            raise _refused(reply)
        return slot, True

    def _stream(self, request: dict[str, Any], stop: threading.Event) -> tuple[str, str, int, int]:
        pieces: list[str] = []
        last: dict[str, Any] = {}

        def heard(chunk: dict[str, Any]) -> bool:
            for choice in chunk.get("choices", ()):
                pieces.append(choice["delta"].get("content") or "")
                last["finish"] = choice["finish_reason"] or last.get("finish")
            last.update({key: chunk[key] for key in ("usage", "error") if key in chunk})
            return stop.is_set()

        self._server.handle_chat_completions(request, heard)
        if "error" in last:
            raise _refused(last)
        if "usage" not in last:
            raise AttemptFailed("truncated", "the answer was stopped")
        usage = last["usage"]
        read, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
        return "".join(pieces), str(last.get("finish") or "stop"), read, written


def _leading(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The system turns that come before any other; none when there is nothing else."""
    stable = next((i for i, turn in enumerate(turns) if turn.role != "system"), 0)
    return turns[:stable]


def _prefix(turns: tuple[Turn, ...]) -> str:
    return content_hash(list(_leading(turns)))


def _messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": encodable(turn.content)} for turn in turns]


def _refused(reply: Mapping[str, Any]) -> AttemptFailed:
    error = reply["error"]
    message = error.get("message", error) if isinstance(error, Mapping) else error
    return AttemptFailed("refused", public(str(message)), repeats=True)


def make(
    name: str, *, engines: int | None = None, threads: int = 1, context: int = CONTEXT, slots: int = SLOTS
) -> LocalModel:
    """The model of a pulled name (``smollm2``) or of a GGUF file's path.

    Raises MissingDependency when xllamacpp or the file is not there, and UnknownName for an unknown name.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingDependency("the local adapter needs a package: pip install 'emcoop[local]'")
    if name in SOURCES or not (name.endswith(".gguf") or os.sep in name):
        path = find(name)
        if path is None:
            raise MissingDependency(f"model 'local:{name}' is not here yet: emcoop models pull {name}")
    else:
        path = Path(name).expanduser()
        if not path.is_file():
            raise MissingDependency(f"model 'local:{name}': there is no such file")
    return LocalModel(name, path, engines=engines, threads=threads, context=context, slots=slots)
