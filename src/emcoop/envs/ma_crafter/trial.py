"""Teams of policies played in memory, without a log, and why they died: for making policies and for quick rates.

    python -m emcoop.envs.ma_crafter.trial --level easy --agents 1 --policy scripted --seeds 0-19

A team without messages plays the very states that `emcoop run --topology individual` logs. With `--talk` everybody may
say one thing to all before it plans, which arrives at once; the topologies proper need the loop.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel

from emcoop.core.canonical import sha256_hex
from emcoop.core.seeds import derive
from emcoop.core.types import AgentId, Choice, Failure, Json, Message, Move, Plan, primitive_of
from emcoop.envs.base import AnyEnvironment, Done, Primitive, Progress
from emcoop.envs.ma_crafter.constants import (
    ARROW,
    COL,
    DAY,
    DEAD,
    ENERGY,
    HEALTH,
    ITEMS,
    KIND,
    LAVA,
    MATERIALS,
    MOBS,
    ON_DEATH,
    ROW,
    SLEEPING,
    VITALS,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.env import MACrafter, make
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.policy import Policy

ATTEMPTS = 3
"""How often a plan that cannot work is asked for again, as in the episode loop."""
LAST = 15
"""Steps that a post-mortem looks back."""


@dataclass(frozen=True)
class Peer:
    """Everybody's role."""

    name: str = "peer"


@dataclass(frozen=True)
class Sight:
    """A `PolicyView`."""

    agent: AgentId
    team: tuple[AgentId, ...]
    role: Peer
    step: int
    observation: BaseModel
    unread: tuple[Message, ...]
    conversation: tuple[Message, ...]
    memory: tuple[()]
    feedback: tuple[Failure, ...]
    plan: Plan | None
    plan_left: int
    recipients: tuple[AgentId, ...]
    sends_left: int
    seed: int
    state: CrafterState | None


@dataclass(frozen=True)
class Place:
    """A `PolicySeat`."""

    agent: AgentId
    env: AnyEnvironment
    seed: int
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """One agent at one step: its cell, body, bag, what it was at, and the bodies beside it."""

    step: int
    cell: tuple[int, int]
    vitals: tuple[int, ...]
    asleep: bool
    why: str
    move: str
    beside: tuple[str, ...]

    def line(self) -> str:
        """In one line."""
        body = "/".join(map(str, self.vitals)) + (" asleep" if self.asleep else "")
        return f"{self.step:5} {self.cell!s:9} {body:16} {self.move:16} {self.why:24} {' '.join(self.beside)}"


@dataclass
class Trial:
    """How an episode went; `dead` is the first agent that died, with its cause and its last moments."""

    seed: int
    success: bool
    progress: float
    steps: int
    decisions: int
    seconds: float
    dead: AgentId | None = None
    cause: str = ""
    last: tuple[Moment, ...] = ()
    digest: str = ""
    """Of the last state, as in the log of an episode."""

    def line(self) -> str:
        """In one line."""
        end = "won" if self.success else (f"{self.dead}: {self.cause}" if self.dead else "horizon")
        body = f" {self.last[-1].why}, {self.last[-1].vitals}" if self.last else ""
        return (
            f"seed {self.seed:5} {self.steps:5} steps, {self.progress:.1f}, {end}"
            f" (day {self.steps // DAY}, {self.steps % DAY}){body} [{self.seconds:.1f} s, {self.decisions} decisions]"
        )


