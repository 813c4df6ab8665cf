"""Many worlds of CUBE stepped at once, in place: for reinforcement learning and for measuring the rules' speed.

The rules are the kernels of `rules`; one world of a batch and `Cube.step` go through the same states. B worlds,
N agents, M blocks (worlds with fewer are padded with blocks that are not there), side K.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import kernel
from emcoop.core.seeds import Stream
from emcoop.envs.cube.env import STEP_COST, Cube
from emcoop.envs.cube.rules import step_in_place
from emcoop.envs.cube.state import PRIMITIVES, CubeState, Ints

_PRIMITIVES = len(PRIMITIVES)


@kernel
def _any_alive(alive: Any) -> bool:
    for b in range(alive.shape[0]):  # noqa: SIM110  # a loop compiles to less than a reduction
        if alive[b]:
            return True
    return False


@kernel
def _copy_start(world: Any, starts: Any, b: int, s: int) -> None:
    """World b becomes start s, without temporary arrays."""
    agents, blocks, alive, last, grid = world
    start_agents, start_blocks, start_alive, start_grid = starts
    agents[b] = start_agents[s]
    blocks[b] = start_blocks[s]
    alive[b] = start_alive[s]
    grid[b] = start_grid[s]
    last[b] = 0


@kernel
def _step_batch(world: Any, starts: Any, clock: Any, actions: Any, horizon: int, cost: float, ended: Any) -> None:
    """One joint step of every world; a world that ends begins its next start at once."""
    agents, blocks, alive, last, grid = world
    step, start = clock
    rewards, terminated, truncated = ended
    pool = starts[0].shape[0]
    for b in range(agents.shape[0]):
        weight = step_in_place(grid[b], agents[b], blocks[b], alive[b], last[b], actions[b])
        step[b] += 1
        rewards[b] = weight / agents.shape[1] - cost
        terminated[b] = weight > 0 and not _any_alive(alive[b])
        truncated[b] = step[b] >= horizon and not terminated[b]
        if terminated[b] or truncated[b]:
            start[b] = (start[b] + 1) % pool
            step[b] = 0
            _copy_start(world, starts, b, start[b])


@kernel
def _draw_actions(noise: Any, actions: Any) -> None:
    """Uniform primitives, from one xorshift32 counter (Marsaglia 2003) per world."""
    for b in range(actions.shape[0]):
        x = noise[b]
        for i in range(actions.shape[1]):
            x ^= (x << 13) & 0xFFFFFFFF
            x ^= x >> 17
            x ^= (x << 5) & 0xFFFFFFFF
            actions[b, i] = (x * _PRIMITIVES) >> 32
        noise[b] = x


@kernel
def _play(
    world: Any, starts: Any, clock: Any, noise: Any, actions: Any, horizon: int, cost: float, ended: Any, steps: int
) -> int:
    """That many random joint steps of every world; returns how many episodes ended in success."""
    successes = 0
    for _ in range(steps):
        _draw_actions(noise, actions)
        _step_batch(world, starts, clock, actions, horizon, cost, ended)
        for b in range(actions.shape[0]):
            successes += ended[1][b]
    return successes


class CubeBatch:
    """B worlds with the parameters of `env`; the arrays may be read at any time, and are changed by every step.

    `agents` [B, N, 2], `blocks` [B, M, 3], `alive` [B, M], `last` [B, N, 3], `grid` [B, K, K] as in `CubeState`;
    `steps` [B] counts since the start of the episode, `start` [B] is the place of its seed in `seeds`.
    """

    def __init__(self, env: Cube, seeds: Sequence[int], worlds: int) -> None:
        """World b begins with seed b (cyclically) and goes on, when an episode ends, with the next one.

        Raises ValueError without a seed or a world.
        """
        if not seeds or worlds < 1:
            raise ValueError("a batch needs at least one seed and one world")
        self.env = env
        self.seeds = tuple(seeds)
        self._starts = _pool([env.reset(seed) for seed in self.seeds])
        self.start = np.arange(worlds, dtype=np.int64) % len(self.seeds)
        self.steps = np.zeros(worlds, np.int64)
        self.agents, self.blocks, self.alive, self.grid = (array[self.start].copy() for array in self._starts)
        self.last = np.zeros((worlds, len(env.agents), 3), np.int32)
        self.rewards = np.zeros(worlds)
        self.terminated = np.zeros(worlds, np.bool_)
        self.truncated = np.zeros(worlds, np.bool_)

    @property
    def _world(self) -> tuple[NDArray[Any], ...]:
        return self.agents, self.blocks, self.alive, self.last, self.grid

    @property
    def _ended(self) -> tuple[NDArray[Any], ...]:
        return self.rewards, self.terminated, self.truncated

    def step(self, actions: Ints) -> None:
        """One joint step of every world with primitives [B, N].

        Afterwards `rewards` [B] is what each agent of a world got, and `terminated` and `truncated` [B] say which
        episodes ended; such a world is already at the start of its next episode. Raises ValueError for a
        wrong shape or an unknown primitive.
        """
        if actions.shape != self.agents.shape[:2]:
            raise ValueError(f"actions of shape {actions.shape} for a batch of {self.agents.shape[:2]}")
        if actions.min() < 0 or actions.max() >= _PRIMITIVES:
            raise ValueError(f"primitives are 0 to {_PRIMITIVES - 1}")
        clock = (self.steps, self.start)
        numbers = np.ascontiguousarray(actions, np.int64)
        _step_batch(self._world, self._starts, clock, numbers, self.env.horizon, STEP_COST, self._ended)

    def play(self, steps: int, seed: int = 0) -> int:
        """That many uniformly random joint steps of every world; returns how many episodes ended in success."""
        stream = Stream.named(seed, "cube-batch")
        noise = np.array([1 + stream.below(2**32 - 1) for _ in self.steps], np.int64)
        actions = np.zeros(self.agents.shape[:2], np.int64)
        clock, horizon = (self.steps, self.start), self.env.horizon
        return int(_play(self._world, self._starts, clock, noise, actions, horizon, STEP_COST, self._ended, steps))

    def state(self, world: int) -> CubeState:
        """A copy of one world's state; delivered and padding blocks alike are not alive in it."""
        arrays = (array[world].copy() for array in self._world)
        return CubeState(int(self.steps[world]), *arrays)


def _pool(states: Sequence[CubeState]) -> tuple[NDArray[Any], ...]:
    """(agents [S, N, 2], blocks [S, M, 3], alive [S, M], grid [S, K, K]) of these states, padded to the same M."""
    most = max(len(state.blocks) for state in states)
    blocks = np.zeros((len(states), most, 3), np.int32)
    alive = np.zeros((len(states), most), np.uint8)
    for s, state in enumerate(states):
        blocks[s, : len(state.blocks)] = state.blocks
        alive[s, : len(state.blocks)] = state.alive
    return np.stack([state.agents for state in states]), blocks, alive, np.stack([state.grid for state in states])
