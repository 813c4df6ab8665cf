"""Counterfactuals: an episode played again up to a point, and differently from there.

Up to the cut every seat repeats its logged decisions at their logged times, so the world, the mail, the memories and
the plans under way are exactly those of the log (each state is compared). From there the seats decide live: who was
swapped by another policy, the others by their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.agents.forms import action_adapter
from emcoop.agents.replayed import Record, read_record
from emcoop.core.canonical import to_json
from emcoop.core.config import StrictModel, load, nearest
from emcoop.core.errors import ConfigError, EmcoopError, LogError, ReplayMismatch
from emcoop.core.seeds import derive
from emcoop.core.types import SECOND, AgentId, Interrupt, Json, Limit, Micros, Outgoing, Plan, Usage
from emcoop.envs.base import AnyEnvironment, Done, Grounding, Progress
from emcoop.episode.latency import LatencyConfig, make_latency
from emcoop.episode.loop import Limits, Outcome, Table, Writer
from emcoop.episode.post import Tampering
from emcoop.episode.replay import replay, world_of
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.log.events import EpisodeRow, Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model

T = TypeVar("T")

KINDS = (
    *("episode_start", "decision", "plan_committed", "plan_rejected", "plan_ended"),
    *("message_sent", "message_refused", "step"),
)


class Tamper(StrictModel):
    """One message that is dropped on its way, delayed by `seconds` more, or replaced by `text`."""

    message: int = Field(ge=1)
    change: Literal["drop", "delay", "rewrite"]
    seconds: float = Field(default=0.0, ge=0)
    text: str | None = None

    def tampering(self) -> Tampering:
        """What the post does. Raises ConfigError for a rewrite without a text or a delay without seconds."""
        if self.change == "rewrite" and not self.text:
            raise ConfigError(f"message {self.message}: a rewrite needs a text")
        if self.change == "delay" and not self.seconds:
            raise ConfigError(f"message {self.message}: a delay needs seconds above 0")
        content = self.text if self.change == "rewrite" else None
        delay = round(self.seconds * SECOND) if self.change == "delay" else 0
        return Tampering(lost=self.change == "drop", delay=delay, content=content)


class Fork(StrictModel):
    """What is different, and from where: at the end of step `at`, with other policies in the seats of `swap`, or at
    the sending of the message of `tamper`."""

    at: int | None = Field(default=None, ge=0)
    swap: dict[AgentId, SeatConfig] = {}
    tamper: Tamper | None = None

    def name(self, episode: EpisodeRow) -> str:
        """How the log names it, among the interventions."""
        parts = [f"digest={(episode.digest or 'none')[:12]}"]
        if self.at is not None:
            parts.append(f"at={self.at}")
        parts += [f"{agent}={' '.join(filter(None, (s.agent, s.model)))}" for agent, s in sorted(self.swap.items())]
        if self.tamper is not None:
            tamper = self.tamper.model_dump(mode="json", exclude_defaults=True)
            parts += [f"{key}={value}" for key, value in tamper.items()]
        return "fork:" + ";".join(parts)

    def setup(self, episode: EpisodeRow) -> Setup:
        """The set-up of the fork. Raises ConfigError for a seat that is not there."""
        original = load(Setup, dict(episode.setup), "the logged set-up")
        names = original.make_env().agents
        for agent in self.swap:
            if agent not in names:
                raise ConfigError(f"no agent {agent!r} in this episode; {nearest(agent, names)}")
        team = tuple(self.swap.get(agent, seat) for agent, seat in zip(names, original.seats(), strict=True))
        interventions = (*original.interventions, self.name(episode))
        changed = {"team": team, "interventions": interventions, "control": original.control or original.cell}
        return original.model_copy(update=changed)


@dataclass(slots=True)
class Past:
    """One seat's decisions up to the cut: what, at what cost, and how long it took."""

    record: Record
    usage: dict[str, deque[Usage]] = field(default_factory=dict)
    latencies: deque[Micros] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Script:
    """Everything up to the cut: each seat's past, and the hashes of the world's states, by step."""

    past: Mapping[AgentId, Past]
    states: tuple[str, ...]
    steps: int


def read_script(reader: LogReader, episode: int, fork: Fork, env: AnyEnvironment) -> Script:
    """The part of the log that a fork repeats. Raises ConfigError when the episode has no such step or message."""
    events = list(_until(reader, episode, fork))
    adapter = action_adapter(env.plan_schema)
    lines = [{"agent": e.agent, "kind": e.kind, "payload": e.payload} for e in events]
    past = {agent: Past(read_record(lines, agent, adapter)) for agent in env.agents}
    for event in events:
        if event.kind == "decision" and event.agent is not None:
            mine, payload = past[event.agent], event.payload
            mine.usage.setdefault(payload["faculty"], deque()).append(Usage(**payload["usage"]))
            mine.latencies.append(int(payload["latency_us"]))
    states = tuple(str(e.payload["state"]) for e in events if e.kind in ("episode_start", "step"))
    return Script(past, states, len(states) - 1)


