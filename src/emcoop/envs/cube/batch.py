"""Many worlds of CUBE stepped at once, in place: for reinforcement learning and for measuring the rules' speed.

The rules are the kernels of `rules`; one world of a batch and `Cube.step` go through the same states. B worlds,
N agents, M blocks (worlds with fewer are padded with blocks that are not there), side K.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import batch_kernel, kernel
from emcoop.core.seeds import Stream
from emcoop.envs.cube.env import STEP_COST, Cube
from emcoop.envs.cube.masks import mask_agent
from emcoop.envs.cube.observe import CHANNELS
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


@batch_kernel
def _advance(
    world: Any, step: Any, actions: Any, idle: Any, horizon: int, cost: float, ended: Any, low: int, high: int
) -> None:
    """One joint step of the worlds low to high - 1, but of those that are idle."""
    agents, blocks, alive, last, grid = world
    rewards, terminated, truncated = ended
    for b in range(low, high):
        reward, terminated[b], truncated[b] = 0.0, False, False
        if not idle[b]:
            weight = step_in_place(grid[b], agents[b], blocks[b], alive[b], last[b], actions[b])
            step[b] += 1
            reward = weight / agents.shape[1] - cost
            terminated[b] = weight > 0 and not _any_alive(alive[b])
            truncated[b] = step[b] >= horizon and not terminated[b]
        for i in range(agents.shape[1]):
            rewards[b, i] = reward


@batch_kernel
def _observe(world: Any, seen: Any, low: int, high: int) -> None:
    """`observe.array` of the worlds low to high - 1, into `seen` [B, K, K, 5]."""
    blocks, grid = world[1], world[4]
    side = grid.shape[1]
    for b in range(low, high):
        for row in range(side):
            for col in range(side):
                cell = grid[b, row, col]
                seen[b, row, col, 0] = cell < 0
                seen[b, row, col, 1] = blocks[b, cell - 1, 2] if cell > 0 else 0
                seen[b, row, col, 2] = col == side - 1
                seen[b, row, col, 3] = max(0, -cell)
                seen[b, row, col, 4] = max(0, cell)


@batch_kernel
def _mask(world: Any, masks: Any, low: int, high: int) -> None:
    """`masks.mask_agent` of everybody in the worlds low to high - 1."""
    agents, blocks, grid = world[0], world[1], world[4]
    for b in range(low, high):
        for i in range(agents.shape[1]):
            mask_agent(grid[b], agents[b], blocks[b], i, masks[b, i])


@kernel
def _restart_ended(world: Any, starts: Any, clock: Any, ended: Any) -> None:
    """Every world that has ended takes its next start."""
    step, start = clock
    for b in range(step.shape[0]):
        if ended[1][b] or ended[2][b]:
            start[b] = (start[b] + 1) % starts[0].shape[0]
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


@batch_kernel
def _play(
    world: Any,
    starts: Any,
    clock: Any,
    noise: Any,
    actions: Any,
    idle: Any,
    horizon: int,
    cost: float,
    ended: Any,
    steps: int,
) -> int:
    """That many random joint steps of every world; returns how many episodes ended in success."""
    successes = 0
    for _ in range(steps):
        _draw_actions(noise, actions)
        _advance(world, clock[0], actions, idle, horizon, cost, ended, 0, actions.shape[0])
        _restart_ended(world, starts, clock, ended)
        for b in range(actions.shape[0]):
            successes += ended[1][b]
    return successes


class CubeWorlds:
    """B worlds with the parameters of `env`; an `emcoop.rl.batch.Batch`.

    `agents` [B, N, 2], `blocks` [B, M, 3], `alive` [B, M], `last` [B, N, 3], `grid` [B, K, K] as in `CubeState`;
    `steps` [B] counts since the start of the episode. They may be read at any time and are changed by every step.
    """

    def __init__(self, env: Cube, states: Sequence[CubeState], most_blocks: int = 0) -> None:
        """World b begins in `states[b]`; M is at least `most_blocks`. Raises ValueError without a state."""
        if not states:
            raise ValueError("a batch needs at least one world")
        self.env = env
        worlds, team = len(states), len(env.agents)
        self.agents, self.blocks, self.alive, self.grid = _stacked(states, most_blocks)
        self.last = np.zeros((worlds, team, 3), np.int32)
        self.steps = np.zeros(worlds, np.int64)
        self.rewards = np.zeros((worlds, team))
        self.terminated = np.zeros(worlds, np.bool_)
        self.truncated = np.zeros(worlds, np.bool_)
        self._actions = np.zeros((worlds, team), np.int64)
        self._seen = np.zeros((*self.grid.shape, len(CHANNELS)), np.float32)
        # Everybody sees everything: one array for all.
        self.observations = np.broadcast_to(self._seen[:, None], (worlds, team, *self._seen.shape[1:]))
        self.masks = np.ones((worlds, team, _PRIMITIVES), np.bool_)

    @property
    def won(self) -> NDArray[np.bool_]:
        """[B]: whose episode ended in success with the last step; here every end but the horizon is one."""
        return self.terminated

    @property
    def _world(self) -> tuple[NDArray[Any], ...]:
        return self.agents, self.blocks, self.alive, self.last, self.grid

    @property
    def _ended(self) -> tuple[NDArray[Any], ...]:
        return self.rewards, self.terminated, self.truncated

    def load(self, worlds: Sequence[int], states: Sequence[CubeState]) -> None:
        """These worlds continue in these states."""
        more = max(len(state.blocks) for state in states) - self.blocks.shape[1]
        if more > 0:
            self.blocks = np.pad(self.blocks, ((0, 0), (0, more), (0, 0)))
            self.alive = np.pad(self.alive, ((0, 0), (0, more)))
        for b, state in zip(worlds, states, strict=True):
            m = len(state.blocks)
            self.agents[b], self.last[b], self.grid[b], self.steps[b] = state.agents, state.last, state.grid, state.step
            self.blocks[b, :m], self.alive[b, :m] = state.blocks, state.alive
            self.blocks[b, m:], self.alive[b, m:] = 0, 0

    def choose(self, actions: NDArray[np.integer]) -> None:
        """The primitives [B, N] of the next step. Raises ValueError for a wrong shape or an unknown primitive."""
        if actions.shape != self._actions.shape:
            raise ValueError(f"actions of shape {actions.shape} for a batch of {self._actions.shape}")
        if actions.min() < 0 or actions.max() >= _PRIMITIVES:
            raise ValueError(f"primitives are 0 to {_PRIMITIVES - 1}")
        np.copyto(self._actions, actions)

    def advance(self, low: int, high: int, idle: NDArray[np.bool_]) -> None:
        """One joint step of the worlds low to high - 1 with the chosen primitives; nothing happens where `idle` [B]."""
        _advance(self._world, self.steps, self._actions, idle, self.env.horizon, STEP_COST, self._ended, low, high)

    def observe(self, low: int, high: int) -> None:
        """Bring `observations` of the worlds low to high - 1 up to date."""
        _observe(self._world, self._seen, low, high)

    def mask(self, low: int, high: int) -> None:
        """Bring `masks` of the worlds low to high - 1 up to date."""
        _mask(self._world, self.masks, low, high)

    def state(self, world: int) -> CubeState:
        """A copy of one world's state; delivered and padding blocks alike are not alive in it."""
        arrays = (array[world].copy() for array in self._world)
        return CubeState(int(self.steps[world]), *arrays)


