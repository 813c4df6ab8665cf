"""The one layer that tries again: bounded in attempts and in time, and every failed attempt is told."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import stamina

from emcoop.core.canonical import content_hash
from emcoop.core.errors import ModelRefused, ModelUnavailable
from emcoop.core.seeds import Stream
from emcoop.core.types import Json
from emcoop.models.attempt import AttemptFailed
from emcoop.models.base import Completion, Fault, Model, Settings, Turn
from emcoop.models.limiter import Limiter

# Faults reach the log as data; without a handler, logging would print each retry to stderr as well.
logging.getLogger("stamina").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call is tried. Times are real seconds; waiting for a free place in the limiter does not count.

    After failed attempt k the wait is `first_wait_s` * 2^(k-1), at most `longest_wait_s`, times a factor in
    [0.5, 1) that is derived from the request, or what the provider asked for, if that is longer.
    """

    attempts: int = 5
    total_s: float = 120.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0


class Retrying:
    """A model around an adapter that makes single attempts (see `AttemptFailed`).

    Each attempt holds a place of the limiter and is bounded by `Settings.timeout_s`; the whole call by `patience`.
    Raises ModelRefused at once for an error that would repeat, and ModelUnavailable when attempts or time are used
    up; both carry a `Fault` per failed attempt.
    """

    def __init__(self, adapter: Model, limiter: Limiter | None = None, patience: Patience | None = None) -> None:
        self.adapter = adapter
        self.name = adapter.name
        self.limiter = limiter or Limiter()
        self.patience = patience or Patience()

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """See `Model.complete`."""
        call = _Call(self, turns, schema, settings)
        try:
            return await call.once()
        except AttemptFailed as failure:
            first: AttemptFailed | None = failure
        # Stamina hears only of failures: its objects refer to one another, and every call and its prompt would stay
        # with them in memory until Python next looks for cycles.
        try:
            async for attempt in stamina.retry_context(on=call.wait, attempts=self.patience.attempts, timeout=None):
                with attempt:
                    if first is not None:
                        failed, first = first, None
                        raise failed
                    return await call.once()
        except AttemptFailed as failure:
            raise call.give_up(failure) from failure
        raise AssertionError("stamina ends with an answer or an error")

    def describe(self) -> Mapping[str, Json]:
        """The adapter's description with the bounds on retrying."""
        p = self.patience
        return {**self.adapter.describe(), "retry": {"attempts": p.attempts, "total_s": p.total_s}}

    async def aclose(self) -> None:
        """Close the adapter."""
        await self.adapter.aclose()


@dataclass
class _Call:
    """One call: its faults so far and the real time it has spent in attempts and waits."""

    model: Retrying
    turns: Sequence[Turn]
    schema: Mapping[str, Json] | None
    settings: Settings
    faults: list[Fault] = field(default_factory=list)
    failed: int = 0
    spent_s: float = 0.0
    stopped: str = ""

    async def once(self) -> Completion:
        """One attempt. Raises AttemptFailed."""
        async with self.model.limiter.slot() as slot:
            bound = min(self.settings.timeout_s, self.model.patience.total_s - self.spent_s)
            begun = time.perf_counter()
            try:
                async with asyncio.timeout(bound) as deadline:
                    done = await self.model.adapter.complete(self.turns, schema=self.schema, settings=self.settings)
            except AttemptFailed as failure:
                if failure.kind == "rate_limit":
                    slot.slow_down()
                raise
            except TimeoutError:
                if not deadline.expired():
                    raise
                raise AttemptFailed("timeout", f"no answer within {bound:.1f} s") from None
            finally:
                self.spent_s += time.perf_counter() - begun
            slot.succeeded()
        return replace(done, latency_s=self.spent_s, faults=(*self.faults, *self._numbered(done.faults)))

    def wait(self, error: Exception) -> bool | float:
        """Whether, and after how many seconds, to try again; records the fault."""
        if not isinstance(error, AttemptFailed):
            return False
        self.failed += 1
        self.faults += self._numbered(error.faults)
        wait = self._pause(error)
        self.spent_s += wait or 0.0
        self.faults.append(Fault(error.kind, self.failed, str(error), error.status, wait or 0.0))
        return False if wait is None else wait

    def _pause(self, error: AttemptFailed) -> float | None:
        patience = self.model.patience
        if error.repeats:
            self.stopped = "an error that would repeat"
            return None
        if self.failed >= patience.attempts:
            self.stopped = f"{self.failed} attempts used up"
            return None
        left = patience.total_s - self.spent_s
        backoff = min(patience.longest_wait_s, patience.first_wait_s * 2.0 ** (self.failed - 1)) * self._jitter()
        wait = max(backoff, error.retry_after_s or 0.0)
        if wait >= left:
            asked = f"; the provider asks to wait {error.retry_after_s:.0f} s" if error.retry_after_s else ""
            self.stopped = f"{max(left, 0.0):.0f} of {patience.total_s:.0f} s left{asked}"
            return None
        return wait

    def _jitter(self) -> float:
        request = content_hash([list(self.turns), self.settings.seed, self.settings.sample])
        return 0.5 + 0.5 * Stream.named(0, "retry", request, self.failed).uniform()

    def _numbered(self, faults: Sequence[Fault]) -> list[Fault]:
        return [replace(fault, attempt=max(1, self.failed)) for fault in faults]

    def give_up(self, failure: AttemptFailed) -> ModelUnavailable | ModelRefused:
        """The error that the caller sees."""
        if not self.stopped:
            self.failed += 1
            self.faults += [*self._numbered(failure.faults), Fault(failure.kind, 1, str(failure), failure.status)]
            self.stopped = "retrying is switched off"
        kind = ModelRefused if failure.repeats else ModelUnavailable
        status = f" (status {failure.status})" if failure.status else ""
        return kind(f"{self.model.name}: {failure.kind}{status}: {failure}; {self.stopped}", tuple(self.faults))
