"""What an experiment will take, before it is run: from past episodes of its cells, else from a dry run.

A dry run plays one episode of a cell with the environment's scripted policy in the place of every language model; each
decision builds the real prompt and counts it, and no model is called.
"""

from __future__ import annotations

import asyncio
import math
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.core.errors import EmcoopError
from emcoop.core.types import AgentId, Interrupt, Json, Outgoing, Plan, Usage
from emcoop.envs.base import Grounding, Progress
from emcoop.episode.latency import make_latency
from emcoop.episode.loop import Table
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, log_path
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.money import cost_usd
from emcoop.models.scripted import ScriptedModel

ANSWER_TOKENS = 150
"""What a model's answer is taken to have where no past episode says."""

CALL_S = 2.0
"""How long a call of a remote model is taken to last where no past episode says."""

MOST_DRY_RUNS = 24
"""Of cells that differ in more than team and interventions so many are tried; the others take their mean."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one episode, or of all that are left. `usd` is None where a price is not known; `seconds` is on one worker."""

    calls: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    usd: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        known = self.usd is not None and other.usd is not None
        return Cost(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.usd or 0.0) + (other.usd or 0.0) if known else None,
            self.seconds + other.seconds,
        )

    def times(self, n: float) -> Cost:
        """So many of it."""
        usd = None if self.usd is None else self.usd * n
        return Cost(self.calls * n, self.input_tokens * n, self.output_tokens * n, usd, self.seconds * n)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The cost of the `episodes` that are left; `past` of their cells are known from the log, `tried` from dry runs,
    the `guessed` ones take the mean of these."""

    episodes: int
    finished: int
    cost: Cost
    past: int
    tried: int
    guessed: int

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
            "seconds_on_one_worker": cost.seconds,
            "cells": {"from_the_log": self.past, "from_dry_runs": self.tried, "guessed": self.guessed},
        }


def forecast(study: Study, run: Path) -> Forecast:
    """What is left of the study in this run folder will take. Raises what making the cells' teams raises."""
    known, finished = _past(run)
    left = {cell.cell: sum((cell.cell, seed) not in finished for seed in study.seeds) for cell in study.cells}
    todo = [cell for cell in study.cells if left[cell.cell]]
    past = {cell.cell: known[cell.cell] for cell in todo if cell.cell in known}
    tried = _dry_runs([cell for cell in todo if cell.cell not in past], study.seeds[0])
    sure = [*past.values(), *tried.values()]
    usual = _sum(sure).times(1 / len(sure)) if sure else Cost()
    total = _sum([(past.get(c.cell) or tried.get(c.cell) or usual).times(left[c.cell]) for c in todo])
    episodes = sum(left.values())
    done = len(study.cells) * len(study.seeds) - episodes
    return Forecast(episodes, done, total, len(past), len(tried), len(todo) - len(past) - len(tried))


def _sum(costs: Sequence[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total = total + cost
    return total


def _past(run: Path) -> tuple[dict[str, Cost], set[tuple[str, int]]]:
    """The mean cost of each cell's finished episodes in the run's log, and which these are."""
    if not log_path(run).exists():
        return {}, set()
    costs: dict[str, list[Cost]] = {}
    finished = set()
    with LogReader.open(log_path(run)) as reader:
        for row in reader.episodes():
            if row.status == "finished":
                finished.add((row.cell, row.seed))
                waited = sum(float(fact.get("latency_s") or 0.0) for _, fact in reader.host(row.id))
                for event in reader.events(row.id, kinds=("episode_end",)):
                    used = Usage(**event.payload["usage"])
                    cost = Cost(used.calls, used.input_tokens, used.output_tokens, used.cost_usd, waited)
                    costs.setdefault(row.cell, []).append(cost)
    return {cell: _sum(found).times(1 / len(found)) for cell, found in costs.items()}, finished


def _dry_runs(cells: Sequence[Setup], seed: int) -> dict[str, Cost]:
    """One episode of each of a spread of the cells."""
    stride = max(1, math.ceil(len(cells) / MOST_DRY_RUNS))
    return {cell.cell: asyncio.run(dry_run(cell, seed)) for cell in cells[::stride]}


async def dry_run(cell: Setup, seed: int) -> Cost:
    """Play one episode without any model and count what its prompts would have cost."""
    begun = time.perf_counter()
    env = cell.make_env()
    counted: dict[AgentId, Usage] = {}
    blank = ScriptedModel(lambda turns, schema, settings: "", "blank")
    names = {name for seat in cell.seats() for name in seat.models}
    team = cell.make_team(env, seed, dict.fromkeys(names, blank))
    for agent, seat in zip(env.agents, cell.seats(), strict=True):
        if seat.models:
            team[agent] = _Counting(Seat(agent, env, seed), blank, seat, counted)
    topology = cell.make_topology(env.agents)
    latency = cell.latency.model_copy(update={"kind": "tokens"})
    with tempfile.TemporaryDirectory() as folder, LogStore.open(Path(folder) / "log.db") as store:
        writer = store.start(cell=cell.cell, seed=seed, setup={})
        table = Table(
            env=env, topology=topology, team=team, seed=seed, latency=make_latency(latency, seed), writer=writer,
            limits=cell.limits, step_s=cell.step_s,
        )  # fmt: skip
        await table.play({})
    cost = Cost(seconds=time.perf_counter() - begun)
    for agent, seat in zip(env.agents, cell.seats(), strict=True):
        if agent in counted:
            cost = cost + _priced(counted[agent], seat)
    return cost


def _priced(used: Usage, seat: SeatConfig) -> Cost:
    adapter, _, rest = seat.models[0].partition(":")
    name, *address = re.split("@(?=https?://)", rest, maxsplit=1)
    usd: float | None = 0.0
    if adapter not in ("local", "scripted"):
        where: dict[str, Any] = {"base_url": address[0]} if address else {"provider": adapter}
        usd = cost_usd(name, input_tokens=used.input_tokens, output_tokens=used.output_tokens, **where)
    return Cost(used.calls, used.input_tokens, used.output_tokens, usd, CALL_S * used.calls)


class _Counting:
    """Decides by the scripted policy, after asking a language-model agent whose model only counts what it reads."""

    name = "counting"
    privileged = False

    def __init__(self, seat: Seat, blank: Model, config: SeatConfig, counted: dict[AgentId, Usage]) -> None:
        self._agent = seat.agent
        self._policy: Agent = AGENTS.get("scripted")(seat)
        options = dict(config.options) if config.agent == "llm" else {}
        try:
            asked: Agent = AGENTS.get("llm")(replace(seat, model=blank, options={**options, "attempts": 1}))
        except EmcoopError:
            asked = AGENTS.get("llm")(replace(seat, model=blank, options={"attempts": 1}))
        self._asked = asked
        self._counted = counted

    def _count(self, decision: Decision[Any]) -> None:
        for call in decision.calls:
            if call.completion is not None:
                read = call.completion.usage.input_tokens
                used = Usage(read, ANSWER_TOKENS, 0, 1, None)
                self._counted[self._agent] = self._counted.get(self._agent, Usage()) + used

    async def plan(self, view: View) -> Decision[Plan]:
        self._count(await self._asked.plan(view))
        return await self._policy.plan(view)

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        self._count(await self._asked.speak(view))
        return await self._policy.speak(view)

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        self._count(await self._asked.interrupt(view))
        return await self._policy.interrupt(view)

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._policy.act(state, action, progress)

    def describe(self) -> Mapping[str, Json]:
        return {"name": self.name, "privileged": False}
