"""The central planner against the world's own rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.envs.cube.board import Block, Board, play
from emcoop.envs.cube.env import make
from emcoop.envs.cube.paths import Reservations, distances, match, walk_to
from emcoop.envs.cube.planner import LONGEST_RUN, MOST_ACTIONS, cut, next_phase, runs, share

TEAMS = [(level, n) for level in ("easy", "medium", "hard") for n in range(2, 9) if (level, n) != ("hard", 2)]


def solve(board: Board, horizon: int = 100) -> int | None:
    """Steps until the planner has emptied the board by the world's rules; None if it does not."""
    steps = 0
    while board.blocks:
        plan = next_phase(board)
        if plan is None or steps > horizon:
            return None
        some = plan.steps[: cut(plan)]
        board, smooth = play(board, some)
        assert smooth, "a planned move or push had no effect"
        steps += len(some)
    return steps


@pytest.mark.parametrize(("level", "n"), TEAMS)
def test_every_level_is_solved_within_half_its_horizon(level: str, n: int) -> None:
    env = make(n, level)
    for seed in range(8):
        steps = solve(Board.of(env.reset(seed)))
        assert steps is not None, f"seed {seed}"
        assert steps <= env.horizon // 2, f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize(("level", "n"), TEAMS)
def test_three_hundred_instances_of_every_level_and_team_are_solved(level: str, n: int) -> None:
    env = make(n, level)
    unsolved = [seed for seed in range(300) if solve(Board.of(env.reset(seed))) is None]
    assert not unsolved


@given(st.integers(0, 2**32), st.sampled_from(TEAMS))
@settings(max_examples=40, deadline=None)
def test_any_seed_is_solved(seed: int, team: tuple[str, int]) -> None:
    level, n = team
    assert solve(Board.of(make(n, level).reset(seed))) is not None


def test_a_team_too_weak_for_the_only_block_gets_no_plan() -> None:
    assert next_phase(Board(8, ((0, 0), (7, 0)), (Block(0, 2, 3, 3),))) is None


def test_an_empty_board_needs_no_plan() -> None:
    assert next_phase(Board(8, ((0, 0), (7, 0)), ())) is None


def test_the_same_board_gives_the_same_plan_to_everybody() -> None:
    board = Board.of(make(3, "hard").reset(4))
    first = next_phase(board)
    next_phase.cache_clear()
    assert next_phase(Board(board.side, board.agents, board.blocks)) == first


def test_free_agents_deliver_another_block_at_the_same_time() -> None:
    board = Board(8, ((1, 1), (5, 1)), (Block(0, 1, 4, 1), Block(1, 5, 4, 1)))
    plan = next_phase(board)
    assert plan is not None
    assert {part.block for part in plan.parts if part is not None} == {0, 1}
    assert solve(board) == len(plan.steps) == 4 - 1 - 1 + 7 - 4


def test_two_blocks_in_a_row_are_pushed_as_one_chain_when_nothing_else_is_possible() -> None:
    board = Board(8, ((3, 0), (4, 0)), (Block(0, 3, 3, 1), Block(1, 3, 4, 1)))
    plan = next_phase(Board(8, board.agents, board.blocks))
    assert plan is not None
    # The right one alone cannot be reached from its left: both agents line up behind the left one.
    assert [part.block for part in plan.parts if part is not None] == [0, 0]
    assert solve(board) is not None


def test_a_block_on_the_left_wall_cannot_be_delivered() -> None:
    assert next_phase(Board(8, ((0, 3), (7, 3)), (Block(0, 3, 0, 1),))) is None


def test_an_agent_without_work_leaves_the_lane() -> None:
    board = Board(6, ((2, 1), (2, 4)), (Block(0, 2, 2, 1),))
    after, smooth = board, True
    plan = next_phase(board)
    assert plan is not None
    after, smooth = play(board, plan.steps)
    assert smooth
    assert not after.blocks
    assert plan.parts[1] is None
    assert after.agents[1][0] != 2


@pytest.mark.parametrize("seed", range(20))
def test_every_agents_share_is_equally_long_and_fits_a_symbolic_plan(seed: int) -> None:
    plan = next_phase(Board.of(make(3, "hard").reset(seed)))
    assert plan is not None
    shares = [share(plan, i) for i in range(3)]
    assert {sum(run.length for run in mine) for mine in shares} == {cut(plan)}
    assert all(len(mine) <= MOST_ACTIONS and run.length <= LONGEST_RUN for mine in shares for run in mine)
    whole = [[run.primitive for run in runs(plan, i) for _ in range(run.length)] for i in range(3)]
    assert whole == [[step[i] for step in plan.steps] for i in range(3)]


# -- paths -------------------------------------------------------------------------------------------------------------


def test_matching_minimises_the_slowest_agent() -> None:
    # Agent 0 is nearest to both slots; giving it slot 1 leaves slot 0 to agent 1 at cost 3 instead of 9.
    costs = {(0, 0): 1, (0, 1): 2, (1, 0): 3, (1, 1): 9}
    assert match(costs, 2) == {0: 1, 1: 0}


def test_no_matching_when_a_slot_has_nobody() -> None:
    assert match({(0, 0): 1, (1, 0): 1}, 2) is None


def test_distances_go_around_solid_cells() -> None:
    wall = {(0, 1), (1, 1)}
    assert distances(3, [(0, 0)], wall)[0, 2] == 6


def test_a_walker_waits_for_a_reserved_cell_to_be_free_again() -> None:
    held = Reservations()
    held.walk([(0, 1), (0, 1)], start=1)
    corridor = {(1, c) for c in range(3)}
    path = walk_to((0, 0), distances(3, [(0, 2)], corridor), corridor, 3, held, 20)
    assert path is not None
    assert path[-1] == (0, 2)
    # Others hold the middle at times 1 and 2, so it may be entered at time 4, one step after they have left.
    assert path.index((0, 1)) == 4
