"""The rules of the maze as text, in three wordings, each for machine-readable moves and for the free dialogue."""

from __future__ import annotations

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.envs.maze.rules import PHRASE, Terms

_FULL = """\
You and the others look at one maze of {size} rows and {size} columns, as a team that walks through it together from \
the start to the goal. {copies}

SYMBOLS: @ start, * goal, . free, # wall, ? a cell that is hidden from you. {split} The rows have no labels: agree on \
how you name cells.

MOVES: one cell up, down, left or right. Every move needs the agreement of all. A step into a wall or off the grid \
ends everything. You take turns; there are {turns} turns in all.

{play}

{questions}{hurry}"""

_SHORT = """\
Maze, {size} x {size}: @ start, * goal, . free, # wall, ? hidden from you. {copies} {split}
Walk together from @ to *, one cell at a time (up, down, left, right); all must agree on every step; stepping into a \
wall or off the grid loses. Turns: {turns}, one agent after the other.
{play}
{questions}{hurry}"""

_STORY = """\
A torn map lies before your team: a labyrinth of {size} by {size} squares. Together you stand at @ and want to reach \
the treasure at *. Floor is drawn as a dot (.), rock as #, and what is torn off from your piece as a question mark \
(?). {copies} {split} Nobody wrote numbers at the edges, so settle how you call a square.

You walk as one, square by square, up, down, left or right, and only where all of you agree. Walking into rock or off \
the map is the end. You speak in turn, {turns} times in all.

{play}

{questions}{hurry}"""

_TEXTS = {"full": _FULL, "short": _SHORT, "story": _STORY}
VARIANTS = tuple(_TEXTS)

_ACTIONS = """\
Each turn you say what you want to the others and choose ONE action: propose(direction) a step; accept() or reject() \
what another has proposed; done() to end where you stand (all must agree to it, too); listen(num_turns) to let turns \
pass. The team steps when everybody else has accepted the proposal or proposed the same. Reaching the goal ends the \
maze by itself. "message" is what you say with the action where you were not asked for a message before; else null. \
"task" names the step it is about (step:up, step:down, step:left, step:right) or none."""

_FREE = f"""\
There are no machine-readable moves: you agree on every step in your own words, written to everybody. Propose a step, \
and let the others accept it before you count on it. When the team has reached the goal, write {PHRASE}, which ends \
the maze. Put your words into "message" where you were not asked for a message before; else null. The action is \
listen(num_turns) with num_turns 1 and task none; propose(direction), accept(), reject() and done() have no effect \
here."""

_WRITTEN = """\
You are alone. In your first turn write the whole way with answer_path(moves), letters U, D, L and R; in your second \
review it: accept() keeps it, answer_path(moves) replaces it. Then it is walked. listen(num_turns) does nothing; \
propose(direction), reject() and done() are not used, "message" is null and "task" none."""

_ASKED = """\
After the dialogue each of you is asked alone: answer_path(moves), all moves of the team as letters U, D, L, R; \
answer_position(row, col), where the team stands, counted from 0 at the top left; answer_map(rows), the whole maze as \
you know it, rows separated by /, ? for what you do not know."""

_NOT_ASKED = """\
The actions answer_path(moves), answer_position(row, col) and answer_map(rows) are not used in this maze."""

_WRITTEN_ONLY = "The actions answer_position(row, col) and answer_map(rows) are not used in this maze."

_HURRY = "\nHurry: use as few messages as you can."

COPIES = {
    "half": "Each of you has a copy on which only a part of the cells is drawn.",
    "both": "You have several copies, and on each of them only a part of the cells is drawn.",
    "full": "Your copy shows every cell.",
}
SPLIT = {
    "half": "What is hidden from you, somebody else sees.",
    "both": "What is hidden on one copy, another shows.",
    "full": "Nothing is hidden.",
}
ALONE = "You are alone: what you propose is done at once."


def rules(variant: str, size: int, view: str, team: int, terms: Terms, hurry: bool) -> str:
    """The rules in this wording. Raises ConfigError for an unknown one."""
    if variant not in _TEXTS:
        raise ConfigError(f"maze has no prompt variant {variant!r}; {nearest(variant, _TEXTS)}")
    text = _TEXTS[variant].format(
        size=size,
        turns=terms.turns,
        copies=COPIES[view],
        split=SPLIT[view],
        play=_WRITTEN if terms.written else _FREE if terms.free else _ACTIONS,
        questions=_ASKED if terms.questions else _WRITTEN_ONLY if terms.written else _NOT_ASKED,
        hurry=_HURRY if hurry else "",
    )
    return text if team > 1 or terms.written else f"{text}\n{ALONE}"
