"""The initial states of CUBE: levels of given weights, the n-curriculum, and scenario files.

Blocks touch neither a wall nor another block, not even by a corner, so that every block can be pushed right.
Agents start in the column opposite the goal.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from math import ceil
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.envs.cube.state import CubeState, Ints, make_state

BUILTIN = ("easy", "medium", "hard", "curriculum")

COVERAGE = 0.5
"""The share of the grid that the curriculum aims to cover (paper, H.3); what it reaches is in the README."""

SMALL_TEAM = 16
"""Below this size the curriculum's horizon grows as the team shrinks, so that a perfect team can finish."""

TRIES = 200
"""How often a place is drawn for one block before it counts as not fitting."""
RESTARTS = 1000


class BlockPlace(StrictModel):
    """One block of a scenario: its weight and its top-left cell."""

    weight: int = Field(ge=1)
    row: int = Field(ge=0)
    col: int = Field(ge=0)


class Level(StrictModel):
    """A level file. One of `weights` (random places), `blocks` (a scenario), or `curriculum: true`.

    `agents` of a scenario are [row, col] pairs; without them agents start in column 0. Default `horizon`: 100 for
    sides up to 10, then 10 per cell of the side; more for small teams in the curriculum.
    """

    side: int | None = Field(default=None, ge=3)
    horizon: int | None = Field(default=None, ge=1)
    weights: tuple[int, ...] | None = None
    blocks: tuple[BlockPlace, ...] | None = None
    agents: tuple[tuple[int, int], ...] | None = None
    curriculum: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> Level:
        kinds = (self.weights is not None) + (self.blocks is not None) + self.curriculum
        if kinds != 1:
            raise ValueError("give exactly one of weights, blocks and curriculum: true")
        if self.agents is not None and self.blocks is None:
            raise ValueError("agents' positions belong to a scenario with blocks")
        if not self.curriculum and self.side is None:
            raise ValueError("a level with weights or blocks needs a side")
        if self.weights is not None and (not self.weights or min(self.weights) < 1):
            raise ValueError("weights must be 1 or more, and at least one of them")
        if self.blocks is not None and not self.blocks:
            raise ValueError("a scenario needs at least one block")
        return self

    def size(self, agents: int) -> int:
        """K for this many agents."""
        return self.side if self.side is not None else max(20, agents)

    def steps(self, agents: int) -> int:
        """The horizon for this many agents."""
        if self.horizon is not None:
            return self.horizon
        # In the curriculum a small team has more blocks per head to deliver.
        rounds = max(1, ceil(SMALL_TEAM / agents)) if self.curriculum else 1
        return 10 * max(10, self.size(agents)) * rounds

    def heaviest(self, agents: int) -> int:
        """The largest weight that can occur."""
        if self.curriculum:
            return agents // 2 + 1
        return max(self.weights or [block.weight for block in self.blocks or ()])


def read_level(name: str) -> Level:
    """A built-in level, or a level file by its path. Raises ConfigError, for an unknown name with the nearest."""
    if name in BUILTIN:
        return _builtin(name)
    if name.endswith((".yaml", ".yml")):
        return load(Level, read_yaml(Path(name)), name)
    raise ConfigError(f"cube has no level {name!r}; {nearest(name, BUILTIN)}; a scenario is named by its .yaml path")


@lru_cache
def _builtin(name: str) -> Level:
    path = Path(str(files("emcoop.envs.cube") / "levels" / f"{name}.yaml"))
    return load(Level, read_yaml(path), f"level {name}")


def check_level(level: Level, agents: int, name: str) -> None:
    """Raises ConfigError for what cannot be set up with this many agents."""
    side = level.size(agents)
    if level.agents is not None and len(level.agents) != agents:
        raise ConfigError(f"level {name}: it places {len(level.agents)} agents, not {agents}; use --agents {agents}")
    if level.agents is None and agents > side:
        raise ConfigError(f"level {name}: {agents} agents do not fit into the first column of a grid of side {side}")
    if level.blocks is not None:
        try:
            _scenario(level, agents, Stream(0))
        except ValueError as error:
            raise ConfigError(f"level {name}: {error}") from error
    if level.weights is not None:
        _check_room(side, level.weights)


