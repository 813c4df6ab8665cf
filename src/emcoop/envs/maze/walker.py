"""A policy that walks by what it knows and keeps account of what has been agreed; the base of all that move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import BaseModel

from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Outgoing, Plan, agent_index
from emcoop.envs.maze import talk, words
from emcoop.envs.maze.actions import (
    Accept,
    AnswerMap,
    AnswerPath,
    AnswerPosition,
    Finish,
    Listen,
    Propose,
    Reject,
    step_task,
)
from emcoop.envs.maze.observe import MazeObservation
from emcoop.envs.maze.rules import PHRASE
from emcoop.envs.maze.state import (
    DIRECTIONS,
    FINISH,
    GOAL,
    LETTERS,
    START,
    WALL,
    Cell,
    moved,
)
from emcoop.envs.policy import PolicySeat, PolicyView, Quiet

Choose: TypeAlias = tuple[str, str]
"""A decision: (``propose``, ``agree``, ``refuse`` or ``listen``; a direction, ``done`` or nothing)."""

LISTEN: Choose = ("listen", "")
LETTER = {direction: letter for letter, direction in LETTERS.items()}


def seen(view: PolicyView) -> MazeObservation:
    """The view's observation. Raises TypeError for that of another world."""
    if not isinstance(view.observation, MazeObservation):
        raise TypeError(f"a policy of the maze cannot read a {type(view.observation).__name__}")
    return view.observation


