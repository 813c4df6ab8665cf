"""The symbolic actions of the maze, why they fail, their checks, and their grounding (one turn each)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from emcoop.core.types import NO_TASK, AgentId, Category, Failure, Json, Phase, Plan, TaskId, agent_index
from emcoop.envs.base import Done, Failed, Grounding, Primitive, Progress
from emcoop.envs.maze.state import ANSWER, DIRECTIONS, LETTERS, LISTEN, PRIMITIVES, SYMBOLS, MazeState
from emcoop.envs.symbolic import Reasons, Symbolic, failed

Direction = Literal["up", "down", "left", "right"]

MAX_ACTIONS = 3
"""The three exit answers fit into one plan; a turn of the dialogue has one action."""

MAX_TURNS = 10
MAX_MESSAGE = 2000


class Propose(Symbolic):
    """Propose that the team goes one cell; it goes when everybody else accepts or proposes the same."""

    action_type: Literal["propose"] = "propose"
    direction: Direction


class Accept(Symbolic):
    """Agree to what is proposed."""

    action_type: Literal["accept"] = "accept"


class Reject(Symbolic):
    """Refuse what is proposed."""

    action_type: Literal["reject"] = "reject"


class Finish(Symbolic):
    """Propose, or agree, to end the dialogue where the team stands."""

    action_type: Literal["done"] = "done"


class Listen(Symbolic):
    """Do nothing for so many turns, those of the others included."""

    action_type: Literal["listen"] = "listen"
    num_turns: int = Field(default=1, ge=1, le=MAX_TURNS)


class AnswerPath(Symbolic):
    """Exit question: every move of the team in order, as letters U, D, L and R."""

    action_type: Literal["answer_path"] = "answer_path"
    moves: str = Field(max_length=500)


class AnswerPosition(Symbolic):
    """Exit question: where the team stands; row and column count from 0 at the top left."""

    action_type: Literal["answer_position"] = "answer_position"
    row: int = Field(ge=0, le=99)
    col: int = Field(ge=0, le=99)


class AnswerMap(Symbolic):
    """Exit question: the whole maze as you know it now, its rows of symbols separated by ``/``."""

    action_type: Literal["answer_map"] = "answer_map"
    rows: str = Field(max_length=5000)


Exit = AnswerPath | AnswerPosition | AnswerMap
Action = Annotated[
    Propose | Accept | Reject | Finish | Listen | AnswerPath | AnswerPosition | AnswerMap,
    Field(discriminator="action_type"),
]


class MazePlan(Symbolic):
    """A turn: why, which step it is about, the action, and, where agents are not asked for a message before, what is
    said with it."""

    reasoning: str = Field(default="", max_length=300)
    task: str = Field(default=NO_TASK, pattern=r"^(none|step:(up|down|left|right))$")
    message: str | None = Field(default=None, max_length=MAX_MESSAGE)
    actions: list[Action] = Field(min_length=1, max_length=MAX_ACTIONS)


FAILURES: Reasons = {
    "unknown_task": (Phase.PRE_CHECK, Category.WORLD_UNDERSTANDING),
    "bad_arguments": (Phase.PRE_CHECK, Category.FORMAT),
    "too_many_actions": (Phase.PLAN_CHECK, Category.FORMAT),
    "not_asked": (Phase.PLAN_CHECK, Category.WORLD_UNDERSTANDING),
    "dialogue_over": (Phase.PLAN_CHECK, Category.WORLD_UNDERSTANDING),
    "no_machine_line": (Phase.PLAN_CHECK, Category.FORMAT),
    "write_the_way": (Phase.PLAN_CHECK, Category.FORMAT),
    "not_your_turn": (Phase.EXECUTION, Category.COORDINATION),
    "nothing_pending": (Phase.EXECUTION, Category.COORDINATION),
    "own_proposal": (Phase.EXECUTION, Category.COORDINATION),
    "bad_answer": (Phase.EXECUTION, Category.FORMAT),
    "spoke_for_other": (Phase.EXECUTION, Category.COORDINATION),
}
"""Every reason why a plan or an action fails in the maze."""

MESSAGES: Mapping[str, str] = {
    "not_your_turn": "it was not your turn, so your action had no effect",
    "nothing_pending": "nothing was proposed that you could accept or reject",
    "own_proposal": "you cannot accept or reject your own proposal; the others decide about it",
    "bad_answer": "your answer could not be read",
    "not_asked": "answers are given when the dialogue is over, and not before",
    "dialogue_over": "the dialogue is over; only answers are taken now",
    "no_machine_line": "in this maze moves are agreed upon in words only; say it in your message and listen",
    "write_the_way": "in this maze you write the whole way with answer_path, then review it",
    "spoke_for_other": "you wrote lines of another agent; they are not counted",
}


def failure(code: str, message: str = "", *, phase: Phase | None = None, **detail: Json) -> Failure:
    """The failure of this code; `phase` overrides the phase in which it is usually found."""
    return failed(FAILURES, code, message or MESSAGES[code], phase, detail)


def idle_fields(phase: str) -> tuple[str, ...]:
    """The fields of those actions that are not taken in this phase (see `check_plan`)."""
    place = ("row", "col", "rows")
    idle = {"dialogue": (*place, "moves"), "free": (*place, "moves", "direction"), "written": (*place, "direction")}
    return idle.get(phase, ("direction",))


def step_task(direction: str) -> TaskId:
    """The name of the task to go one cell."""
    return f"step:{direction}"


def check_plan(plan: Plan, size: int, phase: str) -> Failure | None:
    """Why this plan cannot work, or None. Whose turn it is and what is pending shows when it is carried out.

    `phase` is ``dialogue``, ``free`` (dialogue without machine-readable moves), ``written`` (one answer, one review)
    or ``questions``.
    """
    known = (NO_TASK, *map(step_task, DIRECTIONS))
    if plan.task not in known:
        text = f"{plan.task[:60]!r} is no task; write none, or the step it is about, such as step:up"
        return failure("unknown_task", text, task=plan.task[:60])
    if not plan.actions:
        return failure("bad_arguments", "a turn needs one action")
    if len(plan.actions) > 1 and not all(isinstance(action, Exit) for action in plan.actions):
        count = len(plan.actions)
        return failure("too_many_actions", f"a turn has one action, not {count}; choose the next one", actions=count)
    for action in plan.actions:
        found = _check_action(action, size, phase)
        if found is not None:
            return found
    return None


def _check_action(action: BaseModel, size: int, phase: str) -> Failure | None:
    if isinstance(action, Listen):
        return None
    if phase == "written":
        if isinstance(action, Accept):
            return None
        return _check_answer(action, size) if isinstance(action, AnswerPath) else failure("write_the_way")
    if isinstance(action, Exit):
        return _check_answer(action, size) if phase == "questions" else failure("not_asked")
    if phase == "questions":
        return failure("dialogue_over")
    return failure("no_machine_line") if phase == "free" else None


def _check_answer(action: Exit, size: int) -> Failure | None:
    if isinstance(action, AnswerPosition):
        if action.row < size and action.col < size:
            return None
        return failure("bad_arguments", f"rows and columns go from 0 to {size - 1}, not ({action.row}, {action.col})")
    if isinstance(action, AnswerPath):
        wrong = sorted(set(action.moves.upper()) - set(LETTERS))
        return failure("bad_arguments", f"moves are letters U, D, L and R, not {wrong[0]!r}") if wrong else None
    rows = rows_of(action.rows)
    if len(rows) != size or any(len(row) != size for row in rows):
        return failure("bad_arguments", f"the map needs {size} rows of {size} symbols each, separated by /")
    wrong = sorted(set("".join(rows)) - set(SYMBOLS))
    return failure("bad_arguments", f"a map has the symbols {SYMBOLS}, not {wrong[0]!r}") if wrong else None


def rows_of(text: str) -> tuple[str, ...]:
    """The rows of a written map: separated by ``/`` or line ends, without spaces."""
    return tuple(row for part in text.replace("/", "\n").splitlines() if (row := "".join(part.split())))


# -- grounding -------------------------------------------------------------------------------------------------------


def ground(state: MazeState, agent: AgentId, action: BaseModel, progress: Progress, *, on_turn: bool) -> Grounding:
    """The move of this action on the agent's turn, then how it ended (Gamma). Raises TypeError for a foreign action."""
    if isinstance(action, Listen):
        return Primitive(LISTEN) if progress.steps < action.num_turns else Done()
    if progress.steps:
        result = state.last[agent_index(agent)]
        return Failed(failure(result, phase=Phase.EXECUTION)) if result in FAILURES else Done()
    if not on_turn:
        return Failed(failure("not_your_turn"))
    if isinstance(action, Propose):
        return Primitive(PRIMITIVES.index(f"propose_{action.direction}"))
    if isinstance(action, Accept | Reject | Finish):
        return Primitive(PRIMITIVES.index(action.action_type))
    return Primitive({"primitive": ANSWER, "answer": _answer(action)})


def _answer(action: BaseModel) -> dict[str, Json]:
    if isinstance(action, AnswerPath):
        return {"moves": action.moves.upper()}
    if isinstance(action, AnswerPosition):
        return {"position": [action.row, action.col]}
    if isinstance(action, AnswerMap):
        return {"rows": list(rows_of(action.rows))}
    raise TypeError(f"{type(action).__name__} is no symbolic action of the maze")