@lru_cache
def _check_room(side: int, weights: tuple[int, ...]) -> None:
    """Raises ConfigError when blocks of these weights do not fit; tried once, since every episode makes its world."""
    _spread(side, weights, Stream(0))


def generate(level: Level, agents: int, seed: int) -> CubeState:
    """The initial state of this seed. Raises ConfigError when the blocks do not fit into the grid."""
    stream = Stream.named(seed, "world", "cube")
    if level.blocks is not None:
        return _scenario(level, agents, stream)
    side = level.size(agents)
    blocks = _curriculum(side, agents, stream) if level.curriculum else _spread(side, level.weights or (), stream)
    return make_state(side, _first_column(side, agents, stream), blocks)


def _scenario(level: Level, agents: int, stream: Stream) -> CubeState:
    assert level.blocks is not None
    side = level.size(agents)
    blocks = np.array([(b.row, b.col, b.weight) for b in level.blocks], np.int32)
    if level.agents is not None:
        return make_state(side, np.array(level.agents, np.int32).reshape(-1, 2), blocks)
    return make_state(side, _first_column(side, agents, stream), blocks)


def _first_column(side: int, agents: int, stream: Stream) -> Ints:
    rows = list(range(side))
    stream.shuffle(rows)
    return np.array([(row, 0) for row in rows[:agents]], np.int32)


def _place(taken: np.ndarray[tuple[int, int], np.dtype[np.bool_]], weight: int, stream: Stream) -> Ints | None:
    """A random place for one block, marked in `taken` with a margin of one cell; None when none was found."""
    side = len(taken)
    # Column 1 stays free, so that agents can pass between the first column and the blocks.
    rows, cols = side - weight - 1, side - weight - 3
    if rows < 1 or cols < 1:
        return None
    for _ in range(TRIES):
        row, col = 1 + stream.below(rows), 2 + stream.below(cols)
        if not taken[row : row + weight, col : col + weight].any():
            taken[row - 1 : row + weight + 1, col - 1 : col + weight + 1] = True
            return np.array([row, col, weight], np.int32)
    return None


def _spread(side: int, weights: tuple[int, ...], stream: Stream) -> Ints:
    """Blocks of exactly these weights, numbered as given; heavy ones are placed first."""
    order = sorted(range(len(weights)), key=lambda b: -weights[b])
    for _ in range(RESTARTS):
        taken = np.zeros((side, side), bool)
        places = {b: _place(taken, weights[b], stream) for b in order}
        found = [places[b] for b in range(len(weights))]
        if all(place is not None for place in found):
            return np.array(found, np.int32)
    raise ConfigError(f"blocks of weights {list(weights)} do not fit into a grid of side {side} without touching")


def _curriculum(side: int, agents: int, stream: Stream) -> Ints:
    """Blocks of weights 1 to n // 2 + 1: one of the heaviest, then weight w with probability proportional to 1/w,
    until COVERAGE is reached or the drawn weight and every lighter one no longer fit."""
    heaviest = agents // 2 + 1
    shares = [1 / w for w in range(1, heaviest + 1)]
    taken = np.zeros((side, side), bool)
    found: list[Ints] = []
    area, weight = 0, heaviest
    while area < COVERAGE * side * side and weight >= 1:
        place = _place(taken, weight, stream)
        if place is None:
            weight -= 1
            shares = shares[:weight]
            if weight == 0:
                break
            continue
        found.append(place)
        area += weight * weight
        weight = _draw(shares, stream)
    return np.array(found, np.int32).reshape(-1, 3)


def _draw(shares: list[float], stream: Stream) -> int:
    """A weight, 1-based, with probability proportional to its share."""
    point = stream.uniform() * sum(shares)
    for place, share in enumerate(shares):
        point -= share
        if point < 0:
            return place + 1
    return len(shares)
