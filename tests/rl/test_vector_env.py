"""Many worlds at once go through the same states as each of them alone, by Gymnasium's conventions."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.core.errors import ConfigError, UnknownName
from emcoop.core.seeds import derive
from emcoop.rl import vector_env
from emcoop.rl.batch import PlainBatch, action_masks
from emcoop.rl.vector import VectorWorld

WORLDS: dict[str, dict[str, Any]] = {
    "cube": {"level": "hard"},
    "ma-crafter": {"level": "hard", "size": 16, "goal": ("collect_sapling", "collect_drink"), "on_death": "end"},
}
NAMES = sorted(WORLDS)


def small(name: str, num_envs: int = 3, agents: int = 2, **options: Any) -> VectorWorld:
    return vector_env(name, num_envs=num_envs, agents=agents, **{**WORLDS[name], "horizon": 6, **options})


def actions_of(envs: VectorWorld, rng: np.random.Generator) -> np.ndarray:
    """Random primitives, half of the time the same for a whole team, so that it pushes and collects together."""
    shape = (envs.num_envs, envs.num_agents)
    most = min(26, len(envs.env.primitives))
    together = rng.integers(0, most, (envs.num_envs, 1))
    own = rng.integers(0, np.where(rng.random(shape) < 0.2, len(envs.env.primitives), most))
    return np.where(rng.random((envs.num_envs, 1)) < 0.5, together, own)


class Alone:
    """What one sub-environment must do, by single steps of its world."""

    def __init__(self, envs: VectorWorld, seed: int, b: int) -> None:
        self.env, self.seed, self.b, self.episode = envs.env, seed, b, -1
        self.mode, self.over = envs.autoreset_mode, False
        self.begin()

    def begin(self) -> None:
        self.episode += 1
        self.state = self.env.reset(derive(self.seed, "vector", self.b, self.episode) >> 1)
        self.over = False

    def step(self, primitives: np.ndarray) -> tuple[list[float], bool, bool, Any]:
        """(rewards, terminated, truncated, the state that ended within this step)"""
        if self.over:
            self.begin()
            return [0.0] * len(primitives), False, False, None
        done = self.env.step(self.state, dict(zip(self.env.agents, primitives.tolist(), strict=True)))
        self.state, self.over = done.state, done.terminated or done.truncated
        last = done.state if self.over else None
        if self.over and self.mode is AutoresetMode.SAME_STEP:
            self.begin()
        return [done.rewards[agent] for agent in self.env.agents], done.terminated, done.truncated, last


def shows(env: Any, state: Any, observations: np.ndarray, masks: np.ndarray) -> bool:
    arrays = np.stack([env.array(state, agent) for agent in env.agents])
    return np.array_equal(observations, arrays) and np.array_equal(masks, action_masks(env, state))


@pytest.mark.parametrize("name", NAMES)
@given(
    seed=st.integers(0, 2**32),
    agents=st.integers(1, 3),
    mode=st.sampled_from([AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]),
)
@settings(max_examples=10, deadline=None)
def test_every_world_goes_through_the_states_of_single_steps(
    name: str, seed: int, agents: int, mode: AutoresetMode
) -> None:
    envs = small(name, agents=agents, autoreset_mode=mode)
    observations, infos = envs.reset(seed=seed)
    alone, rng, ends = [Alone(envs, seed, b) for b in range(3)], np.random.default_rng(seed), 0
    for _ in range(16):
        for b, one in enumerate(alone):
            assert envs.env.snapshot(envs.world(b)) == envs.env.snapshot(one.state)
            assert shows(envs.env, one.state, observations[b], infos["action_mask"][b])
        actions = actions_of(envs, rng)
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        for b, one in enumerate(alone):
            expected, terminated, truncated, last = one.step(actions[b])
            assert rewards[b].tolist() == expected
            assert set(terminations[b]) == {terminated}
            assert set(truncations[b]) == {truncated}
            ends += last is not None
            if last is None:
                continue
            final = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
            assert final["_success"][b]
            assert final["success"][b] == envs.env.score(last).success
            if mode is AutoresetMode.SAME_STEP:
                assert shows(envs.env, last, infos["final_obs"][b], final["action_mask"][b])
    assert ends >= 6


@pytest.mark.parametrize("name", NAMES)
def test_any_world_can_be_stepped_in_plain_python_with_the_same_result(name: str) -> None:
    envs = small(name)
    envs.reset(seed=5)
    plain = PlainBatch(envs.env, [envs.world(b) for b in range(3)])
    rng = np.random.default_rng(1)
    for _ in range(6):
        actions = actions_of(envs, rng)
        seen, rewards, terminations, truncations, infos = envs.step(actions)
        plain.choose(actions)
        plain.advance(0, 3, np.zeros(3, np.bool_))
        plain.observe(0, 3)
        plain.mask(0, 3)
        assert np.array_equal(plain.observations, seen)
        assert np.array_equal(plain.masks, infos["action_mask"])
        assert np.array_equal(plain.rewards, rewards)
        assert np.array_equal(plain.terminated, terminations[:, 0])
        assert np.array_equal(plain.truncated, truncations[:, 0])
        if (plain.terminated | plain.truncated).any():
            return
    raise AssertionError("no episode ended")


def play(envs: VectorWorld, worlds: int, steps: int = 20) -> list[bytes]:
    """What the first `worlds` worlds show in a play in which an action depends on step, world and agent alone."""
    shown = []
    for step in range(steps):
        b, i = np.indices((envs.num_envs, envs.num_agents))
        observations, rewards, *_ = envs.step((7 * step + 3 * b + 5 * i + step * b) % 5)
        shown.append(observations[:worlds].tobytes() + rewards[:worlds].tobytes())
    return shown


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("starts", [None, 4])
def test_neither_the_number_of_worlds_nor_of_threads_changes_a_world(name: str, starts: int | None) -> None:
    plays = []
    for num_envs, threads in ((3, 1), (40, 1), (40, 2)):
        envs = small(name, num_envs, starts=starts, threads=threads)
        envs.reset(seed=11)
        plays.append(play(envs, 3))
        envs.close()
    assert plays[0] == plays[1] == plays[2]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_is_the_same_run_and_every_episode_another_world(name: str) -> None:
    envs = small(name)
    first, _ = envs.reset(seed=1)
    second, _ = envs.reset()
    again, _ = envs.reset(seed=1)
    other, _ = envs.reset(seed=2)
    assert np.array_equal(first, again)
    assert len({a[b].tobytes() for a in (first, second, other) for b in range(3)}) == 9


@pytest.mark.parametrize("name", NAMES)
def test_few_starts_come_back(name: str) -> None:
    envs = small(name, num_envs=8, starts=2)
    observations, _ = envs.reset(seed=1)
    assert len({observation.tobytes() for observation in observations}) == 2


@pytest.mark.parametrize("name", NAMES)
def test_spaces_hold_what_comes_and_what_goes(name: str) -> None:
    envs = small(name)
    assert isinstance(envs, VectorEnv)
    observations, infos = envs.reset(seed=0)
    assert envs.observation_space.contains(observations)
    assert envs.single_observation_space.contains(observations[0])
    assert envs.action_space.shape == (3, 2)
    assert envs.single_action_space.shape == (2,)
    assert infos["action_mask"].shape == (3, 2, len(envs.env.primitives))
    envs.action_space.seed(0)
    observations, rewards, terminations, truncations, _ = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(observations)
    assert [a.shape for a in (rewards, terminations, truncations)] == [(3, 2)] * 3
    assert envs.render()[0].startswith("<svg")
    assert envs.state().shape[0] == 3


def in_arrays() -> int:
    """The bytes in arrays that were made since the tracing began and are still there."""
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)


@pytest.mark.parametrize("name", NAMES)
def test_without_copies_the_same_arrays_come_back_and_nothing_is_allocated(name: str) -> None:
    envs = small(name, num_envs=64, horizon=1000, copy=False)
    envs.reset(seed=0)
    actions = np.zeros((64, 2), np.int64)
    before, *_ = envs.step(actions)
    tracemalloc.start()
    for _ in range(3):
        envs.step(actions)
    kept = in_arrays()
    first, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    for _ in range(20):
        after, *_ = envs.step(actions)
    _, peak = tracemalloc.get_traced_memory()
    kept_now = in_arrays()
    tracemalloc.stop()
    assert np.shares_memory(before, after)
    assert kept_now == kept
    assert peak - first < before.nbytes / 4  # the calls of compiled code make and keep small objects of their own


def test_copies_stay_what_they_were() -> None:
    envs = small("cube")
    kept, _ = envs.reset(seed=0)
    image = kept.tobytes()
    envs.step(np.full((3, 2), 4))
    assert kept.tobytes() == image
    assert kept.flags.writeable


def test_disabled_autoreset_waits_for_a_reset_of_the_worlds_that_ended() -> None:
    envs = small("cube", autoreset_mode="Disabled", horizon=1)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    envs.reset(seed=0)
    stay = np.zeros((3, 2), np.int64)
    _, _, _, truncations, _ = envs.step(stay)
    assert truncations.all()
    with pytest.raises(ValueError, match=r"\[0, 1, 2\] have ended"):
        envs.step(stay)
    envs.reset(options={"reset_mask": np.array([True, False, False])})
    with pytest.raises(ValueError, match=r"\[1, 2\] have ended"):
        envs.step(stay)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(UnknownName, match="cube"):
        vector_env("cubee", num_envs=2)
    with pytest.raises(ConfigError, match="num_envs"):
        vector_env("cube", num_envs=0)
    with pytest.raises(ConfigError, match="NextStep, SameStep"):
        small("cube", autoreset_mode="never")
    envs = small("cube")
    with pytest.raises(ValueError, match=r"reset\(\) comes before"):
        envs.step(np.zeros((3, 2), np.int64))
    with pytest.raises(ValueError, match=r"reset\(\) comes before"):
        envs.state()
    with pytest.raises(ValueError, match="no reset_mask"):
        envs.reset(options={"reset_mask": np.ones(3, np.bool_)})
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="actions of shape"):
        envs.step(np.zeros((2, 3), np.int64))
    with pytest.raises(ValueError, match="primitives are 0 to 4"):
        envs.step(np.full((3, 2), 5))
    with pytest.raises(ValueError, match="3 bool"):
        envs.reset(options={"reset_mask": np.ones(2, np.bool_)})
    with pytest.raises(ValueError, match="for all worlds"):
        envs.reset(seed=1, options={"reset_mask": np.array([True, False, False])})
