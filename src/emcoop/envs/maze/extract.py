"""The way that a free dialogue agreed upon, by rules and without a model.

Every way of naming cells (a scheme: the corner that is counted from, whether rows or columns come first, and whether
counting begins at 0 or 1) is tried on the whole dialogue. A scheme falls out when what is called the start is not the
start in it, what is called the goal not the goal, or a cell that was agreed upon does not touch the one before. Walls
play no part in this choice. Of those that are left, the schemes in which the fewest statements about where the team
stands are wrong are kept. If they give several ways, what the speakers say outright about naming decides, then whether
lists of cells begin where the team stands; if several are left still, the dialogue is unresolved: the most favourable
is never picked. Nor is one of several steps that were offered for choice and agreed upon without a choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from emcoop.envs.maze.state import STEP, Cell, Maze, moved
from emcoop.envs.maze.words import (
    AGREE,
    CLAIM,
    END,
    GOAL,
    MOVES,
    REFUSE,
    RELATIVE,
    START,
    WITHDRAW,
    Named,
    Step,
    Token,
    hints,
    tokens,
)

REASONS = ("no_moves", "relative_directions", "no_scheme", "ambiguous")
"""Why a dialogue is unresolved."""

MOST_STEPS = 500
"""A proposal has so many steps at most; what goes beyond is left out."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The agreed cells from the start up to the goal or a wall; `hit` is the direction of the step into the wall.

    For an unresolved dialogue `reason` says why, and the way is the start alone.
    """

    path: tuple[Cell, ...]
    hit: str = ""
    reason: str = ""
    scheme: str = ""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to name cells; `corner` is ``tl``, ``tr``, ``bl`` or ``br``, `order` ``rc`` or ``cr``."""

    corner: str
    order: str
    base: int

    def cell(self, named: Named, size: int) -> Cell:
        """The cell (row, column) from the top left; it may lie outside."""
        letter = named.kind == "letter"
        first, second = named.first - (1 if letter else self.base), named.second - self.base
        order = named.kind if named.kind in ("rc", "cr") else self.order
        row, col = (first, second) if order == "rc" else (second, first)
        return (size - 1 - row if self.corner[0] == "b" else row, size - 1 - col if self.corner[1] == "r" else col)

    def __str__(self) -> str:
        return f"{self.corner} {self.order} {self.base}"


SCHEMES = tuple(
    Scheme(corner, order, base) for corner, order, base in product(("tl", "tr", "bl", "br"), ("rc", "cr"), (0, 1))
)


class Contradiction(ValueError):
    """The dialogue makes no sense in this scheme."""


def extract(maze: Maze, said: Sequence[tuple[int, str]], team: int) -> Extraction:
    """The way of a dialogue of (speaker's index, text), see the module; bounded work for any text."""
    talk = [(speaker, list(tokens(text))) for speaker, text in said]
    every = [token for _, found in talk for token in found]
    none = (maze.start,)
    if any(token.kind == RELATIVE for token in every):
        return Extraction(none, reason="relative_directions")
    if not any(token.kind == MOVES for token in every):
        return Extraction(none, reason="no_moves")
    cells = any(step.cell for token in every for step in token.steps)
    accounts = [account for scheme in SCHEMES if (account := _account(maze, talk, team, scheme)) is not None]
    if not accounts:
        return Extraction(none, reason="no_scheme")
    if any(account.undecided for account in accounts):
        return Extraction(none, reason="ambiguous")
    fewest = min(account.misplaced for account in accounts)
    accounts = [account for account in accounts if account.misplaced == fewest]
    ways: dict[tuple[Cell, ...], list[Scheme]] = {}
    for account in accounts:
        ways.setdefault(tuple(account.path), []).append(account.scheme)
    if len(ways) > 1:
        ways = _by_words(ways, "\n".join(text for _, text in said))
    if len(ways) > 1:
        begun = {account.scheme: account.begun for account in accounts}
        most = max(begun[scheme] for schemes in ways.values() for scheme in schemes)
        ways = {way: kept for way, schemes in ways.items() if (kept := [s for s in schemes if begun[s] == most])}
    if len(ways) > 1:
        return Extraction(none, reason="ambiguous")
    (way, schemes), *_ = ways.items()
    path, hit = walked(maze, way)
    return Extraction(path, hit, scheme=str(schemes[0]) if cells else "directions")


