"""The rules of one step, worked out by hand: a map, the joint action, the map after it."""

from __future__ import annotations

import pytest
from cube_maps import draw, parse, play, results

PUSHED, WEAK, NO_ROOM = "pushed", "insufficient_force", "blocked_destination"
MOVED, STAYED, OCCUPIED, CONTESTED, WALL = "moved", "stayed", "occupied", "contested", "wall"


def board(*rows: str, side: int) -> str:
    """These rows under one empty row, in a square."""
    return "\n".join([row.ljust(side, ".") for row in ("", *rows)] + ["." * side] * (side - 1 - len(rows)))


def check(before: str, joint: str, after: str, *expected: str) -> None:
    state, _ = play(parse(before), joint)
    assert draw(state) == after
    assert results(state) == list(expected)


@pytest.mark.parametrize(
    ("before", "action", "after"),
    [
        ("....\n.aA.\n....\n....", "R", None),
        ("....\n..Aa\n....\n....", "L", "....\n.Aa.\n....\n...."),
        ("....\n....\n.A..\n.a..", "U", "....\n.A..\n.a..\n...."),
        (".a..\n.A..\n....\n....", "D", "....\n.a..\n.A..\n...."),
    ],
)
def test_one_agent_pushes_a_light_block_in_each_direction_and_follows_it(
    before: str, action: str, after: str | None
) -> None:
    # To the right the block reaches the goal column and is gone.
    check(before, action, after or "....\n..a.\n....\n....", PUSHED)


def test_one_agent_is_too_weak_for_weight_two_and_learns_the_numbers() -> None:
    state, _ = play(parse(board("aAA..", ".AA..", side=5)), "R")
    assert draw(state) == board("aAA..", ".AA..", side=5)
    assert (results(state), state.last[0, 1:].tolist()) == ([WEAK], [1, 2])


def test_two_agents_in_line_move_weight_two() -> None:
    check(board("abAA", "..AA", side=6), "RR", board(".abAA", "...AA", side=6), PUSHED, PUSHED)


def test_two_agents_side_by_side_on_a_face_move_weight_two() -> None:
    check(board(".aAA", ".bAA", side=6), "RR", board("..aAA", "..bAA", side=6), PUSHED, PUSHED)


def test_two_agents_at_different_faces_do_not_add_up() -> None:
    before = board("..AA", ".aAA", "..b", side=6)
    check(before, "RU", before, WEAK, WEAK)


def test_an_agent_in_line_that_does_not_push_lends_no_force() -> None:
    before = board("abAA", "..AA", side=6)
    check(before, ".R", before, STAYED, WEAK)
    check(before, "R.", before, OCCUPIED, STAYED)


def test_an_agent_behind_a_gap_lends_no_force_and_closes_up() -> None:
    check(board("a.bAA", "...AA", side=6), "RR", board(".abAA", "...AA", side=6), MOVED, WEAK)


def test_all_of_a_line_go_along_also_more_than_needed() -> None:
    check(board("abcA", side=7), "RRR", board(".abcA", side=7), PUSHED, PUSHED, PUSHED)


def test_a_chain_of_two_light_blocks_needs_two_agents() -> None:
    check(board(".aAB", "b", side=6), "R.", board(".aAB", "b", side=6), WEAK, STAYED)
    check(board("abAB", side=6), "RR", board(".abAB", side=6), PUSHED, PUSHED)


def test_a_chain_of_weights_one_and_two_needs_three_agents() -> None:
    before = board("abcABB", "....BB", side=9)
    check(before, "RRR", board(".abcABB", ".....BB", side=9), PUSHED, PUSHED, PUSHED)
    check(before, ".RR", before, STAYED, WEAK, WEAK)


def test_a_branching_chain_needs_the_force_for_both_branches() -> None:
    before = board("abAAB", "cdAAC", side=8)
    check(before, "RRRR", board(".abAAB", ".cdAAC", side=8), *[PUSHED] * 4)
    check(before, "RR.R", before, WEAK, WEAK, STAYED, WEAK)


