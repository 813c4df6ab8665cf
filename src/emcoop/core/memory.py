"""Fewer collections of garbage while many episodes are in flight."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

CALM = (50_000, 20, 10)
"""Python's thresholds while episodes are played; its own are (700, 10, 10). The last is left at Python's: at 50, what
episodes leave behind waits for tens of millions of new objects."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Collect garbage more seldom, and never look through what is there already.

    A thousand episodes in flight hold millions of live objects, which Python's collector would look through again and
    again: a sixth of the processor's time, spared for an eighth more memory.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*CALM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
