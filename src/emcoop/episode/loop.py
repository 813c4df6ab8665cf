"""MAEIL, the multi-agent environment interaction loop (paper, algorithm 1, section 5.1 and appendix C).

    start   every agent without a plan deliberates (R) under its topology's protocol, on simulated time
    barrier when every agent has an active plan (or it is not its turn) and none is deliberating, the joint step begins
    step    each plan is grounded into one primitive (Gamma); everybody executes (X); the world moves on
    after   plans that ended lead back to R; who goes on waits (W) while somebody is not ready

A message that reaches an agent in W or X interrupts it (I): it resumes or replans, then waits again. The clock
alignment kappa is the count of completed steps, recorded with every event.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, Field

from emcoop.agents.base import Agent
from emcoop.core.canonical import canonical_json, to_json
from emcoop.core.config import StrictModel
from emcoop.core.errors import Stall
from emcoop.core.types import (
    SECOND,
    ActionRecord,
    AgentId,
    Constraint,
    Json,
    Limit,
    Message,
    Micros,
    Move,
    Score,
    Stage,
    TaskConstraints,
    TaskId,
    Usage,
    agent_index,
    primitive_of,
)
from emcoop.envs.base import AnyEnvironment
from emcoop.episode.baton import Baton
from emcoop.episode.clock import Clock
from emcoop.episode.latency import Latency
from emcoop.episode.post import Post
from emcoop.episode.seat import ModelFailed, SeatState
from emcoop.topologies.base import Topology

HISTORY = 256
"""How many entries of the symbolic action history are kept for observations."""


TURN_S = 0.005
"""An episode lets the others go on after so much real time at the latest (or one step, if that takes longer)."""


class Limits(StrictModel):
    """Budgets of one episode beside the environment's horizon; None is no limit. Checked between steps.

    `max_usd` counts known prices only. `wall_clock_s` is real time and therefore not repeatable: where it fires, the
    log says so.
    """

    max_steps: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_usd: float | None = Field(default=None, gt=0)
    wall_clock_s: float | None = Field(default=None, gt=0)


class Writer(Protocol):
    """What the loop needs of a log."""

    def append(
        self,
        kind: str,
        payload: Mapping[str, Json],
        *,
        cog_time: Micros,
        env_step: int,
        agent: AgentId | None = None,
        host: Mapping[str, Json] | None = None,
    ) -> int: ...

    def blob(self, data: bytes | str) -> str: ...

    def checkpoint(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended; `steps` is T."""

    limit: Limit
    score: Score
    steps: int
    usage: Usage
    message: str | None = None


