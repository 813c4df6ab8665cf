"""The information exchange, measured from a log alone, beside the published figures.

`measure` is a pure function of one episode's events. It keeps its own books (who holds what, which requests are open),
and takes no count of the world's on trust, so that the two can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from emcoop.core.errors import CorruptLog
from emcoop.core.types import Json
from emcoop.envs.exchange.generator import Spec
from emcoop.envs.exchange.simulate import reference
from emcoop.metrics import Event

Value = float | None

DENOMINATOR = 204.0
"""Tasks at the defaults with instant fill, as published (204.0 +- 2.3): what the published shares are of."""

DEFAULTS = {"agents": 10, "horizon": 200, "pieces": 100, "open_tasks": 2, "task_pieces": 4}
"""The published world; elsewhere a percentage of 204 tasks would mean nothing."""

SHARES = {"request_and_answer": "request and answer", "instant_fill": "instant fill", "flood": "flood"}
"""References, by the end of the measure's name, that an episode's tasks are given as a share of."""

SHOWN = (
    "tasks",
    "percent_of_204",
    "of_instant_fill",
    "response_rate",
    "pipeline_efficiency",
    "messages_per_task",
    "gini",
)
"""The measures that a table shows."""


@dataclass
class _Books:
    """What one pass over an episode keeps. A request is keyed (holder, asker, piece); its value counts chances."""

    parameters: Mapping[str, Any]
    seed: int | None
    held: dict[int, dict[int, int | None]]
    counts: Counter[str] = field(default_factory=Counter)
    open: dict[tuple[int, int, int], int] = field(default_factory=dict)
    paid: Counter[int] = field(default_factory=Counter)
    bonus: Counter[int] = field(default_factory=Counter)
    ready: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, parameters: Mapping[str, Any], seed: int | None) -> _Books:
        agents, pieces = parameters["agents"], parameters["pieces"]
        held: dict[int, dict[int, int | None]] = {agent: {} for agent in range(agents)}
        for piece in range(pieces):
            held[piece * agents // pieces][piece] = None  # its true value, which no event states
        return cls(parameters, seed, held)

    def step(self, facts: Iterable[Mapping[str, Any]]) -> None:
        """One turn: its facts in order; the turn ends before the engine asks for the next round."""
        mover: int | None = None
        for fact in facts:
            if mover is not None and fact["kind"] == "requested" and fact["how"] == "engine":
                self._end_turn(mover)
                mover = None
            if fact["kind"] == "turn":
                mover = _index(fact["agent"])
            else:
                self._fact(fact)
        if mover is not None:
            self._end_turn(mover)

    def _fact(self, fact: Mapping[str, Any]) -> None:
        kind, agent = fact["kind"], _index(fact["agent"])
        if kind == "requested":
            self.counts["requests"] += 1
            self.open[_index(fact["to"]), agent, fact["piece"]] = 0
        elif kind == "sent":
            self._sent(agent, _index(fact["to"]), fact)
        elif kind == "ready":
            self.ready.add(fact["task"])
        elif kind == "submitted":
            self.ready.add(fact["task"])
            self.counts["tasks"] += 1
            self.counts["submitted_wrong"] += fact["wrong"] > 0
            self.paid[agent] += fact["pay"]
        elif kind == "bonus":
            self.bonus[agent] += fact["amount"]
        elif kind == "blocked":
            self.counts["refused"] += 1

    def _sent(self, sender: int, to: int, fact: Mapping[str, Any]) -> None:
        piece = fact["piece"]
        chances = self.open.pop((sender, to, piece), None)
        if fact["answer"] == "engine":
            self.counts["auto_filled"] += 1
        else:
            self.counts["sends"] += 1
            self.counts["false_sends"] += not fact["honest"]
            self.counts[_outcome(chances, honest=fact["honest"])] += 1
        if piece not in self.held[to] or self.parameters["overwrite"]:
            self.held[to][piece] = fact["value"]

    def _end_turn(self, mover: int) -> None:
        for key in [key for key in self.open if key[0] == mover]:
            _, asker, piece = key
            if piece in self.held[asker]:
                self.counts["ignored" if self.open.pop(key) else "moot"] += 1
            elif piece in self.held[mover]:
                self.open[key] += 1

    def result(self) -> dict[str, Value]:
        """The measures; see `measure`."""
        counts, agents = self.counts, self.parameters["agents"]
        ignored = counts["ignored"] + sum(chances > 0 for chances in self.open.values())
        answered = counts["answered"] + counts["late"]
        money = sum(self.paid.values())
        if self.parameters["incentive_arm"] != "symbolic":
            money += sum(self.bonus.values())
        names = ("tasks", "messages", "requests", "answered", "late", "falsified", "unsolicited", "moot", "auto_filled")
        return {
            **{name: float(counts[name]) for name in (*names, "sends", "false_sends", "submitted_wrong", "refused")},
            "ignored": float(ignored),
            "could_not_comply": float(sum(chances == 0 for chances in self.open.values())),
            "feasible": float(len(self.ready)),
            "revenue": float(money),
            "gini": inequality([self.paid[agent] for agent in range(agents)]),
            "messages_per_task": _ratio(counts["messages"], counts["tasks"]),
            "response_rate": _ratio(answered, answered + ignored + counts["falsified"]),
            "truthful_sends_per_request": _ratio(counts["sends"] - counts["false_sends"], counts["requests"]),
            "pipeline_efficiency": _ratio(counts["tasks"], len(self.ready)),
            "falsification_rate": _ratio(counts["false_sends"], counts["sends"]),
            **self._shares(counts["tasks"]),
        }

    def _shares(self, tasks: int) -> dict[str, Value]:
        """The tasks against those of reference teams in the same world with the same seed."""
        as_published = all(self.parameters.get(name) == value for name, value in DEFAULTS.items())
        shares: dict[str, Value] = {"percent_of_204": 100 * tasks / DENOMINATOR if as_published else None}
        known = {name: value for name, value in self.parameters.items() if name in Spec.model_fields}
        if self.seed is None or len(known) < len(Spec.model_fields):
            return {**shares, **dict.fromkeys(f"of_{name}" for name in SHARES)}
        spec = Spec.model_validate(known)
        return shares | {f"of_{name}": _ratio(tasks, _reached(team, spec, self.seed)) for name, team in SHARES.items()}


def measure(events: Iterable[Event]) -> dict[str, Value]:
    """The measures of one episode from its events, by name; None where one is not defined.

    ``tasks``, ``revenue`` (with bonuses that are money), ``gini`` of what tasks paid each agent, ``messages_per_task``.
    Requests fall into ``answered`` (truthfully, at the holder's first turn after), ``late``, ``falsified``,
    ``ignored`` (the holder had it and ended a turn without sending it), ``moot`` (met by another first),
    ``could_not_comply`` (the holder lacked it, or had no turn left) and ``auto_filled``. ``response_rate`` is
    (answered + late) / (answered + late + ignored + falsified): ``unsolicited`` sends do not raise it.
    ``truthful_sends_per_request`` is the published figure, which they do raise. ``pipeline_efficiency`` is submitted /
    feasible, a task being feasible once its owner began a turn with all of its pieces. ``falsification_rate`` is the
    share of sends whose stated value is not the one that the sender holds.

    ``of_request_and_answer``, ``of_instant_fill`` and ``of_flood`` are the tasks over those of the reference team in
    the same world and seed (see `emcoop.envs.exchange.simulate`), ``percent_of_204`` the published share, at the
    defaults.

    Raises CorruptLog for the events of another world or of another form.
    """
    books: _Books | None = None
    for event in events:
        try:
            if event.kind == "episode_start":
                books = _Books.begin(_parameters(event.payload), event.payload.get("seed"))
            elif books is not None and event.kind == "step":
                books.step(event.payload["events"])
            elif books is not None and event.kind == "message_sent":
                books.counts["messages"] += 1
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptLog(
                f"the {event.kind} event at {event.cog_time} us is none of an exchange: {error!r}"
            ) from error
    if books is None:
        raise CorruptLog("the episode has no episode_start event")
    return books.result()


def _parameters(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    env = payload["env"]
    if env["name"] != "exchange":
        raise ValueError(f"the environment is {env['name']!r}, not 'exchange'")
    parameters: Mapping[str, Any] = env["parameters"]
    return parameters


@lru_cache(maxsize=4096)
def _reached(team: str, spec: Spec, seed: int) -> int:
    """The tasks of a reference team; kept, since every condition of a seed is compared with the same."""
    return reference(team, spec, seed).tasks


def _outcome(chances: int | None, *, honest: bool) -> str:
    if chances is None:
        return "unsolicited"
    if not honest:
        return "falsified"
    return "late" if chances else "answered"


def _index(agent: str) -> int:
    return int(agent.rpartition("_")[2])


def _ratio(part: float, whole: float) -> Value:
    return part / whole if whole else None


def inequality(values: Iterable[float]) -> float:
    """The Gini coefficient: the mean difference between two of the values, over twice their mean; 0 for zeros."""
    found = list(values)
    total = sum(found)
    if total <= 0:
        return 0.0
    return sum(abs(a - b) for a in found for b in found) / (2 * len(found) * total)


# -- published -------------------------------------------------------------------------------------------------------

SOURCE = "arXiv 2604.07821"

COLUMNS = ("base", "auto_request", "auto_fulfil", "response_rate", "pipeline_efficiency", "messages_per_task")

_PUBLISHED: Mapping[str, tuple[float, ...]] = {
    "Gemini-2.5-Pro": (78.9, 99.1, 89.2, 108.1, 99.8, 3.1),
    "Sonnet-4": (64.7, 90.7, 80.3, 87.7, 89.7, 3.5),
    "o3-mini": (50.4, 17.2, 92.1, 94.6, 95.4, 4.4),
    "DeepSeek-R1": (45.8, 70.5, 75.5, 52.0, 89.6, 10.3),
    "GPT-5-mini": (38.6, 18.6, 95.3, 45.4, 95.1, 10.6),
    "Gemini-2.5-Flash": (30.5, 86.4, 25.6, 65.9, 67.9, 5.0),
    "o3": (16.9, 15.2, 94.9, 60.1, 44.6, 29.0),
    "GPT-4.1-mini": (5.8, 30.1, 14.4, 77.0, 11.0, 24.0),
}

_CHANGES: Mapping[str, tuple[Value, Value, Value]] = {
    "o3": (82.6, 190.7, 22.1),
    "GPT-5-mini": (99.3, 74.5, 48.8),
    "GPT-4.1-mini": (64.4, None, 113.6),
    "Sonnet-4": (5.9, -4.7, -15.0),
}


def published() -> list[dict[str, Json]]:
    """The published rows, one per model, each marked as published with its source.

    `base`, `auto_request`, `auto_fulfil` are tasks in percent of 204; `response_rate` (truthful sends per request) and
    `pipeline_efficiency` are percent; `policy`, `incentive` and `visibility` the change in tasks in percent, or None.
    """
    rows: list[dict[str, Json]] = []
    for model, figures in _PUBLISHED.items():
        changes = _CHANGES.get(model, (None, None, None))
        shares = dict(zip(COLUMNS, figures, strict=True))
        more = dict(zip(("policy", "incentive", "visibility"), changes, strict=True))
        rows.append({"model": model, "origin": "published", "source": SOURCE, **shares, **more})
    return rows
