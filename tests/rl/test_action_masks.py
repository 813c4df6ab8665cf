"""A primitive that is masked out leaves the world as doing nothing does, whatever the others do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.envs.cube import env as cube
from emcoop.envs.cube.state import CubeState, make_state
from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter import env as crafter
from emcoop.envs.ma_crafter.state import CrafterState


def world_of(state: Any) -> list[bytes]:
    """All of a state but the report of what became of each primitive."""
    if isinstance(state, CubeState):
        return [a.tobytes() for a in (state.agents, state.blocks, state.alive, state.grid)]
    return [array.tobytes() for name, array in state._asdict().items() if name != "result"]


def after(env: Any, state: Any, joint: np.ndarray) -> tuple[list[bytes], dict[str, float]]:
    done = env.step(state, dict(zip(env.agents, joint.tolist(), strict=True)))
    return world_of(done.state), dict(done.rewards)


def check_masked_out(env: Any, state: Any, rng: np.random.Generator, joint: np.ndarray, tries: int) -> int:
    """Compare primitives that are masked out with the first one, beside the same deeds of the others."""
    masks = env.action_masks(state)
    assert masks[:, 0].all()
    hidden = np.argwhere(~masks)
    for i, primitive in rng.permutation(hidden)[:tries]:
        with_it, without = joint.copy(), joint.copy()
        with_it[i], without[i] = primitive, 0
        assert after(env, state, with_it) == after(env, state, without), (i, env.primitives[primitive], joint)
    return len(hidden)


@st.composite
def boards(draw: st.DrawFn) -> CubeState:
    """A crowded board of side 6: up to four agents, up to five blocks of weight 1 to 4 that may touch."""
    side, taken, blocks = 6, np.zeros((6, 6), bool), []
    for _ in range(draw(st.integers(1, 5))):
        weight = draw(st.integers(1, 4))
        row, col = draw(st.integers(0, side - weight)), draw(st.integers(0, side - weight - 1))
        if not taken[row : row + weight, col : col + weight].any():
            taken[row : row + weight, col : col + weight] = True
            blocks.append((row, col, weight))
    free = np.argwhere(~taken)
    order = draw(st.permutations(range(len(free))))
    agents = free[list(order)[: draw(st.integers(1, 4))]]
    return make_state(side, agents.astype(np.int32), np.array(blocks, np.int32).reshape(-1, 3))


@given(state=boards(), seed=st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_what_cube_masks_out_changes_nothing(state: CubeState, seed: int) -> None:
    env, rng = cube.make(len(state.agents), "easy"), np.random.default_rng(seed)
    for _ in range(4):
        joint = np.where(rng.random() < 0.5, rng.integers(1, 5), rng.integers(0, 5, len(state.agents)))
        check_masked_out(env, state, rng, joint, 8)


@pytest.mark.parametrize("team", [1, 2, 3, 5])
def test_cube_masks_out_walls_and_blocks_that_nobody_can_move(team: int) -> None:
    agents = np.array([[0, 0], [5, 0], [4, 0], [3, 0], [2, 0]][:team], np.int32)
    state = make_state(6, agents, np.array([[0, 1, 3]], np.int32))
    stay, up, down, left, right = cube.make(team, "easy").action_masks(state)[0]
    assert (stay, up, down, left) == (True, False, True, False)
    assert right == (team >= 3)


def test_cube_offers_a_way_that_others_can_clear_in_the_same_step() -> None:
    """Two push the block up from behind its left column; what its right column leaves can be entered."""
    agents, block = np.array([[3, 2], [4, 0], [5, 0]], np.int32), np.array([[2, 0, 2]], np.int32)
    state, env = make_state(6, agents, block), cube.make(3, "easy")
    done = env.step(state, {"agent_0": 3, "agent_1": 1, "agent_2": 1})
    assert done.state.agents[0].tolist() == [3, 1]
    assert env.action_masks(state)[0, 3]
    state = make_state(6, agents[:2], block)
    assert not cube.make(2, "easy").action_masks(state)[0, 3]


def crafter_play(env: crafter.MACrafter, seed: int, steps: int) -> tuple[CrafterState, np.random.Generator]:
    """A state in which a team that is together, and has some things, has done much at random."""
    state, rng = env.reset(seed), np.random.default_rng(seed)
    state = state.copy()
    state.inventory[:, c.VITALS :] = rng.integers(0, 4, state.inventory[:, c.VITALS :].shape)
    state.inventory[:, c.ENERGY] = rng.integers(7, 10, len(env.agents))
    for _ in range(steps):
        state = env.step(state, dict(zip(env.agents, lively(env, rng).tolist(), strict=True))).state
    return state, rng


def lively(env: crafter.MACrafter, rng: np.random.Generator) -> np.ndarray:
    """Random primitives of which many are the same for everybody."""
    team = len(env.agents)
    own = np.where(rng.random(team) < 0.3, rng.integers(c.SHARE, len(env.primitives), team), rng.integers(0, 26, team))
    return np.where(rng.random(team) < 0.5, own, rng.integers(0, c.SHARE))


@pytest.mark.parametrize("team", [1, 2, 4])
@pytest.mark.parametrize("level", ["easy", "hard"])
@given(seed=st.integers(0, 2**20), steps=st.integers(0, 25))
@settings(max_examples=12, deadline=None)
def test_what_ma_crafter_masks_out_changes_nothing(team: int, level: str, seed: int, steps: int) -> None:
    env = crafter.make(team, level, size=16, goal=("collect_sapling",), on_death="respawn")
    state, rng = crafter_play(env, seed, steps)
    for _ in range(4):
        assert check_masked_out(env, state, rng, lively(env, rng), 25) > 0


@given(seed=st.integers(0, 2**20), steps=st.integers(0, 25))
@settings(max_examples=40, deadline=None)
def test_alone_in_ma_crafter_whatever_is_not_masked_out_has_an_effect(seed: int, steps: int) -> None:
    env = crafter.make(1, "easy", size=16, goal=("collect_sapling",), on_death="respawn")
    state, _ = crafter_play(env, seed, steps)
    for primitive in np.flatnonzero(env.action_masks(state)[0])[1:]:
        code = int(env.step(state, {"agent_0": int(primitive)}).state.result[0, c.CODE])
        # A turn towards what cannot be entered, a bag that is full or grass without a sapling are no failures of it.
        turns = c.LEFT <= primitive <= c.DOWN and primitive != state.agents[0, c.FACING]
        assert turns or code < c.FIRST_FAILURE or code in (c.BAG_FULL, c.UNLUCKY), c.RESULTS[code]


def test_the_dead_and_the_sleeping_can_do_nothing() -> None:
    env = crafter.make(2, "easy", on_death="continue")
    state = env.reset(0).copy()
    state.agents[0, c.DEAD] = 1
    state.agents[1, c.SLEEPING], state.inventory[1, c.ENERGY] = 1, 3
    masks = env.action_masks(state)
    assert masks.sum(axis=1).tolist() == [1, 1]
    state.inventory[1, c.ENERGY] = c.MOST
    assert env.action_masks(state)[1].sum() > 1
