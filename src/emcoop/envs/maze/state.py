"""The state of the split maze as one value. N is the side, n the team; cells are (row, column) from the top left."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from emcoop.core.canonical import canonical_json
from emcoop.core.types import Json

Cell: TypeAlias = tuple[int, int]

START, GOAL, FREE, WALL, HIDDEN = "@*.#?"
SYMBOLS = START + GOAL + FREE + WALL + HIDDEN

DIRECTIONS = ("up", "down", "left", "right")
STEP: Mapping[str, Cell] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
LETTERS: Mapping[str, str] = {"U": "up", "D": "down", "L": "left", "R": "right"}

PRIMITIVES = (
    "listen",
    "propose_up",
    "propose_down",
    "propose_left",
    "propose_right",
    "accept",
    "reject",
    "done",
    "answer",
)
LISTEN, ACCEPT, REJECT, DONE, ANSWER = 0, 5, 6, 7, 8
FINISH = "done"
"""What is pending when an agent has proposed to end the dialogue."""

COUNTS = ("listened", "proposed", "accepted", "rejected", "finished", "blocked", "answered")
"""What is counted of each agent's turns."""

LONGEST_TEXT = 2000
"""Characters of one turn's words that the world keeps (free mode); what goes beyond is not graded."""

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Maze:
    """One maze and who sees what of it; never changes.

    `rows` has N strings of N symbols without ``?``; `seen[r * N + c]` is a bit mask: bit i is set when agent i (of
    `parts`) sees that cell.
    """

    rows: tuple[str, ...]
    start: Cell
    goal: Cell
    parts: int
    seen: tuple[int, ...]

    @property
    def size(self) -> int:
        """N."""
        return len(self.rows)

    def inside(self, cell: Cell) -> bool:
        """Whether the cell lies within the grid."""
        return 0 <= cell[0] < self.size and 0 <= cell[1] < self.size

    def wall(self, cell: Cell) -> bool:
        """Whether nobody can stand there: a wall, or outside."""
        return not self.inside(cell) or self.rows[cell[0]][cell[1]] == WALL

    def sees(self, part: int, cell: Cell) -> bool:
        """Whether this part shows the content of the cell; the edge of the grid is known to all."""
        return not self.inside(cell) or bool(self.seen[cell[0] * self.size + cell[1]] >> part & 1)

    def view(self, part: int) -> tuple[str, ...]:
        """The copy of the maze with this part's cells; the others are ``?``."""
        n = self.size
        return tuple(
            "".join(symbol if self.seen[r * n + c] >> part & 1 else HIDDEN for c, symbol in enumerate(row))
            for r, row in enumerate(self.rows)
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """What has been proposed and is not decided: a direction or ``done``, by whom, and who agrees (indices, sorted)."""

    what: str
    by: int
    agreed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """An agent's exit answers as it gave them; None where it gave none. `moves` are letters of U, D, L and R."""

    moves: str | None = None
    position: Cell | None = None
    rows: tuple[str, ...] | None = None

    @property
    def complete(self) -> bool:
        """Whether all three were answered."""
        return self.moves is not None and self.position is not None and self.rows is not None


@dataclass(frozen=True, slots=True)
class MazeState:
    """One state, after `step` turns.

    `path` are the cells that the team went (structured mode), the first is the start. `hit` is the direction of the
    step into a wall that ended it. `ended` is empty, or ``goal``, ``wall``, ``done`` (agreed) or ``phrase`` (free
    mode). `closed` is the step at which the dialogue ended, -1 before. `last[i]` says what became of agent i's last
    move, `counts[i]` see COUNTS. `said` is the transcript of the free mode: (agent index, text).
    """

    maze: Maze
    team: int
    step: int = 0
    path: tuple[Cell, ...] = ()
    pending: Pending | None = None
    hit: str = ""
    ended: str = ""
    closed: int = -1
    last: tuple[str, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    said: tuple[tuple[int, str], ...] = ()
    answers: tuple[Answers, ...] = field(default=())

    @property
    def position(self) -> Cell:
        """Where the team stands by the agreed moves."""
        return self.path[-1]


def first_state(maze: Maze, team: int) -> MazeState:
    """The state before the first turn."""
    return MazeState(
        maze,
        team,
        path=(maze.start,),
        last=("",) * team,
        counts=((0,) * len(COUNTS),) * team,
        answers=(Answers(),) * team,
    )


def moved(cell: Cell, direction: str) -> Cell:
    """The neighbouring cell in this direction."""
    row, col = STEP[direction]
    return cell[0] + row, cell[1] + col


@lru_cache(maxsize=4096)
def distances(rows: tuple[str, ...], target: Cell, blocked: str = WALL) -> Mapping[Cell, int]:
    """Steps to the target from every cell that can reach it; cells with a symbol in `blocked` are walls.

    The target itself is always free. Nobody may change the result.
    """
    n, found, queue = len(rows), {target: 0}, deque([target])
    while queue:
        here = queue.popleft()
        for direction in DIRECTIONS:
            row, col = moved(here, direction)
            if 0 <= row < n and 0 <= col < n and (row, col) not in found and rows[row][col] not in blocked:
                found[row, col] = found[here] + 1
                queue.append((row, col))
    return found


# -- snapshots -----------------------------------------------------------------------------------------------------


def to_bytes(state: MazeState) -> bytes:
    """The whole state as canonical JSON; what is still at its beginning is left out."""
    maze, first = state.maze, first_state(state.maze, state.team)
    value: dict[str, Json] = {
        "maze": _VERSION,
        "rows": list(maze.rows),
        "parts": maze.parts,
        "seen": list(maze.seen),
        "team": state.team,
        "step": state.step,
        "path": [list(cell) for cell in state.path],
    }
    if state.pending is not None:
        value["pending"] = [state.pending.what, state.pending.by, list(state.pending.agreed)]
    if state.answers != first.answers:
        value["answers"] = [_answers_json(answer) for answer in state.answers]
    for name in ("hit", "ended", "closed", "last", "counts", "said"):
        if getattr(state, name) != getattr(first, name):
            value[name] = getattr(state, name)
    return canonical_json(value)


def _answers_json(answer: Answers) -> list[Json]:
    position, rows = answer.position, answer.rows
    return [answer.moves, None if position is None else list(position), None if rows is None else list(rows)]


def from_bytes(data: bytes) -> MazeState:
    """The inverse of `to_bytes`. Raises ValueError for anything else."""
    try:
        value = json.loads(data)
        if not isinstance(value, dict) or value.get("maze") != _VERSION:
            raise ValueError("not of this version")
        state = _state(value)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"these bytes are no snapshot of a maze: {error}") from error
    if to_bytes(state) != data:
        raise ValueError("these bytes are no canonical snapshot of a maze")
    return state


def _state(value: Mapping[str, Any]) -> MazeState:
    rows = tuple(map(str, value["rows"]))
    if any(len(row) != len(rows) or set(row) - set(SYMBOLS) for row in rows):
        raise ValueError("its rows are no square of maze symbols")
    place = {symbol: (r, c) for r, row in enumerate(rows) for c, symbol in enumerate(row)}
    maze = Maze(rows, place[START], place[GOAL], int(value["parts"]), tuple(map(int, value["seen"])))
    if len(maze.seen) != maze.size**2:
        raise ValueError("it does not say who sees which cell")
    first = first_state(maze, int(value["team"]))
    pending = value.get("pending")
    answers = value.get("answers")
    return MazeState(
        maze,
        first.team,
        int(value["step"]),
        tuple((int(r), int(c)) for r, c in value["path"]),
        None if pending is None else Pending(str(pending[0]), int(pending[1]), tuple(map(int, pending[2]))),
        str(value.get("hit", "")),
        str(value.get("ended", "")),
        int(value.get("closed", -1)),
        tuple(map(str, value.get("last", first.last))),
        tuple(tuple(map(int, counts)) for counts in value.get("counts", first.counts)),
        tuple((int(agent), str(text)) for agent, text in value.get("said", ())),
        first.answers if answers is None else tuple(_answers(answer) for answer in answers),
    )


def _answers(value: list[Any]) -> Answers:
    moves, position, rows = value
    return Answers(
        None if moves is None else str(moves),
        None if position is None else (int(position[0]), int(position[1])),
        None if rows is None else tuple(map(str, rows)),
    )