class _Player:
    """One seat: a policy, its active plan and its mail."""

    def __init__(self, env: MACrafter, agent: AgentId, policy: Policy, seed: int, *, talk: bool) -> None:
        self.env, self.agent, self.policy, self.seed = env, agent, policy, seed
        self.index = env.agents.index(agent)
        self.recipients = tuple(other for other in env.agents if other != agent) if talk else ()
        self.plan: Plan | None = None
        self.at, self.progress = 0, Progress()
        self.feedback: list[Failure] = []
        self.unread: list[Message] = []
        self.conversation: list[Message] = []
        self.decisions = 0
        self.last: deque[Moment] = deque(maxlen=LAST)

    def view(self, state: CrafterState, seen: BaseModel) -> Sight:
        self.decisions += 1
        unread = tuple(self.unread)
        view = Sight(
            agent=self.agent,
            team=self.env.agents,
            role=Peer(),
            step=state.step,
            observation=seen,
            unread=unread,
            conversation=tuple(self.conversation),
            memory=(),
            feedback=tuple(self.feedback),
            plan=self.plan,
            plan_left=len(self.plan.actions) - self.at if self.plan is not None else 0,
            recipients=self.recipients,
            sends_left=1,
            seed=derive(self.seed, self.agent, self.decisions),
            state=state if self.policy.privileged else None,
        )
        self.conversation += unread
        self.unread.clear()
        return view

    def next_move(self, state: CrafterState) -> Move | None:
        """The next primitive of the plan; None when it has ended."""
        while self.plan is not None:
            outcome = self.env.ground(state, self.agent, self.plan.actions[self.at], self.progress)
            if isinstance(outcome, Primitive):
                self.progress = self.progress._replace(memo=outcome.memo)
                return outcome.action
            if isinstance(outcome, Done):
                self.at, self.progress = self.at + 1, Progress()
                if self.at == len(self.plan.actions):
                    self.plan = None
            else:
                self.feedback.append(outcome.failure)
                self.plan = None
        return None

    def decide(self, state: CrafterState, seen: BaseModel) -> None:
        """Commit a plan that has a next move."""
        for _ in range(ATTEMPTS):
            plan = self.policy.plan(self.view(state, seen))
            self.feedback.clear()
            if self._commit(state, plan):
                return
        self._commit(state, self.env.wait_plan(1))

    def _commit(self, state: CrafterState, plan: Plan) -> bool:
        failure = self.env.check_plan(state, self.agent, plan)
        if failure is not None:
            self.feedback.append(failure)
            return False
        self.plan, self.at, self.progress = plan, 0, Progress()
        return self.next_move(state) is not None

    def note(self, state: CrafterState, move: int) -> None:
        """Keep this moment for the post-mortem."""
        row, col = int(state.agents[self.index, ROW]), int(state.agents[self.index, COL])
        bodies = [
            f"{MOBS[int(mob[KIND])]}{abs(int(mob[1]) - row) + abs(int(mob[2]) - col)}"
            for mob in state.mobs
            if mob[KIND] and abs(int(mob[1]) - row) <= 3 and abs(int(mob[2]) - col) <= 4
        ]
        self.last.append(
            Moment(
                state.step,
                (row, col),
                tuple(state.inventory[self.index, :VITALS].tolist()),
                bool(state.agents[self.index, SLEEPING]),
                self.plan.reasoning if self.plan is not None else "",
                self.env.primitives[move],
                (MATERIALS[int(state.material[row, col])], *sorted(bodies)),
            )
        )


def play(
    policy: str, level: str = "easy", agents: int = 1, seed: int = 0, *, talk: bool = False, **options: Any
) -> Trial:
    """One episode; further options are the environment's."""
    env = make(agents=agents, level=level, **options)
    factory = env.policies()[policy]
    team = [
        _Player(env, agent, factory(Place(agent, cast(AnyEnvironment, env), derive(seed, agent))), seed, talk=talk)
        for agent in env.agents
    ]
    started, state, post, over = time.perf_counter(), env.reset(seed), 0, False
    while not over:
        post = _deliberate(env, team, state, post)
        moves: dict[AgentId, Move] = {}
        for player in team:
            move = player.next_move(state)
            moves[player.agent] = 0 if move is None else move
            player.note(state, primitive_of(moves[player.agent]))
            player.conversation.clear()
        transition = env.step(state, moves)
        state = transition.state
        for player in team:
            player.progress = player.progress._replace(steps=player.progress.steps + 1)
        over = transition.terminated or transition.truncated
    return _result(env, team, state, seed, time.perf_counter() - started)


