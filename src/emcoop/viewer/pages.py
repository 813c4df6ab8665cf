"""What the page asks for: every function opens the log, reads a bounded piece of it and lets go.

Everything returned is of plain JSON types. Nothing here holds an episode whole; a piece is limited in events and in
bytes. The log may be written meanwhile.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from emcoop.analysis.cells import EpisodeRecord, Row, split_of, split_references, summarise
from emcoop.core.errors import LogError
from emcoop.core.types import Json
from emcoop.log.events import EpisodeRow, Event, Status
from emcoop.log.reader import LogReader
from emcoop.viewer.places import at_step, at_time

MAX_EVENTS = 2_000
"""The most events that one page holds."""

MAX_BYTES = 4_000_000
"""A page ends with the first event that makes it this long, as JSON."""

CHUNK = 200
LOOK_BACK = 4_000
"""How many events before a page are searched for the stages and plans that reach into it."""

MAX_HITS = 50
SEARCHED_AT_ONCE = 20_000


def index(log: Path) -> dict[str, Json]:
    """The run: its cells with intervals, and its episodes. Read from the table of episodes alone.

    ``cells`` are rows as in `emcoop report --json` without the metrics, ``references`` the floors and ceilings among
    them, each with its `role`. ``writer`` says whether a process is writing the log. Raises LogError.
    """
    writer = being_written(log)
    with LogReader.open(log) as reader:
        rows = reader.episodes()
        episodes = [_episode_line(reader, row, writer) for row in rows]
    cells = summarise(_record(row) for row in rows)
    own, references = split_references(cells)
    return {
        "run": log.parent.name if log.name == "log.db" else log.name,
        "writer": writer,
        "cells": [_cell(row) for row in own],
        "references": [_cell(row) for row in references],
        "episodes": episodes,
    }


def _episode_line(reader: LogReader, row: EpisodeRow, writer: bool) -> dict[str, Json]:
    outcome = row.outcome or {}
    score = outcome.get("score") or {}
    steps = outcome.get("steps")
    if steps is None:
        last = reader.last(row.id)
        steps = last.env_step if last is not None else 0
    return {
        "id": row.id,
        "cell": row.cell,
        "seed": row.seed,
        "status": state_of(row, writer),
        "limit": outcome.get("limit"),
        "success": score.get("success"),
        "progress": score.get("progress"),
        "steps": steps,
        "error": outcome.get("error"),
    }


def state_of(row: EpisodeRow, writer: bool) -> str:
    """The episode's status; ``cut off`` for one that was running when its writer died."""
    if row.status is Status.RUNNING and not writer:
        return "cut off"
    return row.status.value


