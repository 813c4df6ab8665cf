"""What a vector environment steps: worlds side by side, as compiled loops or, for any world, in plain Python.

B worlds, N agents, P primitives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.base import AnyEnvironment

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

FEWEST = 16
"""A thread gets at least so many worlds; for fewer, handing work over takes longer than the work."""


class Batch(Protocol):
    """B worlds in arrays that every step overwrites. Ranges of worlds may be stepped in different threads."""

    @property
    def observations(self) -> Floats:
        """[B, N, ...], each `Environment.array`, as of the last `observe`."""
        ...

    @property
    def masks(self) -> Bools:
        """[B, N, P], each `action_masks`, as of the last `mask`."""
        ...

    @property
    def rewards(self) -> NDArray[np.float64]:
        """[B, N]"""
        ...

    @property
    def terminated(self) -> Bools:
        """[B]"""
        ...

    @property
    def truncated(self) -> Bools:
        """[B]"""
        ...

    @property
    def won(self) -> Bools:
        """[B]: whether the last step ended an episode in success."""
        ...

    def load(self, worlds: Sequence[int], states: Sequence[Any]) -> None:
        """These worlds continue in these states."""
        ...

    def choose(self, actions: NDArray[np.integer]) -> None:
        """The primitives [B, N] of the next step. Raises ValueError for a wrong shape or an unknown primitive."""
        ...

    def advance(self, low: int, high: int, idle: Bools) -> None:
        """One joint step of worlds low to high - 1; where `idle` [B], nothing happens and rewards and ends are 0."""
        ...

    def observe(self, low: int, high: int) -> None:
        """Bring `observations` of these worlds up to date."""
        ...

    def mask(self, low: int, high: int) -> None:
        """Bring `masks` of these worlds up to date."""
        ...

    def state(self, world: int) -> Any:
        """A copy of one world's state, as the environment's own methods take it."""
        ...


@runtime_checkable
class Compiled(Protocol):
    """A world with compiled loops over many of its states."""

    def batch(self, states: Sequence[Any]) -> Batch:
        """These states side by side."""
        ...


@runtime_checkable
class Masked(Protocol):
    """A world that knows which primitives can have an effect."""

    def action_masks(self, state: Any) -> Bools:
        """[N, P]: False only where the primitive would leave this state as primitive 0 does, whatever others do."""
        ...


@runtime_checkable
class Global(Protocol):
    """A world that shows less than everything to an agent, and has an array of everything."""

    def global_array(self, state: Any) -> Floats:
        """The whole state as one array."""
        ...


def action_masks(env: AnyEnvironment, state: Any) -> Bools:
    """[N, P]: which primitives can have an effect now; all of them in a world that does not say."""
    if isinstance(env, Masked):
        return env.action_masks(state)
    return np.ones((len(env.agents), len(env.primitives)), np.bool_)


def global_array(env: AnyEnvironment, state: Any) -> Floats:
    """The whole state as one array; in a world that has none, what every agent sees, one after the other."""
    if isinstance(env, Global):
        return env.global_array(state)
    return np.concatenate([env.array(state, agent).ravel() for agent in env.agents])


def batch_of(env: AnyEnvironment, states: Sequence[Any]) -> Batch:
    """These states side by side, compiled where the world has that."""
    return env.batch(states) if isinstance(env, Compiled) else PlainBatch(env, states)


class PlainBatch:
    """A `Batch` of any world, by its own methods, one after the other."""

    def __init__(self, env: AnyEnvironment, states: Sequence[Any]) -> None:
        """World b begins in `states[b]`."""
        self.env = env
        self._states = list(states)
        worlds, team = len(self._states), len(env.agents)
        shape = env.array(self._states[0], env.agents[0]).shape
        self.observations = np.zeros((worlds, team, *shape), np.float32)
        self.masks = np.ones((worlds, team, len(env.primitives)), np.bool_)
        self.rewards = np.zeros((worlds, team))
        self.terminated = np.zeros(worlds, np.bool_)
        self.truncated = np.zeros(worlds, np.bool_)
        self.won = np.zeros(worlds, np.bool_)
        self._actions = np.zeros((worlds, team), np.int64)

    def load(self, worlds: Sequence[int], states: Sequence[Any]) -> None:
        for b, state in zip(worlds, states, strict=True):
            self._states[b] = state

    def choose(self, actions: NDArray[np.integer]) -> None:
        if actions.shape != self._actions.shape:
            raise ValueError(f"actions of shape {actions.shape} for a batch of {self._actions.shape}")
        if actions.min() < 0 or actions.max() >= len(self.env.primitives):
            raise ValueError(f"primitives are 0 to {len(self.env.primitives) - 1}")
        np.copyto(self._actions, actions)

    def advance(self, low: int, high: int, idle: Bools) -> None:
        for b in range(low, high):
            self.rewards[b], self.terminated[b], self.truncated[b], self.won[b] = 0.0, False, False, False
            if idle[b]:
                continue
            joint = dict(zip(self.env.agents, self._actions[b].tolist(), strict=True))
            transition = self.env.step(self._states[b], joint)
            self._states[b] = transition.state
            self.rewards[b] = [transition.rewards[agent] for agent in self.env.agents]
            self.terminated[b], self.truncated[b] = transition.terminated, transition.truncated
            ended = transition.terminated or transition.truncated
            self.won[b] = ended and self.env.score(transition.state).success

    def observe(self, low: int, high: int) -> None:
        for b in range(low, high):
            for i, agent in enumerate(self.env.agents):
                self.observations[b, i] = self.env.array(self._states[b], agent)

    def mask(self, low: int, high: int) -> None:
        for b in range(low, high):
            self.masks[b] = action_masks(self.env, self._states[b])

    def state(self, world: int) -> Any:
        return self._states[world]


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Crew:
    """Threads that share the worlds of a batch; the caller's own is one of them.

    Compiled loops let go of Python's lock, so that the threads run at the same time. Which thread has which worlds
    changes no result.
    """

    def __init__(self, worlds: int, threads: int | None = None) -> None:
        """At most `threads`, by default as many as this process may use. Raises ValueError for fewer than one."""
        if threads is not None and threads < 1:
            raise ValueError(f"stepping takes at least one thread, not {threads}")
        count = max(1, min(threads or processors(), worlds // FEWEST))
        cuts = [worlds * part // count for part in range(count + 1)]
        self._parts = list(pairwise(cuts))
        self._pool: ThreadPoolExecutor | None = None

    def share(self, work: Callable[[int, int], None]) -> None:
        """`work(low, high)` for every part; returns when all are done."""
        if len(self._parts) > 1 and self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._parts) - 1, "emcoop-worlds")
        away: list[Future[None]] = []
        if self._pool is not None:
            away = [self._pool.submit(work, low, high) for low, high in self._parts[1:]]
        work(*self._parts[0])
        for part in away:
            part.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