class Walker(Quiet):
    """Walks by its own copy; subclasses choose the step.

    `own` is its copy, `known` what it goes by; `path` the moves as far as it knows them, `before` the cell before the
    present one. In the free mode it keeps account itself of what has been agreed in the sentences of `talk`.
    """

    def __init__(self, seat: PolicySeat) -> None:
        self.index = agent_index(seat.agent)
        self.team = len(seat.env.agents)
        self.stream = Stream.named(seat.seed, "maze", "walker")
        self.own: tuple[str, ...] = ()
        self.known: tuple[str, ...] = ()
        self.refused: set[tuple[Cell, str]] = set()
        self.path = ""
        self.start = self.goal = self.here = self.before = (0, 0)
        self.pending: tuple[str, frozenset[int]] | None = None
        self._maps: list[tuple[str, ...]] = []
        self._decided: tuple[int, Choose] | None = None

    # -- what it knows -------------------------------------------------------------------------------------------

    def look(self, view: PolicyView) -> None:
        """Take in the observation and, in the free mode, the sentences since the last look."""
        now = seen(view)
        if not self.own:
            self.own = self.known = talk.merged(now.maps)
            place = {s: (r, c) for r, row in enumerate(self.own) for c, s in enumerate(row)}
            self.start, self.goal = place[START], place[GOAL]
            self.here = self.before = self.start
        if now.free:
            for message in view.unread:
                self._hear(agent_index(message.sender), message.content)
        elif now.path is not None:
            self._notice(now)

    def _notice(self, now: MazeObservation) -> None:
        """The engine's account of the agreement; a proposal of its own that is gone without a step was refused."""
        assert now.path is not None
        gone = now.path == self.path and self.pending is not None and now.pending != self.pending[0]
        if gone and self.pending and self.index in self.pending[1] and self.pending[0] in DIRECTIONS:
            self.refused.add((self.here, self.pending[0]))
        if now.path != self.path:
            self._goes(now.path)
        agreed = frozenset(agent_index(agent) for agent in now.agreed)
        self.pending = (now.pending, agreed) if now.pending else None

    def _remember(self, verb: str, what: str) -> None:
        """What is pending after its own move, as far as it can tell before the others have moved."""
        if verb == "refuse":
            self.pending = None
        elif verb != "listen":
            agreed = self.pending[1] if self.pending and self.pending[0] == what else frozenset[int]()
            self.pending = (what, agreed | {self.index})

    def _goes(self, path: str) -> None:
        self.path, self.here, self.before = path, self.start, self.start
        for letter in path:
            self.before, self.here = self.here, moved(self.here, LETTERS[letter])

    def _hear(self, who: int, text: str) -> None:
        """The sentences of `talk`; where there are none, agreement, refusal and single steps in other words."""
        said = talk.sentences(text)
        for verb, what in said:
            self._account(who, verb, what)
        agreed: tuple[int, str] | None = None
        for token in () if said else words.tokens(text):
            if token.kind == words.REFUSE:
                self._account(who, "refuse", self.pending[0] if self.pending else "")
            elif token.kind == words.AGREE and self.pending:
                agreed = token.clause, self.pending[0]
                self._account(who, "agree", self.pending[0])
            elif token.kind == words.MOVES and agreed != (token.clause, step := token.steps[0].direction) and step:
                self._account(who, "propose", step)  # "agreed, right" is one agreement and no further step

    def _account(self, who: int, verb: str, what: str) -> None:
        if verb == "refuse":
            if self.pending and self.index in self.pending[1] and what in DIRECTIONS:
                self.refused.add((self.here, what))
            self.pending = None
            return
        agreed = self.pending[1] if self.pending and self.pending[0] == what else frozenset[int]()
        agreed |= {who}
        self.pending = (what, agreed)
        if len(agreed) == self.team:
            self.pending = None
            if what in DIRECTIONS:
                self._goes(self.path + LETTER[what])

    def steps(self, here: Cell) -> list[str]:
        """The directions that what it knows allows."""
        size = len(self.known)
        cells = {d: moved(here, d) for d in DIRECTIONS}
        inside = {d: (r, c) for d, (r, c) in cells.items() if 0 <= r < size and 0 <= c < size}
        return [d for d, (r, c) in inside.items() if self.known[r][c] != WALL]

    # -- what it does --------------------------------------------------------------------------------------------

    def choose(self, here: Cell) -> str | None:
        """The step it wants from here, or None."""
        raise KeyError(here)

    def decide(self) -> Choose:
        """What to do in this turn of the dialogue."""
        if self.pending and self.index not in self.pending[1]:
            return self.judge(*self.pending)
        if self.pending:
            return LISTEN
        if self.here == self.goal:
            return "propose", FINISH
        wanted = self.choose(self.here)
        return ("propose", wanted) if wanted else LISTEN

    def judge(self, what: str, agreed: frozenset[int]) -> Choose:
        """What to do about the proposal of another."""
        return "agree", what

    def plan(self, view: PolicyView) -> Plan:
        """The decision of this turn as an action, or, in the free mode, as words."""
        self.look(view)
        now = seen(view)
        if now.phase == "questions":
            return self._answers(now)
        if now.phase == "written":
            return Plan(NO_TASK, (Accept() if now.written else AnswerPath(moves=self._way()),))
        verb, what = self._decision(view)
        if now.free:
            return self._in_words(verb, what, view)
        self._remember(verb, what)
        return Plan(step_task(what) if what in DIRECTIONS else NO_TASK, (_action(verb, what),))

    def _decision(self, view: PolicyView) -> Choose:
        """One decision for a turn, whether it is asked for words first or not."""
        if self._decided is None or self._decided[0] != view.step:
            self._decided = (view.step, self.decide())
        return self._decided[1]

    def _in_words(self, verb: str, what: str, view: PolicyView) -> Plan:
        if verb == "listen":
            return Plan(NO_TASK, (Listen(),))
        self._account(self.index, verb, what)
        text = talk.say(verb, what)
        if self.here == self.goal:
            text += f" {PHRASE}."
        return Plan(NO_TASK, (Listen(),), "", (Outgoing(view.team, text),))

    def _way(self) -> str:
        """The whole way as letters, walked in the mind."""
        here, path = self.start, ""
        for _ in range(len(self.known) ** 2):
            if here == self.goal:
                break
            wanted = self.choose(here)
            if wanted is None:
                break
            self.before, here, path = here, moved(here, wanted), path + LETTER[wanted]
        return path

    def _answers(self, now: MazeObservation) -> Plan:
        """All answers that are still wanted. A step that was pending and leads to the goal has been made."""
        path, here = self.path, self.here
        if self.pending and self.pending[0] in DIRECTIONS and moved(here, self.pending[0]) == self.goal:
            path, here = path + LETTER[self.pending[0]], self.goal
        answers: Mapping[str, BaseModel] = {
            "answer_path": AnswerPath(moves=path),
            "answer_position": AnswerPosition(row=here[0], col=here[1]),
            "answer_map": AnswerMap(rows="/".join(self.known)),
        }
        wanted = tuple(answers[name] for name in now.unanswered)
        return Plan(NO_TASK, wanted or (Listen(),))


def _action(verb: str, what: str) -> BaseModel:
    if verb == "listen":
        return Listen()
    if verb == "refuse":
        return Reject()
    if what == FINISH and verb == "propose":
        return Finish()
    return Accept() if verb == "agree" else Propose(direction=what)  # type: ignore[arg-type]
