"""Bounds on what a whole experiment may use."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from emcoop.core.config import StrictModel
from emcoop.core.errors import CapReached
from emcoop.core.types import Usage

NOTHING = Usage()


class Caps(StrictModel):
    """Bounds on a whole experiment, earlier runs into the same folder included (except `hours`).

    No episode is begun once one is reached; those in flight are played to their end. `usd` counts known prices only.
    Attempts that failed or were cut off count like finished ones; the log keeps the last attempt of each episode, so
    of an earlier run it is that one which counts.
    """

    usd: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, ge=1)
    hours: float | None = Field(default=None, gt=0)

    def reached(self, used: Usage, hours: float) -> str | None:
        """Which cap has been reached, in words."""
        tokens = used.input_tokens + used.output_tokens
        if self.usd is not None and used.known_usd >= self.usd:
            return f"the cap of ${self.usd:g} is reached: ${used.known_usd:.4f} spent"
        if self.tokens is not None and tokens >= self.tokens:
            return f"the cap of {self.tokens:,} tokens is reached: {tokens:,} used"
        if self.hours is not None and hours >= self.hours:
            return f"the cap of {self.hours:g} hours is reached"
        return None

    def share(self, parts: int) -> Caps:
        """What one of so many parts may use that are played side by side and hear nothing of each other."""
        usd = None if self.usd is None else self.usd / parts
        tokens = None if self.tokens is None else max(1, self.tokens // parts)
        return Caps(usd=usd, tokens=tokens, hours=self.hours)


NO_CAPS = Caps()


def capped(reason: str, done: int, total: int, errors: Sequence[str]) -> CapReached:
    """What is said when a cap ends a run, with the errors of the episodes that have failed until then."""
    failed = f"; {len(errors)} have failed, the first: {errors[0]}" if errors else ""
    return CapReached(f"{reason}; {total - done} of {total} episodes were not begun{failed}. Raise the cap to go on")
