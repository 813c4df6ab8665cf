"""What a turn does: proposals and agreement, the steps that follow, how the dialogue ends, and the exit questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from emcoop.core.types import AgentId, Json, Move, agent_names
from emcoop.envs.maze.state import (
    ACCEPT,
    ANSWER,
    COUNTS,
    DIRECTIONS,
    DONE,
    FINISH,
    LETTERS,
    LISTEN,
    LONGEST_TEXT,
    REJECT,
    SYMBOLS,
    Answers,
    MazeState,
    Pending,
    moved,
)

PHRASE = "MAZE FINISHED"
"""What ends the dialogue of the free mode, in whatever case."""

WRITTEN_TURNS = 2
"""One answer and one review."""

EXIT_STEPS = 6
"""So many steps the exit questions last at most; three answers need three."""

Event = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Terms:
    """`turns` bounds the dialogue; `free` is without machine-readable moves; `questions` are asked at the end.

    `written`: one agent alone writes the whole way in its first turn and reviews it in its second, the last.
    """

    turns: int
    free: bool
    questions: bool
    written: bool = False


def on_turn(state: MazeState) -> int:
    """The index of the agent whose turn it is in the dialogue."""
    return state.step % state.team


def over(state: MazeState, terms: Terms) -> bool:
    """Whether the dialogue has ended."""
    return bool(state.ended) or state.step >= terms.turns


def finished(state: MazeState, terms: Terms) -> bool:
    """Whether the episode has ended, the exit questions included."""
    if not over(state, terms) or not terms.questions:
        return over(state, terms)
    return state.step >= state.closed + EXIT_STEPS or all(answer.complete for answer in state.answers)


def phase(state: MazeState, terms: Terms) -> str:
    """``dialogue``, ``free``, ``written``, ``questions`` or ``over``: what kind of move is taken now."""
    if over(state, terms):
        return "questions" if terms.questions else "over"
    return "written" if terms.written else "free" if terms.free else "dialogue"


def acting(state: MazeState, terms: Terms) -> tuple[int, ...]:
    """Who decides: whose turn it is; during the exit questions everybody at once, each by itself."""
    if not over(state, terms):
        return (on_turn(state),)
    return tuple(i for i, answer in enumerate(state.answers) if not answer.complete)


def step(
    state: MazeState, chosen: Sequence[int], moves: Mapping[AgentId, Move], terms: Terms
) -> tuple[MazeState, tuple[Event, ...]]:
    """The state after one turn, and what happened; `chosen` are the primitives by index."""
    names, events = agent_names(state.team), list[Event]()
    who = acting(state, terms)
    state = replace(state, last=("",) * state.team)
    for i, primitive in enumerate(chosen):
        if i not in who:
            if primitive != LISTEN:
                state = _blocked(state, i, "not_your_turn", events)
        elif over(state, terms):
            state = _exit(state, i, primitive, moves[names[i]], events)
        elif terms.written:
            state = _written(state, i, primitive, moves[names[i]], events)
        elif terms.free:
            state = _words(state, i, primitive, moves[names[i]], events)
        else:
            state = _turn(state, i, primitive, events)
    state = replace(state, step=state.step + 1)
    if terms.written and over(state, terms) and not state.ended:
        state = _walk(state, state.answers[0].moves or "", events)
    if over(state, terms) and state.closed < 0:
        state = replace(state, closed=state.step)
        events.append({"kind": "dialogue_over", "how": state.ended or "turns"})
    return state, tuple(events)


def _noted(state: MazeState, i: int, result: str, what: str) -> MazeState:
    """The state with the result of agent i's move, counted under `what`."""
    last = (*state.last[:i], result, *state.last[i + 1 :])
    place = COUNTS.index(what)
    own = tuple(n + (k == place) for k, n in enumerate(state.counts[i]))
    return replace(state, last=last, counts=(*state.counts[:i], own, *state.counts[i + 1 :]))


def _blocked(state: MazeState, i: int, code: str, events: list[Event]) -> MazeState:
    events.append({"kind": "blocked", "agent": f"agent_{i}", "code": code})
    return _noted(state, i, code, "blocked")


# -- structured mode -------------------------------------------------------------------------------------------------


def _turn(state: MazeState, i: int, primitive: int, events: list[Event]) -> MazeState:
    if primitive == LISTEN:
        return _noted(state, i, "listened", "listened")
    if primitive == ANSWER:
        return _blocked(state, i, "not_asked", events)
    if primitive in (ACCEPT, REJECT):
        if state.pending is None:
            return _blocked(state, i, "nothing_pending", events)
        if i in state.pending.agreed:
            return _blocked(state, i, "own_proposal", events)
        if primitive == REJECT:
            events.append({"kind": "rejected", "agent": f"agent_{i}", "what": state.pending.what})
            return replace(_noted(state, i, "rejected", "rejected"), pending=None)
        return _agree(_noted(state, i, "accepted", "accepted"), i, state.pending, events)
    what = FINISH if primitive == DONE else DIRECTIONS[primitive - 1]
    state = _noted(state, i, "finishing" if primitive == DONE else "proposed", _count_of(primitive))
    pending = state.pending
    if pending is None or pending.what != what:
        pending = Pending(what, i, ())
        events.append({"kind": "proposed", "agent": f"agent_{i}", "what": what})
    return _agree(state, i, pending, events)


