"""One attempt at a hosted provider: what the adapters of such providers do alike.

A provider that refuses a field of a request with a 400 is asked again at once in a lesser dialect; the dialect is
remembered for the model, and each downgrade is told as a fault of kind ``unsupported``.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from emcoop.core.types import Json
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.remote import Reply, error_text, failure, json_body, public_url


class Dialect(Protocol):
    """What a model takes of a request; learnt from refusals."""

    def without(self, refusal: str, schema: bool) -> tuple[Self, str] | None:
        """The dialect after this refusal, and what it gives up; None when the refusal is about something else."""


D = TypeVar("D", bound=Dialect)


class HostedModel(ABC, Generic[D]):
    """One attempt per call; see `build` for the retrying model around it. `secrets` are what no message may show."""

    adapter: ClassVar[str]
    refuser: ClassVar[str]
    """Who refuses a field, in the words of a fault."""

    def __init__(self, name: str, *, secrets: tuple[str, ...], base_url: str | None, dialect: D) -> None:
        self._secrets = secrets
        self._dialect = dialect
        self.name = f"{self.adapter}:{name}"
        self.model = name
        self.base_url = base_url

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """One attempt. Raises AttemptFailed."""
        begun = time.perf_counter()
        asked = tuple(turns)
        faults: list[Fault] = []
        try:
            while True:
                used = self._dialect
                reply = await self._send(self._request(asked, schema, settings), settings.timeout_s)
                if reply.good:
                    break
                # Where a call beside this one has learnt something in the meantime, nothing is left to learn.
                if reply.status != 400 or used == self._dialect:
                    faults.append(self._learn(used, reply, schema is not None))
            return self._read(json_body(reply.body), schema, time.perf_counter() - begun, tuple(faults))
        except AttemptFailed as failed:
            failed.faults = tuple(faults)
            raise

    def _learn(self, used: D, reply: Reply, schema: bool) -> Fault:
        """Give up what the provider refuses; returns what is told of it. Raises AttemptFailed for other failures."""
        text = error_text(reply)
        lesser = used.without(text, schema) if reply.status == 400 else None
        if lesser is None:
            raise failure(reply, *self._secrets)
        self._dialect, given_up = lesser
        said = public(f"the {self.refuser} refuses {given_up}: {text}", *self._secrets)
        return Fault("unsupported", 1, said, reply.status)

    def describe(self) -> Mapping[str, Json]:
        """The adapter, the name and the server."""
        return {"adapter": self.adapter, "name": self.model, "base_url": public_url(self.base_url)}

    @abstractmethod
    def _request(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings
    ) -> dict[str, Any]:
        """The request in the present dialect."""

    @abstractmethod
    async def _send(self, request: dict[str, Any], timeout_s: float) -> Reply:
        """What the server answers, good or not. Raises AttemptFailed when no whole answer comes."""

    @abstractmethod
    def _read(
        self, body: Mapping[str, Json], schema: Mapping[str, Json] | None, latency_s: float, faults: tuple[Fault, ...]
    ) -> Completion:
        """The completion that a reply holds. Raises AttemptFailed."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections."""
