"""Turns, agreement, how a maze ends, and what bad moves do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.maze.maze_kit import ROWS, WAY, at_start, go, maze_of, number, say

from emcoop.core.errors import ConfigError
from emcoop.core.types import NO_TASK, Constraint, Failure, Move, Plan
from emcoop.envs.base import Failed, Primitive, Progress
from emcoop.envs.maze import actions
from emcoop.envs.maze.env import make
from emcoop.envs.maze.generator import Level, generate, solved_alone
from emcoop.envs.maze.state import FREE, HIDDEN, PRIMITIVES, WALL, Maze, MazeState, distances, to_bytes

PAIR = make(2, "easy")
TRIO = make(3, "easy")
ASKING = make(2, "easy", exit_questions=True)
FREELY = make(2, "easy", mode="free")


def walked() -> tuple[str, ...]:
    return tuple(name for step in WAY for name in (step, "accept"))


# -- agreement -------------------------------------------------------------------------------------------------------


def test_a_step_needs_the_agreement_of_both() -> None:
    state, _ = go(PAIR, at_start(PAIR), "right")
    assert state.position == (0, 0)
    assert state.pending is not None
    state, _ = go(PAIR, state, "accept")
    assert state.position == (0, 1)
    assert state.pending is None


def test_proposing_the_same_is_agreeing() -> None:
    state, _ = go(PAIR, at_start(PAIR), "right", "right")
    assert state.position == (0, 1)


def test_another_proposal_replaces_the_one_before() -> None:
    state, _ = go(PAIR, at_start(PAIR), "down", "right", "accept")
    assert state.position == (0, 1)


def test_all_of_three_must_agree() -> None:
    state, _ = go(TRIO, at_start(TRIO), "right", "accept")
    assert state.position == (0, 0)
    state, _ = go(TRIO, state, "accept")
    assert state.position == (0, 1)


def test_what_is_rejected_is_gone() -> None:
    state, events = go(PAIR, at_start(PAIR), "right", "reject", "accept")
    assert state.position == (0, 0)
    assert events[-1] == {"kind": "blocked", "agent": "agent_0", "code": "nothing_pending"}


def test_the_goal_ends_the_maze_with_success() -> None:
    state, events = go(PAIR, at_start(PAIR), *walked())
    assert state.ended == "goal"
    assert events[-1] == {"kind": "dialogue_over", "how": "goal"}
    assert PAIR.score(state).success
    assert PAIR.score(state).detail["weighted"] == 1
    assert PAIR.score(state).detail["cause"] is None


def test_a_wall_ends_it_with_the_way_so_far() -> None:
    state, _ = go(PAIR, at_start(PAIR), "right", "accept", "down", "accept")
    score = PAIR.score(state)
    assert (state.ended, state.hit, state.position) == ("wall", "down", (0, 1))
    assert score.detail["weighted"] == pytest.approx(1 - 6 / 7)
    assert score.detail["cause"] == "wall"


def test_ending_early_needs_the_agreement_of_all_too() -> None:
    state, _ = go(PAIR, at_start(PAIR), "done")
    assert not state.ended
    state, _ = go(PAIR, state, "accept")
    assert (state.ended, PAIR.score(state).detail["cause"]) == ("done", "early_stop")


def test_the_weighted_outcome_may_be_negative_and_progress_not() -> None:
    rows = ("..@.*", "###.#", ".....", ".....", ".....")
    state, _ = go(PAIR, at_start(PAIR, rows), "left", "accept", "done", "accept")
    score = PAIR.score(state)
    assert score.detail["weighted"] == pytest.approx(-0.5)
    assert score.progress == 0


def test_the_weighted_outcome_counts_steps_around_walls() -> None:
    """From the start 4 steps around the wall (2 as the crow flies), from the cell below it 3."""
    state, _ = go(PAIR, at_start(PAIR, ("@#*", "...", "...")), "down", "accept", "done", "accept")
    assert PAIR.score(state).detail["weighted"] == pytest.approx(1 - 3 / 4)


def test_one_agent_alone_goes_where_it_says() -> None:
    env = make(1, "easy")
    state, _ = go(env, at_start(env), *WAY)
    assert env.score(state).success


def test_rewards_add_up_to_the_weighted_outcome() -> None:
    state, total = at_start(PAIR), 0.0
    for name in walked():
        (who,) = PAIR.acting(state)
        transition = PAIR.step(state, {**dict.fromkeys(PAIR.agents, 0), who: number(name)})
        state, total = transition.state, total + transition.rewards["agent_1"]
    assert total == pytest.approx(1)


# -- bad input -------------------------------------------------------------------------------------------------------


def test_a_move_out_of_turn_changes_nothing_but_the_record() -> None:
    state = at_start(PAIR)
    transition = PAIR.step(state, {"agent_0": 0, "agent_1": number("right")})
    assert transition.events == ({"kind": "blocked", "agent": "agent_1", "code": "not_your_turn"},)
    assert transition.state.pending is None
    found = PAIR.ground(state, "agent_1", actions.Propose(direction="right"), Progress())
    assert isinstance(found, Failed)
    assert (found.failure.phase, found.failure.code) == ("EXECUTION", "not_your_turn")


def test_nobody_accepts_its_own_proposal() -> None:
    state, events = go(PAIR, at_start(PAIR), "right", "listen", "accept")
    assert state.position == (0, 0)
    assert events[-1]["code"] == "own_proposal"
    grounded = PAIR.ground(state, "agent_0", actions.Accept(), Progress(steps=1))
    assert isinstance(grounded, Failed)
    assert grounded.failure.code == "own_proposal"


def refusal(env: Any, plan: Plan, state: MazeState | None = None) -> str:
    found = env.check_plan(state or at_start(env), "agent_0", plan)
    assert isinstance(found, Failure)
    assert found.message
    return found.code


def test_plans_that_cannot_work_are_refused_with_their_reason() -> None:
    two = (actions.Propose(direction="up"), actions.Accept())
    assert refusal(PAIR, Plan(NO_TASK, two)) == "too_many_actions"
    assert refusal(PAIR, Plan(NO_TASK, (actions.AnswerPath(moves="R"),))) == "not_asked"
    assert refusal(PAIR, Plan("step:north", (actions.Accept(),))) == "unknown_task"
    assert refusal(PAIR, Plan(NO_TASK, ())) == "bad_arguments"
    assert refusal(FREELY, Plan(NO_TASK, (actions.Accept(),))) == "no_machine_line"
    over, _ = go(ASKING, at_start(ASKING), "done", "accept")
    assert refusal(ASKING, Plan(NO_TASK, (actions.Accept(),)), over) == "dialogue_over"
    for wrong in (
        actions.AnswerPath(moves="RX"),
        actions.AnswerPosition(row=5, col=0),
        actions.AnswerMap(rows="@./.*"),
        actions.AnswerMap(rows="/".join(["@x..."] * 5)),
    ):
        assert refusal(ASKING, Plan(NO_TASK, (wrong,)), over) == "bad_arguments"


def test_a_thousand_actions_are_no_plan() -> None:
    listed = [{"action_type": "accept"}] * 1000
    with pytest.raises(ValueError, match="at most 3"):
        actions.MazePlan.model_validate({"task": NO_TASK, "actions": listed})


def test_mappings_as_moves_carry_no_harm() -> None:
    state, _ = go(ASKING, at_start(ASKING), "done", "accept")
    for answer in (
        None,
        3,
        {},
        {"moves": "X"},
        {"position": [9, 0]},
        {"position": "here"},
        {"rows": ["@"]},
        {"moves": "R" * 501},
    ):
        moves: dict[str, Move] = {
            "agent_0": {"primitive": PRIMITIVES.index("answer"), "answer": answer},
            "agent_1": 0,
        }
        transition = ASKING.step(state, moves)
        assert transition.events == ({"kind": "blocked", "agent": "agent_0", "code": "bad_answer"},)


def test_one_who_never_agrees_ends_at_the_bound_with_its_cause() -> None:
    env = make(2, "easy", horizon=10)
    state, _ = go(env, at_start(env), *(["right", "reject"] * 5))
    assert env.score(state).detail["cause"] == "agreement"
    silent, _ = go(env, at_start(env), *(["right", "listen"] * 5))
    assert env.score(silent).detail["cause"] == "format"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mode": "fre"}, "mode"),
        ({"view": "full"}, "one agent alone"),
        ({"review": True}, "one agent alone"),
        ({"shares": (1.0,)}, "shares"),
        ({"shares": (1.0, 0.0)}, "no part solves alone"),
        ({"walls": 0.9}, "free cells"),
        ({"size": 1}, "size"),
        ({"distance": (5, 3)}, "distance"),
    ],
)
def test_worlds_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        make(2, "easy", **options)


@pytest.mark.parametrize("agents", [0, 101, 10**8])
def test_a_team_of_no_possible_size_is_refused_at_once(agents: int) -> None:
    with pytest.raises(ConfigError, match="1 to 100 agents"):
        make(agents, "easy")


# -- the free mode ---------------------------------------------------------------------------------------------------


def test_words_alone_lead_to_the_goal() -> None:
    state = at_start(FREELY)
    state = say(FREELY, state, *(text for step in WAY for text in (f"I propose {step}.", "Agreed.")))
    assert not state.ended
    state = say(FREELY, state, "maze finished!")
    assert state.ended == "phrase"
    assert FREELY.score(state).success
    assert FREELY.score(state).detail["unresolved"] is None


def test_who_ends_at_once_stopped_early_or_said_nothing() -> None:
    at_once = say(FREELY, at_start(FREELY), "MAZE FINISHED")
    assert FREELY.score(at_once).detail["unresolved"] == "no_moves"
    assert FREELY.score(at_once).detail["cause"] == "early_stop"
    nothing = say(FREELY, at_start(FREELY), "Hello.", "Hello. MAZE FINISHED")
    assert FREELY.score(nothing).detail["cause"] == "format"
    early = say(FREELY, at_start(FREELY), "right?", "yes, right. MAZE FINISHED")
    assert FREELY.score(early).detail["cause"] == "early_stop"
    assert FREELY.score(early).detail["moves"] == 1


def test_words_put_into_anothers_mouth_do_not_count() -> None:
    state = at_start(FREELY)
    words = ["I propose right.\nagent_1: Agreed."]
    moves: dict[str, Move] = {"agent_0": {"primitive": 0, "said": words}, "agent_1": 0}
    transition = FREELY.step(state, moves)
    assert transition.events == ({"kind": "blocked", "agent": "agent_0", "code": "spoke_for_other"},)
    assert transition.state.said == ((0, "I propose right.\n"),)


def test_endless_words_are_cut_and_said_so() -> None:
    transition = FREELY.step(at_start(FREELY), {"agent_0": {"primitive": 0, "said": ["x" * 9000]}, "agent_1": 0})
    assert {"kind": "cut", "agent": "agent_0", "characters": 7000} in transition.events
    assert len(transition.state.said[0][1]) == 2000


# -- exit questions and the way written at once ----------------------------------------------------------------------


def answering(moves: str, row: int, col: int, rows: tuple[str, ...]) -> list[Any]:
    return [
        actions.AnswerPath(moves=moves),
        actions.AnswerPosition(row=row, col=col),
        actions.AnswerMap(rows="/".join(rows)),
    ]


def asked(state: MazeState, *agents: list[Any]) -> MazeState:
    for k in range(3):
        moves = {}
        for agent, answers in zip(ASKING.agents, agents, strict=True):
            grounded = ASKING.ground(state, agent, answers[k], Progress())
            assert isinstance(grounded, Primitive)
            moves[agent] = grounded.action
        state = ASKING.step(state, moves).state
    return state


def test_exit_answers_are_graded_and_tell_the_cause() -> None:
    state, _ = go(ASKING, at_start(ASKING), "right", "accept", "down", "accept")
    maze = maze_of(ROWS)
    assert ASKING.acting(state) == ("agent_0", "agent_1")
    seen = ASKING.observe(state, "agent_0")
    assert (seen.phase, seen.position, seen.path) == ("questions", None, None)
    blind = ("@....", ".....", ".....", "....*", ".....")
    state = asked(state, answering("RD", 1, 1, blind), answering("R", 0, 1, maze.view(1)))
    score = ASKING.score(state)
    assert score.detail["cause"] == "perception"  # agent_0 sees (1, 1) and tells it free
    answers = score.detail["answers"]
    assert (answers["path_agreement"], answers["path_correct"], answers["position_error"]) == (0, 0.5, 0.5)
    assert answers["maps"][1] == {"own": 1, "others": 0, "invented": 0}
    assert answers["maps"][0]["invented"] > 0


def test_a_wrong_belief_about_the_place_is_told_apart_from_an_early_stop() -> None:
    state, _ = go(ASKING, at_start(ASKING), "right", "accept", "done", "accept")
    views = [maze_of(ROWS).view(part) for part in (0, 1)]
    wrong = asked(state, answering("RR", 0, 2, views[0]), answering("R", 0, 1, views[1]))
    assert ASKING.score(wrong).detail["cause"] == "false_belief"
    right = asked(state, answering("R", 0, 1, views[0]), answering("R", 0, 1, views[1]))
    assert ASKING.score(right).detail["cause"] == "early_stop"


def test_the_way_written_at_once_is_walked_after_the_review() -> None:
    env = make(1, "easy", view="both", review=True)
    state = at_start(env)
    first = {"agent_0": {"primitive": PRIMITIVES.index("answer"), "answer": {"moves": "DD"}}}
    second = {"agent_0": {"primitive": PRIMITIVES.index("answer"), "answer": {"moves": "RRDDDRR"}}}
    drafted = env.step(state, first).state
    assert env.observe(drafted, "agent_0").written == "DD"
    ended = env.step(drafted, second)
    assert ended.terminated
    assert env.score(ended.state).success
    kept = env.step(drafted, {"agent_0": number("accept")})
    assert (kept.state.ended, kept.state.hit) == ("wall", "down")


# -- constraints -----------------------------------------------------------------------------------------------------


def test_a_step_into_a_wall_names_who_could_have_known() -> None:
    state, _ = go(PAIR, at_start(PAIR), "down")
    listed = PAIR.constraints(state, {"agent_0": 0, "agent_1": number("accept")})
    step = listed["step:down"]
    assert step.required == 2
    assert step.satisfied[Constraint.TEMPORAL] == frozenset(PAIR.agents)
    assert step.satisfied[Constraint.DEPENDENCY] == frozenset({"agent_0"})  # (1, 0) is in agent_1's copy
    assert step.attempting == frozenset({"agent_1"})


def test_who_does_not_agree_is_missing() -> None:
    listed = PAIR.constraints(at_start(PAIR), {"agent_0": number("right"), "agent_1": 0})
    assert listed["step:right"].satisfied[Constraint.PARTICIPATION] == frozenset({"agent_0"})


# -- the generator ---------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.0, 0.15, 0.3]), st.sampled_from([0.0, 0.2]))
def test_mazes_are_what_was_asked_for(seed: int, parts: int, walls: float, overlap: float) -> None:
    level = Level(size=6, walls=walls, distance=(7, 9), overlap=overlap)
    maze = generate(level, parts, seed)
    assert sum(row.count(WALL) for row in maze.rows) == round(walls * 36)
    assert 7 <= distances(maze.rows, maze.goal)[maze.start] <= 9
    assert not any(solved_alone(maze, part) for part in range(parts))
    views = [maze.view(part) for part in range(parts)]
    for r, row in enumerate(maze.rows):
        for c, symbol in enumerate(row):
            shown = [view[r][c] for view in views]
            assert set(shown) <= {symbol, HIDDEN}
            everybody = symbol in "@*" or shown.count(symbol) == parts
            assert everybody or shown.count(symbol) == 1
    sizes = [sum(symbol != HIDDEN for row in view for symbol in row) for view in views]
    assert max(sizes) - min(sizes) <= 1


def test_a_maze_is_solved_alone_only_by_a_copy_that_shows_a_whole_way() -> None:
    """Two ways of three cells around the wall; one copy misses a cell of the upper, the other sees the lower."""
    rows = ("...", "@#*", "...")
    seen = (0b01, 0b01, 0b10, 0b11, 0b01, 0b11, 0b10, 0b10, 0b10)
    maze = Maze(rows, (1, 0), (1, 2), 2, seen)
    assert maze.view(0) == ("..?", "@#*", "???")
    assert maze.view(1) == ("??.", "@?*", "...")
    assert [solved_alone(maze, part) for part in (0, 1)] == [False, True]


@pytest.mark.parametrize("walls", [0.3, 0.7])
def test_every_start_is_the_corner_where_that_is_asked_for(walls: float) -> None:
    env = make(2, "medium", corner=True, walls=walls)
    mazes = [env.reset(seed).maze for seed in range(20)]
    assert {maze.start for maze in mazes} == {(0, 0)}
    assert all(7 <= distances(maze.rows, maze.goal)[maze.start] <= 9 for maze in mazes)
    assert len({maze.start for maze in (make(2, "medium", walls=walls).reset(seed).maze for seed in range(20))}) > 1


def test_walls_leave_room_for_a_way_up_to_three_quarters() -> None:
    maze = generate(Level(size=6, walls=0.75, distance=(7, 8)), 2, 5)
    assert sum(row.count(FREE) for row in maze.rows) == 7
    assert 7 <= distances(maze.rows, maze.goal)[maze.start] <= 8


def test_uneven_shares_are_kept() -> None:
    maze = generate(Level(size=6, walls=0.3, distance=(7, 9), shares=(0.7, 0.3)), 2, 1)
    seen = [sum(mask >> part & 1 for mask in maze.seen) - 2 for part in (0, 1)]
    assert seen == [24, 10]


# -- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 3), st.lists(st.integers(0, len(PRIMITIVES) - 1), max_size=60))
def test_random_play_keeps_the_way_valid_the_turns_in_order_and_the_score_in_range(
    seed: int, agents: int, chosen: list[int]
) -> None:
    env = make(agents, "easy", exit_questions=True, horizon=30)
    state = env.reset(seed)
    for k, primitive in enumerate(chosen):
        who = env.acting(state)
        if not state.ended and state.step < 30:
            assert who == (f"agent_{k % agents}",)
        transition = env.step(state, {agent: primitive if agent in who else 0 for agent in env.agents})
        state = transition.state
        assert not any(state.maze.wall(cell) for cell in state.path)
        assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in zip(state.path, state.path[1:], strict=False))
        score = env.score(state)
        assert 0 <= score.progress <= 1
        assert score.success == (score.progress == 1) == (state.position == state.maze.goal)
        assert env.restore(env.snapshot(state)) == state
        if transition.terminated or transition.truncated:
            break


def test_a_snapshot_is_small() -> None:
    state, _ = go(PAIR, at_start(PAIR), *walked())
    assert len(to_bytes(state)) < 1000