def _count_of(primitive: int) -> str:
    return "finished" if primitive == DONE else "proposed"


def _agree(state: MazeState, i: int, pending: Pending, events: list[Event]) -> MazeState:
    agreed = tuple(sorted({*pending.agreed, i}))
    if len(agreed) < state.team:
        return replace(state, pending=replace(pending, agreed=agreed))
    state = replace(state, pending=None)
    if pending.what == FINISH:
        return replace(state, ended="done")
    target = moved(state.position, pending.what)
    if state.maze.wall(target):
        events.append({"kind": "hit_wall", "what": pending.what, "cell": list(target)})
        return replace(state, ended="wall", hit=pending.what)
    events.append({"kind": "moved", "what": pending.what, "cell": list(target)})
    ended = "goal" if target == state.maze.goal else ""
    return replace(state, path=(*state.path, target), ended=ended)


# -- free mode -------------------------------------------------------------------------------------------------------

_SPEAKER = r"^[\s>*_#-]*(?:\[)?{name}(?:\])?\**\s*:"


def own_words(text: str, i: int, team: int) -> tuple[str, bool]:
    """What agent i says itself: its text up to the first line that it writes for another agent, and whether it did."""
    others = "|".join(str(k) for k in range(team) if k != i)
    if not others:
        return text, False
    found = re.search(_SPEAKER.format(name=rf"agent[ _]?(?:{others})"), text, re.IGNORECASE | re.MULTILINE)
    return (text[: found.start()], True) if found else (text, False)


def _words(state: MazeState, i: int, primitive: int, move: Move, events: list[Event]) -> MazeState:
    said = [] if isinstance(move, int) else move.get("said", [])
    text = "\n".join(part for part in said if isinstance(part, str)) if isinstance(said, list) else ""
    kept, foreign = own_words(text[:LONGEST_TEXT], i, state.team)
    if len(text) > LONGEST_TEXT:
        events.append({"kind": "cut", "agent": f"agent_{i}", "characters": len(text) - LONGEST_TEXT})
    if kept.strip():
        state = replace(state, said=(*state.said, (i, kept)))
    if PHRASE.lower() in kept.lower():
        state = replace(state, ended="phrase")
    if foreign:
        return _blocked(state, i, "spoke_for_other", events)
    if primitive != LISTEN:
        return _blocked(state, i, "no_machine_line", events)
    return _noted(state, i, "listened", "listened")


# -- one answer and one review ---------------------------------------------------------------------------------------


def _written(state: MazeState, i: int, primitive: int, move: Move, events: list[Event]) -> MazeState:
    """Keep the way that was written; in the second turn a new one replaces it, and anything else keeps it."""
    if primitive == LISTEN:
        return _noted(state, i, "listened", "listened")
    if primitive == ACCEPT and state.answers[i].moves is not None:
        return _noted(state, i, "accepted", "accepted")
    if primitive != ANSWER:
        return _blocked(state, i, "write_the_way", events)
    answer = _read(replace(state, answers=(Answers(),)), i, move)
    if answer is None or answer.moves is None:
        return _blocked(state, i, "bad_answer", events)
    events.append({"kind": "written", "agent": f"agent_{i}", "moves": answer.moves})
    return _noted(replace(state, answers=(answer,)), i, "answered", "proposed")


def _walk(state: MazeState, moves: str, events: list[Event]) -> MazeState:
    """Go the way that was written, up to the goal or a wall."""
    for letter in moves:
        state = _agree(state, 0, Pending(LETTERS[letter], 0, ()), events)
        if state.ended:
            break
    return replace(state, ended=state.ended or "done", answers=(Answers(),))


# -- exit questions --------------------------------------------------------------------------------------------------


def _exit(state: MazeState, i: int, primitive: int, move: Move, events: list[Event]) -> MazeState:
    if primitive == LISTEN:
        return state
    if primitive != ANSWER:
        return _blocked(state, i, "dialogue_over", events)
    answer = _read(state, i, move)
    if answer is None:
        return _blocked(state, i, "bad_answer", events)
    events.append({"kind": "answered", "agent": f"agent_{i}"})
    answers = (*state.answers[:i], answer, *state.answers[i + 1 :])
    return _noted(replace(state, answers=answers), i, "answered", "answered")


def _read(state: MazeState, i: int, move: Move) -> Answers | None:
    """The agent's answers with this one; None for what is none. The first answer to a question counts."""
    given: Any = None if isinstance(move, int) else move.get("answer")
    if not isinstance(given, Mapping):
        return None
    before, size = state.answers[i], state.maze.size
    moves, position, rows = given.get("moves"), given.get("position"), given.get("rows")
    if isinstance(moves, str) and before.moves is None and len(moves) <= 500 and set(moves) <= set(LETTERS):
        return replace(before, moves=moves)
    if before.position is None and _is_cell(position, size):
        return replace(before, position=(position[0], position[1]))
    if before.rows is None and _is_map(rows, size):
        return replace(before, rows=tuple(rows))
    return None


def _is_cell(value: Any, size: int) -> TypeGuard[list[int]]:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(k, int) and 0 <= k < size for k in value)


def _is_map(value: Any, size: int) -> TypeGuard[list[str]]:
    if not isinstance(value, list) or len(value) != size:
        return False
    return all(isinstance(row, str) and len(row) == size and not set(row) - set(SYMBOLS) for row in value)
