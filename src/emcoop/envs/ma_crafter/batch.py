"""Many worlds of MA-Crafter stepped at once, in place: for reinforcement learning and for measuring the rules' speed.

The rules are the kernels of `rules`; one world of a batch and a single step go through the same states. B worlds, S
starts, N agents, P primitives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import batch_kernel, kernel
from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter.arrays import LENGTH, see
from emcoop.envs.ma_crafter.constants import SHARE, SIDE, STEP, primitive_count
from emcoop.envs.ma_crafter.generator import generate
from emcoop.envs.ma_crafter.ground import below
from emcoop.envs.ma_crafter.masks import mask_agent
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


@batch_kernel
def _advance(worlds: Any, rules: Any, actions: Any, idle: Any, horizon: int, ended: Any, low: int, high: int) -> None:
    """One joint step of the worlds low to high - 1, but of those that are idle. It uses the actions up."""
    rewards, terminated, truncated, won = ended
    for b in range(low, high):
        if idle[b]:
            for i in range(rewards.shape[1]):
                rewards[b, i] = 0.0
            terminated[b], truncated[b], won[b] = False, False, False
            continue
        result = step_in_place(_world(worlds, b), rules, actions[b], rewards[b])
        terminated[b] = result != GOING
        won[b] = result == WON
        truncated[b] = not terminated[b] and worlds.clock[b, STEP] >= horizon


@batch_kernel
def _observe(worlds: Any, seen: Any, low: int, high: int) -> None:
    """`arrays.array` of everybody in the worlds low to high - 1, into `seen` [B, N, LENGTH]."""
    for b in range(low, high):
        world = _world(worlds, b)
        for i in range(seen.shape[1]):
            see(world, i, seen[b, i])


@batch_kernel
def _mask(worlds: Any, rules: Any, masks: Any, low: int, high: int) -> None:
    """`masks.mask_agent` of everybody in the worlds low to high - 1, into `masks` [B, N, P]."""
    for b in range(low, high):
        world = _world(worlds, b)
        for i in range(masks.shape[1]):
            mask_agent(world, rules, i, masks[b, i])


@kernel
def _restart_ended(worlds: Any, starts: Any, start: Any, ended: Any) -> int:
    """Every world that has ended takes its next start; returns how many."""
    episodes = 0
    for b in range(start.shape[0]):
        if ended[1][b] or ended[2][b]:
            episodes += 1
            start[b] = (start[b] + 1) % starts.clock.shape[0]
            _restart(worlds, starts, b, start[b])
    return episodes


@batch_kernel
def _play(
    worlds: Any,
    starts: Any,
    rules: Any,
    start: Any,
    noise: Any,
    actions: Any,
    idle: Any,
    horizon: int,
    ended: Any,
    steps: int,
) -> int:
    """`steps` of uniformly random primitives but shares; returns how many episodes ended."""
    episodes = 0
    for _ in range(steps):
        for b in range(actions.shape[0]):
            for i in range(actions.shape[1]):
                actions[b, i] = below(noise, SHARE)
        _advance(worlds, rules, actions, idle, horizon, ended, 0, actions.shape[0])
        episodes += _restart_ended(worlds, starts, start, ended)
    return episodes


class CrafterWorlds:
    """B copies of MA-Crafter under one set of rules; an `emcoop.rl.batch.Batch`.

    `worlds` is a `CrafterState` of arrays with B in front, changed by every step.
    """

    def __init__(self, rules: Rules, horizon: int, states: Sequence[CrafterState]) -> None:
        """World b begins in `states[b]`. Raises ValueError without a state."""
        if not states:
            raise ValueError("a batch needs at least one world")
        self.rules, self.horizon = rules, horizon
        self.worlds = _stacked(states)
        team = (len(states), states[0].team)
        self.rewards = np.zeros(team)
        self.terminated = np.zeros(len(states), np.bool_)
        self.truncated = np.zeros(len(states), np.bool_)
        self.won = np.zeros(len(states), np.bool_)
        self._actions = np.zeros(team, np.int64)
        self.observations = np.zeros((*team, LENGTH), np.float32)
        self.masks = np.ones((*team, primitive_count(team[1])), np.bool_)

    @property
    def steps(self) -> NDArray[np.int64]:
        """[B]: steps since the start of the episode."""
        return self.worlds.clock[:, STEP]

    @property
    def _ended(self) -> tuple[NDArray[Any], ...]:
        return self.rewards, self.terminated, self.truncated, self.won

    def load(self, worlds: Sequence[int], states: Sequence[CrafterState]) -> None:
        """These worlds continue in these states."""
        for b, state in zip(worlds, states, strict=True):
            arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(self.worlds, state, strict=True)
            for ours, given in arrays:
                ours[b] = given

    def choose(self, actions: NDArray[np.integer]) -> None:
        """The primitives [B, N] of the next step. Raises ValueError for a wrong shape or an unknown primitive."""
        if actions.shape != self._actions.shape:
            raise ValueError(f"actions of shape {actions.shape} for a batch of {self._actions.shape}")
        most = self.masks.shape[2]
        if actions.min() < 0 or actions.max() >= most:
            raise ValueError(f"primitives are 0 to {most - 1}")
        np.copyto(self._actions, actions)

    def advance(self, low: int, high: int, idle: NDArray[np.bool_]) -> None:
        """One joint step of the worlds low to high - 1 with the chosen primitives; nothing happens where `idle` [B]."""
        _advance(self.worlds, self.rules, self._actions, idle, self.horizon, self._ended, low, high)

    def observe(self, low: int, high: int) -> None:
        """Bring `observations` of the worlds low to high - 1 up to date."""
        _observe(self.worlds, self.observations, low, high)

    def mask(self, low: int, high: int) -> None:
        """Bring `masks` of the worlds low to high - 1 up to date."""
        _mask(self.worlds, self.rules, self.masks, low, high)

    def state(self, world: int) -> CrafterState:
        """A copy of one world's state."""
        return CrafterState._make(array[world].copy() for array in self.worlds)


