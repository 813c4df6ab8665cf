"""The world at a step of a logged episode, drawn by its environment."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from emcoop.core.canonical import canonical_json
from emcoop.core.errors import CorruptLog, LogError
from emcoop.envs.base import AnyEnvironment
from emcoop.episode.replay import world_of
from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.viewer.places import at_step


def frame(log: Path, number: int, step: int) -> str:
    """The world after `step` steps as an SVG document.

    Raises LogError where the log has no such step or does not keep the state, ReplayMismatch where the environment
    that is installed is not the one that was played.
    """
    with LogReader.open(log) as reader:
        return draw(reader, number, step)


def draw(reader: LogReader, number: int, step: int) -> str:
    """As `frame`, with an open log."""
    start = next(iter(reader.page(number, size=1)), None)
    if start is None or start.kind != "episode_start" or not {"setup", "env"} <= start.payload.keys():
        raise CorruptLog(f"{reader.path}: episode {number} does not begin with a sound episode_start")
    env = _world(canonical_json({"setup": start.payload["setup"], "env": start.payload["env"]}))
    return env.render(_state(reader, env, number, start, step))


def _state(reader: LogReader, env: AnyEnvironment, number: int, start: Event, step: int) -> Any:
    """From the nearest state that is kept, at the step or before it, played on with the logged actions."""
    wanted = _step_events(reader, number, start, step)
    kept = next((at for at, event in enumerate(wanted) if event.payload.get("snapshot")), None)
    if kept is None:
        raise LogError(f"{reader.path}: episode {number} keeps no state at step {step} or before it")
    try:
        state = env.restore(reader.blob(wanted[kept].payload["snapshot"]))
    except ValueError as error:
        raise CorruptLog(f"{reader.path}: episode {number}: the state at step {step} is damaged: {error}") from error
    for event in reversed(wanted[:kept]):
        state = env.step(state, event.payload["actions"]).state
    return state


def _step_events(reader: LogReader, number: int, start: Event, step: int) -> list[Event]:
    """The events of this step and of those before it back to one whose state is kept, latest first."""
    found: list[Event] = []
    for at in range(step, 0, -1):
        event = _step_event(reader, number, at)
        found.append(event)
        if event.payload.get("snapshot"):
            return found
    return [*found, start]


def _step_event(reader: LogReader, number: int, step: int) -> Event:
    for event in reader.page(number, ("step",), at_step(reader, number, step), 1):
        if event.env_step == step:
            return event
    raise LogError(f"{reader.path}: episode {number} has no step {step}")


@lru_cache(maxsize=16)
def _world(start: bytes) -> AnyEnvironment:
    """Made once per set-up and version, since a level may take a while to build."""
    return world_of(Event(0, 0, 0, None, "episode_start", json.loads(start)))
