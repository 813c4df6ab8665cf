"""The account of a dialogue in one scheme: every speech act changes what is proposed, agreed upon or in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from emcoop.envs.maze import acts
from emcoop.envs.maze.acts import Token
from emcoop.envs.maze.standing import AMBIGUOUS, UNCLEAR, Cells, Contradiction, Proposal, Standing
from emcoop.envs.maze.state import DIRECTIONS, moved
from emcoop.envs.maze.steps import Step


@dataclass(slots=True)
class Account(Standing):
    """What the messages do, one after the other.

    `refused`: this message refuses something, or names an obstacle, `was_refused` the one before; `dropped` is what
    this message has refused, in the clause `dropped_clause`. `question`: this message asks for a fact, `replies`: the
    one before did. `nodded`: this message has begun with an agreement, `repeated`: and named what it agrees to.
    `weighed` is the clause in which an option was named without being chosen.
    `puzzled` is the last message that ends with words that are not known and may propose something, `named_goal` who
    named the cell of the goal last, and when; `seen` are the steps that were described last, in message `seen_turn`.
    """

    refused: bool = False
    was_refused: bool = False
    dropped: Proposal | None = None
    dropped_clause: int = -1
    question: bool = False
    replies: bool = False
    nodded: bool = False
    weighed: int = -1
    repeated: bool = False
    puzzled: int = -1
    named_goal: tuple[int, int] = (-1, -1)
    seen: tuple[Step, ...] = ()
    seen_turn: int = -1

    def turn(self, speaker: int, found: Sequence[Token]) -> None:
        """One message."""
        settled, self.done, self.done_clause = self.done, (), -1
        self.settled = settled
        self.now += 1
        self.was_refused = self.refused
        self.refused = self.nodded = self.repeated = False
        self.weighed = -1
        self.dropped, self.replies, self.question = None, self.question, False
        last = max((i for i, token in enumerate(found) if token.kind == acts.MOVES), default=-1)
        for i, token in enumerate(found):
            if token.kind == acts.END:
                return
            free = self.pending is None or self.pending.echo
            repeats = token.confirms and free and self._tell(token.steps, settled)
            if repeats and (len(token.steps) > 1 or (i < last and not token.joined)):
                continue  # "good, up it is; next ..."
            self._take(speaker, token)

    def _take(self, speaker: int, token: Token) -> None:
        """One speech act."""
        simple = {
            acts.AGREE: self._agreement, acts.REFUSE: self._refusal, acts.WITHDRAW: self._withdrawal,
            acts.START: self._anchor, acts.GOAL: self._anchor, acts.CLAIM: self._claim, acts.MOVES: self._moves,
            acts.SEEN: self._seen, acts.TOLD: self._told, acts.ARRIVED: self._arrived,
        }  # fmt: skip
        if token.kind not in (acts.UNKNOWN, acts.ASKED) and self.puzzled == self.now:
            self.puzzled = -1
        if token.kind in simple:
            simple[token.kind](speaker, token)
        elif token.kind == acts.BLOCKED:
            self.refused = True
        elif token.kind == acts.UNKNOWN:
            self._unknown(speaker, token)
        elif token.kind == acts.APART:
            self.signs.apart |= {speaker}
        elif token.kind == acts.ASKED:
            self.question = True
        else:
            self._pointer(speaker, token)

    def _unknown(self, speaker: int, token: Token) -> None:
        """Words that may have been an answer, an item of a list, or a proposal."""
        self.puzzled = self.now if token.goes else -1
        if self.pending and speaker not in self.pending.agreed:
            self.pending.unknown = self.pending.unknown or not token.asked
        elif self.pending and self.pending.by == speaker and self.pending.turn == self.now and token.listed:
            self.pending.doubt = UNCLEAR

    def _refusal(self, speaker: int, token: Token) -> None:
        if self.pending and len(self.pending.options) > 1 and token.clause == self.weighed:
            return  # "plan B does not work": the others are left
        self.dropped, self.dropped_clause = self.pending or self.dropped, token.clause
        self.signs.lost -= self.pending is not None and self.pending.broken
        self.pending, self.refused = None, True

    def _withdrawal(self, speaker: int, token: Token) -> None:
        self.refused = True
        self.undone = self.undone or (self.pending is None and self.dropped is None and bool(self.settled))
        if self.pending and self.pending.by == speaker:
            self.pending = None

    def _seen(self, speaker: int, token: Token) -> None:
        self.seen = token.steps if self.seen_turn != self.now else (*self.seen[-1:], *token.steps)[-1:]
        self.seen_turn = self.now
        self.question = self.question or token.asked

    def _arrived(self, speaker: int, token: Token) -> None:
        """The goal is said to be reached; if it is already, what may be an echo is one."""
        if self.pending and self.pending.cells:
            self.pending.short = self.pending.cells[-1] != self.maze.goal
        else:
            self.signs.against += self.path[-1] != self.maze.goal
        if self.pending and self.pending.echo:
            self.pending.echo = False
            self.pending = None if self.path[-1] == self.maze.goal else self.pending

    def _anchor(self, speaker: int, token: Token) -> None:
        assert token.cell is not None
        wanted = self.maze.start if token.kind == acts.START else self.maze.goal
        if self.scheme.cell(token.cell, self.maze.size) != wanted:
            raise Contradiction(token.kind)
        if token.kind == acts.GOAL:
            self.named_goal = speaker, self.now

    def _claim(self, speaker: int, token: Token) -> None:
        """Where the team is said to stand: at first the start; later it may confirm what was proposed."""
        assert token.cell is not None
        cell = self.scheme.cell(token.cell, self.maze.size)
        if len(self.path) == 1 and self.pending is None and cell != self.maze.start:
            raise Contradiction(acts.CLAIM)
        if self.pending and self.pending.cells and self.pending.cells[-1] == cell:
            self._agree(speaker, token.clause)
        elif cell != self.path[-1]:
            self.signs.misplaced += 1

    def _told(self, speaker: int, token: Token) -> None:
        """What was done so far: it may confirm what is proposed, or fit the way, or speak against it."""
        way = tuple(self.path)
        cells, broken = self._cells(way[0], token.steps)
        if len(way) == 1 and self.pending is None:
            return self._moves(speaker, replace(token, kind=acts.MOVES))
        ahead = self.pending.cells if self.pending else ()
        whole = ahead if self.pending and self.pending.whole else (*way[1:], *ahead)
        if ahead and not broken and cells == whole:
            self.signs.retold += self.pending is not None and self.pending.by == speaker
            self._agree(speaker, token.clause)
        elif not broken and cells == way[1:]:
            self.doubt = "" if self.doubt == UNCLEAR else self.doubt
        elif not (self._fits(0, token.steps) or self._fits(max(0, len(way) - 1 - len(token.steps)), token.steps)):
            self.signs.against += 1
            self.signs.retold += 1

    def _moves(self, speaker: int, token: Token) -> None:
        """Steps that are meant: the same once more, a proposal, or an answer to one."""
        cells, broken = self._cells(self.path[-1], token.steps)
        again = self.dropped and token.clause == self.dropped_clause and self.dropped.offers(cells)
        if again or self._known(token) or not (cells or broken):
            return  # the first: "I can't agree to down"; the last: the cell where the team stands already
        if token.also and (self.replies or (broken and self.pending is None)):
            self.signs.missed += 1
            return  # "(2,2) as well": more of what was asked about
        pending = self.pending = self.pending or self._revived(speaker, cells)
        if pending is None:
            self.pending = self._proposal(speaker, token)
            new = token.asked or token.counter or bool(token.ordinal)
            new = new or ((token.joined or token.goes) and not (token.more and self.done_more))
            self.pending.doubt = AMBIGUOUS if token.either else self.pending.doubt
            self.pending.echo = not (new or self.repeated) and self._tell(token.steps, self.done)
            self.pending.again = not new and self._tell(token.steps, self.settled)
        elif pending.by == speaker:
            self._own(pending, token, cells)
        else:
            self._answer(pending, speaker, token, cells)
        if pending and pending.unknown and self.pending is not pending:
            narrower = pending.by != speaker and pending.begins(cells)
            self.doubt = self.doubt or ("" if narrower else UNCLEAR)  # it was answered, but how?
        self.signs.lost += self.pending is not None and self.pending.broken and self.pending is not pending

    def _known(self, token: Token) -> bool:
        """Whether the steps only say once more what has just been agreed upon, or the whole way."""
        if token.clause == self.done_clause and self._tell(token.steps, self.done):
            self.repeated = True
            return True  # "agreed, right"
        more = token.clause == self.done_clause and len(self.done) < len(token.steps) < len(self.path)
        if more and self._fits(len(self.path) - 1 - len(token.steps), token.steps):
            return True  # "exactly, left and left again", of which the first had been agreed before
        long = 2 < len(token.steps) >= len(self.path) - 1 and len(self.path) > 1
        if long and self._cells(self.maze.start, token.steps) == (tuple(self.path[1:]), False):
            self.doubt = "" if self.doubt == UNCLEAR else self.doubt
            return True
        return False

    def _revived(self, speaker: int, cells: Cells) -> Proposal | None:
        """What is taken up again by these cells, though it is not pending."""
        by, when = self.named_goal
        if cells == (self.maze.goal,) and by != speaker and when == self.now - 1:
            return Proposal(cells, by, {by}, turn=when)  # "and F1 is the goal!" "F1!"
        if self.dropped and self.dropped.by != speaker and self.dropped.offers(cells):
            return self.dropped  # "no ... wait, yes, e4"
        return None

    def _own(self, pending: Proposal, token: Token, cells: Cells) -> None:
        """Steps beside what the same speaker has proposed: a choice, a continuation, the same once more, or others."""
        same_turn = pending.turn == self.now
        after, apart = self._cells(pending.cells[-1] if pending.cells else self.path[-1], token.steps)
        numbered = bool(token.ordinal and pending.ordinal) and token.ordinal != pending.ordinal
        goes_on = token.joined or (same_turn and (token.listed or numbered))
        if same_turn and not cells and apart and pending.cells and not token.goes:
            self.signs.lost += 1  # a list of cells that is no way
        elif pending.echo and (token.joined or numbered or token.listed):
            self.pending = self._proposal(pending.by, token)
        elif (token.label or token.either) and same_turn and pending.cells:
            pending.others = (*pending.others, cells)
            pending.options |= {token.label: cells} if token.label else {}
        elif cells[: len(pending.cells)] == pending.cells and cells and not (same_turn and goes_on):
            self.pending = self._proposal(pending.by, token)  # from its beginning
        elif (goes_on and not (token.joined and apart and cells)) or (same_turn and not cells and not apart):
            self.pending = replace(
                pending, cells=(*pending.cells, *after), broken=apart, turn=self.now, agreed={pending.by},
                ordinal=token.ordinal, doubt=pending.doubt or (UNCLEAR if token.vague else ""),
            )  # fmt: skip
        else:
            self.pending = self._proposal(pending.by, token)
            clear = token.counter or self.refused
            clear = clear or (apart or not cells if same_turn else self.was_refused)
            self.pending.doubt = self.pending.doubt if clear else UNCLEAR

    def _answer(self, pending: Proposal, speaker: int, token: Token, cells: Cells) -> None:
        """Steps beside what another has proposed: the same, the first of them, more than them, or others."""
        size = len(pending.cells)
        if pending.offers(cells):
            if token.ordinal and pending.ordinal and token.ordinal != pending.ordinal:
                self.doubt = self.doubt or UNCLEAR  # the next step, though the last was not agreed to
            if token.wordy or (pending.unknown and (token.more or token.joined or token.counter)):
                pending.doubt = UNCLEAR
            pending.cells, pending.others, pending.unknown = cells, (), False
            self._agree(speaker, token.clause, True)
        elif self._cells(self.maze.start, token.steps) == ((*self.path[1:], *pending.cells), False):
            self._agree(speaker, token.clause, True)  # the whole way, with what is pending
        elif size and cells[:size] == pending.cells and not pending.others:
            rest = cells[size:] if self.team == 2 else cells
            if self.team == 2:
                self._agree(speaker, -1)
            self.pending = Proposal(rest, speaker, {speaker}, turn=self.now, doubt=UNCLEAR if token.vague else "")
        elif size and self._ends(token, pending):
            self._agree(speaker, token.clause, True)  # the cell that it leads to
        elif cells and token.confirms and pending.begins(cells):
            self._agree_part(pending, cells, speaker, token.clause)  # "down for now"
        elif size and not (token.goes or token.counter or token.asked) and self._scattered(token):
            self.signs.lost += 1  # a list of cells that is no way
        else:
            self.pending = self._proposal(speaker, token)
            self.pending.instead = True
            said = token.counter or self.refused
            weak = pending.doubt or pending.echo or pending.again or not pending.cells
            apart = not size or self._cells(pending.cells[-1], token.steps)[1]
            clear = said or token.whole or self.pending.whole or apart or weak
            if not clear or (cells and pending.begins(cells) and not said):
                self.pending.doubt = UNCLEAR

    def _scattered(self, token: Token) -> bool:
        """Whether the cells are a list that goes on neither from where the team stands nor from what is pending."""
        assert self.pending is not None
        ends = (self.path[-1], self.pending.cells[-1])
        return len(token.steps) > 1 and all(self._cells(end, token.steps)[1] for end in ends)

    def _pointer(self, speaker: int, token: Token) -> None:
        """Steps that are pointed at, or were not understood."""
        if token.kind == acts.AGAIN and len(self.path) + (self.pending is not None) > 1:
            ends = [*self.path, *(self.pending.cells if self.pending else ())][-2:]
            ways = [direction for direction in DIRECTIONS if moved(ends[0], direction) == ends[1]]
            steps = tuple(Step(direction) for direction in ways) * token.first
            self._moves(speaker, Token(acts.MOVES, token.clause, steps, joined=self._mine(speaker), goes=True))
        elif token.kind == acts.THERE and self.seen_turn == self.now and len(self.seen) == 1:
            self._moves(speaker, Token(acts.MOVES, token.clause, self.seen, joined=self._mine(speaker)))
        elif token.kind == acts.THERE and self.pending and self.pending.by != speaker:
            self._agree(speaker, token.clause)
        elif token.kind == acts.CHOOSE and not token.label:
            self.weighed = token.clause
        elif token.kind == acts.CHOOSE and self.pending and token.label in self.pending.options:
            self.pending.cells, self.pending.others = self.pending.options[token.label], ()
            self._agree(speaker, token.clause)
        elif token.kind != acts.CHOOSE and self.pending is None and not self.done:
            self.pending = Proposal((), speaker, {speaker}, doubt=UNCLEAR, turn=self.now)

    def _agreement(self, speaker: int, token: Token) -> None:
        """A word of agreement: to what is pending, or to some of it."""
        pending = self.pending
        if self.done and token.clause == self.done_clause:
            return  # "(1,2): yes"
        if pending and pending.by != speaker:
            pending.doubt = pending.doubt or (UNCLEAR if token.vague else "")
            pending.cells = pending.cells[: token.first or None]
            cells, broken = self._cells(self.path[-1], token.steps)
            if cells and (cells in pending.others or pending.begins(cells)):
                return self._agree_part(pending, cells, speaker, token.clause)
            if token.steps and self._fits(max(0, len(self.path) - 1 - len(token.steps)), token.steps):
                return  # to what has been agreed upon already
            if cells and not broken and len(cells) <= len(pending.cells):
                pending.doubt = UNCLEAR  # to something else
            if token.bare and self.replies and not self.nodded:
                self.nodded, self.signs.missed = True, self.signs.missed + 1
                return  # the answer to a question of fact
        if pending and pending.by == speaker and pending.instead and pending.turn == self.now and token.strong:
            self.doubt = self.doubt or UNCLEAR  # meant to be the same as what it took the place of
        by, when = self.named_goal
        near = len(self.path) > 1 and any(moved(self.path[-1], d) == self.maze.goal for d in DIRECTIONS)
        if pending is None and near and not self.done and by != speaker and when == self.now - 1:
            self.pending = Proposal((self.maze.goal,), by, {by}, turn=when)  # "and F1 is the goal!" "Yes!"
            return self._agree(speaker, token.clause)
        idle = self.done or self.dropped or self.replies or self.path[-1] == self.maze.goal or self.nodded
        if pending is None and self.now and token.strong and not idle:
            self.signs.missed += 1  # an agreement to something that was not understood
        if pending is None and not (self.done or self.nodded) and 0 <= self.puzzled == self.now - 1:
            self.doubt = self.doubt or UNCLEAR  # to what?
        self.nodded = True
        self._agree(speaker, token.clause)
