"""The way that a free dialogue agreed upon, by rules and without a model.

Every way of naming cells (a scheme: the corner that is counted from, whether rows or columns come first, and whether
counting begins at 0 or 1) is tried on the whole dialogue. A scheme falls out when what is called the start is not the
start in it, what is called the goal not the goal, or a cell that was agreed upon does not touch the one before. Walls
play no part in this choice. Of those that are left, the schemes are kept in which the fewest statements about where the
team stands or stood are wrong. If they give several ways, what the speakers say outright about naming decides, then
whether every list of cells is a way, and whether they begin where the team stands; if several are left still, the
dialogue is unresolved: the most favourable is never picked. So it is if something that counts was not understood, or
several steps were offered and nobody chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emcoop.envs.maze.account import Account
from emcoop.envs.maze.acts import MOVES, RELATIVE, SEEN, TOLD, Token
from emcoop.envs.maze.schemes import SCHEMES, Scheme, hints
from emcoop.envs.maze.standing import Contradiction
from emcoop.envs.maze.state import STEP, Cell, Maze, moved
from emcoop.envs.maze.words import tokens

REASONS = ("no_moves", "relative_directions", "no_scheme", "ambiguous", "unclear", "contradicted")
"""Why a dialogue is unresolved."""

MOST_LOST = 3
"""With so many lists of cells that are no way, or with more agreements to nothing, a dialogue was not understood."""

Ways = dict[tuple[Cell, ...], list[Account]]
"""Ways with the accounts that lead to them."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The agreed cells from the start up to the goal or a wall; `hit` is the direction of the step into the wall.

    For an unresolved dialogue `reason` says why, and the way is the start alone.
    """

    path: tuple[Cell, ...]
    hit: str = ""
    reason: str = ""
    scheme: str = ""


def extract(maze: Maze, said: Sequence[tuple[int, str]], team: int) -> Extraction:
    """The way of a dialogue of (speaker's index, text), see the module; bounded work for any text."""
    talk = [(speaker, list(tokens(text))) for speaker, text in said]
    every = [token for _, found in talk for token in found]
    none = (maze.start,)
    if any(token.kind == RELATIVE for token in every):
        return Extraction(none, reason="relative_directions")
    if not any(token.kind == MOVES for token in every):
        return Extraction(none, reason="no_moves")
    cells = any(step.cell for token in every if token.kind not in (SEEN, TOLD) for step in token.steps)
    accounts = [account for scheme in SCHEMES if (account := _account(maze, talk, team, scheme)) is not None]
    if not accounts:
        return Extraction(none, reason="no_scheme")
    fewest = min(account.signs.misplaced + account.signs.against for account in accounts)
    ways: Ways = {}
    for account in accounts:
        if account.signs.misplaced + account.signs.against == fewest:
            ways.setdefault(tuple(account.path), []).append(account)
    ways = _chosen(ways, "\n".join(text for _, text in said)) if len(ways) > 1 else ways
    if len(ways) > 1:
        return Extraction(none, reason="ambiguous")
    (way, kept), *_ = ways.items()
    if reason := _doubt(kept):
        return Extraction(none, reason=reason)
    path, hit = walked(maze, way)
    return Extraction(path, hit, scheme=str(kept[0].scheme) if cells else "directions")


def _doubt(accounts: Sequence[Account]) -> str:
    """Why the way of these accounts cannot be relied upon."""
    doubt = next((account.doubt for account in accounts if account.doubt), "")
    if doubt or any(account.pending and account.pending.unknown for account in accounts):
        return doubt or "unclear"
    signs = [account.signs for account in accounts]
    if all(sign.lost >= MOST_LOST or sign.missed > MOST_LOST or len(sign.apart) > 1 for sign in signs):
        return "unclear"
    if all(sign.retold > 1 or sign.beyond for sign in signs):
        return "contradicted"
    if all((sign.lost or sign.missed) and (sign.against or sign.misplaced) for sign in signs):
        return "contradicted"
    return ""


def _account(maze: Maze, talk: Sequence[tuple[int, list[Token]]], team: int, scheme: Scheme) -> Account | None:
    """The whole dialogue in this scheme; None when it makes no sense in it."""
    account = Account(maze, team, scheme)
    try:
        for speaker, found in talk:
            account.turn(speaker, found)
    except Contradiction:
        return None
    return account


def _chosen(ways: Ways, text: str) -> Ways:
    """The ways whose schemes fit what is said outright, each hint counting only if it leaves any; then those in which
    no list of cells is no way, if there are any, and in which most begin where the team stands."""
    for axis, values in hints(text).items():
        fits = {way: [a for a in kept if str(getattr(a.scheme, axis)) in values] for way, kept in ways.items()}
        ways = {way: kept for way, kept in fits.items() if kept} or ways
    every = [account.signs for kept in ways.values() for account in kept]
    if any(signs.lost == 0 for signs in every):
        ways = {way: [a for a in kept if a.signs.lost == 0] for way, kept in ways.items()}
        every = [account.signs for kept in ways.values() for account in kept]
    begun = max(signs.begun for signs in every)
    fits = {way: [a for a in kept if a.signs.begun == begun] for way, kept in ways.items()}
    return {way: kept for way, kept in fits.items() if kept}


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


def mentions(said: Sequence[tuple[int, str]]) -> Iterator[tuple[int, Token]]:
    """Every token of a dialogue with its speaker, for those who want to see why."""
    for speaker, text in said:
        for token in tokens(text):
            yield speaker, token