def _deliberate(env: MACrafter, team: Sequence[_Player], state: CrafterState, post: int) -> int:
    """Everybody without a plan speaks, if it may, and plans; returns how many messages there have been so far."""
    for player in team:
        if player.next_move(state) is not None:
            continue
        seen = env.observe(state, player.agent)
        if player.recipients:
            said = player.policy.speak(player.view(state, seen))
            if said is not None:
                post += 1
                _deliver(env, team, state, Message(post, player.agent, said.recipients, said.content, 0, state.step))
        player.decide(state, seen)
    return post


def _deliver(env: MACrafter, team: Sequence[_Player], state: CrafterState, message: Message) -> None:
    for other in team:
        if other.agent not in message.recipients:
            continue
        other.unread.append(message)
        if other.plan is not None:
            view = other.view(state, env.observe(state, other.agent))
            if other.policy.interrupt(view).choice is Choice.REPLAN:
                other.plan = None
                other.decide(state, env.observe(state, other.agent))


def _result(env: MACrafter, team: Sequence[_Player], state: CrafterState, seed: int, seconds: float) -> Trial:
    score = env.score(state)
    decisions = sum(player.decisions for player in team)
    digest = sha256_hex(env.snapshot(state))
    trial = Trial(seed, score.success, score.progress, state.step, decisions, seconds, digest=digest)
    victim = next((player for player in team if state.agents[player.index, DEAD]), None)
    if victim is not None:
        trial.dead, trial.last = victim.agent, tuple(victim.last)
        trial.cause = _cause(state, victim)
    return trial


def _cause(state: CrafterState, victim: _Player) -> str:
    """What took the most health of late."""
    row, col = int(state.agents[victim.index, ROW]), int(state.agents[victim.index, COL])
    if state.material[row, col] == LAVA:
        return "lava"
    taken: dict[str, int] = {}
    moments = list(victim.last)
    after = [*moments[1:], None]
    for now, then in zip(moments, after, strict=True):
        left = then.vitals[HEALTH] if then is not None else 0
        loss = now.vitals[HEALTH] - left
        if loss <= 0:
            continue
        near = now.beside[1:]
        kinds = [kind for kind in (MOBS[ZOMBIE], MOBS[ARROW]) if any(body.startswith(kind) for body in near)]
        lacking = [ITEMS[vital] for vital in range(1, ENERGY + 1) if now.vitals[vital] == 0]
        cause = lacking[0] if loss == 1 and lacking else (kinds[0] if kinds else "somebody")
        cause = f"no {cause}" if cause in ITEMS else cause
        taken[cause + (" asleep" if loss >= 7 else "")] = taken.get(cause, 0) + loss
    return max(taken, key=lambda cause: taken[cause]) if taken else "worn out before"


def _numbers(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the seeds and print a line for each, then the rates."""
    parser = argparse.ArgumentParser(prog="python -m emcoop.envs.ma_crafter.trial", description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="scripted")
    parser.add_argument("--level", default="easy")
    parser.add_argument("--agents", type=int, default=1)
    parser.add_argument("--seeds", default="0-9")
    parser.add_argument("--talk", action="store_true")
    parser.add_argument("--horizon", type=int)
    parser.add_argument("--mobs", choices=("all", "cows", "none"))
    parser.add_argument("--goal")
    parser.add_argument("--on-death", choices=ON_DEATH)
    parser.add_argument("--last", action="store_true", help="print the last moments of the dead")
    args = parser.parse_args(arguments)
    names = ("horizon", "mobs", "goal", "on_death")
    options = {name: value for name in names if (value := getattr(args, name)) is not None}
    trials = []
    for seed in _numbers(args.seeds):
        trial = play(args.policy, args.level, args.agents, seed, talk=args.talk, **options)
        trials.append(trial)
        print(trial.line(), flush=True)
        if args.last:
            print("\n".join(moment.line() for moment in trial.last), flush=True)
    won, alive = sum(t.success for t in trials), sum(t.dead is None for t in trials)
    steps = sum(t.steps for t in trials) / len(trials)
    progress = sum(t.progress for t in trials) / len(trials)
    print(f"won {won} of {len(trials)}, nobody died in {alive}, progress {progress:.2f}, steps {steps:.0f}")


if __name__ == "__main__":
    main()
