"""llama.cpp in this process through `xllamacpp`: a GGUF file, answers constrained by a JSON schema.

Equal questions get equal answers, whatever else is asked and in which order, on one machine with one thread count:

- One question is evaluated at a time, in a thread of its own, so that the event loop stays free. Sequences that
  share a batch change each other's rounding and, soon, the text: with four at once, half of a set of test answers
  differed from the serial ones, for 12% more speed on two cores.
- The state of a prompt's stable prefix (its leading system turns) is kept in one of `slots` sequences and used again.
  llama.cpp would use the longest common prefix with whatever it evaluated last, which makes rounding depend on the
  order of questions; so before each question the sequence is cut back to the prefix alone.

The number of threads changes rounding too, and therefore is part of `describe`, as is the file's name.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emcoop.core.canonical import content_hash
from emcoop.core.errors import MissingDependency
from emcoop.core.types import Json, Usage
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.parsing import encodable, parsed_or_none
from emcoop.models.pull import SOURCES, find
from emcoop.models.remote import count

CONTEXT = 4096
SLOTS = 4
QUIET = -1


class LocalModel:
    """One GGUF file, loaded at the first question. See the module for what keeps answers equal.

    `threads` defaults to the machine's CPU count, `context` is the most tokens of prompt and answer together, and
    `slots` is how many prefixes are kept.
    """

    at_once = 1

    def __init__(
        self, name: str, path: Path, *, threads: int | None = None, context: int = CONTEXT, slots: int = SLOTS
    ) -> None:
        self.name = f"local:{name}"
        self.path = path
        self.threads = threads or os.cpu_count() or 1
        self.context = context
        self.slots = slots
        self._engine: _Engine | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="emcoop-local")

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
                self._worker, self._answer, tuple(turns), schema, settings, stop
            )
        finally:
            stop.set()
        usage = Usage(read, written, 0, 1, 0.0)
        spent = time.perf_counter() - begun
        return Completion(text, parsed_or_none(text, schema), usage, spent, finish, self.name, faults)

    def _answer(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings, stop: threading.Event
    ) -> tuple[str, str, int, int, tuple[Fault, ...]]:
        if stop.is_set():
            raise AttemptFailed("timeout", "nobody waits for this answer any more")
        if self._engine is None:
            self._engine = _Engine(self.path, self.threads, self.context, self.slots)
        return self._engine.answer(turns, schema, settings, stop)

    def describe(self) -> Mapping[str, Json]:
        """The adapter, the name, the file's name and size, and what changes rounding."""
        return {
            "adapter": "local",
            "name": self.name.partition(":")[2],
            "file": self.path.name,
            "bytes": self.path.stat().st_size,
            "threads": self.threads,
            "context": self.context,
        }

    async def aclose(self) -> None:
        """Free the model's memory; waits for a question that is being answered."""
        await asyncio.get_running_loop().run_in_executor(self._worker, self._unload)
        self._worker.shutdown()

    def _unload(self) -> None:
        self._engine = None


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
    """The loaded model. Used from one thread."""

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
        self._prefixes = _Prefixes(slots)

    def answer(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings, stop: threading.Event
    ) -> tuple[str, str, int, int, tuple[Fault, ...]]:
        """Text, finish reason, tokens read and written, faults. Raises AttemptFailed."""
        slot, reuse = self._prime(turns)
        request: dict[str, Any] = {
            "messages": _messages(turns),
            "max_tokens": settings.max_tokens,
            "temperature": settings.temperature,
            "seed": (settings.seed or 0) + settings.sample & 0x7FFFFFFF,
            "id_slot": slot,
            "cache_prompt": reuse,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if schema is not None:
            request["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        try:
            return (*self._stream(request, stop), ())
        except ValueError as error:
            if schema is None:
                raise AttemptFailed("refused", public(str(error)), repeats=True) from error
            del request["response_format"]
            fault = Fault("unsupported", 1, public(f"no grammar for this schema: {error}"))
            return (*self._stream(request, stop), (fault,))

    def _prime(self, turns: tuple[Turn, ...]) -> tuple[int, bool]:
        """Bring one sequence to the state "prefix alone"; without a prefix, sequence 0 is evaluated afresh."""
        stable = next((i for i, turn in enumerate(turns) if turn.role != "system"), len(turns))
        if not 0 < stable < len(turns):
            self._prefixes.held = {name: slot for name, slot in self._prefixes.held.items() if slot != 0}
            return 0, False
        prefix = turns[:stable]
        slot, known = self._prefixes.place(content_hash(list(prefix)))
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


def _messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": encodable(turn.content)} for turn in turns]


def _refused(reply: Mapping[str, Any]) -> AttemptFailed:
    error = reply["error"]
    message = error.get("message", error) if isinstance(error, Mapping) else error
    return AttemptFailed("refused", public(str(message)), repeats=True)


def make(name: str, *, threads: int | None = None, context: int = CONTEXT, slots: int = SLOTS) -> LocalModel:
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
    return LocalModel(name, path, threads=threads, context=context, slots=slots)
