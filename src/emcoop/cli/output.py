"""What goes to the terminal: results to stdout, everything about the way there to stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

PLAIN_WIDTH = 100


def console() -> Console:
    """Standard output; 100 columns wide where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)


def say(text: str) -> None:
    """A line for the person at the terminal."""
    Console(stderr=True, highlight=False, soft_wrap=True, emoji=False).print(text, markup=False)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