def _until(reader: LogReader, episode: int, fork: Fork) -> Iterator[Event]:
    steps, messages = 0, 0
    for event in reader.events(episode, kinds=KINDS):
        yield event
        steps += event.kind == "step"
        messages += event.kind == "message_sent"
        if fork.at is not None and steps == fork.at and event.kind in ("step", "episode_start"):
            return
        if fork.tamper is not None and event.kind == "message_sent" and event.payload["id"] == fork.tamper.message:
            return
    if fork.at is not None:
        raise ConfigError(f"episode {episode} has {steps} steps; it cannot be forked at step {fork.at}")
    raise ConfigError(
        f"episode {episode} has {messages} messages; there is no number {fork.tamper and fork.tamper.message}"
    )


class Forked:
    """A seat that repeats its past and then goes on, by itself or by its successor.

    Its own mind is shown the past too, if that costs nothing, so that a mind that keeps what it has seen goes on as
    it would have. A successor ends the plan that it finds and makes its own.
    """

    name = "forked"

    def __init__(self, own: Agent, successor: Agent | None, past: Past, *, shadow: bool) -> None:
        self.own = own
        self.successor = successor
        self.past = past
        self.privileged = own.privileged or (successor is not None and successor.privileged)
        self.cut = False
        """Whether the world has come to the cut; the player sets it."""
        self._shadow = shadow
        self._committed = False

    async def plan(self, view: View) -> Decision[Plan]:
        if self.past.record.plans:
            if self._shadow:
                await self.own.plan(self._for(self.own, view))
            return self._paid("plan", self.past.record.plans.popleft())
        self._committed = True
        return await self._mind.plan(self._for(self._mind, view))

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        if self.past.record.messages:
            if self._shadow:
                await self.own.speak(self._for(self.own, view))
            return self._paid("speak", self.past.record.messages.popleft())
        return await self._mind.speak(self._for(self._mind, view))

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        if self.past.record.interrupts:
            if self._shadow:
                await self.own.interrupt(self._for(self.own, view))
            return self._paid("interrupt", self.past.record.interrupts.popleft())
        self._committed = True
        return await self._mind.interrupt(self._for(self._mind, view))

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        if self.successor is None or not self.cut:
            return self.own.act(state, action, progress)
        return self.successor.act(state, action, progress) if self._committed else Done()

    def describe(self) -> Mapping[str, Json]:
        return dict(self._mind.describe())

    @property
    def _mind(self) -> Agent:
        return self.successor or self.own

    def _for(self, mind: Agent, view: View) -> View:
        return view if mind.privileged else replace(view, state=None)

    def _paid(self, faculty: str, decision: Decision[T]) -> Decision[T]:
        return replace(decision, usage=self.past.usage[faculty].popleft())


class _Checked:
    """The log of the fork; refuses to go on when the repeated part leaves the logged states."""

    def __init__(self, writer: Writer, script: Script, team: Mapping[AgentId, Forked]) -> None:
        self._writer = writer
        self._script = script
        self._team = team
        self._seen = 0
        self.blob = writer.blob
        self.checkpoint = writer.checkpoint

    def append(
        self,
        kind: str,
        payload: Mapping[str, Json],
        *,
        cog_time: Micros,
        env_step: int,
        agent: AgentId | None = None,
        host: Mapping[str, Json] | None = None,
    ) -> int:
        if kind in ("episode_start", "step") and self._seen < len(self._script.states):
            if payload["state"] != self._script.states[self._seen]:
                raise ReplayMismatch(f"the fork leaves the logged episode at step {self._seen}, before its cut")
            self._seen += 1
            if self._seen == len(self._script.states):
                for seat in self._team.values():
                    seat.cut = True
        return self._writer.append(kind, payload, cog_time=cog_time, env_step=env_step, agent=agent, host=host)


class _Forked:
    """The latencies of the past, then those of the set-up."""

    def __init__(self, config: LatencyConfig, seed: int, past: Mapping[AgentId, Past]) -> None:
        # What an earlier log recorded is used up at the cut; after it, latencies are declared by tokens.
        again = config.model_copy(update={"kind": "tokens"}) if config.kind == "recorded" else config
        self._base = make_latency(again, seed)
        self._past = past
        self.least = min([self._base.least, *(took for of in past.values() for took in of.latencies)])

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros:
        declared = self._base(agent, decision)  # asked in the past too: its jitter has a stream
        left = self._past[agent].latencies
        return left.popleft() if left else declared


