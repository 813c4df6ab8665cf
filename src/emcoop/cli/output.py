"""What goes to the terminal: results to stdout, everything about the way there to stderr."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from emcoop.experiment.study import Progress as Step

PLAIN_WIDTH = 100
QUIET_S = 5.0
"""Where stderr is no terminal, a line of progress is printed at most so often."""


def console() -> Console:
    """Standard output; 100 columns wide where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)


def say(text: str) -> None:
    """A line for the person at the terminal."""
    Console(stderr=True, highlight=False, soft_wrap=True, emoji=False).print(text, markup=False)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def step_text(step: Step) -> str:
    """Where an episode is: ``cube/hard x3 centralized scripted, seed 4: step 12``."""
    cell = step.cell
    who = " ".join(filter(None, (cell.agent_label, cell.model_label)))
    where = f"{cell.env}/{cell.level} x{cell.agents} {cell.topology} {who}, seed {step.seed}"
    if step.error is not None:
        return f"{where}: failed"
    if step.outcome is not None:
        return f"{where}: {step.outcome.limit.value} after {step.outcome.steps} steps"
    return f"{where}: step {step.step}"


class Meter:
    """Live progress of a run on stderr; a context manager, called with each step."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._live = self._console.is_terminal
        self._last = time.monotonic()
        self._progress = Progress(
            BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"),
            console=self._console, transient=True, disable=not self._live,
        )  # fmt: skip
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Meter:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, step: Step) -> None:
        """Show this step; where stderr is no terminal, only now and then."""
        if self._live:
            text = step_text(step).replace("[", "\\[")
            self._progress.update(self._task, completed=step.done, total=step.total, description=text)
            return
        now = time.monotonic()
        if now - self._last >= QUIET_S or (step.done == step.total and step.outcome is not None):
            self._last = now
            say(f"{step.done}/{step.total} episodes; {step_text(step)}")
