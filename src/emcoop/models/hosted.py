"""One attempt at a hosted provider through its SDK: what the adapters of such providers do alike.

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
from emcoop.models.remote import error_text, failed_attempt, json_body, public_url


class Dialect(Protocol):
    """What a model takes of a request; learnt from refusals."""

    def without(self, refusal: str, schema: bool) -> tuple[Self, str] | None:
        """The dialect after this refusal, and what it gives up; None when the refusal is about something else."""


D = TypeVar("D", bound=Dialect)


class HostedModel(ABC, Generic[D]):
    """One attempt per call; see `build` for the retrying model around it.

    `sdk` is the provider's package, `error` the base of its errors, `key` what no message may show.
    """

    adapter: ClassVar[str]
    refuser: ClassVar[str]
    """Who refuses a field, in the words of a fault."""

    def __init__(
        self, name: str, *, sdk: Any, error: type[Exception], key: str | None, base_url: str | None, dialect: D
    ) -> None:
        self._sdk = sdk
        self._error = error
        self._key = key
        self._dialect = dialect
        self.name = f"{self.adapter}:{name}"
        self.model = name
        self.base_url = base_url

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """One attempt. Raises AttemptFailed."""
        begun = time.perf_counter()
        faults: list[Fault] = []
        while True:
            used = self._dialect
            request = self._request(tuple(turns), schema, settings)
            try:
                body = await self._send(request, settings.timeout_s)
                break
            except self._sdk.BadRequestError as error:
                if used != self._dialect:
                    continue  # A call beside this one has learnt something in the meantime.
                lesser = used.without(error_text(error), schema is not None)
                if lesser is None:
                    raise self._failed(error, faults) from error
                self._dialect, given_up = lesser
                said = public(f"the {self.refuser} refuses {given_up}: {error_text(error)}", self._key)
                faults.append(Fault("unsupported", 1, said, error.status_code))
            except self._error as error:
                raise self._failed(error, faults) from error
        return self._read(json_body(body), schema, time.perf_counter() - begun, tuple(faults))

    def _failed(self, error: Exception, faults: list[Fault]) -> AttemptFailed:
        failure = failed_attempt(self._sdk, error, self._key)
        failure.faults = tuple(faults)
        return failure

    def describe(self) -> Mapping[str, Json]:
        """The adapter, the name and the server."""
        return {"adapter": self.adapter, "name": self.model, "base_url": public_url(self.base_url)}

    @abstractmethod
    def _request(
        self, turns: tuple[Turn, ...], schema: Mapping[str, Json] | None, settings: Settings
    ) -> dict[str, Any]:
        """The request in the present dialect."""

    @abstractmethod
    async def _send(self, request: dict[str, Any], timeout_s: float) -> bytes:
        """The reply's body. Raises the SDK's errors."""

    @abstractmethod
    def _read(
        self, body: Mapping[str, Json], schema: Mapping[str, Json] | None, latency_s: float, faults: tuple[Fault, ...]
    ) -> Completion:
        """The completion that a reply holds. Raises AttemptFailed."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections."""