async def play_fork(
    reader: LogReader, episode: int, fork: Fork, store: LogStore, models: Mapping[str, Model]
) -> tuple[Setup, Outcome]:
    """Play the fork of a logged episode into a log; `models` has every model of both teams.

    Raises ConfigError for a step, message or seat that is not there, ReplayMismatch when the log cannot be repeated,
    LogError when the episode was cut off or this fork is in the log already.
    """
    row = reader.episode(episode)
    start = next(reader.events(episode, kinds=("episode_start",)), None)
    if start is None or row.status != "finished":
        raise LogError(f"{reader.path}: episode {episode} is {row.status.value}; only a finished one can be forked")
    if fork.at is None and fork.tamper is None:
        raise ConfigError("a fork needs a step or a message at which it begins")
    env, setup = world_of(start), fork.setup(row)
    script = read_script(reader, episode, fork, env)
    team = _seats(env, row, fork, setup, script, models)
    topology = setup.make_topology(env.agents)
    writer = store.start(cell=setup.cell, seed=row.seed, setup=setup.model_dump(mode="json"))
    try:
        table = Table(
            env=env,
            topology=topology,
            team=team,
            seed=row.seed,
            latency=_Forked(setup.latency, row.seed, script.past),
            writer=_Checked(writer, script, team),
            limits=setup.limits,
            step_s=setup.step_s,
        )
        if fork.tamper is not None:
            table.post.tampered = {fork.tamper.message: fork.tamper.tampering()}
        outcome = await table.play(setup.opening(env, topology, team, row.seed))
    except EmcoopError as error:
        writer.finish("failed", {"error": f"{type(error).__name__}: {error}"})
        raise
    writer.finish("finished", {"limit": outcome.limit, "score": to_json(outcome.score), "steps": outcome.steps})
    return setup, outcome


def _seats(
    env: AnyEnvironment,
    row: EpisodeRow,
    fork: Fork,
    setup: Setup,
    script: Script,
    models: Mapping[str, Model],
) -> dict[AgentId, Forked]:
    original = load(Setup, dict(row.setup), "the logged set-up")
    own = original.make_team(env, row.seed, models)
    team: dict[AgentId, Forked] = {}
    for agent, old, new in zip(env.agents, original.seats(), setup.seats(), strict=True):
        successor = None
        if agent in fork.swap:
            model = models[new.model] if new.model else None
            seat = Seat(agent, env, derive(row.seed, "fork", agent), model, new.options)
            successor = AGENTS.get(new.agent)(seat)
        team[agent] = Forked(own[agent], successor, script.past[agent], shadow=not old.models and old.agent != "human")
    return team


class _Nowhere:
    """A log that keeps nothing."""

    def append(self, kind: str, payload: Mapping[str, Json], **facts: Any) -> int:
        return 0

    def blob(self, data: bytes | str) -> str:
        return ""

    def checkpoint(self) -> None:
        """Nothing to commit."""


@dataclass(frozen=True, slots=True)
class NoReturn:
    """The point of no return of an episode of `steps` steps.

    `step` is the last one from whose state the policy's team still wins in what is left of the horizon; None when it
    wins from none, not even the beginning. `success` is how the episode itself ended: then nothing was lost.
    """

    episode: int
    steps: int
    success: bool
    step: int | None
    policy: str

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {
            "episode": self.episode,
            "steps": self.steps,
            "success": self.success,
            "point_of_no_return": self.step,
            "policy": self.policy,
        }


async def point_of_no_return(reader: LogReader, episode: int, policy: str = "oracle") -> NoReturn:
    """Sweep back over the states of an episode until a team of this policy, without a word, can still win.

    Raises ReplayMismatch when the log's world cannot be repeated, and what the policy's factory raises.
    """
    row = reader.episode(episode)
    setup = load(Setup, dict(row.setup), "the logged set-up")
    frames = list(replay(reader, episode))
    env, last = frames[-1]
    success = env.score(last.state).success
    for env, frame in reversed(frames):
        if await wins_from(env, setup, frame.state, row.seed, frame.step, policy):
            return NoReturn(episode, last.step, success, frame.step, policy)
    return NoReturn(episode, last.step, success, None, policy)


async def wins_from(env: AnyEnvironment, setup: Setup, state: Any, seed: int, step: int, policy: str) -> bool:
    """Whether a team of this policy wins from the state after `step` steps; budgets other than steps do not count."""
    if env.score(state).success:
        return True
    most = setup.limits.max_steps
    left = min(env.horizon, most) - step if most is not None else env.horizon - step
    if left < 1:
        return False
    others = setup.model_copy(
        update={"team": (SeatConfig(agent=policy),), "topology": "individual", "topology_options": {}}
    )
    topology = others.make_topology(env.agents)
    table = Table(
        env=env,
        topology=topology,
        team=others.make_team(env, seed, {}),
        seed=seed,
        latency=make_latency(LatencyConfig(kind="constant"), seed),
        writer=_Nowhere(),
        limits=Limits(max_steps=left),
        state=state,
    )
    return (await table.play({})).limit is Limit.SUCCESS
