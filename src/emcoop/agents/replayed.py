"""Plays again what one agent decided in an earlier episode: its plans, messages and interrupt decisions, in order.

The record is the episode's export: JSON lines, one event each with ``kind``, ``agent`` and ``payload``; lines of
``type`` ``episode`` tell the episodes apart. When a faculty's record is used up, its fallback stands in and is
flagged: plan: wait; speak: silence; interrupt: resume.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from emcoop.agents.base import Decision, Seat, View
from emcoop.agents.forms import action_adapter, explain_errors
from emcoop.core.config import StrictModel, load
from emcoop.core.errors import ConfigError
from emcoop.core.types import AgentId, Choice, Interrupt, Json, Outgoing, Plan
from emcoop.envs.base import Grounding, Progress

SPOKEN_OF = ("unknown_recipient", "not_connected", "empty", "send_budget")
"""Refusals that leave the whole message in the log, so that it can be said, and refused, again."""


class ReplayedOptions(StrictModel):
    """`file` is the export of the earlier episode; `agent` whose record to play (default: the seat's own).

    `episode` (its number in the log) or `seed` pick one of several episodes in the file.
    """

    file: Path
    agent: str | None = None
    episode: int | None = None
    seed: int | None = None


@dataclass(slots=True)
class Record:
    """What one agent decided, per faculty and in order; what was a fallback then is one again."""

    plans: deque[Decision[Plan]] = field(default_factory=deque)
    messages: deque[Decision[Outgoing | None]] = field(default_factory=deque)
    interrupts: deque[Decision[Interrupt]] = field(default_factory=deque)


def read_record(events: Iterable[Mapping[str, Any]], agent: AgentId, actions: TypeAdapter[BaseModel]) -> Record:
    """The record of one agent from an episode's events in order; `actions` reads the environment's actions.

    Each `decision` event opens a decision, and what the loop made of it follows. Raises ConfigError for events that
    have not the form of the log's.
    """
    record = Record()
    asked, fallback = "", None
    try:
        for event in events:
            if event.get("agent") != agent:
                continue
            kind, payload = event["kind"], event["payload"]
            if kind == "decision":
                asked, fallback = payload["faculty"], payload.get("fallback")
                _open(record, asked, fallback)
            elif kind in ("plan_committed", "plan_rejected") and asked in ("plan", "interrupt"):
                _add_plan(record, asked, _plan(payload["plan"], actions), fallback)
                asked = ""
            elif kind == "plan_ended" and payload["outcome"] == "replaced" and asked == "interrupt":
                record.interrupts[-1] = Decision(Interrupt(Choice.REPLAN))
            elif asked == "speak" and (kind == "message_sent" or _refused_at_sending(kind, payload)):
                said = record.messages.pop().value
                to = (*(said.recipients if said else ()), *payload["to"])
                record.messages.append(Decision(Outgoing(to, payload["content"])))
                asked = "" if kind == "message_sent" else asked
    except ValidationError as error:
        raise ConfigError(f"the record of {agent}: {explain_errors(error)}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"the record of {agent} has an event of another form: {error!r}") from error
    return record


def _open(record: Record, faculty: str, fallback: str | None) -> None:
    if faculty == "speak":
        record.messages.append(Decision(None, fallback=fallback))
    elif faculty == "interrupt":
        record.interrupts.append(Decision(Interrupt(Choice.RESUME), fallback=fallback))


def _add_plan(record: Record, asked: str, plan: Plan, fallback: str | None) -> None:
    if asked == "plan":
        record.plans.append(Decision(plan, fallback=fallback))
    else:
        record.interrupts[-1] = Decision(Interrupt(Choice.REPLAN, plan))


def _refused_at_sending(kind: str, payload: Mapping[str, Any]) -> bool:
    return bool(kind == "message_refused" and payload["id"] is None and payload["reason"] in SPOKEN_OF)


def _plan(data: Mapping[str, Any], actions: TypeAdapter[BaseModel]) -> Plan:
    said = tuple(Outgoing(tuple(m["to"]), m["content"]) for m in data.get("messages", ()))
    made = tuple(actions.validate_python(action) for action in data["actions"])
    return Plan(data["task"], made, data.get("reasoning", ""), said)


def read_events(file: Path, episode: int | None = None, seed: int | None = None) -> list[dict[str, Any]]:
    """The events of the one episode in an export that fits.

    Raises ConfigError for a file that cannot be read (naming the line), and when none or several episodes fit.
    """
    found: dict[Any, list[dict[str, Any]]] = {}
    seeds: dict[Any, Any] = {}
    for number, line in _lines(file):
        if line.get("type") == "episode":
            seeds[line.get("id")] = line.get("seed")
        elif "kind" not in line:
            raise ConfigError(f"{file}:{number}: not an event; give the JSON-lines export of an episode")
        else:
            found.setdefault(line.get("episode"), []).append(line)
    fits = [n for n in found if episode in (None, n) and seed in (None, seeds.get(n))]
    if len(fits) != 1:
        held = ", ".join(f"{n} (seed {seeds.get(n, 'unknown')})" for n in list(found)[:8]) or "none"
        which = "say which with 'episode' or 'seed'" if fits else "no episode fits"
        raise ConfigError(f"{file}: {which}; it holds {len(found)}: {held}")
    return found[fits[0]]


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file with their line numbers, from 1. Raises ConfigError."""
    number = 0
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    value = json.loads(line)
                    if not isinstance(value, dict):
                        raise ConfigError(f"{file}:{number}: not an event; give the JSON-lines export of an episode")
                    yield number, value
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file; export an episode as JSON lines first") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}:{number}: not JSON: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error


class ReplayedAgent:
    """Plays a `Record`, whatever it sees."""

    name = "replayed"
    privileged = False

    def __init__(self, seat: Seat, record: Record) -> None:
        self._seat = seat
        self._record = record

    async def plan(self, view: View) -> Decision[Plan]:
        if not self._record.plans:
            return Decision(self._seat.env.wait_plan(1), fallback="wait")
        return self._record.plans.popleft()

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        if not self._record.messages:
            return Decision(None, fallback="silence")
        return self._record.messages.popleft()

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        if not self._record.interrupts:
            return Decision(Interrupt(Choice.RESUME), fallback="resume")
        return self._record.interrupts.popleft()

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._seat.env.ground(state, self._seat.agent, action, progress)

    def describe(self) -> Mapping[str, Json]:
        return {"name": self.name, "privileged": False, "options": dict(self._seat.options)}


def make(seat: Seat) -> ReplayedAgent:
    """Seat the record of an earlier episode. Raises ConfigError for unknown options, or a file without the agent."""
    options = load(ReplayedOptions, dict(seat.options), "agent replayed")
    agent = options.agent or seat.agent
    events = read_events(options.file, options.episode, options.seed)
    names = sorted({event["agent"] for event in events if isinstance(event.get("agent"), str)})
    if agent not in names:
        raise ConfigError(f"{options.file}: no events of {agent!r}; it has {', '.join(names) or 'no agents'}")
    return ReplayedAgent(seat, read_record(events, agent, action_adapter(seat.env.plan_schema)))