def _account(maze: Maze, talk: Sequence[tuple[int, list[Token]]], team: int, scheme: Scheme) -> _Account | None:
    """The whole dialogue in this scheme; None when it makes no sense in it."""
    account = _Account(maze, team, scheme)
    try:
        for speaker, found in talk:
            account.turn(speaker, found)
    except Contradiction:
        return None
    return account


def _by_words(ways: dict[tuple[Cell, ...], list[Scheme]], text: str) -> dict[tuple[Cell, ...], list[Scheme]]:
    """The ways whose schemes fit what is said outright; each hint counts only if it leaves any."""
    for axis, values in hints(text).items():
        kept = {
            way: fits
            for way, schemes in ways.items()
            if (fits := [scheme for scheme in schemes if str(getattr(scheme, axis)) in values])
        }
        ways = kept or ways
    return ways


def walked(maze: Maze, way: tuple[Cell, ...]) -> tuple[tuple[Cell, ...], str]:
    """The way up to the goal, or to the step into a wall with its direction."""
    path = [way[0]]
    for cell in way[1:]:
        if path[-1] == maze.goal:
            break
        if maze.wall(cell):
            return tuple(path), next(d for d in STEP if moved(path[-1], d) == cell)
        path.append(cell)
    return tuple(path), ""


@dataclass(slots=True)
class _Proposal:
    cells: tuple[Cell, ...]
    by: int
    agreed: set[int]
    whole: bool
    broken: bool
    others: tuple[tuple[Cell, ...], ...] = ()
    """What was offered for choice beside `cells`."""

    def offers(self, cells: tuple[Cell, ...]) -> bool:
        """Whether these cells are what is proposed, or one of the choices."""
        return cells == self.cells or cells in self.others


