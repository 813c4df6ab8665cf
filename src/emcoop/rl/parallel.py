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

Array = NDArray[np.float32]


class ParallelWorld(ParallelEnv):  # type: ignore[misc]  # PettingZoo's base is untyped here
    """One world for n learners: integer primitives in, float32 arrays and shared-clock rewards out.

    `reset(seed)` names the episode; `reset()` without a seed goes on to the next episode of the last seed's
    stream, so that a training run is repeatable as a whole. All agents live until the episode ends.
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
        return self._observations(), {agent: {} for agent in self.agents}

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
        observations = self._observations()
        if transition.terminated or transition.truncated:
            self.agents = []
        return (
            observations,
            {agent: float(transition.rewards[agent]) for agent in agents},
            dict.fromkeys(agents, transition.terminated),
            dict.fromkeys(agents, transition.truncated),
            {agent: {} for agent in agents},
        )

    def state(self) -> Array:
        """The global state: what the first agent's array shows in a fully observed world."""
        return self.env.array(self._state, self.possible_agents[0])

    def render(self) -> str:
        """The present state as SVG."""
        return self.env.render(self._state)

    def close(self) -> None:
        """Nothing is held open."""

    def _observations(self) -> dict[AgentId, Array]:
        return {agent: self.env.array(self._state, agent) for agent in self.agents}
