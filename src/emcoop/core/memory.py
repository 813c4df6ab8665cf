"""Fewer collections of garbage while many episodes are in flight."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

LEAST = 50_000
"""So many new objects are waited for at least, where Python itself waits for 700."""

PER_EPISODE = 500
"""And so many for each episode in flight, a part of what it holds: what is looked through grows with them, too."""

OLDER = (20, 10)
"""Every so many collections look at older objects as well. The last is left at Python's: at 50, what episodes leave
behind waits for tens of millions of new objects."""


@contextmanager
def fewer_collections(in_flight: int = 1) -> Iterator[None]:
    """Collect garbage more seldom while so many episodes are in flight, and never look through what is there already.

    A thousand episodes in flight hold millions of live objects, which Python's collector would look through again and
    again: a sixth of the processor's time, spared for an eighth more memory.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(LEAST, PER_EPISODE * in_flight), *OLDER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
