"""Teams of policies played in memory, without a log: for quick rates over many mazes.

Turn by turn as the topology of turns plays it: the agent on turn may say one thing to all, which arrives at once, and
then acts. `emcoop.analysis.maze_floors` makes the table of docs/maze.md with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from emcoop.core.seeds import derive
from emcoop.core.types import AgentId, Failure, Json, Message, Move, Plan, Score
from emcoop.envs.base import Primitive, Progress
from emcoop.envs.maze.env import SplitMaze, make
from emcoop.envs.maze.rules import finished
from emcoop.envs.maze.state import MazeState
from emcoop.envs.policy import OwnEvent, Policy


@dataclass(frozen=True)
class Peer:
    """Everybody's role."""

    name: str = "participant"


@dataclass(frozen=True)
class Sight:
    """A `PolicyView`."""

    agent: AgentId
    team: tuple[AgentId, ...]
    step: int
    observation: BaseModel
    unread: tuple[Message, ...]
    conversation: tuple[Message, ...]
    recipients: tuple[AgentId, ...]
    seed: int
    state: MazeState | None
    role: Peer = field(default_factory=Peer)
    memory: tuple[OwnEvent, ...] = ()
    feedback: tuple[Failure, ...] = ()
    plan: Plan | None = None
    plan_left: int = 0
    sends_left: int = 1


@dataclass(frozen=True)
class Place:
    """A `PolicySeat`."""

    agent: AgentId
    env: Any
    seed: int
    options: Mapping[str, Json]


def seat(env: SplitMaze, names: Sequence[str], seed: int) -> list[Policy]:
    """A policy for each agent, seeded as the episode loop seeds it."""
    known = env.policies()
    places = (Place(agent, env, derive(seed, "seat", agent), {}) for agent in env.agents)
    return [known[name](place) for name, place in zip(names, places, strict=True)]


def play(env: SplitMaze, names: Sequence[str], seed: int) -> MazeState:
    """The last state of this team's episode."""
    team, state = seat(env, names, seed), env.reset(seed)
    unread: dict[AgentId, list[Message]] = {agent: [] for agent in env.agents}
    while not finished(state, env.terms):
        moves: dict[AgentId, Move] = dict.fromkeys(env.agents, 0)
        for agent in env.acting(state):
            mind = team[env.agents.index(agent)]
            moves[agent] = _turn(env, state, agent, mind, unread, derive(seed, agent, state.step))
        state = env.step(state, moves).state
    return state


def _turn(
    env: SplitMaze, state: MazeState, agent: AgentId, mind: Policy, unread: dict[AgentId, list[Message]], seed: int
) -> Move:
    """The move of the agent on turn; what it says reaches the others."""
    said: list[str] = []
    others = tuple(a for a in env.agents if a != agent)

    def view() -> Any:
        new, unread[agent] = tuple(unread[agent]), []
        hidden = None if not mind.privileged else state
        own = tuple(Message(0, agent, others, text, 0, state.step) for text in said)
        return Sight(agent, env.agents, state.step, env.observe(state, agent), new, own, others, seed, hidden)

    def send(text: str) -> None:
        said.append(text)
        for other in others:
            unread[other].append(Message(0, agent, (other,), text, 0, state.step))

    if not env.terms.free:
        spoken = mind.speak(view())
        if spoken is not None:
            send(spoken.content)
    plan = mind.plan(view())
    for message in plan.messages:
        send(message.content)
    if env.check_plan(state, agent, plan) is not None:
        return 0
    grounded = env.ground(state, agent, plan.actions[0], Progress())
    if not isinstance(grounded, Primitive):
        return 0
    return {"primitive": 0, "said": said} if env.terms.free and said else grounded.action


def measure(names: Sequence[str], seeds: Sequence[int], level: str, **options: Json) -> list[Score]:
    """The scores of this team over the seeds."""
    env = make(len(names), level, **options)
    return [env.score(play(env, names, seed)) for seed in seeds]