class CubeBatch(CubeWorlds):
    """B worlds that go from start to start by themselves, within the step; `start` [B] is the place in `seeds`."""

    def __init__(self, env: Cube, seeds: Sequence[int], worlds: int) -> None:
        """World b begins with seed b (cyclically) and goes on, when an episode ends, with the next one.

        Raises ValueError without a seed or a world.
        """
        if not seeds or worlds < 1:
            raise ValueError("a batch needs at least one seed and one world")
        self.seeds = tuple(seeds)
        pool = [env.reset(seed) for seed in self.seeds]
        self._starts = _stacked(pool)
        super().__init__(env, [pool[b % len(pool)] for b in range(worlds)], self._starts[1].shape[1])
        self.start = np.arange(worlds, dtype=np.int64) % len(self.seeds)
        self._idle = np.zeros(worlds, np.bool_)

    def step(self, actions: NDArray[np.integer]) -> None:
        """One joint step of every world with primitives [B, N].

        Afterwards `rewards` [B, N], and `terminated` and `truncated` [B], say what became of it; a world whose episode
        ended is already at the start of its next one. Raises ValueError for a wrong shape or an unknown primitive.
        """
        self.choose(actions)
        self.advance(0, len(self.steps), self._idle)
        _restart_ended(self._world, self._starts, (self.steps, self.start), self._ended)

    def play(self, steps: int, seed: int = 0) -> int:
        """That many uniformly random joint steps of every world; returns how many episodes ended in success."""
        stream = Stream.named(seed, "cube-batch")
        noise = np.array([1 + stream.below(2**32 - 1) for _ in self.steps], np.int64)
        clock = (self.steps, self.start)
        return int(
            _play(
                self._world,
                self._starts,
                clock,
                noise,
                self._actions,
                self._idle,
                self.env.horizon,
                STEP_COST,
                self._ended,
                steps,
            )
        )


def _stacked(states: Sequence[CubeState], most: int = 0) -> tuple[Ints, Ints, NDArray[np.uint8], Ints]:
    """(agents [S, N, 2], blocks [S, M, 3], alive [S, M], grid [S, K, K]) of these states, padded to one M >= `most`."""
    most = max(most, *(len(state.blocks) for state in states))
    blocks = np.zeros((len(states), most, 3), np.int32)
    alive = np.zeros((len(states), most), np.uint8)
    for s, state in enumerate(states):
        blocks[s, : len(state.blocks)] = state.blocks
        alive[s, : len(state.blocks)] = state.alive
    return np.stack([state.agents for state in states]), blocks, alive, np.stack([state.grid for state in states])
