"""Vector environments of others, for the same question: how many steps a second with observations and resets?

Each takes random actions. None is the same task: rates say what a learner waits for, not which rules are richer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv

from emcoop.core.seeds import Stream

PEERS_PYTHON = "EMCOOP_BENCH_PEERS_PYTHON"
"""Names a Python in which `craftax` is installed, if it is not in this one."""

CRAFTAX = """
import sys, time, jax
from craftax.craftax_env import make_craftax_env_from_name
worlds, steps = int(sys.argv[1]), int(sys.argv[2])
env = make_craftax_env_from_name(sys.argv[3], auto_reset=True)
params = env.default_params
reset = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))

@jax.jit
def play(key, state):
    def one(carry, _):
        key, state = carry
        key, draw, step = jax.random.split(key, 3)
        actions = jax.random.randint(draw, (worlds,), 0, env.action_space(params).n)
        seen, state, reward, done, _ = jax.vmap(env.step, in_axes=(0, 0, 0, None))(
            jax.random.split(step, worlds), state, actions, params
        )
        return (key, state), (seen.sum(), reward.sum())
    return jax.lax.scan(one, (key, state), None, steps)

_, state = reset(jax.random.split(jax.random.PRNGKey(0), worlds), params)
rates = []
for k in range(4):
    begun = time.perf_counter()
    (_, state), sums = play(jax.random.PRNGKey(k), state)
    jax.block_until_ready(sums)
    rates.append(worlds * steps / (time.perf_counter() - begun))
print(sorted(rates[1:])[1])
"""


class CrafterWorld(gymnasium.Env):
    """Crafter 1.8.3, which has Gym's old interface, in Gymnasium's."""

    def __init__(self, seed: int) -> None:
        import crafter

        self._env = crafter.Env(seed=seed)
        self.observation_space = gymnasium.spaces.Box(0, 255, (64, 64, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(17)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self._env.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen, reward, done, _ = self._env.step(int(action))
        return seen, float(reward), bool(done), False, {}


def crafter_vector_rate(worlds: int, steps: int = 150) -> float:
    """Steps per second of so many Crafters in Gymnasium's AsyncVectorEnv, a process each."""
    envs = AsyncVectorEnv([partial(CrafterWorld, seed) for seed in range(worlds)])
    envs.reset()
    envs.action_space.seed(0)
    begun = time.perf_counter()
    for _ in range(steps):
        envs.step(envs.action_space.sample())
    rate = worlds * steps / (time.perf_counter() - begun)
    envs.close()
    return rate


def spread_rate(steps: int = 1000) -> float:
    """Team steps per second of one Simple Spread of the Multi-Particle Environments: three agents, from Python."""
    from mpe2 import simple_spread_v3  # type: ignore[import-untyped]

    env, stream = simple_spread_v3.parallel_env(N=3, max_cycles=100), Stream.named(0, "benchmark")
    env.reset(seed=0)
    begun = time.perf_counter()
    for _ in range(steps):
        if not env.agents:
            env.reset()
        env.step({agent: stream.below(5) for agent in env.agents})
    return steps / (time.perf_counter() - begun)


def craftax_rate(worlds: int = 256, steps: int = 50, name: str = "Craftax-Classic-Symbolic-v1") -> float | None:
    """Steps per second of so many worlds of Craftax (JAX, on the CPU): one agent, symbolic observations, resets.

    The second of three runs after one that compiles; None where it is not installed.
    """
    python = os.environ.get(PEERS_PYTHON, sys.executable)
    if subprocess.run([python, "-c", "import craftax"], capture_output=True, check=False).returncode:
        return None
    command = [python, "-c", CRAFTAX, str(worlds), str(steps), name]
    environ = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return float(done.stdout)
