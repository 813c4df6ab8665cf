"""Where in an episode something lies: found by halving, since time and steps only grow with an event's number."""

from __future__ import annotations

from collections.abc import Callable

from emcoop.log.events import Event
from emcoop.log.reader import LogReader


def at_time(reader: LogReader, number: int, time: int) -> int:
    """The number of the first event at or after this simulated time; the last event's where there is none."""
    return _first(reader, number, lambda event: event.cog_time >= time)


def at_step(reader: LogReader, number: int, step: int) -> int:
    """The number of the first event with so many completed steps; the last event's where there is none."""
    return _first(reader, number, lambda event: event.env_step >= step)


def _first(reader: LogReader, number: int, reached: Callable[[Event], bool]) -> int:
    last = reader.last(number)
    low, high = 0, 0 if last is None else last.seq
    while low < high:
        middle = (low + high) // 2
        found = reader.page(number, start_seq=middle, size=1)
        if not found or reached(found[0]):
            high = middle
        else:
            low = found[0].seq + 1
    return min(low, high)