class CrafterBatch(CrafterWorlds):
    """Worlds that go from start to start by themselves, within the step; `start` [B] is the place in the seeds."""

    def __init__(
        self,
        rules: Rules,
        agents: int,
        seeds: Sequence[int],
        worlds: int,
        size: tuple[int, int] = (SIDE, SIDE),
        horizon: int = 10_000,
    ) -> None:
        """World b begins with seed b (cyclically) and goes on, when an episode ends, with the next one."""
        pool = [generate(rules, agents, seed, size) for seed in seeds]
        super().__init__(rules, horizon, [pool[b % len(pool)] for b in range(worlds)])
        self._starts = _stacked(pool)
        self.start = np.arange(worlds, dtype=np.int64) % len(pool)
        self._idle = np.zeros(worlds, np.bool_)

    def step(self, actions: NDArray[np.integer]) -> None:
        """One joint step of every world with primitives [B, N].

        Afterwards `rewards` [B, N], `terminated`, `truncated` and `won` [B] say what became of it; a world whose
        episode ended is already at the start of its next one. Raises ValueError for a wrong shape or an unknown
        primitive.
        """
        self.choose(actions)
        self.advance(0, len(self.start), self._idle)
        _restart_ended(self.worlds, self._starts, self.start, self._ended)

    def play(self, steps: int, seed: int = 0) -> int:
        """That many steps of every world, with random primitives other than shares; returns how many episodes ended."""
        noise = np.array([Stream.named(seed, "ma-crafter-batch").counter], np.uint64)
        return int(
            _play(
                self.worlds,
                self._starts,
                self.rules,
                self.start,
                noise,
                self._actions,
                self._idle,
                self.horizon,
                self._ended,
                steps,
            )
        )


def _stacked(states: Sequence[CrafterState]) -> CrafterState:
    """These states as one, with their number in front."""
    return CrafterState._make(np.stack(arrays) for arrays in zip(*states, strict=True))
