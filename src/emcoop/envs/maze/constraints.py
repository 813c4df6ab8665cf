"""The cooperation constraints of the maze (paper on cooperation, equations 6 and 22) for its structured mode.

A task is the next step of the team, ``step:up``. Its required number is the whole team, since all must agree.

- spatial: the cell lies within the grid, seen from where the team stands: a fact, for everybody or nobody;
- temporal: the agent stands behind this step now: it has agreed to the pending proposal of it, or does so with its move
  on its turn;
- dependency: nothing that the agent knows speaks against it: its own copy does not show a wall there. Since every cell
  is in somebody's copy, this falls short exactly when the step leads into a wall, and names who could have known;
- participation: all of these at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from emcoop.core.types import Constraint, TaskConstraints, TaskId
from emcoop.envs.maze.actions import step_task
from emcoop.envs.maze.rules import Terms, on_turn, over
from emcoop.envs.maze.state import ACCEPT, DIRECTIONS, LISTEN, MazeState, moved


def open_tasks(state: MazeState, terms: Terms) -> tuple[TaskId, ...]:
    """The four next steps while the dialogue goes on; none in the free mode, where no move is machine-readable."""
    return () if terms.free or over(state, terms) else tuple(map(step_task, DIRECTIONS))


def constraints(
    state: MazeState, chosen: Sequence[int], named: frozenset[TaskId], terms: Terms, seen_by: Sequence[frozenset[int]]
) -> dict[TaskId, TaskConstraints]:
    """The step that is pending or proposed by this turn's move, and those named; `seen_by[i]` are the parts whose cells
    agent i sees."""
    known = set(open_tasks(state, terms))
    if not known:
        return {}
    now = _wanted(state, chosen)
    pending = state.pending.what if state.pending else None
    wanted = {step_task(what) for what in (now, pending) if what in DIRECTIONS} | (named & known)
    found = {}
    for direction in DIRECTIONS:
        if step_task(direction) in wanted:
            found[step_task(direction)] = _constraints(state, direction, now, seen_by)
    return found


def _wanted(state: MazeState, chosen: Sequence[int]) -> str | None:
    """The direction that the agent on turn stands behind with its move."""
    primitive = chosen[on_turn(state)]
    if LISTEN < primitive <= len(DIRECTIONS):
        return DIRECTIONS[primitive - 1]
    return state.pending.what if primitive == ACCEPT and state.pending else None


def _constraints(
    state: MazeState, direction: str, now: str | None, seen_by: Sequence[frozenset[int]]
) -> TaskConstraints:
    target, everybody = moved(state.position, direction), range(state.team)
    spatial = frozenset(everybody) if state.maze.inside(target) else frozenset[int]()
    behind = set(state.pending.agreed) if state.pending and state.pending.what == direction else set[int]()
    attempting = {on_turn(state)} if now == direction else set[int]()
    temporal = frozenset(behind | attempting)
    wall = state.maze.wall(target)
    dependency = frozenset(
        i for i in everybody if not (wall and any(state.maze.sees(part, target) for part in seen_by[i]))
    )
    satisfied = {Constraint.SPATIAL: spatial, Constraint.TEMPORAL: temporal, Constraint.DEPENDENCY: dependency}
    satisfied[Constraint.PARTICIPATION] = spatial & temporal & dependency
    return TaskConstraints(
        required=state.team,
        satisfied={kind: frozenset(f"agent_{i}" for i in agents) for kind, agents in satisfied.items()},
        attempting=frozenset(f"agent_{i}" for i in attempting),
    )