class Table:
    """One episode in play: the world, the seats around it, the clock and the log."""

    def __init__(
        self,
        *,
        env: AnyEnvironment,
        topology: Topology,
        team: Mapping[AgentId, Agent],
        seed: int,
        latency: Latency,
        writer: Writer,
        limits: Limits,
        step_s: float = 0.1,
        watch: Callable[[int], None] = lambda step: None,
        state: Any = None,
        baton: Baton | None = None,
    ) -> None:
        self.env = env
        self.topology = topology
        self.seed = seed
        self.latency = latency
        self.limits = limits
        self._bounded = any(b is not None for b in (limits.max_tokens, limits.max_usd, limits.wall_clock_s))
        self.clock = Clock(least=latency.least, baton=baton or Baton())
        self.step = 0
        self.state: Any = env.reset(seed) if state is None else state
        self.history: deque[ActionRecord] = deque(maxlen=HISTORY)
        self.deliberating: tuple[AgentId, ...] = ()
        self._acting = frozenset(env.acting(self.state))
        self.post = Post(topology, self.clock, self.record, seed, self._deliver)
        self.seats = {agent: SeatState(self, agent, team[agent], topology.role(agent)) for agent in env.agents}
        self._writer = writer
        self._step_us = round(step_s * SECOND)
        self.watch = watch
        self._seen: dict[AgentId, BaseModel] = {}
        self._seen_blobs: dict[AgentId, str] = {}
        self._lasting: dict[str, str] = {}
        self._plans = 0
        self._started = self._gave_way = time.monotonic()
        self._capabilities = {agent: env.capabilities(self.state, agent) for agent in env.agents}

    # -- the log -----------------------------------------------------------------------------------------------

    def record(
        self,
        kind: str,
        payload: dict[str, Json],
        agent: AgentId | None = None,
        host: Mapping[str, Json] | None = None,
    ) -> None:
        """Write one event at the present simulated time and kappa of it."""
        self._writer.append(kind, payload, cog_time=self.clock.now, env_step=self.step, agent=agent, host=host)

    def blob(self, data: bytes | str) -> str:
        """Keep data by its content; returns its name."""
        return self._writer.blob(data)

    def lasting_blob(self, text: str) -> str:
        """`blob` for one of the few long texts that come again and again: its name is found out once."""
        if text not in self._lasting:
            self._lasting[text] = self.blob(text)
        return self._lasting[text]

    def observation(self, agent: AgentId) -> BaseModel:
        """What the agent sees now; made once per step, since the world stands still in between."""
        if agent not in self._seen:
            self._seen[agent] = self.env.observe(self.state, agent, self.history)
        return self._seen[agent]

    def observation_blob(self, agent: AgentId) -> str:
        """The name under which the log keeps what the agent sees now."""
        if agent not in self._seen_blobs:
            self._seen_blobs[agent] = self.blob(canonical_json(self.observation(agent)))
        return self._seen_blobs[agent]

    def next_plan_id(self) -> int:
        """Plans are numbered through the episode."""
        self._plans += 1
        return self._plans

    # -- the loop ----------------------------------------------------------------------------------------------

    async def play(self, opening: dict[str, Json]) -> Outcome:
        """Play the episode to its end; `opening` goes into the first event.

        Raises Stall when the barrier can never be reached; whatever agents raise passes through.
        """
        snapshot = self.env.snapshot(self.state)
        name = self.blob(snapshot)
        self.record("episode_start", {**opening, "state": name, "snapshot": name})
        message = None
        try:
            self._deliberate([seat for seat in self.seats.values() if seat.agent in self._acting])
            limit = self._limit()
            while limit is None:
                await self._reach_barrier()
                limit = self._spent() or await self._step()
                self._writer.checkpoint()
                await self._give_way()
        except ModelFailed as error:
            limit, message = Limit.MODEL, str(error)
        finally:
            await self.clock.close()
        return self._finish(limit, message)

    def leave(self) -> None:
        """Part from the seats and the post, which refer back: what an episode held is freed at once, not when Python
        next looks for cycles. Nothing can be played any more."""
        self.seats.clear()
        del self.post

    async def _give_way(self) -> None:
        """Steps that wait for nothing real must not hold up other episodes, nor the keyboard. Nothing hangs on it."""
        now = time.monotonic()
        if now - self._gave_way >= TURN_S:
            self.clock.baton.pass_on()
            await asyncio.sleep(0)
            await self.clock.baton.take()
            self._gave_way = time.monotonic()

    def _deliberate(self, seats: list[SeatState]) -> None:
        """Everybody without a plan starts its turn; who else is not ready keeps the rest waiting."""
        self.deliberating = tuple([seat.agent for seat in seats])
        for seat in seats:
            seat.begin(Stage.REASON)
        if not self._all_ready():
            for seat in self.seats.values():
                self._wait_for_others(seat)
        for seat in seats:
            self._start(seat, self.topology.deliberate(seat))

    def _start(self, seat: SeatState, turn: Any) -> None:
        self.clock.spawn(seat.index, turn, lambda: self._turn_over(seat))

    def _turn_over(self, seat: SeatState) -> None:
        seat.busy = False
        if seat.active is None:
            raise Stall(
                f"{seat.agent} is not ready at step {self.step}: its turn in the {self.topology.name} protocol "
                "ended without a plan; the protocol must await plan()"
            )
        late = seat.unread_from(lambda sender: self.topology.interrupts(sender, seat.agent))
        if seat.stage is Stage.INTERRUPT and late:
            self._interrupt(seat, late)
        else:
            self._wait_for_others(seat)

    def _wait_for_others(self, seat: SeatState) -> None:
        """The seat enters W if it is ready and somebody else is not, once nothing more happens at this instant.

        Agents that become ready at the same simulated time do not wait for one another.
        """

        def wait() -> None:
            if self._ready(seat) and not self._all_ready():
                seat.enter(Stage.WAIT)

        self.clock.at(self.clock.now, len(self.seats), wait)

    def _ready(self, seat: SeatState) -> bool:
        """Whether the joint step need not wait for this seat: it has a plan, or it is not its turn."""
        return not seat.busy and (seat.active is not None or seat.agent not in self._acting)

    def _all_ready(self) -> bool:
        for seat in self.seats.values():  # noqa: SIM110 - asked several times a step: twice as fast as `all`
            if not self._ready(seat):
                return False
        return True

    def _deliver(self, message: Message, recipient: AgentId) -> None:
        seat = self.seats[recipient]
        seat.receive(message)
        if seat.ready and self.topology.interrupts(message.sender, recipient):
            self._interrupt(seat, [message.id])

    def _interrupt(self, seat: SeatState, messages: list[int]) -> None:
        assert seat.active is not None
        self.record("plan_interrupted", {"plan_id": seat.active.id, "messages": messages}, seat.agent)
        seat.begin(Stage.INTERRUPT)
        self._start(seat, self._respond(seat))

    async def _respond(self, seat: SeatState) -> None:
        await self.topology.respond(seat)
        if seat.active is None:  # the plan ended in the world while the agent decided to go on with it
            await seat.plan()

    async def _reach_barrier(self) -> None:
        while True:
            reached = await self.clock.run(self._all_ready)
            if not reached:
                waiting = [seat.agent for seat in self.seats.values() if not self._ready(seat)]
                raise Stall(f"nothing can happen any more at step {self.step}; not ready: {', '.join(waiting)}")
            ended = [seat for seat in self.seats.values() if seat.next_move() is None and seat.agent in self._acting]
            if not ended:
                return
            self._deliberate(ended)  # a message made a waiting action end between two steps

    async def _step(self) -> Limit | None:
        """One joint step; returns what ends the episode, if anything does."""
        actions: dict[AgentId, Move] = {}
        labels: dict[AgentId, str] = {}
        begun: dict[AgentId, bool] = {}
        named: dict[AgentId, TaskId] = {}
        for agent, seat in self.seats.items():
            actions[agent] = self._move(seat)
            named[agent] = seat.task
            if seat.active is not None:
                labels[agent] = seat.active.label
                begun[agent] = seat.active.progress.steps == 0
        tasks = self.env.constraints(self.state, actions, frozenset(named.values()))
        await self.clock.run(lambda: False, deadline=self.clock.now + self._step_us)
        transition = self.env.step(self.state, actions)
        self.state = transition.state
        self._acting = frozenset(self.env.acting(self.state))
        self.step += 1
        self._seen.clear()
        self._seen_blobs.clear()
        self._remember(actions, labels, begun)
        name = self.blob(self.env.snapshot(self.state))
        self.record(
            "step",
            {
                "actions": actions,
                "labels": labels,
                "rewards": dict(transition.rewards),
                "state": name,
                "snapshot": name,
                "events": [dict(event) for event in transition.events],
                "tasks": {task: _constraints(value) for task, value in tasks.items()},
                "named": named,
                "gains": self._gains(),
                "invalid": sorted({e["agent"] for e in transition.events if e["kind"] == "blocked"}, key=agent_index),
            },
        )
        self.post.new_step()
        for seat in self.seats.values():
            seat.new_step()
            seat.executed()
        if transition.terminated:
            return Limit.SUCCESS if self.env.score(self.state).success else Limit.FAILURE
        if transition.truncated:
            return Limit.HORIZON
        limit = self._limit()
        if limit is None:
            self._settle()
        return limit

    def _move(self, seat: SeatState) -> Move:
        """The seat's move at this step; who has no plan because it is not its turn goes on waiting."""
        move = seat.next_move()
        if move is None:
            return 0
        seat.enter(Stage.EXECUTE)
        if not self.env.hears or not seat.said:
            return move
        beside = {} if isinstance(move, int) else move
        return {**beside, "primitive": primitive_of(move), "said": list(seat.said)}

    def _settle(self) -> None:
        """After a step: plans that ended lead to deliberation; the rest wait if they must."""
        for seat in self.seats.values():
            seat.next_move()
        idle = [seat for seat in self.seats.values() if seat.active is None and not seat.busy]
        self._deliberate([seat for seat in idle if seat.agent in self._acting])

    # -- limits and the end ------------------------------------------------------------------------------------

    def usage(self) -> Usage:
        """What the team has used so far, messages included."""
        total = sum((seat.usage for seat in self.seats.values()), Usage())
        return total + Usage(cost_usd=self.post.spent_usd)

    def _limit(self) -> Limit | None:
        if self.limits.max_steps is not None and self.step >= self.limits.max_steps:
            return Limit.HORIZON
        return None

    def _spent(self) -> Limit | None:
        limits = self.limits
        if not self._bounded:
            return None
        usage = self.usage()
        if limits.max_tokens is not None and usage.input_tokens + usage.output_tokens >= limits.max_tokens:
            return Limit.TOKENS
        if limits.max_usd is not None and usage.known_usd >= limits.max_usd:
            return Limit.MONEY
        if limits.wall_clock_s is not None and time.monotonic() - self._started >= limits.wall_clock_s:
            return Limit.WALL_CLOCK
        return None

    def _finish(self, limit: Limit, message: str | None) -> Outcome:
        for seat in self.seats.values():
            seat.end_plan("truncated")
        score = self.env.score(self.state)
        outcome = Outcome(limit, score, self.step, self.usage(), message)
        self.record(
            "episode_end",
            {
                "limit": limit,
                "score": to_json(score),
                "steps": self.step,
                "usage": to_json(outcome.usage),
                "message": message,
            },
        )
        return outcome

    # -- what steps leave behind -------------------------------------------------------------------------------

    def _remember(
        self, actions: Mapping[AgentId, Move], labels: dict[AgentId, str], begun: dict[AgentId, bool]
    ) -> None:
        for agent, action in labels.items():
            status = "start" if begun[agent] else "in_progress"
            name = self.env.primitives[primitive_of(actions[agent])]
            self.history.append(ActionRecord(agent, self.step - 1, action, name, status))

    def _gains(self) -> dict[AgentId, Json]:
        """What each agent has gained in this step: tools it has more of, skills it has newly (Delta Z)."""
        gains: dict[AgentId, Json] = {}
        for agent, before in self._capabilities.items():
            now = self.env.capabilities(self.state, agent)
            if now.tools == before.tools and now.skills == before.skills:
                continue
            more = [name for name, count in now.tools.items() if count > before.tools.get(name, 0)]
            gained = sorted(more) + sorted(now.skills - before.skills)
            if gained:
                gains[agent] = gained
            self._capabilities[agent] = now
        return gains


def _constraints(value: TaskConstraints) -> dict[str, Json]:
    kinds = {kind.value: sorted(value.satisfied.get(kind, ())) for kind in Constraint}
    return {"required": value.required, **kinds, "attempting": sorted(value.attempting)}
