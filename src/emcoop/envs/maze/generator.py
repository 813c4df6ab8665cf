"""Mazes: walls, start and goal, and who sees which cell; a function of the level, the parts and the seed.

Walls are drawn until the shortest path has a length within the level's range. Where so many walls are wanted that
this never happens by chance, a way is laid first and the walls around it. Every cell but start and goal then goes to
one part; a share of all cells (`overlap`) is shown to every part. A maze of which one part alone shows a whole way
(hidden cells counted as walls) is thrown away and drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from pydantic import Field, model_validator

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.envs.maze.state import DIRECTIONS, FREE, GOAL, HIDDEN, START, WALL, Cell, Maze, distances, moved

LEVELS = Path(__file__).parent / "levels"
BY_CHANCE = 200
"""So often walls are drawn freely before a way is laid first."""

TRIES = 400
"""So many mazes are thrown away before the level is called impossible."""


class Level(StrictModel):
    """`size` N; `walls` the share of cells that are walls; `distance` the least and the greatest length of the shortest
    way in steps; `overlap` the share of cells that everybody sees; `shares` how much of the rest each part sees, as
    weights (equal when empty). `corner`: the start is always the top-left cell, else in half of the mazes."""

    size: int = Field(ge=2, le=64)
    walls: float = Field(ge=0, le=0.95)
    distance: tuple[int, int]
    overlap: float = Field(default=0.0, ge=0, le=1)
    shares: tuple[float, ...] = ()
    corner: bool = False

    @model_validator(mode="after")
    def _possible(self) -> Level:
        low, high = self.distance
        if not 1 <= low <= high:
            raise ValueError(f"distance goes from at least 1 upwards, not from {low} to {high}")
        free = self.size**2 - round(self.walls * self.size**2)
        if low + 1 > free:
            raise ValueError(f"a way of {low} steps needs {low + 1} free cells; {free} are left beside the walls")
        if any(share < 0 for share in self.shares) or (self.shares and sum(self.shares) <= 0):
            raise ValueError("shares are weights from 0 upwards, not all of them 0")
        return self


def read_level(level: str) -> Level:
    """The level of this name, or of a YAML file. Raises ConfigError."""
    known = sorted(path.stem for path in LEVELS.glob("*.yaml"))
    if level in known:
        return load(Level, read_yaml(LEVELS / f"{level}.yaml"), level)
    if level.endswith((".yaml", ".yml")):
        return load(Level, read_yaml(Path(level)), level)
    raise ConfigError(f"maze has no level {level!r}; {nearest(level, known)}; or give a .yaml file")


def check_level(level: Level, parts: int) -> None:
    """Raises ConfigError when no maze of this level can be split among so many parts."""
    if level.shares and len(level.shares) != parts:
        raise ConfigError(f"maze: {len(level.shares)} shares for {parts} parts; give one each, or none for equal ones")
    generate(level, parts, 0)


def generate(level: Level, parts: int, seed: int) -> Maze:
    """The maze of this seed. The same maze for any number of parts, unless one part alone would solve it.

    Raises ConfigError when none is found.
    """
    for attempt in range(TRIES):
        rows = draw(level, Stream.named(seed, "maze", "walls", attempt))
        if rows is None:
            continue
        maze = split(rows, level, parts, Stream.named(seed, "maze", "split", parts, attempt))
        if not any(solved_alone(maze, part) for part in range(parts)):
            return maze
    raise ConfigError(
        f"maze: no maze of size {level.size} with {level.walls:.0%} walls, a way of {level.distance[0]} to "
        f"{level.distance[1]} steps and overlap {level.overlap} was found that no part solves alone; give fewer walls, "
        "another distance, less overlap or more even shares"
    )


def solved_alone(maze: Maze, part: int) -> bool:
    """Whether the cells that this part sees hold a whole way; hidden cells are no way."""
    return maze.start in distances(maze.view(part), maze.goal, WALL + HIDDEN)


def draw(level: Level, stream: Stream) -> tuple[str, ...] | None:
    """Walls, start and goal without the split; None when this stream finds none."""
    for _ in range(BY_CHANCE if _by_chance(level) else 0):
        rows = _freely(level, stream)
        if rows is not None:
            return rows
    for _ in range(BY_CHANCE):
        rows = _around_a_way(level, stream)
        if rows is not None:
            return rows
    return None


@lru_cache(maxsize=64)
def _by_chance(level: Level) -> bool:
    """Whether free drawing finds mazes of this level at all: one method for all seeds of a level."""
    stream = Stream.named(0, "maze", "probe")
    return sum(_freely(level, stream) is not None for _ in range(BY_CHANCE)) >= 5


def _freely(level: Level, stream: Stream) -> tuple[str, ...] | None:
    cells = [(r, c) for r in range(level.size) for c in range(level.size)]
    stream.shuffle(cells)
    count = round(level.walls * len(cells))
    walls, free = set(cells[:count]), cells[count:]
    corner = (0, 0)
    if level.corner and corner in walls:
        return None
    start = corner if level.corner or (stream.below(2) and corner not in walls) else stream.choice(free)
    away = distances(_rows(level.size, walls), start)
    low, high = level.distance
    far = [cell for cell in free if low <= away.get(cell, -1) <= high]
    return _rows(level.size, walls, start, stream.choice(far)) if far else None


def _around_a_way(level: Level, stream: Stream) -> tuple[str, ...] | None:
    """A random walk without crossings of a length within range, and walls on other cells, all at random."""
    n = level.size
    low, high = level.distance
    count = round(level.walls * n * n)
    length = low + stream.below(min(high, n * n - count - 1) - low + 1)
    way: list[Cell] = [(0, 0) if level.corner else (stream.below(n), stream.below(n))]
    while len(way) <= length:
        steps = [moved(way[-1], direction) for direction in DIRECTIONS]
        beside = [c for c in steps if 0 <= c[0] < n and 0 <= c[1] < n and c not in way]
        if not beside:
            return None
        way.append(stream.choice(beside))
    rest = [(r, c) for r in range(n) for c in range(n) if (r, c) not in way]
    stream.shuffle(rest)
    rows = _rows(n, set(rest[:count]), way[0], way[-1])
    return rows if low <= distances(rows, way[-1])[way[0]] <= high else None


def _rows(size: int, walls: set[Cell], start: Cell | None = None, goal: Cell | None = None) -> tuple[str, ...]:
    special = {start: START, goal: GOAL}
    return tuple(
        "".join(special.get((r, c), WALL if (r, c) in walls else FREE) for c in range(size)) for r in range(size)
    )


def split(rows: tuple[str, ...], level: Level, parts: int, stream: Stream) -> Maze:
    """Deal the cells out: start and goal to all, the overlap to all, the rest to one part each by the shares."""
    n, everybody = len(rows), (1 << parts) - 1
    place = {rows[r][c]: (r, c) for r in range(n) for c in range(n)}
    start, goal = place[START], place[GOAL]
    cells = [(r, c) for r in range(n) for c in range(n) if (r, c) not in (start, goal)]
    stream.shuffle(cells)
    shared = round(level.overlap * len(cells))
    masks = {start: everybody, goal: everybody, **dict.fromkeys(cells[:shared], everybody)}
    for part, own in enumerate(_portions(cells[shared:], level.shares or (1.0,) * parts)):
        masks.update(dict.fromkeys(own, 1 << part))
    return Maze(rows, start, goal, parts, tuple(masks[r, c] for r in range(n) for c in range(n)))


def _portions(cells: Sequence[Cell], shares: Sequence[float]) -> list[Sequence[Cell]]:
    cuts, sum_, total = [0], 0.0, sum(shares)
    for share in shares:
        sum_ += share
        cuts.append(round(len(cells) * sum_ / total))
    return [cells[a:b] for a, b in pairwise(cuts)]
