"""What an experiment will take, before it is run: from past episodes of its cells, else from a dry run.

A dry run plays one episode of a cell with the environment's scripted policy in the place of every language model; each
decision builds the real prompt and counts it, and no model is called. Answers are as long, and take as long, as past
logs know of the same model; of a model that no log knows they are taken to be the scripted policy's own, written as
JSON with some reasoning, and to take as long as the set-up's declared latency.
"""

from __future__ import annotations

import asyncio
import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.core.canonical import canonical_json
from emcoop.core.errors import EmcoopError
from emcoop.core.types import Interrupt, Json, Outgoing, Plan, Usage
from emcoop.envs.base import Grounding, Progress
from emcoop.episode.latency import CHARACTERS_PER_TOKEN, LatencyConfig, make_latency
from emcoop.episode.loop import Table
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.habits import Habits, habits, logs_of
from emcoop.experiment.parts import Shard
from emcoop.experiment.study import Study
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.money import cost_usd
from emcoop.models.scripted import ScriptedModel

REASONING_TOKENS = 100
"""What a model is taken to reason in an answer, beside what the scripted policy says, where no past call is known."""

MOST_DRY_RUNS = 24
"""Of cells that differ in more than team and interventions so many are tried; the others take their mean."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one episode, or of all that are left.

    `usd` is None where a price is not known; `waiting_s` is spent on models, one episode after the other, and
    `working_s` by emcoop itself.
    """

    calls: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    usd: float | None = 0.0
    waiting_s: float = 0.0
    working_s: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        known = self.usd is not None and other.usd is not None
        return Cost(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.usd or 0.0) + (other.usd or 0.0) if known else None,
            self.waiting_s + other.waiting_s,
            self.working_s + other.working_s,
        )

    def times(self, n: float) -> Cost:
        """So many of it."""
        usd = None if self.usd is None else self.usd * n
        calls, read, written = self.calls * n, self.input_tokens * n, self.output_tokens * n
        return Cost(calls, read, written, usd, self.waiting_s * n, self.working_s * n)

    def seconds(self, jobs: int) -> float:
        """How long it takes with so many episodes in flight: they wait side by side, but work one after the other."""
        return self.waiting_s / jobs + self.working_s


@dataclass(frozen=True, slots=True)
class Forecast:
    """The cost of the `episodes` that are left; `past` of their cells are known from the log, `tried` from dry runs,
    the `guessed` ones take the mean of these. `answers` says of each model that was tried how many past calls its
    answers are taken from; 0: none is known."""

    episodes: int
    finished: int
    cost: Cost
    past: int
    tried: int
    guessed: int
    answers: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        cost = self.cost
        return {
            "episodes": self.episodes,
            "finished": self.finished,
            "calls": round(cost.calls),
            "input_tokens": round(cost.input_tokens),
            "output_tokens": round(cost.output_tokens),
            "cost_usd": cost.usd,
            "seconds_waiting_for_models": cost.waiting_s,
            "seconds_of_own_work": cost.working_s,
            "cells": {"from_the_log": self.past, "from_dry_runs": self.tried, "guessed": self.guessed},
            "answers_from_past_calls": dict(self.answers),
        }


def forecast(study: Study, run: Path, shard: Shard | None = None) -> Forecast:
    """What is left of the study, or of a shard of it, in this run folder will take.

    Raises what making the cells' teams raises.
    """
    known, finished = _past(run)
    every = study.episodes(shard)
    left = Counter(cell.cell for cell, seed in every if (cell.cell, seed) not in finished)
    todo = [cell for cell in study.cells if left[cell.cell]]
    # Without calls a log does not say how long its episodes took; playing one does.
    past = {cell.cell: known[cell.cell] for cell in todo if cell.cell in known and known[cell.cell].calls}
    unknown = _spread([cell for cell in todo if cell.cell not in past])
    models = list(dict.fromkeys(name for cell in unknown for seat in cell.seats() for name in seat.models))
    like = habits(models, run)
    tried = {cell.cell: asyncio.run(dry_run(cell, study.seeds[0], like)) for cell in unknown}
    sure = [*past.values(), *tried.values()]
    usual = _sum(sure).times(1 / len(sure)) if sure else Cost()
    total = _sum([(past.get(c.cell) or tried.get(c.cell) or usual).times(left[c.cell]) for c in todo])
    episodes = left.total()
    done = len(every) - episodes
    guessed = len(todo) - len(past) - len(tried)
    answers = {name: like.calls(name) for name in models}
    return Forecast(episodes, done, total, len(past), len(tried), guessed, answers)


def _spread(cells: Sequence[Setup]) -> Sequence[Setup]:
    """At most MOST_DRY_RUNS of the cells, evenly."""
    return cells[:: max(1, math.ceil(len(cells) / MOST_DRY_RUNS))]


