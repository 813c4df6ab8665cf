"""Replay: the world of a logged episode played again from its actions, and compared state by state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from emcoop.core.canonical import sha256_hex, to_json
from emcoop.core.config import load
from emcoop.core.errors import CorruptLog, ReplayMismatch
from emcoop.envs.base import AnyEnvironment
from emcoop.episode.setup import Setup
from emcoop.log.events import Event
from emcoop.log.reader import LogReader


@dataclass(frozen=True, slots=True)
class Frame:
    """The world after `step` steps; `event` is the log's event that led to it."""

    step: int
    state: Any
    event: Event


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification has proved: so many states were equal, and the events give this digest."""

    episode: int
    states: int
    digest: str


def world_of(start: Event) -> AnyEnvironment:
    """The environment of an episode, made from its first event. Raises ReplayMismatch for another version of it."""
    setup = load(Setup, start.payload["setup"], "the logged set-up")
    env = setup.make_env()
    logged = start.payload["env"]
    if env.version != logged["version"]:
        raise ReplayMismatch(
            f"the episode was played in {logged['name']} version {logged['version']}, "
            f"installed is version {env.version}"
        )
    return env


def replay(reader: LogReader, episode: int) -> Iterator[tuple[AnyEnvironment, Frame]]:
    """Play the world of this episode again, frame by frame, from the logged seed and actions.

    Raises ReplayMismatch at the first state or reward that differs from the log, naming the step.
    """
    events = reader.events(episode, kinds=("episode_start", "step"))
    start = next(events, None)
    if start is None or start.kind != "episode_start":
        raise CorruptLog(f"{reader.path}: episode {episode} does not begin with episode_start")
    env = world_of(start)
    state = env.reset(start.payload["seed"])
    _compare(reader, episode, env, state, start, 0)
    yield env, Frame(0, state, start)
    for step, event in enumerate(events, start=1):
        transition = env.step(state, event.payload["actions"])
        state = transition.state
        _compare(reader, episode, env, state, event, step)
        if to_json(transition.rewards) != event.payload["rewards"]:
            raise ReplayMismatch(f"{reader.path}: episode {episode}: the rewards of step {step} differ from the log")
        yield env, Frame(step, state, event)


def _compare(reader: LogReader, episode: int, env: AnyEnvironment, state: Any, event: Event, step: int) -> None:
    found = sha256_hex(env.snapshot(state))
    if found != event.payload["state"]:
        raise ReplayMismatch(
            f"{reader.path}: episode {episode}: the world after step {step} has state {found[:12]}, "
            f"the log says {event.payload['state'][:12]}"
        )


def verify(reader: LogReader, episode: int) -> Verified:
    """Prove that the log's actions lead through exactly its states, and that its events give its digest.

    Raises ReplayMismatch.
    """
    states = sum(1 for _ in replay(reader, episode))
    digest = reader.digest(episode)
    kept = reader.episode(episode).digest
    if kept is not None and kept != digest:
        raise ReplayMismatch(f"{reader.path}: episode {episode}: its events give the digest {digest}, not {kept}")
    return Verified(episode, states, digest)
