"""Where the team stands by what was agreed, in one scheme: what is pending, the way, and the doubts about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from emcoop.envs.maze import acts
from emcoop.envs.maze.acts import Token
from emcoop.envs.maze.schemes import Scheme
from emcoop.envs.maze.state import Cell, Maze, moved
from emcoop.envs.maze.steps import Step

MOST_STEPS = 500
"""A proposal has so many steps at most; what goes beyond is left out."""

UNCLEAR, AMBIGUOUS = "unclear", "ambiguous"
"""Doubts: something that counts was not understood; there is a choice, and nobody chose."""

Cells = tuple[Cell, ...]


class Contradiction(ValueError):
    """The dialogue makes no sense in this scheme."""


@dataclass(slots=True)
class Proposal:
    """Cells that `by` has proposed from where the team stands, or, if `whole`, from the start.

    `broken`: a cell does not touch the one before. `others` was offered for choice beside `cells`, `options` under
    names. `doubt` says why agreement would not settle the way. `turn` is that of the message it was made in, `ordinal`
    the number of the step as it was written. `echo`: it may only be what was agreed upon in the same message, said once
    more; `again`: the same of what was agreed upon in the message before. `unknown`: it was answered in words that are
    not known. `short`: it is said to reach the goal, and does not. `more`: it was said to be once more.
    `instead`: it took the place of what another had proposed.
    """

    cells: Cells
    by: int
    agreed: set[int]
    whole: bool = False
    broken: bool = False
    doubt: str = ""
    turn: int = -1
    ordinal: str = ""
    echo: bool = False
    again: bool = False
    unknown: bool = False
    short: bool = False
    more: bool = False
    instead: bool = False
    others: tuple[Cells, ...] = ()
    options: dict[str, Cells] = field(default_factory=dict)

    def offers(self, cells: Cells) -> bool:
        """Whether these cells are what is proposed, or one of the choices."""
        return bool(cells) and (cells == self.cells or cells in self.others)

    def begins(self, cells: Cells) -> bool:
        """Whether these cells are the first that are proposed, or all of them."""
        return cells == self.cells[: len(cells)]


@dataclass(slots=True)
class Signs:
    """What makes a way doubtful without being part of it.

    `misplaced` counts statements about where the team stands that are wrong, `against` others that do not fit the way,
    `retold` those of them that tell the way once more; `missed` agreements to nothing, `lost` lists of cells that are
    no way; `beyond` agreements after the goal; `apart` are the speakers that talk as if each walked alone. `begun`
    counts lists of cells that begin where the team stands.
    """

    misplaced: int = 0
    against: int = 0
    retold: int = 0
    missed: int = 0
    lost: int = 0
    beyond: int = 0
    begun: int = 0
    apart: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Standing:
    """What is agreed and what is pending; walls are ignored here.

    `doubt` says why the way cannot be told, if something that was agreed upon cannot. `done` is what this message has
    agreed upon, in the clause `done_clause`, `settled` what the one before has. `undone`: somebody took back what had
    been agreed.
    """

    maze: Maze
    team: int
    scheme: Scheme
    path: list[Cell] = field(default_factory=list)
    pending: Proposal | None = None
    doubt: str = ""
    signs: Signs = field(default_factory=Signs)
    done: Cells = ()
    done_clause: int = -1
    done_more: bool = False
    settled: Cells = ()
    undone: bool = False
    now: int = -1

    def __post_init__(self) -> None:
        self.path = [self.maze.start]

    def _agree(self, speaker: int, clause: int, named: bool = False) -> None:
        if self.pending is None or speaker in self.pending.agreed:
            return
        self.pending.agreed.add(speaker)
        if len(self.pending.agreed) < self.team:
            return
        proposal, self.pending = self.pending, None
        self.doubt = (
            self.doubt
            or proposal.doubt
            or (UNCLEAR if proposal.echo and not named else "")
            or (AMBIGUOUS if proposal.others else "")
        )
        if proposal.broken:
            raise Contradiction(acts.MOVES)
        self.signs.against += proposal.short
        if self.path[-1] == self.maze.goal or not self.maze.inside(self.path[-1]):
            self.signs.beyond += not proposal.whole
        if self.undone:
            self.doubt = self.doubt or UNCLEAR
        self.path = [self.maze.start] if proposal.whole else self.path
        self.path.extend(proposal.cells)
        self.done, self.done_clause, self.done_more = proposal.cells, clause, proposal.more

    def _agree_part(self, pending: Proposal, cells: Cells, speaker: int, clause: int) -> None:
        """Agreement to one of the choices, or to the first cells: the others stay proposed, for who names them."""
        rest = pending.cells[len(cells) :] if pending.cells[: len(cells)] == cells else ()
        pending.cells, pending.others = cells, ()
        self._agree(speaker, clause, True)
        if rest and self.pending is None:
            self.pending = replace(pending, cells=rest, agreed={pending.by}, echo=True, whole=False)

    def _tell(self, steps: Sequence[Step], agreed: Cells) -> bool:
        """Whether these steps are those that were just agreed upon and made."""
        return bool(agreed) and self._cells(self.path[-len(agreed) - 1], steps)[0] == agreed

    def _fits(self, begin: int, steps: Sequence[Step]) -> bool:
        """Whether these steps are made on the way from its cell of this number."""
        cells, broken = self._cells(self.path[begin], steps)
        return not broken and tuple(self.path[begin + 1 : begin + 1 + len(cells)]) == cells

    def _ends(self, token: Token, pending: Proposal) -> bool:
        """Whether a single cell is named, the last one of what is pending."""
        cell = token.steps[0].cell if len(token.steps) == 1 else None
        return cell is not None and self.scheme.cell(cell, self.maze.size) == pending.cells[-1]

    def _mine(self, speaker: int) -> bool:
        return self.pending is not None and self.pending.by == speaker and self.pending.turn == self.now

    def _proposal(self, speaker: int, token: Token) -> Proposal:
        here = self.path[-1]
        cells, broken = self._cells(here, token.steps)
        whole = token.anew or (token.whole and len(token.steps) > 2 and not token.joined)
        first = token.steps[0].cell
        named = None if first is None else self.scheme.cell(first, self.maze.size)
        self.signs.begun += named == here and len(token.steps) > 2
        retold = named == self.maze.start
        if (whole or (retold and len(token.steps) > 1)) and here != self.maze.start:
            cells, broken = self._cells(self.maze.start, token.steps)
            return Proposal(cells, speaker, {speaker}, True, broken, turn=self.now)
        proposal = Proposal(cells, speaker, {speaker}, False, broken, UNCLEAR if token.vague else "", self.now)
        proposal.ordinal, proposal.more = token.ordinal, token.more
        if token.label:
            proposal.options[token.label] = cells
        return proposal

    def _cells(self, here: Cell, steps: Sequence[Step]) -> tuple[Cells, bool]:
        """The cells that these steps lead to from here, and whether one does not touch the one before."""
        found: list[Cell] = []
        for step in steps[:MOST_STEPS]:
            last = found[-1] if found else here
            target = moved(last, step.direction) if step.direction else last
            if step.cell is not None and step.cell.kind in ("row", "col"):
                line = self._line(last, step)
                if not line:
                    return tuple(found), True
                found += line
                continue
            if step.cell is not None:
                named = self.scheme.cell(step.cell, self.maze.size)
                if step.direction and named not in (target, last):
                    return tuple(found), True
                target = named if not step.direction else target
                if not self.maze.inside(target) or abs(target[0] - last[0]) + abs(target[1] - last[1]) > 1:
                    return tuple(found), True
            if target != last:
                found.append(target)
        return tuple(found), False

    def _line(self, here: Cell, step: Step) -> list[Cell]:
        """The cells up to a row or a column; none if it does not lie that way."""
        assert step.cell is not None
        axis = 0 if step.cell.kind == "row" else 1
        goal = self.scheme.line(step.cell, self.maze.size)
        ways = ("down", "up") if axis == 0 else ("right", "left")
        direction = step.direction or ways[goal < here[axis]]
        found: list[Cell] = []
        while (found[-1] if found else here)[axis] != goal:
            found.append(moved(found[-1] if found else here, direction))
            if len(found) >= self.maze.size:
                return []
        return found
