"""Why an episode was lost: the sentence of its failure, and the points of no return that were found beside the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emcoop.analysis.attribution import KINDS, attribute
from emcoop.core.errors import CorruptLog
from emcoop.core.types import Json
from emcoop.episode.kept import kept_no_returns
from emcoop.log.reader import LogReader
from emcoop.viewer.places import at_step

LONGEST = 40_000
"""Of an episode of more events no sentence is made for the page: it would have to be read whole."""


def why(log: Path, number: int) -> dict[str, Json]:
    """What can be told about how the episode was lost, with the simulated times (us) of the steps that are named.

    ``failure`` is the attribution with the `time` of its failure step and the `since_time` of the step from which on
    something was lacking; None for an episode that was won, is not finished, or is `long`. ``no_return`` are the points
    of no return that were found, each with its `time` (None where there is none), and ``ask`` the command that finds
    one. Raises LogError, CorruptLog.
    """
    with LogReader.open(log) as reader:
        row = reader.episode(number)
        last = reader.last(number)
        ended = row.status == "finished" and last is not None
        lost = ended and not (row.outcome or {}).get("score", {}).get("success")
        long = last is not None and last.seq >= LONGEST
        return {
            "lost": lost,
            "long": long,
            "failure": _failure(reader, number) if lost and not long else None,
            "no_return": [
                {**found.to_json(), "time": None if found.step is None else _time_of(reader, number, found.step)}
                for found in kept_no_returns(log, row)
            ],
            "ask": f"emcoop fork {_shown(log)} {number} --sweep oracle",
            "explain": f"emcoop explain {_shown(log)}",
        }


def _shown(log: Path) -> str:
    """The run as a person names it on the command line."""
    return str(log.parent) if log.name == "log.db" else str(log)


def _failure(reader: LogReader, number: int) -> dict[str, Json] | None:
    try:
        found = attribute(reader.events(number, kinds=KINDS))
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptLog(f"{reader.path}: why episode {number} failed cannot be told: {error!r}") from error
    if found is None:
        return None
    told: dict[str, Any] = found.to_json()
    return {
        **told,
        "time": _time_of(reader, number, found.step),
        "since_time": _time_of(reader, number, found.since),
    }


def _time_of(reader: LogReader, number: int, step: int) -> int:
    """The time at which a step is complete; 0 for step 0, the end for one that is not there."""
    if step <= 0:
        return 0
    found = reader.page(number, ("step",), at_step(reader, number, step), 1)
    if found:
        return found[0].cog_time
    last = reader.last(number)
    return 0 if last is None else last.cog_time