def test_a_block_beside_the_chain_is_not_part_of_it() -> None:
    check(board(".aA", "..B", side=6), "R", board("..aA", "..B", side=6), PUSHED)


def test_two_blocks_side_by_side_move_a_third_with_their_forces_added() -> None:
    """A and B (1 each) press on C (2): each chain alone needs 3 and has 2, together they need 4 and have 4."""
    before = board("abACC", "cdBCC", side=8)
    check(before, "RRRR", board(".abACC", ".cdBCC", side=8), *[PUSHED] * 4)
    check(before, "RR.R", before, WEAK, WEAK, STAYED, WEAK)


def test_when_the_compound_is_too_heavy_one_of_its_chains_goes_alone() -> None:
    """A (1) and B (2) press on C (2): five are needed, four push; A and C need three, and three push A."""
    before = board("abcACC", ".dBBCC", "..BB", side=8)
    after = board(".abcACC", ".dBB.CC", "..BB", side=8)
    check(before, "RRRR", after, PUSHED, PUSHED, PUSHED, WEAK)


def test_when_one_branch_is_blocked_the_other_chain_goes_alone() -> None:
    """The force is there for all, but an agent stands in front of B's second row."""
    before = board("abcACC", "deBBCC", "..BBf", side=9)
    after = board(".abcACC", "deBB.CC", "..BBf", side=9)
    check(before, "RRRRR.", after, PUSHED, PUSHED, PUSHED, NO_ROOM, NO_ROOM, STAYED)


def test_a_block_that_moves_up_behind_another_chain_does_not_move_twice() -> None:
    """A (smaller index) moves first and then touches B, which three agents move in the same direction."""
    before = board(".BBabc", ".BB.Ad", side=8)
    check(before, "LLLL", board("BBabc", "BB.Ad", side=8), *[PUSHED] * 4)


def test_opposed_pushes_block_each_other() -> None:
    before = board("", ".aAb", side=6)
    check(before, "RL", before, NO_ROOM, NO_ROOM)
    before = board("..a", "..A", "..b", side=6)
    check(before, "DU", before, NO_ROOM, NO_ROOM)


def test_directions_are_resolved_in_the_order_up_down_left_right() -> None:
    """Whoever is later in the order meets the first pusher where the block was."""
    check(board("", ".aA", "..b", side=6), "RU", board("..A", ".ab", side=6), OCCUPIED, PUSHED)
    check(board("..a", "..Ab", side=6), "DL", board("", "..ab", "..A", side=6), PUSHED, OCCUPIED)


def test_a_block_can_be_pushed_on_in_a_later_direction_of_the_same_step() -> None:
    """b pushes A up, into the row of a, who pushes it on to the right; b stands where the block was."""
    check(board(".a", "..A", "..b", side=6), "RU", board("..aA", "..b", side=6), PUSHED, PUSHED)


@pytest.mark.parametrize("occupant", ["stays", "leaves"])
def test_a_destination_with_an_agent_blocks_even_if_that_agent_leaves(occupant: str) -> None:
    before = board("aAb", side=6)
    if occupant == "stays":
        check(before, "R.", before, NO_ROOM, STAYED)
    else:
        check(before, "RD", board("aA", "..b", side=6), NO_ROOM, MOVED)


def test_a_wall_blocks_a_chain() -> None:
    check("A...\na...\n....\n....", "U", "A...\na...\n....\n....", NO_ROOM)
    check("A...\nB...\na...\nb...", "UU", "A...\nB...\na...\nb...", NO_ROOM, NO_ROOM)


def test_too_little_force_is_said_before_missing_room() -> None:
    check("A...\nB...\na...\nb...", "U.", "A...\nB...\na...\nb...", WEAK, STAYED)


