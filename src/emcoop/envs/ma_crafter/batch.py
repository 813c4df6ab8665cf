"""Many worlds of MA-Crafter stepped at once, in place: for reinforcement learning and for measuring the rules' speed.

The rules are the kernels of `rules`; one world of a batch and a single step go through the same states. B worlds, S
starts, N agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import kernel
from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter.constants import SHARE, SIDE, STEP, primitive_count
from emcoop.envs.ma_crafter.generator import generate
from emcoop.envs.ma_crafter.ground import below
from emcoop.envs.ma_crafter.rules import GOING, WON, step_in_place
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tables import Rules


@kernel
def _world(worlds: Any, b: int) -> Any:
    """World b of the batch, as views."""
    return CrafterState(
        worlds.material[b],
        worlds.occupant[b],
        worlds.agents[b],
        worlds.inventory[b],
        worlds.achievements[b],
        worlds.result[b],
        worlds.mobs[b],
        worlds.chunks[b],
        worlds.ids[b],
        worlds.seen[b],
        worlds.sighted[b],
        worlds.clock[b],
        worlds.rng[b],
    )


@kernel
def _restart(worlds: Any, starts: Any, b: int, s: int) -> None:
    """World b becomes start s."""
    worlds.material[b] = starts.material[s]
    worlds.occupant[b] = starts.occupant[s]
    worlds.agents[b] = starts.agents[s]
    worlds.inventory[b] = starts.inventory[s]
    worlds.achievements[b] = starts.achievements[s]
    worlds.result[b] = starts.result[s]
    worlds.mobs[b] = starts.mobs[s]
    worlds.chunks[b] = starts.chunks[s]
    worlds.ids[b] = starts.ids[s]
    worlds.seen[b] = starts.seen[s]
    worlds.sighted[b] = starts.sighted[s]
    worlds.clock[b] = starts.clock[s]
    worlds.rng[b] = starts.rng[s]


@kernel
def _step_batch(worlds: Any, starts: Any, rules: Any, start: Any, actions: Any, horizon: int, ended: Any) -> None:
    """One joint step of every world; a world that ends begins its next start at once."""
    rewards, terminated, truncated, won = ended
    for b in range(actions.shape[0]):
        result = step_in_place(_world(worlds, b), rules, actions[b], rewards[b])
        terminated[b] = result != GOING
        won[b] = result == WON
        truncated[b] = not terminated[b] and worlds.clock[b, STEP] >= horizon
        if terminated[b] or truncated[b]:
            start[b] = (start[b] + 1) % starts.clock.shape[0]
            _restart(worlds, starts, b, start[b])


@kernel
def _play(
    worlds: Any, starts: Any, rules: Any, start: Any, noise: Any, actions: Any, horizon: int, ended: Any, steps: int
) -> int:
    """`steps` of uniformly random primitives but shares; returns how many episodes ended."""
    episodes = 0
    for _ in range(steps):
        for b in range(actions.shape[0]):
            for i in range(actions.shape[1]):
                actions[b, i] = below(noise, SHARE)
        _step_batch(worlds, starts, rules, start, actions, horizon, ended)
        for b in range(actions.shape[0]):
            episodes += ended[1][b] or ended[2][b]
    return episodes


class CrafterBatch:
    """`worlds` (B) copies of MA-Crafter under one set of rules.

    World b begins with start b modulo S, one start per seed; each time an episode ends, its world takes the next start.
    `state` is a `CrafterState` of arrays with B in front. After a step, `rewards` [B, N], `terminated`, `truncated`
    and `won` [B] say what became of it; a world that ended is already at the start of its next episode.
    """

    def __init__(
        self,
        rules: Rules,
        agents: int,
        seeds: Sequence[int],
        worlds: int,
        size: tuple[int, int] = (SIDE, SIDE),
        horizon: int = 10_000,
    ) -> None:
        self.rules, self.horizon = rules, horizon
        pool = [generate(rules, agents, seed, size) for seed in seeds]
        self._starts = CrafterState._make(np.stack(arrays) for arrays in zip(*pool, strict=True))
        self.start = np.arange(worlds, dtype=np.int64) % len(pool)
        self.state = CrafterState._make(array[self.start].copy() for array in self._starts)
        self.rewards = np.zeros((worlds, agents))
        self.terminated = np.zeros(worlds, np.bool_)
        self.truncated = np.zeros(worlds, np.bool_)
        self.won = np.zeros(worlds, np.bool_)

    @property
    def _ended(self) -> tuple[NDArray[Any], ...]:
        return self.rewards, self.terminated, self.truncated, self.won

    def step(self, actions: NDArray[np.integer]) -> None:
        """One joint step of every world with primitives [B, N]. Raises ValueError for a wrong shape or an unknown
        primitive."""
        if actions.shape != self.rewards.shape:
            raise ValueError(f"actions of shape {actions.shape} for a batch of {self.rewards.shape}")
        most = primitive_count(actions.shape[1])
        if actions.min() < 0 or actions.max() >= most:
            raise ValueError(f"primitives are 0 to {most - 1}")
        # The kernel uses the actions up.
        numbers = np.array(actions, np.int64)
        _step_batch(self.state, self._starts, self.rules, self.start, numbers, self.horizon, self._ended)

    def play(self, steps: int, seed: int = 0) -> int:
        """That many steps of every world, with random primitives other than shares; returns how many episodes ended."""
        noise = np.array([Stream.named(seed, "ma-crafter-batch").counter], np.uint64)
        actions = np.zeros(self.rewards.shape, np.int64)
        ended, horizon = self._ended, self.horizon
        return int(_play(self.state, self._starts, self.rules, self.start, noise, actions, horizon, ended, steps))

    def world(self, b: int) -> CrafterState:
        """A copy of one world's state."""
        return CrafterState._make(array[b].copy() for array in self.state)