def _sum(costs: Sequence[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total = total + cost
    return total


def _past(run: Path) -> tuple[dict[str, Cost], set[tuple[str, int]]]:
    """The mean cost of each cell's finished episodes in the run's logs (see `logs_of`), and which these are."""
    costs: dict[str, dict[int, Cost]] = {}
    for path in logs_of(run):
        with LogReader.open(path) as reader:
            for row in reader.episodes():
                if row.status == "finished":
                    costs.setdefault(row.cell, {})[row.seed] = _cost_of(reader, row.id)
    means = {cell: _sum(list(found.values())).times(1 / len(found)) for cell, found in costs.items()}
    return means, {(cell, seed) for cell, found in costs.items() for seed in found}


def _cost_of(reader: LogReader, episode: int) -> Cost:
    """What a finished episode took. Its worker's own time is not in the log: only the waiting for models is."""
    waited = sum(float(fact.get("latency_s") or 0.0) for _, fact in reader.host(episode))
    for event in reader.events(episode, kinds=("episode_end",)):
        used = Usage(**event.payload["usage"])
        return Cost(used.calls, used.input_tokens, used.output_tokens, used.cost_usd, waited)
    return Cost()


async def dry_run(cell: Setup, seed: int, like: Habits) -> Cost:
    """Play one episode without any model and count what its prompts and answers would have cost."""
    begun = time.perf_counter()
    env = cell.make_env()
    counted: list[_Counting] = []
    blank = ScriptedModel(lambda turns, schema, settings: "", "blank")
    names = {name for seat in cell.seats() for name in seat.models}
    team = cell.make_team(env, seed, dict.fromkeys(names, blank))
    for agent, seat in zip(env.agents, cell.seats(), strict=True):
        if seat.models:
            counting = _Counting(Seat(agent, env, seed), blank, seat, cell.latency, like)
            team[agent] = counting
            counted.append(counting)
    topology = cell.make_topology(env.agents)
    latency = cell.latency.model_copy(update={"kind": "tokens"})
    with tempfile.TemporaryDirectory() as folder, LogStore.open(Path(folder) / "log.db") as store:
        writer = store.start(cell=cell.cell, seed=seed, setup={})
        table = Table(
            env=env, topology=topology, team=team, seed=seed, latency=make_latency(latency, seed), writer=writer,
            limits=cell.limits, step_s=cell.step_s,
        )  # fmt: skip
        await table.play({})
    return _sum([Cost(working_s=time.perf_counter() - begun), *(counting.cost() for counting in counted)])


def _price(model: str, read: float, written: float) -> float | None:
    adapter, _, rest = model.partition(":")
    if adapter in ("local", "scripted"):
        return 0.0
    name, *address = re.split("@(?=https?://)", rest, maxsplit=1)
    where: dict[str, Any] = {"base_url": address[0]} if address else {"provider": adapter}
    return cost_usd(name, input_tokens=round(read), output_tokens=round(written), **where)


def unpriced(study: Study) -> tuple[str, ...]:
    """The models of a study whose price is not known; what they cost counts towards no cap on money."""
    names = dict.fromkeys(name for cell in study.cells for seat in cell.seats() for name in seat.models)
    return tuple(name for name in names if _price(name, 1, 1) is None)


class _Counting:
    """Decides by the scripted policy, after asking a language-model agent whose model only counts what it reads."""

    name = "counting"
    privileged = False

    def __init__(self, seat: Seat, blank: Model, config: SeatConfig, latency: LatencyConfig, like: Habits) -> None:
        self._policy: Agent = AGENTS.get("scripted")(seat)
        options = dict(config.options) if config.agent == "llm" else {}
        try:
            asked: Agent = AGENTS.get("llm")(replace(seat, model=blank, options={**options, "attempts": 1}))
        except EmcoopError:
            asked = AGENTS.get("llm")(replace(seat, model=blank, options={"attempts": 1}))
        self._asked = asked
        self._model = config.models[0]
        self._latency = latency
        self._like = like
        self._spent = Cost()

    def cost(self) -> Cost:
        """What all decisions so far would have cost."""
        return replace(self._spent, usd=_price(self._model, self._spent.input_tokens, self._spent.output_tokens))

    def _count(self, faculty: str, asked: Decision[Any], decided: Decision[Any]) -> None:
        for call in asked.calls:
            if call.completion is not None:
                read = call.completion.usage.input_tokens
                habit = self._like.of(self._model, faculty)
                if habit is not None:
                    written, seconds = habit.answer_tokens, habit.call_s
                else:
                    declared, written = self._latency, REASONING_TOKENS + _tokens(decided.value)
                    seconds = declared.base_s + declared.per_input_token_s * read
                    seconds += declared.per_output_token_s * written
                self._spent = self._spent + Cost(1, read, written, 0.0, seconds)

    async def plan(self, view: View) -> Decision[Plan]:
        asked, decided = await self._asked.plan(view), await self._policy.plan(view)
        self._count("plan", asked, decided)
        return decided

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        asked, decided = await self._asked.speak(view), await self._policy.speak(view)
        self._count("speak", asked, decided)
        return decided

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        asked, decided = await self._asked.interrupt(view), await self._policy.interrupt(view)
        self._count("interrupt", asked, decided)
        return decided

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._policy.act(state, action, progress)

    def describe(self) -> Mapping[str, Json]:
        return {"name": self.name, "privileged": False}


def _tokens(value: Any) -> int:
    """The tokens of a decision that is written as JSON."""
    shown = value.to_json() if hasattr(value, "to_json") else value
    return -(-len(canonical_json(shown)) // CHARACTERS_PER_TOKEN)