@dataclass(slots=True)
class _Account:
    """What has been proposed and agreed so far, in one scheme; walls are ignored here.

    `misplaced` counts statements about where the team stands that are wrong, `begun` lists of cells that begin there;
    `undecided`: a choice was agreed upon, and nobody chose.
    """

    maze: Maze
    team: int
    scheme: Scheme
    path: list[Cell] = field(default_factory=list)
    pending: _Proposal | None = None
    done: tuple[Cell, ...] = ()
    done_clause: int = -1
    misplaced: int = 0
    begun: int = 0
    undecided: bool = False

    def __post_init__(self) -> None:
        self.path = [self.maze.start]

    def turn(self, speaker: int, found: Sequence[Token]) -> None:
        """One message."""
        settled, self.done, self.done_clause = self.done, (), -1
        last = max((i for i, token in enumerate(found) if token.kind == MOVES), default=-1)
        for i, token in enumerate(found):
            if token.kind == END:
                return
            if token.confirms and i < last and self.pending is None and self._tell(token.steps, settled):
                continue  # "good, up it is; next ..."
            self._take(speaker, token)

    def _take(self, speaker: int, token: Token) -> None:
        if token.kind == AGREE:
            self._narrow(token.steps)
            self._agree(speaker, token.clause)
        elif token.kind == REFUSE:
            self.pending = None
        elif token.kind == WITHDRAW:
            if self.pending and self.pending.by == speaker:
                self.pending = None
        elif token.kind in (START, GOAL):
            self._anchor(token)
        elif token.kind == CLAIM:
            self._claim(speaker, token)
        elif token.kind == MOVES:
            self._moves(speaker, token)

    def _anchor(self, token: Token) -> None:
        assert token.cell is not None
        wanted = self.maze.start if token.kind == START else self.maze.goal
        if self.scheme.cell(token.cell, self.maze.size) != wanted:
            raise Contradiction(token.kind)

    def _claim(self, speaker: int, token: Token) -> None:
        """Where the team is said to stand: at first the start; later it may confirm what was proposed."""
        assert token.cell is not None
        cell = self.scheme.cell(token.cell, self.maze.size)
        if len(self.path) == 1 and self.pending is None and cell != self.maze.start:
            raise Contradiction(CLAIM)
        if self.pending and self.pending.cells and self.pending.cells[-1] == cell:
            self._agree(speaker, token.clause)
        elif cell != self.path[-1]:
            self.misplaced += 1

    def _narrow(self, steps: Sequence[Step]) -> None:
        """Only the first steps of what is proposed, or one of the choices, are agreed to: the rest is off the table."""
        cells, _ = self._cells(self.path[-1], steps)
        if self.pending and cells and cells in (*self.pending.others, self.pending.cells[: len(cells)]):
            self.pending.cells, self.pending.others = cells, ()

    def _agree(self, speaker: int, clause: int) -> None:
        if self.pending is None or speaker in self.pending.agreed:
            return
        self.pending.agreed.add(speaker)
        if len(self.pending.agreed) < self.team:
            return
        proposal, self.pending = self.pending, None
        self.undecided = self.undecided or bool(proposal.others)
        if proposal.broken:
            raise Contradiction(MOVES)
        self.path = [self.maze.start] if proposal.whole else self.path
        self.path.extend(proposal.cells)
        self.done, self.done_clause = proposal.cells, clause

    def _moves(self, speaker: int, token: Token) -> None:
        if token.clause == self.done_clause and self._tell(token.steps, self.done):
            return  # "agreed, right": the same words once more
        joined = token.joined and self.pending is not None and self.pending.by == speaker
        proposal = self._proposal(speaker, token, joined)
        if not proposal.cells and not proposal.broken:
            return  # the cell where the team stands already
        if self.pending is not None and self.pending.by != speaker and self.pending.offers(proposal.cells):
            self.pending.cells, self.pending.others = proposal.cells, ()
            self._agree(speaker, token.clause)
        elif token.either and self.pending is not None and self.pending.by == speaker:
            self.pending.others = (*self.pending.others, proposal.cells)
        elif joined and self.pending is not None:
            self.pending = _Proposal(
                (*self.pending.cells, *proposal.cells), speaker, {speaker}, self.pending.whole, proposal.broken
            )
        else:
            self.pending = proposal

    def _tell(self, steps: Sequence[Step], agreed: tuple[Cell, ...]) -> bool:
        """Whether these steps are those that were just agreed upon and made."""
        return self._cells(self.path[-len(agreed) - 1], steps)[0] == agreed

    def _proposal(self, speaker: int, token: Token, joined: bool) -> _Proposal:
        here = self.pending.cells[-1] if joined and self.pending and self.pending.cells else self.path[-1]
        cells, broken = self._cells(here, token.steps)
        whole = token.whole and len(token.steps) > 2 and not joined
        first = token.steps[0].cell
        named = None if first is None else self.scheme.cell(first, self.maze.size)
        self.begun += named == here and len(token.steps) > 2
        retold = named == self.maze.start
        if (whole or (retold and len(token.steps) > 1)) and here != self.maze.start:
            cells, broken = self._cells(self.maze.start, token.steps)
            return _Proposal(cells, speaker, {speaker}, True, broken)
        return _Proposal(cells, speaker, {speaker}, False, broken)

    def _cells(self, here: Cell, steps: Sequence[Step]) -> tuple[tuple[Cell, ...], bool]:
        """The cells that these steps lead to from here, and whether one does not touch the one before."""
        found: list[Cell] = []
        for step in steps[:MOST_STEPS]:
            last = found[-1] if found else here
            target = moved(last, step.direction) if step.direction else last
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


def mentions(said: Sequence[tuple[int, str]]) -> Iterator[tuple[int, Token]]:
    """Every token of a dialogue with its speaker, for those who want to see why."""
    for speaker, text in said:
        for token in tokens(text):
            yield speaker, token
