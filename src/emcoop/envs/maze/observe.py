"""What an agent sees: its own copy of the maze, the state of the agreement, and the turns left; never the dialogue."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from emcoop.core.types import AgentId, agent_index
from emcoop.envs.maze.rules import PHRASE, Terms, acting, on_turn, over, phase
from emcoop.envs.maze.state import DIRECTIONS, FINISH, FREE, GOAL, HIDDEN, START, WALL, MazeState

CHANNELS = ("wall", "free", "hidden", "start", "goal", "team", *DIRECTIONS, "done", "my_turn")


class MazeObservation(BaseModel):
    """The symbolic observation of one agent.

    `maps` are the copies it sees, N strings of N symbols each: one, or both halves for the one agent of the arm
    ``both``. `position` and `path` (letters) are None in the free mode and during the exit questions, where they are
    not told. `written` is the way that one agent alone has written. `pending` is what is proposed, `proposer` by whom,
    `agreed` who agrees. `last_result` is what became of its last move.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str
    turn: int
    turns: int
    free: bool
    maps: tuple[tuple[str, ...], ...]
    my_turn: bool
    phase: str
    position: tuple[int, int] | None
    path: str | None
    written: str | None
    pending: str | None
    proposer: str | None
    agreed: tuple[str, ...]
    last_result: str
    unanswered: tuple[str, ...] = ()


def copies(state: MazeState, agent: int, view: str) -> tuple[tuple[str, ...], ...]:
    """The maps that this agent sees; `view` is ``half``, ``both`` (every part, each apart) or ``full``."""
    if view == "full":
        return (state.maze.rows,)
    if view == "both":
        return tuple(state.maze.view(part) for part in range(state.maze.parts))
    return (state.maze.view(agent),)


def observe(state: MazeState, agent: AgentId, view: str, terms: Terms) -> MazeObservation:
    """The symbolic observation."""
    i, closed = agent_index(agent), over(state, terms)
    told = not terms.free and not closed
    pending = state.pending if told else None
    return MazeObservation(
        agent=agent,
        turn=min(state.step, terms.turns),
        turns=terms.turns,
        free=terms.free,
        maps=copies(state, i, view),
        my_turn=i in acting(state, terms) if closed else on_turn(state) == i,
        phase=phase(state, terms),
        position=state.position if told else None,
        path=letters(state) if told else None,
        written=state.answers[i].moves if terms.written and not closed else None,
        pending=pending.what if pending else None,
        proposer=f"agent_{pending.by}" if pending else None,
        agreed=tuple(f"agent_{k}" for k in pending.agreed) if pending else (),
        last_result=state.last[i],
        unanswered=_unanswered(state, i) if closed and terms.questions else (),
    )


def letters(state: MazeState) -> str:
    """The agreed path as letters U, D, L and R."""
    names = {(-1, 0): "U", (1, 0): "D", (0, -1): "L", (0, 1): "R"}
    return "".join(names[b[0] - a[0], b[1] - a[1]] for a, b in pairwise(state.path))


def _unanswered(state: MazeState, i: int) -> tuple[str, ...]:
    given = state.answers[i]
    answers = {"answer_path": given.moves, "answer_position": given.position, "answer_map": given.rows}
    return tuple(name for name, value in answers.items() if value is None)


def describe(seen: MazeObservation) -> str:
    """The observation as compact text."""
    lines = []
    for number, rows in enumerate(seen.maps):
        title = "Your copy of the maze:" if len(seen.maps) == 1 else f"Copy {number + 1} of the maze:"
        lines += [title, *rows]
    if seen.phase == "questions":
        return "\n".join([*lines, *_questions(seen)])
    left = seen.turns - seen.turn
    lines.append(f"Turn {seen.turn + 1} of {seen.turns} ({left} left). {_whose(seen)}")
    if seen.phase == "written":
        return "\n".join([*lines, _review(seen)])
    if seen.free:
        lines.append(f"Say {PHRASE} when the team stands on the goal.")
        return "\n".join(lines)
    if seen.position is not None:
        row, col = seen.position
        lines.append(f"The team stands in row {row}, column {col} (from 0). Moves so far: {seen.path or 'none'}.")
    lines.append(_pending(seen))
    if seen.last_result:
        lines.append(f"Your last action: {seen.last_result.replace('_', ' ')}.")
    return "\n".join(lines)


def _whose(seen: MazeObservation) -> str:
    return "It is your turn." if seen.my_turn else "It is not your turn."


def _pending(seen: MazeObservation) -> str:
    if seen.pending is None:
        return "Nothing is proposed."
    what = "to end the dialogue" if seen.pending == FINISH else f"to go {seen.pending}"
    return f"Proposed by {seen.proposer}: {what}. Agreed: {', '.join(seen.agreed)}."


def _review(seen: MazeObservation) -> str:
    if seen.written is None:
        return "Write the whole way from @ to * with answer_path."
    return f"You wrote {seen.written or 'no moves'}. Review it: accept() keeps it, answer_path replaces it."


def _questions(seen: MazeObservation) -> list[str]:
    asked = ", ".join(seen.unanswered) or "nothing any more"
    return [
        "The dialogue is over. Questions to you alone; say nothing about them to anybody.",
        f"Still to be answered: {asked}. All of them may stand in one plan.",
    ]


def array(state: MazeState, agent: AgentId, view: str, terms: Terms) -> NDArray[np.float32]:
    """[N, N, 12], see CHANNELS: the agent's map (all its copies together), then what is pending and whose turn it is
    as planes of 0 or 1. In the free mode the team is drawn at the start."""
    maze, n = state.maze, state.maze.size
    seen = np.zeros((n, n, len(CHANNELS)), np.float32)
    for row in range(n):
        for col in range(n):
            known = {rows[row][col] for rows in copies(state, agent_index(agent), view)} - {HIDDEN}
            symbol = known.pop() if known else HIDDEN
            seen[row, col, (WALL, FREE, HIDDEN, START, GOAL).index(symbol)] = 1
    row, col = maze.start if terms.free else state.position
    seen[row, col, CHANNELS.index("team")] = 1
    if state.pending is not None:
        seen[..., CHANNELS.index(state.pending.what)] = 1
    seen[..., -1] = on_turn(state) == agent_index(agent)
    return seen
