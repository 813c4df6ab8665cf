"""A log as lines of JSON, for programs that do not read SQLite."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from emcoop.core.canonical import canonical_json
from emcoop.core.types import Json
from emcoop.log.reader import LogReader


class TextSink(Protocol):
    """Where lines go: an open text file, standard output."""

    def write(self, text: str, /) -> object: ...


def export_jsonl(
    reader: LogReader, out: TextSink, episodes: Iterable[int] | None = None, *, inline_blobs: bool = False
) -> int:
    """Write episodes (all, unless some are named) as JSON lines; returns the number of lines.

    Each episode is one line with ``"type": "episode"``, then one line per event with ``"type": "event"``. With
    `inline_blobs` an event has a further field ``blobs``: name -> content, where content is text, or
    ``{"base64": ...}`` for bytes that are no UTF-8. Holds one page of events at a time. Raises LogError.
    """
    chosen = [reader.episode(i) for i in episodes] if episodes is not None else reader.episodes()
    lines = 0
    for episode in chosen:
        record = {
            "type": "episode",
            "id": episode.id,
            "cell": episode.cell,
            "seed": episode.seed,
            "status": episode.status,
            "setup": episode.setup,
            "outcome": episode.outcome,
            "digest": episode.digest,
        }
        lines += _write(out, record)
        for event in reader.events(episode.id):
            line: dict[str, Json] = {
                "type": "event",
                "episode": episode.id,
                "seq": event.seq,
                "cog_time": event.cog_time,
                "env_step": event.env_step,
                "agent": event.agent,
                "kind": event.kind,
                "payload": event.payload,
            }
            if inline_blobs:
                line["blobs"] = {name: _content(reader.blob(name)) for name in blob_names(event.kind, event.payload)}
            lines += _write(out, line)
    return lines


def blob_names(kind: str, payload: Mapping[str, Any]) -> Iterator[str]:
    """The blobs that an event names, each once, in the order of the payload's fields."""
    names: list[str | None] = []
    if kind in ("episode_start", "step"):
        names = [payload.get("snapshot")]
    elif kind == "decision":
        names = [payload.get("view")]
    elif kind == "model_call":
        names = [*(turn.get("content") for turn in payload.get("prompt", ())), payload.get("answer")]
    yield from dict.fromkeys(name for name in names if name is not None)


def _content(data: bytes) -> Json:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}


def _write(out: TextSink, record: Mapping[str, Json]) -> int:
    out.write(canonical_json(record).decode() + "\n")
    return 1