def test_the_smallest_index_wins_a_contested_cell() -> None:
    check(board("b.a", side=5), "LR", board("ba", side=5), MOVED, CONTESTED)
    check(board(".c", "b.a", side=5), "LRD", board(".c", "ba", side=5), MOVED, CONTESTED, CONTESTED)


def test_a_claimant_that_loses_stays_and_blocks_who_follows_it() -> None:
    check(board("cb.a", side=6), "LRR", board("cba", side=6), MOVED, CONTESTED, OCCUPIED)


def test_a_stationary_agent_cannot_be_displaced() -> None:
    check(board("ab", side=5), "R.", board("ab", side=5), OCCUPIED, STAYED)


def test_the_winner_of_an_occupied_cell_still_shuts_out_the_others() -> None:
    check(board("acb", side=5), "RL.", board("acb", side=5), OCCUPIED, CONTESTED, STAYED)


def test_a_line_follows_its_leader() -> None:
    check(board("cba", side=5), "RRR", board(".cba", side=5), MOVED, MOVED, MOVED)
    check(board("abc", side=5), "RRD", board(".ab", "..c", side=5), MOVED, MOVED, MOVED)


def test_a_line_behind_a_blocked_leader_stays() -> None:
    check(board("..cba", side=5), "RRR", board("..cba", side=5), WALL, OCCUPIED, OCCUPIED)


def test_two_agents_cannot_swap() -> None:
    check(board("ab", side=5), "RL", board("ab", side=5), OCCUPIED, OCCUPIED)


def test_a_ring_of_four_does_not_turn() -> None:
    check(board("ab", "dc", side=5), "RDLU", board("ab", "dc", side=5), *[OCCUPIED] * 4)


def test_who_waits_for_a_ring_stays_too() -> None:
    check(board("ab", "dc", "e", side=5), "RDLUU", board("ab", "dc", "e", side=5), *[OCCUPIED] * 4, CONTESTED)


def test_a_wall_stops_a_walker() -> None:
    check("a...\n....\n....\n....", "U", "a...\n....\n....\n....", WALL)


def test_a_cell_that_a_block_enters_in_this_step_is_occupied() -> None:
    """Blocks move before anybody walks (paper, appendix H.1: "including newly moved blocks")."""
    check(board("..b", "aA", side=6), "RD", board("..b", ".aA", side=6), PUSHED, OCCUPIED)


def test_who_pushed_in_vain_is_an_obstacle() -> None:
    check(board("..AA", ".aAA", ".b", side=6), "RU", board("..AA", ".aAA", ".b", side=6), WEAK, OCCUPIED)


def test_the_cell_a_pusher_leaves_can_be_entered() -> None:
    check(board(".aA", ".b", side=6), "RU", board(".baA", side=6), PUSHED, MOVED)


def test_a_block_is_delivered_when_any_part_of_it_reaches_the_goal_column() -> None:
    state, delivered = play(parse(board("..aAA", "..bAA", side=6)), "RR")
    assert (draw(state), delivered, state.alive.tolist()) == (board("...a", "...b", side=6), 2, [0])


def test_a_chain_is_delivered_block_by_block() -> None:
    state, delivered = play(parse(board("abAB", side=5)), "RR")
    assert (draw(state), delivered, state.alive.tolist()) == (board(".abA", side=5), 1, [1, 0])
    state, delivered = play(state, "RR")
    assert (draw(state), delivered, state.alive.tolist()) == (board("..ab", side=5), 1, [0, 0])


def test_a_cell_freed_by_delivery_can_be_entered_in_the_same_step() -> None:
    check(board("....b", "..aA", side=5), "RD", board("", "...ab", side=5), PUSHED, MOVED)


def test_a_delivered_block_neither_moves_nor_blocks_any_more() -> None:
    state, _ = play(parse(board("..aA", side=5)), "R", "R")
    assert draw(state) == board("....a", side=5)
    assert results(state) == [MOVED]
