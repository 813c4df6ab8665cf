"""A model as a second grader of free dialogues, and how far two graders agree.

The grader never decides anything: it is a cross-check of the rules in `emcoop.envs.maze.extract`. (The paper's graders
disagree with one another on a good part of the successes.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from emcoop.analysis.cells import LoggedEpisode, Reader
from emcoop.core.errors import CorruptLog
from emcoop.core.types import Json
from emcoop.envs.maze.extract import extract, walked
from emcoop.envs.maze.state import LETTERS, Cell, Maze, from_bytes, moved
from emcoop.models.base import Model, Settings, Turn
from emcoop.models.structured import ask

Transcript = Sequence[tuple[int, str]]

_TASK = (
    "You read the dialogue of a team that walks through a maze (@ start, * goal, . free, # wall). Tell the moves that "
    "they agreed upon, in order: proposals that nobody accepted and moves that were taken back do not count. Go by "
    "their words alone, also where they lead into a wall. If the words do not determine the moves, give null.\n"
    'Answer with one JSON object {"moves": <letters U, D, L and R, or null>, "reason": <one sentence>}.'
)


class GraderAnswer(BaseModel):
    """What the grading model answers."""

    model_config = ConfigDict(extra="forbid")

    moves: str | None = Field(pattern=r"^[UDLR]*$", max_length=500)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """One grader's reading: the cells up to the goal or a wall; `path` is None where it finds none, and `error` says
    why the model gave none."""

    path: tuple[Cell, ...] | None
    error: str = ""

    def success(self, maze: Maze) -> bool:
        """Whether the way ends at the goal."""
        return self.path is not None and self.path[-1] == maze.goal


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two graders agree over `n` items: `share` of equal labels, and Cohen's `kappa` (Cohen 1960), None where
    both always give one and the same label."""

    n: int
    share: float | None
    kappa: float | None

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {"n": self.n, "share": self.share, "kappa": self.kappa}


class BlobReader(Reader, Protocol):
    """A log with its blobs."""

    def blob(self, name: str) -> bytes: ...


def by_rules(maze: Maze, said: Transcript, team: int) -> Grade:
    """The reading of the rules."""
    found = extract(maze, said, team)
    return Grade(None, found.reason) if found.reason else Grade(found.path)


async def by_model(model: Model, maze: Maze, said: Transcript, settings: Settings) -> Grade:
    """The reading of a model. Never raises for what the model does: then `error` is set."""
    lines = "\n".join(f"Agent {speaker}: {text}" for speaker, text in said)
    grid = "\n".join(maze.rows)
    turns = (Turn("system", _TASK), Turn("user", f"# The maze\n{grid}\n\n# The dialogue\n{lines}"))
    answer = await ask(model, turns, GraderAnswer, settings)
    if not isinstance(answer.value, GraderAnswer):
        return Grade(None, answer.error or "no answer")
    if answer.value.moves is None:
        return Grade(None)
    way = [maze.start]
    for letter in answer.value.moves:
        way.append(moved(way[-1], LETTERS[letter]))
    return Grade(walked(maze, tuple(way))[0])


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> Agreement:
    """How far two sequences of labels agree. Raises ValueError for sequences of unequal length."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} labels against {len(second)}")
    n = len(first)
    if n == 0:
        return Agreement(0, None, None)
    share = sum(a == b for a, b in zip(first, second, strict=True)) / n
    one, two = Counter(first), Counter(second)
    chance = sum(one[label] * two[label] for label in one) / n**2
    return Agreement(n, share, None if chance == 1 else (share - chance) / (1 - chance))


def read_dialogue(reader: BlobReader, episode: LoggedEpisode) -> tuple[Maze, list[tuple[int, str]]]:
    """The maze and the words of a logged episode of the free mode. Raises CorruptLog."""
    snapshot = None
    for event in reader.events(episode.id, kinds=("episode_start", "step")):
        snapshot = event.payload["snapshot"]
    try:
        state = from_bytes(reader.blob(str(snapshot)))
    except ValueError as error:
        raise CorruptLog(f"episode {episode.id} is none of a maze: {error}") from error
    return state.maze, list(state.said)


async def cross_check(reader: BlobReader, model: Model, settings: Settings) -> dict[str, Agreement]:
    """Every finished episode of the free mode, read by the rules and by the model: how far they agree on ``success``
    and on the ``way`` itself (where both find one)."""
    successes, ways = list[tuple[bool, bool]](), list[tuple[Hashable, Hashable]]()
    for episode in reader.episodes():
        setup = episode.setup
        free = setup.get("env") == "maze" and (setup.get("env_options") or {}).get("mode") == "free"
        if episode.status != "finished" or not free:
            continue
        maze, said = read_dialogue(reader, episode)
        rules, told = by_rules(maze, said, int(setup["agents"])), await by_model(model, maze, said, settings)
        successes.append((rules.success(maze), told.success(maze)))
        if rules.path is not None and told.path is not None:
            ways.append((rules.path, told.path))
    return {
        "success": agreement([a for a, _ in successes], [b for _, b in successes]),
        "way": agreement([a for a, _ in ways], [b for _, b in ways]),
    }
