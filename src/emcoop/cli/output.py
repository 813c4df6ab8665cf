"""What goes to the terminal: results to stdout, everything about the way there to stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from emcoop.analysis.words import printable

PLAIN_WIDTH = 100


def console() -> Console:
    """Standard output; 100 columns wide where it is no terminal. Text is text: brackets in it are no markup."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, emoji=False, markup=False)


def legible(text: str) -> str:
    """The text without control characters other than the ends of its lines: a provider's words may be part of it."""
    return "\n".join(map(printable, text.split("\n")))


def say(text: str) -> None:
    """A line for the person at the terminal."""
    Console(stderr=True, highlight=False, soft_wrap=True, emoji=False).print(legible(text), markup=False)


def print_json(value: Any) -> None:
    """One JSON value on standard output; half of a surrogate pair, which has no UTF-8 form, as its escape."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    print(text.encode("utf-8", errors="backslashreplace").decode())