def being_written(log: Path) -> bool:
    """Whether the process that last took the log's lock still lives."""
    try:
        holder = int(log.with_name(log.name + ".lock").read_text("ascii"))
        os.kill(holder, 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _record(row: EpisodeRow) -> EpisodeRecord:
    outcome = row.outcome or {}
    score = outcome.get("score") or {}
    known = {"success": float(score["success"]), "progress": float(score["progress"])} if score else {}
    return EpisodeRecord(
        id=row.id,
        cell=row.cell,
        setup=row.setup,
        seed=row.seed,
        status=row.status.value,
        limit=outcome.get("limit"),
        score=score,
        metrics=known,
        impossible=None,
        split=split_of(row.seed),
        error=outcome.get("error"),
    )


def _cell(row: Row) -> dict[str, Json]:
    left_out = {"metrics", "extras", "impossible"}
    return {**{name: value for name, value in row.to_json().items() if name not in left_out}, "role": row.role}


def episode(log: Path, number: int) -> dict[str, Json]:
    """One episode's row, its first event's payload and the place of its last event. Raises LogError."""
    writer = being_written(log)
    with LogReader.open(log) as reader:
        row = reader.episode(number)
        first = next(iter(reader.page(number, size=1)), None)
        last = reader.last(number)
        line = _episode_line(reader, row, writer)
    start = first.payload if first is not None and first.kind == "episode_start" else {}
    end = last.payload if last is not None and last.kind == "episode_end" else None
    return {
        **line,
        "setup": row.setup,
        "digest": row.digest,
        "start": start,
        "end": end,
        "last": _event(last) if last is not None and end is None else None,
        "events": 0 if last is None else last.seq + 1,
        "duration": 0 if last is None else last.cog_time,
    }


def page(log: Path, number: int, start: int = 0, size: int = MAX_EVENTS, kinds: Sequence[str] = ()) -> dict[str, Json]:
    """Events from number `start` on, as ``[seq, cog_time, env_step, agent, kind, payload]``, and their host facts.

    ``next`` is the number to go on from, or None after the last event. Raises LogError.
    """
    size = max(1, min(size, MAX_EVENTS))
    found: list[Json] = []
    spent = 0
    following: int | None = None
    with LogReader.open(log) as reader:
        reader.episode(number)
        for event in reader.events(number, kinds, start, CHUNK):
            if len(found) == size or spent > MAX_BYTES:
                following = event.seq
                break
            found.append(_event(event))
            spent += len(json.dumps(event.payload, ensure_ascii=False))
        host = _host(reader, number, found) if found else {}
    return {"events": found, "host": host, "next": following}


def _host(reader: LogReader, number: int, found: Sequence[Json]) -> dict[str, Json]:
    facts = {}
    for seq, fact in reader.host(number, found[0][0]):
        if seq > found[-1][0]:
            break
        facts[str(seq)] = fact
    return facts


def _event(event: Event) -> Json:
    return [event.seq, event.cog_time, event.env_step, event.agent, event.kind, dict(event.payload)]


def before(log: Path, number: int, start: int) -> dict[str, Json]:
    """What reaches into a page that begins at event `start`: each agent's latest stage and its plan that is not over.

    Searched among the `LOOK_BACK` events before it. Raises LogError.
    """
    stages: dict[str | None, Json] = {}
    plans: dict[str | None, Json] = {}
    kinds = ("stage", "plan_committed", "plan_ended")
    with LogReader.open(log) as reader:
        for event in reader.events(number, kinds, max(0, start - LOOK_BACK)):
            if event.seq >= start:
                break
            if event.kind == "stage":
                stages[event.agent] = _event(event)
            elif event.kind == "plan_committed":
                plans[event.agent] = _event(event)
            else:
                plans.pop(event.agent, None)
    return {"events": sorted([*stages.values(), *plans.values()])}


def seek(log: Path, number: int, *, time: int = 0, step: int | None = None) -> int:
    """The number of the first event at or after this simulated time, or with this many completed steps.

    The last event's number where there is none, 0 where there are no events. Raises LogError.
    """
    with LogReader.open(log) as reader:
        return at_time(reader, number, time) if step is None else at_step(reader, number, step)


def blob(log: Path, name: str) -> bytes:
    """The content of a blob. Raises LogError when it is not kept."""
    with LogReader.open(log) as reader:
        return reader.blob(name)


def search(log: Path, number: int, text: str, start: int = 0) -> dict[str, Json]:
    """Events whose payload contains a text, upper and lower case alike; at most `MAX_HITS` and from a bounded stretch.

    Each hit is an event and the text around the place. ``next`` is the number to go on from, or None at the end.
    Raises LogError.
    """
    wanted = text.casefold()
    hits: list[Json] = []
    with LogReader.open(log) as reader:
        for count, event in enumerate(reader.events(number, start_seq=start)):
            if count == SEARCHED_AT_ONCE or len(hits) == MAX_HITS:
                return {"hits": hits, "next": event.seq}
            for value in _texts(event.payload):
                at = value.casefold().find(wanted)
                if at >= 0:
                    around = value[max(0, at - 40) : at + len(text) + 80]
                    hits.append([event.seq, event.cog_time, event.env_step, event.agent, event.kind, around])
                    break
    return {"hits": hits, "next": None}


def _texts(value: Any) -> Iterator[str]:
    """Every text inside a payload, except the names of blobs."""
    if isinstance(value, str):
        if not is_blob_name(value):
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def is_blob_name(value: object) -> bool:
    """Whether a value of a payload has the form of a blob's name: 64 hexadecimal digits."""
    return isinstance(value, str) and len(value) == 64 and all(digit in "0123456789abcdef" for digit in value)


def pulse(log: Path) -> dict[str, Json]:
    """What changes while a run goes on: the state, step and number of events of episodes that are not finished.

    ``finished`` counts the others. Raises LogError.
    """
    writer = being_written(log)
    going: list[Json] = []
    finished = 0
    with LogReader.open(log) as reader:
        for row in reader.episodes():
            if row.status is Status.FINISHED:
                finished += 1
                continue
            last = reader.last(row.id)
            events, step, time = (0, 0, 0) if last is None else (last.seq + 1, last.env_step, last.cog_time)
            line = {"id": row.id, "status": state_of(row, writer), "events": events, "steps": step, "duration": time}
            going.append(line)
    return {"writer": writer, "finished": finished, "going": going}


def fingerprint(log: Path) -> tuple[object, ...]:
    """Equal as long as nothing was committed and the same process writes; costs no look into the log."""
    seen: list[object] = [being_written(log)]
    for path in (log, log.with_name(log.name + "-wal")):
        try:
            stat = path.stat()
        except OSError:
            seen.append(None)
        else:
            seen += [stat.st_mtime_ns, stat.st_size]
    return tuple(seen)


def require_log(log: Path) -> None:
    """Raises LogError, CorruptLog or NewerSchema unless the log can be read and has an episode."""
    with LogReader.open(log) as reader:
        if not reader.episodes():
            raise LogError(f"{log}: no episode in this log")
