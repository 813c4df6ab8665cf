"""A batch goes through the same states as single steps, and starts the next episode where one ends."""

from __future__ import annotations

import numpy as np
import pytest
from crafter_play import step

from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter.batch import CrafterBatch
from emcoop.envs.ma_crafter.generator import generate
from emcoop.envs.ma_crafter.state import to_bytes
from emcoop.envs.ma_crafter.tables import crafter_rules


def test_worlds_of_a_batch_go_through_the_states_of_single_steps() -> None:
    rules = crafter_rules(required={"tree": 2}, on_death="respawn")
    batch, stream = CrafterBatch(rules, 3, [4, 5], 3, (32, 32)), Stream(2)
    states = [generate(rules, 3, seed, (32, 32)) for seed in (4, 5, 4)]
    for _ in range(120):
        joint = [[stream.below(c.primitive_count(3)) for _ in range(3)] for _ in states]
        batch.step(np.array(joint))
        for b, (state, actions) in enumerate(zip(states, joint, strict=True)):
            states[b], rewards, _ = step(state, actions, rules)
            assert np.array_equal(rewards, batch.rewards[b])
            assert to_bytes(states[b]) == to_bytes(batch.state(b))


def test_an_ended_world_begins_its_next_start() -> None:
    rules = crafter_rules(goal=("collect_drink",))
    batch = CrafterBatch(rules, 1, [0, 1], 2, (32, 32), horizon=3)
    batch.worlds.inventory[1, 0, c.HEALTH] = 0
    noop = np.zeros((2, 1), np.int64)
    batch.step(noop)
    assert batch.terminated.tolist() == [False, True]
    assert batch.won.tolist() == [False, False]
    assert to_bytes(batch.state(1)) == to_bytes(generate(rules, 1, 0, (32, 32)))
    batch.worlds.achievements[1, 0, c.ACHIEVEMENTS.index("collect_drink")] = 1
    batch.step(noop)
    assert batch.won.tolist() == [False, True]
    batch.step(noop)
    assert batch.truncated.tolist() == [True, False]
    assert to_bytes(batch.state(0)) == to_bytes(generate(rules, 1, 1, (32, 32)))


def test_random_play_ends_episodes_and_is_the_same_every_time() -> None:
    batches = [CrafterBatch(crafter_rules(), 2, [0], 2, (32, 32), horizon=50) for _ in range(2)]
    ended = {batch.play(200, seed=3) for batch in batches}
    assert len(ended) == 1
    assert min(ended) >= 8
    assert to_bytes(batches[0].state(1)) == to_bytes(batches[1].state(1))


@pytest.mark.parametrize("actions", [np.zeros((1, 2), np.int64), np.full((2, 2), -1), np.full((2, 2), 10_000)])
def test_wrong_joint_actions_are_refused(actions: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"primitives are|actions of shape"):
        CrafterBatch(crafter_rules(), 2, [0], 2, (32, 32)).step(actions)
