"""Agents that follow a list, for tests of the loop: each faculty gives its next entry, then its null."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from emcoop.agents.base import Agent, Decision, View
from emcoop.core.types import Choice, Interrupt, Outgoing, Plan, Usage
from emcoop.envs.base import AnyEnvironment, Grounding, Progress
from emcoop.envs.cube.actions import Wait
from emcoop.envs.cube.env import make
from emcoop.episode.latency import LatencyConfig, make_latency
from emcoop.episode.loop import Limits, Outcome, Table
from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.topologies.base import Topology


def waiting(steps: int) -> Plan:
    """A plan to wait for some steps."""
    return Plan("none", (Wait(num_steps=steps),))


class Listed:
    """Gives the entries of its lists in order. `delays` are real seconds that its decisions take, in order."""

    name = "listed"
    privileged = False

    def __init__(
        self,
        env: AnyEnvironment,
        plans: Iterable[Plan] = (),
        messages: Iterable[Outgoing | None] = (),
        choices: Iterable[Interrupt] = (),
        delays: Iterable[float] = (),
        usage: Usage | None = None,
    ) -> None:
        self.env = env
        self.plans = iter(plans)
        self.messages = iter(messages)
        self.choices = iter(choices)
        self.delays = iter(delays)
        self.usage = usage or Usage()
        self.views: list[tuple[str, View]] = []

    async def _take(self, faculty: str, view: View, value: Any) -> Decision[Any]:
        self.views.append((faculty, view))
        await asyncio.sleep(next(self.delays, 0))
        return Decision(value, usage=self.usage)

    async def plan(self, view: View) -> Decision[Plan]:
        return await self._take("plan", view, next(self.plans, self.env.wait_plan(1)))

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        return await self._take("speak", view, next(self.messages, None))

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        return await self._take("interrupt", view, next(self.choices, Interrupt(Choice.RESUME)))

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self.env.ground(state, self.views[-1][1].agent, action, progress)

    def describe(self) -> Mapping[str, Any]:
        return {"name": self.name}


async def played(
    folder: Path,
    topology: Topology,
    team: Sequence[Agent],
    env: AnyEnvironment | None = None,
    latency: LatencyConfig | None = None,
    **limits: Any,
) -> tuple[Outcome, list[Event], str]:
    """Play one episode of CUBE with a constant latency of one second; its outcome, events and digest."""
    env = env or make(len(team), "easy")
    path = folder / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell="cell", seed=len(store.episodes()), setup={})
        table = Table(
            env=env,
            topology=topology,
            team=dict(zip(env.agents, team, strict=True)),
            seed=0,
            latency=make_latency(latency or LatencyConfig(kind="constant"), 0),
            writer=writer,
            limits=Limits(**limits),
        )
        outcome = await table.play({})
        writer.finish("finished", {})
    with LogReader.open(path) as reader:
        last = reader.episodes()[-1]
        assert last.digest is not None
        return outcome, list(reader.events(last.id)), last.digest
