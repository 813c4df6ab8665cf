"""From the words of a message to speech acts: steps, cells, agreement, refusal, withdrawal; by rules alone.

A message is cut into clauses, a clause into pieces. A piece that only describes what somebody sees ("left of us is a
wall") or how cells are named ("x counts to the right") proposes no step, whatever directions it mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from emcoop.envs.maze import lexicon as say
from emcoop.envs.maze.acts import AGREE, CLAIM, END, GOAL, MOVES, REFUSE, SEEN, START, Token
from emcoop.envs.maze.clauses import Clause, agrees
from emcoop.envs.maze.plain import ITEM, parts
from emcoop.envs.maze.steps import CELL_RE, STEP_RE, named, steps_of

__all__ = ["AGREE", "MOVES", "REFUSE", "Token", "tokens"]


def tokens(text: str) -> Iterator[Token]:
    """The tokens of one message, in order; those after the completion phrase are left out."""
    text, ended = parts(text)
    text = say.SAID_AFTER.sub(r"\g<what> \g<it>", text)
    text = say.ORIGIN.sub(_without_origin, text)
    for nothing in (say.SUPPOSED, say.UNDECIDED, say.INSTEAD, say.CORNER, say.SIDE, say.IDIOM):
        text = nothing.sub(" unsure " if nothing is say.UNDECIDED else " ", text)
    yield from _anchored(text)
    if ended:
        yield Token(END, -1)


def _without_origin(found: re.Match[str]) -> str:
    """Nothing for a cell that is only counted from; what may be the start stays as it stands."""
    before = re.split(r"[.!?;\n]", found.string[max(0, found.start() - 60) : found.start()])[-1]
    return found[0] if say.STANDS.search(before + found[0]) else " "


def _anchored(text: str) -> Iterator[Token]:
    """Cells said to be the start, the goal or where the team stands are no steps: they are cut out of the text."""
    place, number = 0, 0
    whole = say.WHOLE.search(text) is not None
    for found in say.ANCHOR.finditer(text):
        if say.GAP_STOP.search(found["gap"]) or CELL_RE.search(found["gap"]):
            continue
        before = text[place : found.start()]
        if found["goal"] and say.LEADS.search(before) and not re.search(r"\b(?:is|are)\b|=", found["gap"]):
            continue
        clauses = _split(before)
        yield from _clauses(clauses, number, whole)
        number += len(clauses)
        kind = START if found["start"] else GOAL if found["goal"] else CLAIM
        yield Token(kind, number, cell=named(found))
        place = found.end()
    yield from _clauses(_split(text[place:]), number, whole)


def _split(text: str) -> list[str]:
    """The clauses of a text, each with the mark that ends it."""
    found: list[str] = []
    heading = ""
    for sentence in re.findall(rf"[^.!?;\n:{ITEM}]*[.!?;\n:{ITEM}]?", text):
        if sentence.endswith(":") and not say.SEES.search(sentence):
            heading += sentence
            continue
        if heading and not sentence.strip():
            found.append(heading)
            heading = ""
        cuts = [cut.start() for cut in say.REASONS.finditer(heading + sentence)]
        ends = [*cuts, len(heading + sentence)]
        parts = [(heading + sentence)[a:b] for a, b in zip([0, *cuts], ends, strict=True)]
        found += [part for part in parts if part.strip(" \t")]
        heading = ""
    return [*found, heading] if heading else found


def _clauses(clauses: list[str], first: int, whole: bool) -> Iterator[Token]:
    """Under a heading that describes ("Walls:") nothing is proposed up to the end of its line, or of its list."""
    described = told = fresh = item = begins = False
    items = 0
    for number, text in enumerate(clauses, first):
        body = text.strip(f" \t\n{ITEM}")
        if say.TERSE.fullmatch(body):
            body = re.sub(r"\b[udlr]\b", lambda letter: letter[0].upper(), body)
        if body and begins and not item and not fresh:
            described, told, items = False, False, 0
        if described and not item and not fresh and (say.GOES.search(body) or agrees(body)):
            described = False
        if body and described:
            yield from (Token(SEEN, number, steps_of(match)) for match in STEP_RE.finditer(body))
        elif body:
            because = say.BECAUSE.match(body) is not None
            yield from Clause(body, number, whole, item and items > 1, told, because).tokens()
        fresh = fresh and not body
        if text.endswith(":"):
            described = described or (
                say.SEES.search(body) is not None and say.OFFERS.search(body) is None and len(body.split()) < 8
            )
            told = told or say.HISTORY.search(body) is not None
            fresh = True
        begins = text.endswith("\n") or (begins and not body)
        if text.endswith(ITEM):
            item, items = True, items + 1
        elif text.endswith("\n"):
            item = False
