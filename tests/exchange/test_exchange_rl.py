"""The exchange as a parallel environment for learners, with integers as moves."""

from __future__ import annotations

import warnings

import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from emcoop.rl import parallel_env


@pytest.mark.parametrize("agents", [1, 3])
def test_the_parallel_api_test_passes_without_a_warning(agents: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(parallel_env("exchange", agents=agents, rounds=10), num_cycles=60)


def test_the_parallel_seed_test_passes() -> None:
    parallel_seed_test(lambda: parallel_env("exchange", agents=3, rounds=10), num_cycles=30)


def test_integers_alone_share_and_earn() -> None:
    """Ask, answer and submit in turn: a team of learners could play the whole game with these."""
    env = parallel_env("exchange", agents=3)
    env.reset(seed=4)
    earned = 0.0
    for step in range(60):
        order = ("ask", "answer", "submit_0", "submit_1")
        primitive = env.env.primitives.index(order[step // 3 % 4])
        _, rewards, _, truncations, _ = env.step(dict.fromkeys(env.agents, primitive))
        earned += sum(rewards.values())
    assert set(truncations.values()) == {True}
    assert earned > 5
