"""Playing the maze move by move and team by team, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from emcoop.core.types import Move
from emcoop.envs.maze.env import SplitMaze
from emcoop.envs.maze.state import PRIMITIVES, Maze, MazeState, first_state
from emcoop.episode.latency import LatencyConfig, make_latency
from emcoop.episode.loop import Limits, Outcome, Table
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, log_path, play
from emcoop.log.events import Event, validate
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Model
from emcoop.models.scripted import ScriptedModel

WAY = ("right", "right", "down", "down", "down", "right", "right")
ROWS = ("@..#.", "##.#.", "...#.", ".#..*", ".....")
"""A maze whose shortest way is WAY."""


def maze_of(rows: Sequence[str], parts: int = 2) -> Maze:
    """This maze; every second cell is seen by one part, the others by the next."""
    size = len(rows)
    place = {rows[r][c]: (r, c) for r in range(size) for c in range(size)}
    everybody = (1 << parts) - 1
    seen = [everybody if rows[r][c] in "@*" else 1 << ((r + c) % parts) for r in range(size) for c in range(size)]
    return Maze(tuple(rows), place["@"], place["*"], parts, tuple(seen))


def at_start(env: SplitMaze, rows: Sequence[str] = ROWS) -> MazeState:
    """The first state of this maze."""
    return first_state(maze_of(rows, env.parts), len(env.agents))


def number(name: str) -> int:
    """The primitive of this name; a direction stands for proposing it."""
    return PRIMITIVES.index(f"propose_{name}" if f"propose_{name}" in PRIMITIVES else name)


def go(env: SplitMaze, state: MazeState, *names: str) -> tuple[MazeState, list[dict[str, Any]]]:
    """The state after these moves, each of the agent on turn, and everything that happened."""
    events: list[dict[str, Any]] = []
    for name in names:
        (who,) = env.acting(state)
        moves: dict[str, Move] = {**dict.fromkeys(env.agents, 0), who: number(name)}
        transition = env.step(state, moves)
        state = transition.state
        events += [dict(event) for event in transition.events]
    return state, events


def say(env: SplitMaze, state: MazeState, *texts: str) -> MazeState:
    """The state of the free mode after these words, each of the agent on turn."""
    for text in texts:
        (who,) = env.acting(state)
        moves: dict[str, Move] = {**dict.fromkeys(env.agents, 0), who: {"primitive": 0, "said": [text]}}
        state = env.step(state, moves).state
    return state


def setup(*agents: str, **parts: Any) -> Setup:
    """A maze with these agents in its seats."""
    base = {"env": "maze", "level": "easy", "agents": len(agents), "topology": "turns"}
    return Setup.model_validate({**base, "team": tuple(SeatConfig(agent=name) for name in agents), **parts})


def played(cell: Setup, folder: Path, seed: int = 0, **models: Callable[..., Any]) -> tuple[Outcome, list[Event]]:
    """One episode of this cell with scripted functions as models (``a`` stands for the model ``scripted:a``)."""
    env = cell.make_env()
    topology = cell.make_topology(env.agents)
    known: dict[str, Model] = {f"scripted:{name}": ScriptedModel(function, name) for name, function in models.items()}
    team = cell.make_team(env, seed, known)
    path = folder / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell=cell.cell, seed=seed, setup=cell.model_dump(mode="json"))
        table = Table(
            env=env,
            topology=topology,
            team=team,
            seed=seed,
            latency=make_latency(LatencyConfig(kind="constant"), seed),
            writer=writer,
            limits=Limits(),
        )
        outcome = asyncio.run(table.play(cell.opening(env, topology, team, seed)))
        writer.finish("finished", {})
    with LogReader.open(path) as reader:
        events = list(reader.events(reader.episodes()[-1].id))
    assert [line for event in events for line in validate(event)] == []
    return outcome, events


def study(folder: Path, cells: Sequence[Setup], seeds: Sequence[int]) -> Path:
    """The run folder after these cells were played; every episode must have finished."""
    assert asyncio.run(play(Study(cells=tuple(cells), seeds=tuple(seeds)), folder, jobs=2)) == []
    assert log_path(folder).exists()
    return folder
