"""Grading without a model: the outcome of an episode, its cause where it failed, and the exit answers.

Causes, the first that applies; `score.detail` has it as ``cause``:

- ``early_stop``: the phrase was said before a second agent had spoken, so that nobody could have agreed to anything;
- ``format``: nothing to grade: the free dialogue cannot be resolved, or some agent never made a machine-readable move
  that had an effect, in a dialogue that nothing else ended;
- ``perception``: the team stepped into a wall that an agent sees, and that agent's own map answer shows it free there;
- ``false_belief``: at the end some agent's position answer is not where the team stands;
- ``wall``: the team stepped into a wall, for neither of these reasons;
- ``early_stop``: all agreed to end, or the phrase was said later, before the goal;
- ``agreement``: the turns ran out.

The first and the last need no exit answers; without answers ``perception`` and ``false_belief`` are never named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from emcoop.core.types import Json, Score
from emcoop.envs.maze.extract import Extraction, extract
from emcoop.envs.maze.rules import Terms, over
from emcoop.envs.maze.state import (
    COUNTS,
    HIDDEN,
    LETTERS,
    WALL,
    Answers,
    Cell,
    Maze,
    MazeState,
    distances,
    moved,
)

CAUSES = ("format", "perception", "false_belief", "wall", "early_stop", "agreement")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far the team came: its valid cells, the direction of the step into a wall that ended it, and whether it can
    be told at all (`unresolved` says why not)."""

    path: tuple[Cell, ...]
    hit: str
    unresolved: str = ""
    scheme: str = ""


def outcome(state: MazeState, terms: Terms) -> Outcome:
    """What was agreed upon: held by the engine (structured mode) or extracted from the words (free mode)."""
    if not terms.free:
        return Outcome(state.path, state.hit)
    found = extracted(state)
    return Outcome(found.path, found.hit, found.reason, found.scheme)


@lru_cache(maxsize=256)
def _extracted(maze: Maze, said: tuple[tuple[int, str], ...], team: int) -> Extraction:
    return extract(maze, said, team)


def extracted(state: MazeState) -> Extraction:
    """What the words of the free mode say, see `extract`."""
    return _extracted(state.maze, state.said, state.team)


def weighted(maze: Maze, last: Cell) -> float:
    """The weighted outcome 1 - dist(last valid cell, goal) / dist(start, goal), in steps around walls; it may be
    negative."""
    away = distances(maze.rows, maze.goal)
    return 1.0 - away[last] / away[maze.start]


def score(state: MazeState, terms: Terms) -> Score:
    """Success, progress (the weighted outcome, not below 0), and the grades in detail."""
    found, maze = outcome(state, terms), state.maze
    success = found.path[-1] == maze.goal
    value = weighted(maze, found.path[-1])
    detail: dict[str, Json] = {
        "weighted": value,
        "moves": len(found.path) - 1,
        "shortest": distances(maze.rows, maze.goal)[maze.start],
        "turns": min(state.step, terms.turns),
        "ended": state.ended or ("turns" if over(state, terms) else ""),
        "cause": _cause(state, terms, found) if over(state, terms) and not success else None,
        "counts": [dict(zip(COUNTS, counts, strict=True)) for counts in state.counts],
    }
    if terms.free:
        detail |= {"unresolved": found.unresolved or None, "scheme": found.scheme or None}
    if terms.questions and any(answer != Answers() for answer in state.answers):
        detail["answers"] = dict(grade_answers(state, found.path))
    return Score(success, 1.0 if success else min(max(0.0, value), 1.0 - 1e-9), detail)


def _cause(state: MazeState, terms: Terms, found: Outcome) -> str:
    if state.ended == "phrase" and len({speaker for speaker, _ in state.said}) < min(2, state.team):
        return "early_stop"
    if found.unresolved or (not terms.free and _mute(state)):
        return "format"
    if found.hit and _misread(state, found):
        return "perception"
    last = found.path[-1]
    if any(answer.position not in (None, last) for answer in state.answers):
        return "false_belief"
    if found.hit:
        return "wall"
    return "early_stop" if state.ended in ("done", "phrase") else "agreement"


def _mute(state: MazeState) -> bool:
    """Whether some agent never made a move that had an effect, in a dialogue that ran out of turns."""
    useless = (COUNTS.index("listened"), COUNTS.index("blocked"), COUNTS.index("answered"))
    moves = [sum(n for k, n in enumerate(counts) if k not in useless) for counts in state.counts]
    return not state.ended and not all(moves)


def _misread(state: MazeState, found: Outcome) -> bool:
    """Whether an agent that sees the wall that was hit has answered that it is no wall."""
    row, col = moved(found.path[-1], found.hit)
    if not state.maze.inside((row, col)):
        return False
    return any(
        answer.rows is not None and state.maze.sees(i % state.maze.parts, (row, col)) and answer.rows[row][col] != WALL
        for i, answer in enumerate(state.answers)
    )


# -- exit answers ----------------------------------------------------------------------------------------------------


def grade_answers(state: MazeState, path: tuple[Cell, ...]) -> Mapping[str, Json]:
    """The exit answers against the truth and against one another.

    `path_agreement`: the share of pairs of agents that tell the same moves (None below two answers); `path_correct`:
    the share of answers that tell what was agreed; `position_error`: mean steps (Manhattan) between where an agent
    believes the team and where it is; per agent `own` and `others`: grounding accuracy, the share of cells told rightly
    among those it sees and among those only others see (``?`` counts as not told), and `invented`: the share of the
    latter told wrongly.
    """
    moves = [answer.moves for answer in state.answers if answer.moves is not None]
    pairs = [(a, b) for k, a in enumerate(moves) for b in moves[k + 1 :]]
    truth = _letters(path)
    last = path[-1]
    errors = [abs(p[0] - last[0]) + abs(p[1] - last[1]) for a in state.answers if (p := a.position) is not None]
    return {
        "path_agreement": _share([a == b for a, b in pairs]),
        "path_correct": _share([told == truth for told in moves]),
        "position_error": sum(errors) / len(errors) if errors else None,
        "maps": [
            None if a.rows is None else dict(grounding(state.maze, i, a.rows)) for i, a in enumerate(state.answers)
        ],
    }


def grounding(maze: Maze, agent: int, rows: tuple[str, ...]) -> Mapping[str, Json]:
    """How much of a told map [N strings of N symbols] is right: see `grade_answers`."""
    own, others, invented = list[bool](), list[bool](), list[bool]()
    for r, row in enumerate(maze.rows):
        for c, symbol in enumerate(row):
            if symbol in "@*":
                continue
            right = rows[r][c] == symbol
            (own if maze.sees(agent % maze.parts, (r, c)) else others).append(right)
            if not maze.sees(agent % maze.parts, (r, c)):
                invented.append(not right and rows[r][c] != HIDDEN)
    return {"own": _share(own), "others": _share(others), "invented": _share(invented)}


def _share(items: list[bool]) -> float | None:
    return sum(items) / len(items) if items else None


def _letters(path: tuple[Cell, ...]) -> str:
    names = {moved((0, 0), direction): letter for letter, direction in LETTERS.items()}
    return "".join(names[b[0] - a[0], b[1] - a[1]] for a, b in pairwise(path))
