"""What one attempt at a model call can end in, besides an answer."""

from __future__ import annotations

import re

from emcoop.core.errors import ModelError
from emcoop.models.base import Fault
from emcoop.models.parsing import encodable

MESSAGE_LIMIT = 300
"""Characters of a provider's message that a fault keeps."""

_KEYS = re.compile(r"(?i)\b(?:sk|pk|rk|key)-[\w\-*.]{4,}|bearer\s+\S+")


class AttemptFailed(ModelError):
    """One attempt failed. Adapters raise it and the retry layer turns it into a fault, so it never escapes a model.

    `kind` is a `Fault` kind; `repeats` says that trying again would fail the same way; `retry_after_s` is what
    the provider asked to wait; `faults` are what the adapter gave up on the way (kind ``unsupported``).
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        repeats: bool = False,
        retry_after_s: float | None = None,
        faults: tuple[Fault, ...] = (),
    ) -> None:
        super().__init__(message, faults)
        self.kind = kind
        self.status = status
        self.repeats = repeats
        self.retry_after_s = retry_after_s


def public(message: str, *secrets: str | None) -> str:
    """The message fit for a log: one short line without the secrets and without anything that looks like a key."""
    for secret in secrets:
        if secret:
            message = message.replace(secret, "[key]")
    line = " ".join(_KEYS.sub("[key]", encodable(message)).split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 3] + "..."
