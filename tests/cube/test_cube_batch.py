"""A batch goes through the same states as its worlds alone."""

from __future__ import annotations

import numpy as np
import pytest

from emcoop.envs.cube.batch import CubeBatch
from emcoop.envs.cube.env import make
from emcoop.envs.cube.state import CubeState


def same(one: CubeState, other: CubeState) -> bool:
    """Equal but for the padding."""
    m = min(len(one.blocks), len(other.blocks))
    return (
        one.step == other.step
        and np.array_equal(one.grid, other.grid)
        and np.array_equal(one.agents, other.agents)
        and np.array_equal(one.last, other.last)
        and np.array_equal(one.blocks[:m], other.blocks[:m])
        and np.array_equal(one.alive[:m], other.alive[:m])
    )


@pytest.mark.parametrize(("agents", "level"), [(3, "easy"), (3, "hard"), (6, "curriculum")])
def test_a_batch_plays_as_its_worlds_do_alone_and_restarts_them(agents: int, level: str) -> None:
    env = make(agents, level, horizon=25)
    seeds = (4, 9, 1)
    batch = CubeBatch(env, seeds, worlds=5)
    alone = [env.reset(seeds[b % 3]) for b in range(5)]
    place, ends = [b % 3 for b in range(5)], 0
    rng = np.random.default_rng(0)
    for _ in range(80):
        way = rng.integers(1, 5, (5, 1))
        actions = np.where(rng.random((5, agents)) < 0.6, way, rng.integers(0, 5, (5, agents)))
        batch.step(actions)
        for b in range(5):
            transition = env.step(alone[b], dict(zip(env.agents, actions[b].tolist(), strict=True)))
            assert batch.rewards[b, 0] == transition.rewards["agent_0"]
            assert (batch.terminated[b], batch.truncated[b]) == (transition.terminated, transition.truncated)
            alone[b] = transition.state
            if transition.terminated or transition.truncated:
                place[b] = (place[b] + 1) % 3
                alone[b] = env.reset(seeds[place[b]])
                ends += 1
            assert same(batch.state(b), alone[b])
    assert ends >= 15
    assert batch.start.tolist() == place


def test_random_play_is_named_by_its_seed() -> None:
    def grids(seed: int) -> bytes:
        batch = CubeBatch(make(3, "easy"), range(4), worlds=8)
        batch.play(150, seed)
        return batch.grid.tobytes()

    assert grids(1) == grids(1)
    assert grids(1) != grids(2)


def test_random_play_solves_some_easy_worlds_and_uses_every_primitive() -> None:
    batch = CubeBatch(make(3, "easy", horizon=2000), range(8), worlds=8)
    assert batch.play(6000) > 0
    assert set(np.unique(batch.last[..., 0])) <= set(range(8))


def test_bad_requests_are_refused() -> None:
    env = make(3, "easy")
    with pytest.raises(ValueError, match="at least one"):
        CubeBatch(env, [], worlds=2)
    batch = CubeBatch(env, [0], worlds=2)
    with pytest.raises(ValueError, match="shape"):
        batch.step(np.zeros((3, 2), np.int64))
    with pytest.raises(ValueError, match="primitives"):
        batch.step(np.full((2, 3), 5))
