"""The compiled step against the slow reference, over worlds made to touch and crowd."""

from __future__ import annotations

from collections import Counter

import cube_naive as naive
import numpy as np
import pytest
from cube_maps import world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emcoop.envs.cube import rules
from emcoop.envs.cube.state import RESULTS, CubeState, from_bytes, make_state, to_bytes


@st.composite
def crowded(draw: st.DrawFn) -> CubeState:
    """Side 4-9, 1-5 agents, 0-5 blocks of weight 1-3; bodies like to touch."""
    side = draw(st.integers(4, 9))
    free = {(r, c) for r in range(side) for c in range(side)}
    blocks: list[tuple[int, int, int]] = []
    near: set[tuple[int, int]] = set()
    for _ in range(draw(st.integers(0, 5))):
        weight = draw(st.integers(1, 3))
        spots = [
            (r, c)
            for r in range(side - weight + 1)
            for c in range(side - weight)
            if all((r + i, c + j) in free for i in range(weight) for j in range(weight))
        ]
        if not spots:
            continue
        touching = [spot for spot in spots if spot in near]
        row, col = draw(st.sampled_from(touching if touching and draw(st.booleans()) else spots))
        blocks.append((row, col, weight))
        for r in range(row, row + weight):
            for c in range(col, col + weight):
                free.discard((r, c))
                near |= {(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)}
    agents: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(1, 5))):
        touching = sorted(free & near)
        cell = draw(st.sampled_from(touching if touching and draw(st.integers(0, 3)) else sorted(free)))
        agents.append(cell)
        free.discard(cell)
        near |= {(cell[0], cell[1] + 1), (cell[0], cell[1] - 1), (cell[0] + 1, cell[1]), (cell[0] - 1, cell[1])}
    return make_state(side, np.array(agents, np.int32).reshape(-1, 2), np.array(blocks, np.int32).reshape(-1, 3))


@st.composite
def joint_actions(draw: st.DrawFn, n: int) -> list[int]:
    """Often everybody heads the same way, so that chains form."""
    way = draw(st.integers(1, 4))
    return [way if draw(st.integers(0, 3)) else draw(st.integers(0, 4)) for _ in range(n)]


def kernel_step(state: CubeState, actions: list[int]) -> tuple[CubeState, int]:
    grid, agents, blocks, alive, last = (
        a.copy() for a in (state.grid, state.agents, state.blocks, state.alive, state.last)
    )
    delivered = int(rules.step_in_place(grid, agents, blocks, alive, last, np.array(actions, np.int32)))
    return CubeState(state.step + 1, agents, blocks, alive, last, grid), delivered


def check_same(before: CubeState, actions: list[int]) -> tuple[CubeState, naive.Outcome]:
    after, delivered = kernel_step(before, actions)
    expected, outcome = naive.step(world(before), actions)
    assert world(after) == expected
    found = {i: (RESULTS[code], int(force), int(need)) for i, (code, force, need) in enumerate(after.last)}
    assert found == outcome.results
    assert delivered == outcome.delivered
    return after, outcome


def check_sound(before: CubeState, after: CubeState, total: int) -> None:
    """No overlap, nothing outside, no block lost; the grid is what the bodies paint (`from_bytes` repaints it)."""
    again = from_bytes(to_bytes(after))
    assert np.array_equal(again.grid, after.grid)
    assert to_bytes(again) == to_bytes(after)
    assert len(after.blocks) == total
    assert (after.alive <= before.alive).all()
    assert np.array_equal(after.blocks[:, 2], before.blocks[:, 2])
    assert (np.abs(after.agents - before.agents).sum(axis=1) <= 1).all()


