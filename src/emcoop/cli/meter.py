"""Live progress of a run on stderr: how far, how fast, for how much, and which episode takes longest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.text import Text

from emcoop.analysis.words import number, printable
from emcoop.cli.output import say
from emcoop.core.types import Limit, Usage
from emcoop.experiment.caps import NO_CAPS, NOTHING, Caps
from emcoop.experiment.study import Progress as Step

QUIET_S = 5.0
"""Where stderr is no terminal, a line of progress is printed at most so often."""


def step_text(step: Step) -> str:
    """Where an episode is: ``cube/hard x3 centralized scripted, seed 4: step 12``."""
    cell = step.cell
    who = " ".join(filter(None, (cell.agent_label, cell.model_label, *(f"+{name}" for name in cell.interventions))))
    where = printable(f"{cell.env}/{cell.level} x{cell.agents} {cell.topology} {who}, seed {step.seed}")
    if step.error is not None:
        return f"{where}: failed"
    if step.outcome is not None:
        return f"{where}: {step.outcome.limit.value} after {step.outcome.steps} steps"
    return f"{where}: step {step.step}"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Meter:
    """A context manager, called with each step of a run; `now` is the clock that it is measured by, in seconds."""

    def __init__(self, caps: Caps = NO_CAPS, now: Callable[[], float] = time.monotonic) -> None:
        self._caps = caps
        self._now = now
        self._begun = self._last = now()
        self._first: int | None = None
        self._running: dict[tuple[str, int], tuple[float, Step]] = {}
        self._done, self._total, self._failed, self._unanswered = 0, 0, 0, 0
        self._spent: Usage = NOTHING
        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._bar = Progress(BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), console=self._console)
        self._task = self._bar.add_task("", total=None)
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, get_renderable=self._shown)

    def __enter__(self) -> Meter:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, step: Step) -> None:
        """Take note of this step; where stderr is no terminal, print a line now and then."""
        now = self._now()
        if self._first is None:
            self._first = step.done - (step.outcome is not None or step.error is not None)
        self._done, self._total, self._spent = step.done, step.total, step.spent
        key = (step.cell.cell, step.seed)
        over = step.outcome is not None or step.error is not None
        self._failed += step.error is not None
        self._unanswered += step.outcome is not None and step.outcome.limit is Limit.MODEL
        if over:
            self._running.pop(key, None)
        else:
            self._running[key] = (self._running[key][0] if key in self._running else now, step)
        self._bar.update(self._task, completed=step.done, total=step.total)
        if self._live is None and (now - self._last >= QUIET_S or (over and step.done == step.total)):
            self._last = now
            say("; ".join([f"{step.done}/{step.total} episodes", *self.lines()]))

    def lines(self) -> list[str]:
        """Rate, money and caps, failures and the slowest running episode, each where there is something to say."""
        return [*self._rate(), *self._money(), *self._failures(), *self._slowest()]

    def _rate(self) -> Iterator[str]:
        played, elapsed = self._done - (self._first or 0), self._now() - self._begun
        if played and elapsed > 0:
            per_minute = 60 * played / elapsed
            left = duration((self._total - self._done) / played * elapsed)
            yield f"{number(per_minute)} a minute" + (f", about {left} left" if self._done < self._total else "")

    def _money(self) -> Iterator[str]:
        used, caps = self._spent, self._caps
        tokens = used.input_tokens + used.output_tokens
        if tokens or used.calls or used.cost_usd or caps != NO_CAPS:
            usd = f"${number(used.known_usd)}"
            if used.cost_usd is None:
                usd = f"{usd} of known prices" if used.known_usd else "price unknown"
            yield f"{usd} and {number(tokens)} tokens spent"
        left = []
        if caps.usd is not None:
            left.append(f"${number(max(0.0, caps.usd - used.known_usd))}")
        if caps.tokens is not None:
            left.append(f"{number(max(0, caps.tokens - tokens))} tokens")
        if caps.hours is not None:
            left.append(duration(max(0.0, caps.hours * 3600 - (self._now() - self._begun))))
        if left:
            yield f"caps leave {', '.join(left)}"

    def _failures(self) -> Iterator[str]:
        if self._failed:
            yield f"{self._failed} failed"
        if self._unanswered:
            yield f"{self._unanswered} ended by model failures"

    def _slowest(self) -> Iterator[str]:
        if self._running:
            since, step = min(self._running.values(), key=lambda entry: entry[0])
            taken = duration(self._now() - since)
            yield f"{len(self._running)} running, the longest for {taken}: {step_text(step)}"

    def _shown(self) -> RenderableType:
        return Group(self._bar, *(Text(line, overflow="ellipsis", no_wrap=True) for line in self.lines()))
