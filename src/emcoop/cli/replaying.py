"""`emcoop replay`: episodes as text, their digests, and their verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from emcoop.analysis.words import printable, task_and_team
from emcoop.cli.output import console, print_json, say
from emcoop.core.errors import ConfigError
from emcoop.core.types import SECOND, Json
from emcoop.episode.replay import verify as verify_episode
from emcoop.experiment.study import log_path
from emcoop.log.events import EpisodeRow, Event
from emcoop.log.reader import LogReader

SHOWN_CHARS = 160


def replay(run: Path, episode: int | None, *, verify: bool, export: Path | None, json: bool) -> None:
    """List the episodes; or show, verify or export one (all, for --verify and --export without a number)."""
    with LogReader.open(log_path(run)) as reader:
        chosen = reader.episodes() if episode is None else [reader.episode(episode)]
        if export is not None:
            _export(reader, chosen, export)
        if verify:
            _verify(reader, chosen, json=json)
        elif export is None and episode is None:
            _list(chosen, json=json)
        elif export is None:
            _show(reader, chosen[0], json=json)


def _list(episodes: list[EpisodeRow], *, json: bool) -> None:
    if json:
        print_json({"episodes": [_row(row) for row in episodes]})
        return
    table = Table(box=None, pad_edge=False)
    for head in ("episode", "cell", "task", "team", "seed", "status", "ended by", "digest"):
        table.add_column(head, no_wrap=head not in ("team", "ended by"), overflow="fold")
    for row in episodes:
        end = (row.outcome or {}).get("limit") or (row.outcome or {}).get("error") or ""
        told = (
            row.cell[:8],
            *task_and_team(row.setup),
            str(row.seed),
            row.status.value,
            str(end)[:40],
            (row.digest or "")[:16],
        )
        table.add_row(str(row.id), *map(printable, told))
    console().print(table)


def _row(row: EpisodeRow) -> dict[str, Json]:
    return {
        "episode": row.id,
        "cell": row.cell,
        "seed": row.seed,
        "status": row.status.value,
        "digest": row.digest,
        "outcome": row.outcome,
        "setup": row.setup,
    }


def _verify(reader: LogReader, episodes: list[EpisodeRow], *, json: bool) -> None:
    found = []
    for row in episodes:
        if row.status != "finished" and len(episodes) > 1:
            say(f"episode {row.id} is {row.status.value} and left out")
            continue
        proof = verify_episode(reader, row.id)
        found.append({"episode": proof.episode, "states": proof.states, "digest": proof.digest, "equal": True})
        if not json:
            print(f"episode {proof.episode}: {proof.states} states equal; digest {proof.digest}")
    if json:
        print_json({"verified": found})


def _export(reader: LogReader, episodes: list[EpisodeRow], target: Path) -> None:
    from emcoop.log.export import export_jsonl

    try:
        with target.open("w", encoding="utf-8") as out:
            lines = export_jsonl(reader, out, [row.id for row in episodes], inline_blobs=True)
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written: {error.strerror or error}") from error
    say(f"{lines} lines written to {target}")


def _show(reader: LogReader, row: EpisodeRow, *, json: bool) -> None:
    if json:
        print_json(_row(row))
        return
    facts = reader.host(row.id)
    place, beside = next(facts, (None, {}))
    for event in reader.events(row.id):
        line = printable(_line(event))
        if event.seq == place:
            line += _faults(beside)
            place, beside = next(facts, (None, {}))
        print(line)
    print(f"digest {reader.digest(row.id)}")


def _line(event: Event) -> str:
    when = f"{event.cog_time / SECOND:9.3f}s  t={event.env_step:<4d}"
    tell = _TELLERS.get(event.kind)
    text = tell(event.payload) if tell else ""
    text = "".join(c if c.isprintable() else " " for c in text)
    if len(text) > SHOWN_CHARS:
        text = text[: SHOWN_CHARS - 1] + "…"
    return f"{when} {event.agent or '':9s} {event.kind:16s} {text}".rstrip()


def _faults(facts: Mapping[str, Any]) -> str:
    """The attempts that failed before a model answered; host facts, outside the digest."""
    kinds = [printable(str(fault["kind"])) for fault in facts.get("faults", ())]
    return f"   (after {', '.join(kinds)}; waited {facts['waited_s']:.1f} s)" if kinds else ""


def _steps(payload: Mapping[str, Any]) -> str:
    done = ", ".join(f"{agent} {label}" for agent, label in payload["labels"].items())
    happened = "; ".join(" ".join(f"{k}={v}" for k, v in event.items()) for event in payload["events"])
    return f"{done}   [{happened}]" if happened else done


def _failure(payload: Mapping[str, Any]) -> str:
    failure = payload.get("failure")
    return f": {failure['code']}: {failure['message']}" if failure else ""


_TELLERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "episode_start": lambda p: f"{p['env']['name']} {p['env']['level']}, seed {p['seed']}",
    "stage": lambda p: f"{p['from'] or '-'} -> {p['to']}",
    "decision": lambda p: f"{p['faculty']}" + (f", fallback {p['fallback']}" if p["fallback"] else ""),
    "model_call": lambda p: f"{p['faculty']} {p['model'] or ''} {p['error'] or p['finish_reason'] or ''}",
    "message_sent": lambda p: f"to {', '.join(p['to'])}: {p['content']}",
    "message_delivered": lambda p: f"from {p['from']}",
    "message_lost": lambda p: f"to {p['to']}",
    "message_refused": lambda p: f"{p['reason']}: {p['content']}",
    "plan_committed": lambda p: f"#{p['plan_id']} {p['origin']}: {p['plan']['task']}",
    "plan_rejected": lambda p: f"{p['plan']['task']}{_failure(p)}",
    "plan_interrupted": lambda p: f"#{p['plan_id']}",
    "plan_resumed": lambda p: f"#{p['plan_id']}",
    "plan_ended": lambda p: f"#{p['plan_id']} {p['outcome']}{_failure(p)}",
    "action": lambda p: f"#{p['plan_id']} {p['action']} {p['status']}{_failure(p)}",
    "fallback": lambda p: f"{p['faculty']} -> {p['to']}: {p['why']}",
    "step": _steps,
    "episode_end": lambda p: f"{p['limit']}, progress {p['score']['progress']:.2f}, {p['steps']} steps",
}
