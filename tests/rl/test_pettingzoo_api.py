"""PettingZoo's own tests on every world, through `emcoop.rl.parallel_env`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from emcoop.core.errors import ConfigError, UnknownName
from emcoop.envs import ENVS
from emcoop.rl import parallel_env
from emcoop.rl.parallel import ParallelWorld

TEAMS = [1, 2, 3, 6]
SMALLER: dict[str, dict[str, Any]] = {"ma-crafter": {"size": 32, "horizon": 120}}
CASES = [(name, agents) for name in ENVS.names() for agents in TEAMS]


def world(name: str, agents: int) -> ParallelWorld:
    return parallel_env(name, agents=agents, **SMALLER.get(name, {}))


@pytest.mark.parametrize(("name", "agents"), CASES)
def test_the_parallel_api_test_passes_without_a_warning(name: str, agents: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(world(name, agents), num_cycles=150)


@pytest.mark.parametrize(("name", "agents"), CASES)
def test_the_parallel_seed_test_passes(name: str, agents: int) -> None:
    parallel_seed_test(lambda: world(name, agents), num_cycles=40)


@pytest.mark.parametrize(("name", "agents"), CASES)
def test_infos_hold_masks_and_the_state_lies_in_its_space(name: str, agents: int) -> None:
    env = world(name, agents)
    _, infos = env.reset(seed=0)
    for _ in range(3):
        assert env.state_space.contains(env.state())
        assert set(infos) == set(env.possible_agents)
        chosen = {}
        for agent in env.agents:
            mask = infos[agent]["action_mask"]
            assert mask.shape == (env.action_space(agent).n,)
            assert mask[0]
            chosen[agent] = int(env.action_space(agent).sample(mask.astype(np.int8)))
        _, _, _, _, infos = env.step(chosen)
        if not env.agents:
            return


def test_the_state_of_ma_crafter_shows_what_no_agent_sees() -> None:
    env = ENVS.get("ma-crafter")(agents=2, size=32)
    here = env.reset(0)
    far = here.copy()
    far.material[0, 0] = (here.material[0, 0] + 1) % 13
    for agent in env.agents:
        assert np.array_equal(env.array(here, agent), env.array(far, agent))
    assert (env.global_array(here) != env.global_array(far)).sum() == 2


def test_an_episode_ends_for_everybody_at_the_horizon() -> None:
    env = parallel_env("cube", agents=3, level="hard", horizon=4)
    env.reset(seed=0)
    for step in range(4):
        _, rewards, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, 0))
        assert rewards == {f"agent_{i}": pytest.approx(-0.01) for i in range(3)}
        assert set(terminations.values()) == {False}
        assert set(truncations.values()) == {step == 3}
    assert env.agents == []


def test_the_same_seed_starts_the_same_training_run() -> None:
    def starts() -> list[bytes]:
        env = parallel_env("cube", agents=2, level="hard")
        first = [env.reset(seed=3)[0]] + [env.reset()[0] for _ in range(3)]
        return [observation["agent_0"].tobytes() for observation in first]

    assert starts() == starts()
    assert len(set(starts())) == 4


def test_observations_lie_in_their_space_and_the_state_is_the_whole_board() -> None:
    env = parallel_env("cube", agents=8, level="curriculum")
    observations, _ = env.reset(seed=1)
    for agent, observation in observations.items():
        assert env.observation_space(agent).contains(observation)
    assert env.state().shape == (20, 20, 5)
    assert np.array_equal(env.state(), observations["agent_0"])
    assert env.render().startswith("<svg")


def test_bad_requests_are_refused() -> None:
    with pytest.raises(UnknownName, match="cube"):
        parallel_env("cubee")
    with pytest.raises(ConfigError, match="horizon"):
        parallel_env("cube", horison=3)
    env = parallel_env("cube", agents=2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="agent_1"):
        env.step({"agent_0": 0})