@settings(max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_kernel_and_the_slow_reference_agree_on_any_play(data: st.DataObject) -> None:
    state = data.draw(crowded())
    for _ in range(data.draw(st.integers(1, 4))):
        before, state = state, state
        actions = data.draw(joint_actions(len(state.agents)))
        state, _ = check_same(before, actions)
        check_sound(before, state, len(before.blocks))


def random_world(rng: np.random.Generator, way: int) -> CubeState:
    """Light blocks and many agents on a small board, most bodies right behind another one as seen along `way`."""
    side = int(rng.integers(5, 9))
    grid = np.zeros((side, side), bool)

    def spot(weight: int, width: int) -> tuple[int, int] | None:
        for _ in range(30):
            row, col = int(rng.integers(0, side - weight + 1)), int(rng.integers(0, width - weight + 1))
            dr, dc = naive.MOVES[way]
            front = grid[max(row + dr, 0) : row + dr + weight, max(col + dc, 0) : col + dc + weight]
            if not grid[row : row + weight, col : col + weight].any() and (front.any() or rng.random() < 0.1):
                grid[row : row + weight, col : col + weight] = True
                return row, col
        return None

    weights = [int(rng.choice([1, 1, 1, 1, 1, 2, 2, 3])) for _ in range(int(rng.integers(2, 6)))]
    blocks = [(*place, weight) for weight in weights if (place := spot(weight, side - 1)) is not None]
    agents = [place for _ in range(int(rng.integers(2, 16))) if (place := spot(1, side)) is not None]
    if not agents:
        return random_world(rng, way)
    order = rng.permutation(len(blocks))
    squares = np.array(blocks, np.int32).reshape(-1, 3)[order]
    return make_state(side, rng.permutation(np.array(agents, np.int32).reshape(-1, 2)), squares)


def test_a_sweep_of_random_worlds_meets_every_case_and_always_agrees() -> None:
    rng = np.random.default_rng(7)
    seen: Counter[str] = Counter()
    for _ in range(2000):
        way = int(rng.integers(1, 5))
        state = random_world(rng, way)
        for keenness in (1.0, 0.7):
            keep = rng.random(len(state.agents)) < keenness
            actions = np.where(keep, way, rng.integers(0, 5, len(state.agents))).tolist()
            before = state
            state, outcome = check_same(before, actions)
            check_sound(before, state, len(before.blocks))
            seen.update(name for name, _, _ in outcome.results.values())
            seen["delivered"] += bool(outcome.delivered)
            seen["chain of three"] += outcome.largest_chain >= 3
            seen["chain of two"] += outcome.largest_chain == 2
            seen["split compound"] += outcome.split_compounds > 0
    cases = (*RESULTS, "delivered", "chain of two", "chain of three", "split compound")
    missing = [name for name in cases if seen[name] < 3]
    assert not missing, f"the sweep never met {missing}: {dict(seen)}"


@pytest.mark.slow
def test_a_long_sweep_of_random_worlds_always_agrees() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20_000):
        way = int(rng.integers(1, 5))
        state = random_world(rng, way)
        for keenness in (0.95, 0.6):
            keep = rng.random(len(state.agents)) < keenness
            state, _ = check_same(state, np.where(keep, way, rng.integers(0, 5, len(state.agents))).tolist())


def test_a_chain_never_moves_with_too_little_force() -> None:
    """Judged from positions alone: whatever moved weighs at most the agents that moved with it the same way."""
    rng = np.random.default_rng(11)
    moved_blocks = 0
    for _ in range(2000):
        way = int(rng.integers(1, 5))
        before = random_world(rng, way)
        actions = np.where(rng.random(len(before.agents)) < 0.8, way, 0).tolist()
        after, _ = kernel_step(before, actions)
        shift = np.array(naive.MOVES[way])
        moved = np.flatnonzero((after.blocks[:, :2] != before.blocks[:, :2]).any(axis=1))
        assert ((after.blocks[moved, :2] - before.blocks[moved, :2]) == shift).all()
        pushers = (after.agents - before.agents == shift).all(axis=1) & (after.last[:, 0] == RESULTS.index("pushed"))
        assert before.blocks[moved, 2].sum() <= pushers.sum()
        moved_blocks += len(moved)
    assert moved_blocks > 200
