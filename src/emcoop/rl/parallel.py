"""PettingZoo's parallel interface over the environment contract."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from emcoop.core.seeds import Stream
from emcoop.core.types import AgentId
from emcoop.envs.base import AnyEnvironment
from emcoop.rl.batch import action_masks, global_array

Array = NDArray[np.float32]


class ParallelWorld(ParallelEnv):  # type: ignore[misc]  # PettingZoo's base is untyped here
    """One world for n learners: integer primitives in, float32 arrays and shared-clock rewards out.

    `reset(seed)` names the episode; `reset()` without a seed goes on to the next episode of the last seed's
    stream, so that a training run is repeatable as a whole. All agents live until the episode ends. An agent's info
    holds ``action_mask`` [P]: False where a primitive can have no effect now.
    """

    def __init__(self, env: AnyEnvironment) -> None:
        self.env = env
        self.metadata = {"name": f"{env.name}_{env.version}", "render_modes": ["svg"], "is_parallelizable": True}
        self.render_mode = "svg"
        self.possible_agents = list(env.agents)
        self.agents: list[AgentId] = []
        self._stream = Stream.named(0, "rl")
        self._state: Any = env.reset(0)
        shape = env.array(self._state, env.agents[0]).shape
        # One space object each: PettingZoo requires the same object at every call.
        self._observation_space = spaces.Box(0.0, np.inf, shape, np.float32)
        self.state_space = spaces.Box(-np.inf, np.inf, global_array(env, self._state).shape, np.float32)
        self._action_spaces = {agent: spaces.Discrete(len(env.primitives)) for agent in env.agents}

    def observation_space(self, agent: AgentId) -> spaces.Box:
        return self._observation_space

    def action_space(self, agent: AgentId) -> spaces.Discrete:
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[AgentId, Array], dict[AgentId, dict[str, Any]]]:
        if seed is not None:
            self._stream = Stream.named(seed, "rl")
        else:
            seed = self._stream.next64() >> 1
        self._state = self.env.reset(seed)
        self.agents = list(self.possible_agents)
        return self._observations(), self._infos()

    def step(
        self, actions: dict[AgentId, int]
    ) -> tuple[
        dict[AgentId, Array],
        dict[AgentId, float],
        dict[AgentId, bool],
        dict[AgentId, bool],
        dict[AgentId, dict[str, Any]],
    ]:
        transition = self.env.step(self._state, {agent: int(action) for agent, action in actions.items()})
        self._state = transition.state
        agents = self.agents
        observations, infos = self._observations(), self._infos()
        if transition.terminated or transition.truncated:
            self.agents = []
        return (
            observations,
            {agent: float(transition.rewards[agent]) for agent in agents},
            dict.fromkeys(agents, transition.terminated),
            dict.fromkeys(agents, transition.truncated),
            infos,
        )

    def state(self) -> Array:
        """Everything there is, as one array: the world's `global_array`, or else what all agents see."""
        return global_array(self.env, self._state)

    def render(self) -> str:
        """The present state as SVG."""
        return self.env.render(self._state)

    def close(self) -> None:
        """Nothing is held open."""

    def _observations(self) -> dict[AgentId, Array]:
        return {agent: self.env.array(self._state, agent) for agent in self.agents}

    def _infos(self) -> dict[AgentId, dict[str, Any]]:
        masks = action_masks(self.env, self._state)
        return {
            agent: {"action_mask": masks[i]} for i, agent in enumerate(self.possible_agents) if agent in self.agents
        }
