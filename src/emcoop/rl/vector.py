"""Many worlds for one team of learners, by the conventions of Gymnasium's vector environments.

One sub-environment is one world with its whole team: everything has the shape [B, N, ...] for B worlds and N agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from emcoop.core.errors import ConfigError
from emcoop.core.seeds import derive
from emcoop.envs.base import AnyEnvironment
from emcoop.rl.batch import Batch, Bools, Crew, Floats, batch_of, global_array

Result = tuple[Floats, NDArray[np.float64], Bools, Bools, dict[str, Any]]


class VectorWorld(VectorEnv[Floats, NDArray[np.integer], NDArray[Any]]):
    """`num_envs` worlds of one kind, stepped together in compiled loops and several threads.

    `step(actions)` takes primitives [B, N] and returns observations [B, N, ...] float32, rewards [B, N], terminations
    and truncations [B, N] (an episode ends for its whole team) and infos. ``infos["action_mask"]`` [B, N, P] is False
    where a primitive can have no effect now. When episodes end, ``infos["success"]`` [B] says which in success, where
    ``infos["_success"]`` [B] is True.

    Autoreset is Gymnasium's, named in ``metadata["autoreset_mode"]``. NEXT_STEP: the step after an episode's end
    ignores the world's actions, gives reward 0 and shows its next start. SAME_STEP: that is shown at once; what
    ended is in ``infos["final_obs"]`` and ``infos["final_info"]``, for the worlds of ``infos["_final_obs"]``. DISABLED:
    ended worlds must be reset with ``reset(options={"reset_mask": ...})``.

    Episode k of world b is a function of the seed, b and k alone: neither `num_envs` nor threads change it.
    """

    def __init__(
        self,
        env: AnyEnvironment,
        num_envs: int,
        *,
        starts: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        masks: bool = True,
        copy: bool = True,
    ) -> None:
        """Worlds of `env`. `starts`: draw every episode's start from so many, made once per seed, instead of making a
        new world each time. `masks=False` leaves them out. `copy=False` returns the same arrays at every step, to be
        used up before the next. Raises ConfigError for anything that cannot be set up.
        """
        for name, value in (("num_envs", num_envs), ("starts", starts), ("threads", threads)):
            if value is not None and value < 1:
                raise ConfigError(f"{env.name}: {name} must be at least 1, not {value}")
        self.env, self.num_envs, self.num_agents = env, num_envs, len(env.agents)
        self.starts, self.copy, self._masks = starts, copy, masks
        self.autoreset_mode = _mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "name": f"{env.name}_{env.version}"}
        self._crew = Crew(num_envs, threads)
        self._shape = (self.num_agents, *env.array(env.reset(0), env.agents[0]).shape)
        self.single_observation_space = spaces.Box(0.0, np.inf, self._shape, np.float32)
        self.single_action_space = spaces.MultiDiscrete([len(env.primitives)] * self.num_agents)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seed = 0
        self._episodes = np.full(num_envs, -1, np.int64)
        self._over = np.zeros(num_envs, np.bool_)
        self._never = np.zeros(num_envs, np.bool_)
        self._always = np.ones(num_envs, np.bool_)
        self._pool: list[Any] = []
        self._batch: Batch | None = None

    @cached_property
    def observation_space(self) -> spaces.Box:  # type: ignore[override]
        """[B, N, ...]. Made when asked for: its bounds take twice the room of the observations."""
        return spaces.Box(0.0, np.inf, (self.num_envs, *self._shape), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Every world at a start: with a seed, that of its episode 0; without, that of its next episode.

        ``options={"reset_mask": [B] bool}`` resets these worlds only. Raises ValueError for a mask of another shape, or
        one before all worlds have been reset.
        """
        which = np.arange(self.num_envs)
        if options and options.get("reset_mask") is not None:
            which = np.flatnonzero(self._reset_mask(options["reset_mask"]))
        if seed is not None:
            self._new_seed(int(seed), which)
        if self._batch is None:
            self._episodes += 1
            self._batch = batch_of(self.env, [self._start(b) for b in range(self.num_envs)])
        else:
            self._restart(self._batch, which)
        self._over[which] = False
        self._crew.share(self._refresh)
        return self._out(self._batch.observations), self._infos(self._batch)

    def step(self, actions: NDArray[np.integer]) -> Result:
        """One joint step of every world; see the class. Raises ValueError for a wrong shape, an unknown primitive, a
        step before `reset`, or, with autoreset disabled, of a world that has ended."""
        if self._batch is None:
            raise ValueError("reset() comes before the first step()")
        batch, idle = self._batch, self._never
        batch.choose(np.asarray(actions))
        if self._over.any():
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise ValueError(f"worlds {np.flatnonzero(self._over).tolist()} have ended and must be reset")
            idle = self._over.copy()
            self._restart(batch, np.flatnonzero(idle))

        def work(low: int, high: int) -> None:
            batch.advance(low, high, idle)
            self._refresh(low, high)

        self._crew.share(work)
        np.logical_or(batch.terminated, batch.truncated, out=self._over)
        infos: dict[str, Any] = {}
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP and bool(self._over.any())
        if same_step:
            infos = self._finish(batch)
        infos.update(self._infos(batch))
        if self._over.any() and not same_step:
            infos["success"], infos["_success"] = batch.won.copy(), self._over.copy()
        if same_step:
            self._over[:] = False
        team = (self.num_envs, self.num_agents)
        terminated, truncated = (np.broadcast_to(e[:, None], team) for e in (batch.terminated, batch.truncated))
        ends = self._out(terminated), self._out(truncated)
        return self._out(batch.observations), self._out(batch.rewards), *ends, infos

    def state(self) -> Floats:
        """[B, ...]: the whole state of every world, for a critic that sees everything. Made in Python, world by world.

        Raises ValueError before `reset`.
        """
        if self._batch is None:
            raise ValueError("reset() comes before state()")
        return np.stack([global_array(self.env, self._batch.state(b)) for b in range(self.num_envs)])

    def world(self, b: int) -> Any:
        """The state of world b, as the methods of `env` take it. Raises ValueError before `reset`."""
        if self._batch is None:
            raise ValueError("reset() comes before world()")
        return self._batch.state(b)

    def render(self) -> tuple[str, ...]:
        """Every world as SVG."""
        return tuple(self.env.render(self.world(b)) for b in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._crew.close()

    def _new_seed(self, seed: int, which: NDArray[np.int64]) -> None:
        """The series of episodes of these worlds begin anew."""
        if len(which) < self.num_envs:
            raise ValueError("a seed is for all worlds: give it without a reset_mask")
        if seed != self._seed:
            self._pool = []
        self._seed = seed
        self._episodes[:] = -1

    def _reset_mask(self, mask: Any) -> Bools:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must be an array of {self.num_envs} bool")
        if self._batch is None:
            raise ValueError("the first reset() is for all worlds: give no reset_mask")
        return mask

    def _start(self, b: int) -> Any:
        """The initial state of the present episode of world b."""
        number = derive(self._seed, "vector", b, int(self._episodes[b])) >> 1
        if self.starts is None:
            return self.env.reset(number)
        if not self._pool:
            self._pool = [self.env.reset(derive(self._seed, "vector-start", s) >> 1) for s in range(self.starts)]
        return self._pool[number % self.starts]

    def _restart(self, batch: Batch, which: NDArray[np.int64]) -> None:
        """These worlds begin their next episodes."""
        self._episodes[which] += 1
        batch.load(which.tolist(), [self._start(b) for b in which.tolist()])

    def _refresh(self, low: int, high: int) -> None:
        assert self._batch is not None
        self._batch.observe(low, high)
        if self._masks:
            self._batch.mask(low, high)

    def _finish(self, batch: Batch) -> dict[str, Any]:
        """Put the next start where an episode ended, and keep what ended, as Gymnasium does in SAME_STEP."""
        ended, which = self._over.copy(), np.flatnonzero(self._over)
        last = np.full(self.num_envs, None, object)
        for b in which.tolist():
            last[b] = batch.observations[b].copy()
        final: dict[str, Any] = {"success": batch.won.copy(), "_success": ended}
        if self._masks:
            final["action_mask"], final["_action_mask"] = batch.masks * ended[:, None, None], ended
        self._restart(batch, which)
        for b in which.tolist():
            self._refresh(b, b + 1)
        return {"final_obs": last, "_final_obs": ended, "final_info": final, "_final_info": ended}

    def _infos(self, batch: Batch) -> dict[str, Any]:
        return {"action_mask": self._out(batch.masks), "_action_mask": self._always} if self._masks else {}

    def _out(self, array: NDArray[Any]) -> NDArray[Any]:
        return np.array(array, order="C") if self.copy else array


def _mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Raises ConfigError for a mode that does not exist."""
    names: Sequence[str] = [known.value for known in AutoresetMode]
    try:
        return AutoresetMode(mode)
    except ValueError:
        raise ConfigError(f"no autoreset mode {mode!r}; there are {', '.join(names)}") from None
