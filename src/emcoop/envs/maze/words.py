"""From the words of a dialogue to tokens: steps, cells, agreement, refusal, withdrawal; by rules alone.

A message is cut into clauses. A clause that only describes what somebody sees ("left of us is a wall") or how cells are
named ("x counts to the right") brings no step, whatever directions it mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from emcoop.envs.maze.rules import PHRASE

AGREE, REFUSE, WITHDRAW, MOVES, CLAIM, START, GOAL, RELATIVE, END = (
    "agree", "refuse", "withdraw", "moves", "claim", "start", "goal", "relative", "end",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A cell as it was written: two numbers, and what is known of their axes.

    `kind` is ``pair`` (order unknown), ``rc`` (row first, said so), ``cr`` (column first, said so) or ``letter`` (a
    letter, counted from 1, and a number).
    """

    kind: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step by its direction, by the cell it leads to, or by both."""

    direction: str = ""
    cell: Named | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """What a part of a message does. `steps` for MOVES, and for AGREE if they are what is agreed to ("yes to up");
    `cell` for CLAIM, START and GOAL.

    `clause` numbers the clause within the message; `joined`: the steps go on from those before; `whole`: they are said
    to be the whole way from the start; `either`: they are named as another choice beside those before ("left or up");
    `confirms`: they are told together with an agreement ("good, up it is").
    """

    kind: str
    clause: int
    steps: tuple[Step, ...] = ()
    cell: Named | None = None
    joined: bool = False
    whole: bool = False
    either: bool = False
    confirms: bool = False


_WORDS = {
    "up": "up", "upward": "up", "upwards": "up", "north": "up",
    "down": "down", "downward": "down", "downwards": "down", "south": "down",
    "left": "left", "leftward": "left", "leftwards": "left", "west": "left",
    "right": "right", "rightward": "right", "rightwards": "right", "east": "right",
}  # fmt: skip
_INITIALS = {"U": "up", "D": "down", "L": "left", "R": "right", "N": "up", "S": "down", "W": "left", "E": "right"}
_NUMBERS = {"one": 1, "once": 1, "two": 2, "twice": 2, "three": 3, "thrice": 3, "four": 4, "five": 5, "six": 6,
            "seven": 7, "eight": 8, "nine": 9, "ten": 10}  # fmt: skip

_NUMBER = rf"(?:\d{{1,2}}|(?i:{'|'.join(_NUMBERS)}))"
_UNIT = r"(?:steps?|cells?|squares?|moves?|times|tiles?|x)"
_IS = r"(?:\s+|\s*=\s*)"
_COMPASS = "|".join(sorted(_WORDS, key=len, reverse=True))
_CELL = (
    r"(?:[(\[]\s*(?P<p1>\d{1,2})\s*[,;/]\s*(?P<p2>\d{1,2})\s*[)\]]"
    r"|\b[rR](?P<r1>\d{1,2})\s*[-,]?\s*[cC](?P<c1>\d{1,2})\b"
    rf"|[(\[]?\b[rR]ow{_IS}(?P<r2>\d{{1,2}})\s*(?:,|and|/)?\s*[cC]ol(?:umn)?{_IS}(?P<c2>\d{{1,2}})\b[)\]]?"
    rf"|[(\[]?\b[cC]ol(?:umn)?{_IS}(?P<c3>\d{{1,2}})\s*(?:,|and|/)?\s*[rR]ow{_IS}(?P<r3>\d{{1,2}})\b[)\]]?"
    r"|[(\[]?\b[xX]\s*=\s*(?P<x>\d{1,2})\s*(?:,|and|/)?\s*[yY]\s*=\s*(?P<y>\d{1,2})\b[)\]]?"
    r"|\b(?P<l>[A-Z])(?P<n>\d{1,2})\b)"
)
_CELL_RE = re.compile(_CELL)
_STEP_RE = re.compile(
    rf"(?P<cell>{_CELL})"
    rf"|(?:\b(?P<before>{_NUMBER})\s+{_UNIT}\s+(?:to\s+the\s+|towards?\s+the\s+)?)?"
    rf"\b(?P<word>(?i:{_COMPASS}))\b(?:\s+(?P<after>{_NUMBER}(?=\s+{_UNIT})|twice|thrice)(?:\s+{_UNIT})?)?"
    r"|(?<![A-Za-z0-9])(?P<row>(?:[UDLR](?:\s*(?:,|-+>|→|>|-|\s)\s*(?=[UDLR](?![A-Za-z0-9])))){2,}[UDLR]|[UDLR]{3,})"
    r"(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])(?P<winds>(?:[NSEW](?:\s*(?:,|-+>|→|>|-|\s)\s*(?=[NSEW](?![A-Za-z0-9])))){2,}[NSEW]|[NSEW]{3,})"
    r"(?![A-Za-z0-9])"
)
_YES = (
    r"no (?:objections?|problems?|issues?|conflicts?)|verified|go(?:ing)? with (?:it|that|this)"
    r"|approved?|go ahead|affirmative"
    r"|yes|yeah|yep|ok|okay|agree|agrees|agreed|accept|accepted|fine|sounds (?:good|right|great)|good|great"
    r"|confirm(?:ed)?|sure|works?|perfect|correct|exactly|deal|absolutely|let'?s do (?:it|that|this)"
    r"|(?:you are|you're|that's|that is|looks|all|is) right(?: to me)?|alright|done"
)
_NO = (
    r"no|nope|declined?|disagree|refuse[ds]?|reject(?:ed|s)?"
    r"|(?:can'?t|cannot|can not|(?:do|does|is|would)n'?t|do not|won'?t|not|never)\s+(?:\w+\s+){0,2}?"
    r"(?:agree|accept|ok|okay|fine|good|work|do that|go there)|won'?t work"
)
_NOTHING = r"(?:objection|problem|issue|conflict|walls?|obstacle|idea|more|need|other|doubt|information)"
"""After "no" these refuse nothing."""
_BACK = (
    r"take (?:that|it|this) back|scratch (?:that|it)|withdraw(?: (?:that|it))?|sorry|i mean|i meant|correction"
    r"|forget (?:that|it)|never ?mind"
)
_ACT_RE = re.compile(rf"\b(?:(?P<back>{_BACK})|(?P<no>(?!no {_NOTHING})(?:{_NO}))|(?P<yes>{_YES}))\b", re.IGNORECASE)
_ANCHOR_RE = re.compile(
    r"(?:(?P<start>\b(?:start|begin|beginning|starts|begins)\b(?!\s+(?:with|by|to)\b)|(?<![\w'’*@])[S@](?=\s*[=:]))"
    r"|(?P<goal>\b(?:goal|target|treasure|exit|want|get to|reach)\b|(?<![\w'’*])[G*](?=\s*[=:]))"
    r"|(?P<claim>\bwe(?:'re| are| stand| were)\b(?: now| both| currently| standing)*))"
    rf"(?P<gap>[^()\[\]]{{0,40}}?){_CELL}",
    re.IGNORECASE,
)
_LEADS = re.compile(r"\b(?:then|next|finally|lastly)\W+(?:\w+\s+){0,3}$", re.IGNORECASE)
"""After these words even the goal is a step, unless it is said where it is."""
_GAP_STOP = re.compile(r"\b(?:propos\w+|suggest\w*|next|go|move|then|goal|start|path|first)\b", re.IGNORECASE)
_SEES = re.compile(
    r"\b(?:walls?|free|open|blocked|hidden|unknown|clear|see|sees|saw|floor|rock|dots?|hash(?:es)?|empty)\b|#",
    re.IGNORECASE,
)
_GOES = re.compile(
    r"\b(?:go|going|move|moving|propos\w+|suggest\w*|head|step|let'?s|let us|next|then|shall|should|how about|try|plan"
    r"|path|way|agree\w*|walk)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"\b(?:rows|columns|x|y|origin|counts?|coordinates?|numbered|number|board|based|axis|grows?)\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\b(?:forwards?|backwards?|straight|turn around)\b", re.IGNORECASE)
_CORNER = re.compile(r"\b(?:top|bottom|upper|lower)[\s-]+(?:left|right)\b", re.IGNORECASE)
_SIDE = re.compile(
    r"\bfrom\s+(?:the\s+)?(?:top|bottom|left|right)\b|\b\d+ (?:turns?|moves?|messages?) left\b", re.IGNORECASE
)
_IDIOM = re.compile(
    r"\b(?:sum|wrap|set|give|look|pick|end|catch|follow|hurry|speed|keep|show|line)\w*\s+up\b"
    r"|\b(?:break|write|note|slow|narrow|put|calm|jot)\w*\s+(?:it\s+|that\s+|this\s+)?down\b"
    r"|(?<!about )(?<!go )(?<!move )\bright\s+now\b|\b(?:left|right|north|south|east|west)\s+of\b"
    r"|\bright\s+(?:away|track|place|answer|direction)\b|\b(?:nothing|what's|is|are)\s+left\b(?!\s+of)",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:whole|full|entire|final|complete)\s+(?:path|way|route)\b|\bfrom the start\b|\bfrom start\b", re.IGNORECASE
)
_JOINS = re.compile(r"\b(?:then|next|after(?: that)?|followed|finally|afterwards)\b", re.IGNORECASE)
_MAP_LINE = re.compile(r"^[\s@*.#?,|/]{3,}$", re.MULTILINE)
_BULLET = re.compile(
    r"\n\s*(?:\d{1,2}[.)]|[-*•])\s+(?:\**(?:move|step)\s+\d{1,2}\s*[:.)]\**\s*)?"
    r"|\**\b(?:move|step)\s+\d{1,2}\s*[:.)]\**\s*",
    re.IGNORECASE,
)
_PIECE = r"(?:[^,.!?;:\n()\[\]]|[(\[][^()\[\]]{0,20}[)\]])*"
"""What goes on up to the next comma that does not stand in a cell."""
_UNDECIDED = re.compile(
    r"\b(?:(?:not|don'?t|doesn'?t)\s+(?:\w+\s+){0,2}?(?:sure|certain|know)|unsure|uncertain|unclear|no idea"
    r"|hard to (?:tell|say)|(?:can'?t|cannot|can not) (?:tell|say|confirm|judge)|let me (?:think|check|see|look|verify)"
    rf"|(?:i|we)(?: have|'ve)? (?:considered|ruled out|thought (?:about|of)|looked at))\b{_PIECE}",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"(?<!what )\bif (?:we|i|you) (?:go|went|moved?|take|took|step|try)\b"
    r"(?=[^.!?;\n]*\b(?:walls?|blocked|hit|stuck|away|dead end)\b)[^.!?;\n]*",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    rf"(?<!why )\b(?:instead of|rather than|other than|not|no to)\s+(?:(?:go|going|move|moving|to|the|a|one)\s+){{0,3}}"
    rf"(?:{_COMPASS})\b(?!\s*(?:walls?|hidden))",
    re.IGNORECASE,
)
_SO_FAR = re.compile(
    r"\b(?:so far|we(?:'ve| have)?(?: both| already| just)* agreed (?:to|on|upon))\b[^.!?;\n]*", re.IGNORECASE
)
_SAID_AFTER = re.compile(rf"(?P<it>{_CELL})\s*(?:is|as|=)\s*(?:our |the )?(?P<what>start|goal)\b", re.IGNORECASE)
"""The start or the goal, named after its cell."""
_PROVIDED = re.compile(
    r"[\s,]*(?:(?!know|tell|see|check|say|ask)\w+\s+){0,4}(?:if|provided|as long as|unless|assuming)\b", re.IGNORECASE
)
_AGREED_TO = re.compile(r"\s+(?:to|with|on)\s+(?:(?:the|going|moving|go|move)\s+)*", re.IGNORECASE)
_ANEW = re.compile(r"\b(?:again|another|more|now|also)\b", re.IGNORECASE)
_PARTLY = re.compile(
    rf"\b(?:only|just|up to|except|part(?:ly|ially)?|first (?:{_NUMBER}|few|half|part))\b", re.IGNORECASE
)
_ARROW = {"↑": "up", "↓": "down", "←": "left", "→": "right", "⬆": "up", "⬇": "down", "⬅": "left", "➡": "right"}
_ARROWS = re.compile(r"(?:[↑↓←→⬆⬇⬅➡]\ufe0f?[\s,]*){2,}|[↑↓←⬆⬇⬅➡]|→(?=\s*(?:[.!?,;\n]|$))")
"""Arrows that are steps; a single one to the right between two words or cells only joins them."""
_END_RE = re.compile(re.escape(PHRASE), re.IGNORECASE)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_REASONS = re.compile(r"\b(?:since|because|but|while|although|as)\b", re.IGNORECASE)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of one message, in order; those after the completion phrase are left out."""
    text, *rest = _END_RE.split(text.replace("’", "'"), maxsplit=1)
    text = _ARROWS.sub(lambda found: "".join(f" {_ARROW[a]}," for a in found[0] if a in _ARROW).rstrip(","), text)
    text = _BULLET.sub(", ", "\n" + _MAP_LINE.sub("", text))
    text = _SAID_AFTER.sub(r"\g<what> \g<it>", text)
    for nothing in (_SUPPOSED, _UNDECIDED, _INSTEAD, _SO_FAR, _CORNER, _SIDE, _IDIOM):
        text = nothing.sub(" ", text)
    yield from _anchored(text)
    if rest:
        yield Token(END, -1)


def _anchored(text: str) -> Iterator[Token]:
    """Cells said to be the start, the goal or where the team stands are no steps: they are cut out of the text."""
    place, number = 0, 0
    for found in _ANCHOR_RE.finditer(text):
        if _GAP_STOP.search(found["gap"]) or _CELL_RE.search(found["gap"]):
            continue
        before = text[place : found.start()]
        if found["goal"] and _LEADS.search(before) and not re.search(r"\b(?:is|are)\b|=", found["gap"]):
            continue
        yield from _clauses(before, number)
        number += len(_split(before))
        kind = START if found["start"] else GOAL if found["goal"] else CLAIM
        yield Token(kind, number, cell=_named(found))
        place = found.end()
    yield from _clauses(text[place:], number)


def _split(text: str) -> list[str]:
    """The clauses of a text, each with the mark that ends it."""
    found = []
    for sentence in re.findall(r"[^.!?;\n:]*[.!?;\n:]?", text):
        parts = _REASONS.split(sentence)
        for part in parts:
            pieces = part.split(",") if _SEES.search(part) and not _CELL_RE.search(part) else [part]
            found += [piece for piece in pieces if piece.strip()]
    return found


def _clauses(text: str, first: int) -> Iterator[Token]:
    for number, clause in enumerate(_split(text), first):
        yield from _clause(clause, number, _WHOLE.search(text) is not None)


def _clause(clause: str, number: int, whole: bool) -> Iterator[Token]:
    goes = _GOES.search(clause) is not None
    silent = _SEES.search(clause) is not None and not goes
    naming = _NAMES.search(clause) is not None
    if _RELATIVE.search(clause) and not silent:
        yield Token(RELATIVE, number)
    acts = [(found.start(), found.end(), found) for found in _ACT_RE.finditer(clause)]
    asking = clause.rstrip().endswith("?")
    steps: list[tuple[int, int, tuple[Step, ...]]] = []
    for match in _STEP_RE.finditer(clause):
        inside = any(start <= match.start() and match.end() <= end for start, end, _ in acts)
        if not inside and not silent and not (naming and match["cell"] is None):
            steps.append((match.start(), match.end(), _steps(match)))
    events: list[tuple[int, Token]] = []
    agreed = conditional = False
    for start, end, found in acts:
        kind = WITHDRAW if found["back"] else REFUSE if found["no"] else AGREE
        if kind == AGREE and asking and (re.search(r"\byou\b", clause) or not clause[end:].strip(" ?")):
            continue
        agreed = agreed or kind == AGREE
        conditional = conditional or _PROVIDED.match(clause, end) is not None
        if kind == AGREE and (conditional or _PARTLY.search(clause, end)):
            continue
        events.append((start, Token(kind, number, steps=_agreed_to(clause, end, steps) if kind == AGREE else ())))
    joined = _JOINS.search(clause) is not None
    confirms = agreed and not joined and _ANEW.search(clause) is None
    events += [
        (start, Token(MOVES, number, group, None, joined and not either, whole, either, confirms))
        for start, group, either in _grouped(clause, steps, [start for start, _ in events])
    ]
    yield from (token for _, token in sorted(events, key=lambda event: event[0]))


def _agreed_to(clause: str, end: int, steps: list[tuple[int, int, tuple[Step, ...]]]) -> tuple[Step, ...]:
    """The steps that an agreement names ("yes to up, no to left"), if it names any."""
    names = _AGREED_TO.match(clause, end)
    groups = _grouped(clause, steps, []) if names else ()
    return next((group for at, group, _ in groups if names and at == names.end()), ())


def _grouped(
    clause: str, steps: list[tuple[int, int, tuple[Step, ...]]], acts: list[int]
) -> Iterator[tuple[int, tuple[Step, ...], bool]]:
    """Steps that follow one another in a clause are one proposal, unless something was said between them; the last
    value is whether they are another choice beside the steps before."""
    begin, group, last, either = 0, tuple[Step, ...](), 0, False
    for start, end, found in steps:
        between = clause[last:start]
        choice = _CHOICE.search(between) is not None
        if group and not choice and not any(last <= act < start for act in acts):
            one = len(found) == 1 and found[0].cell is not None and group[-1].cell is None
            if one and re.fullmatch(r"\s*(?:,|to|:|=|->|→|\(|which is|i\.e\.)?\s*", between):
                group = (*group[:-1], Step(group[-1].direction, found[0].cell))
            else:
                group += found
        else:
            if group:
                yield begin, group, either
            begin, group, either = start, found, choice and bool(group)
        last = end
    if group:
        yield begin, group, either


def _steps(match: re.Match[str]) -> tuple[Step, ...]:
    if match["cell"]:
        return (Step(cell=_named(match)),)
    if match["word"]:
        count = match["before"] or match["after"] or "1"
        number = int(count) if count.isdigit() else _NUMBERS[count.lower()]
        return (Step(_WORDS[match["word"].lower()]),) * number
    return tuple(Step(_INITIALS[letter]) for letter in match["row"] or match["winds"] if letter in _INITIALS)


def _named(match: re.Match[str]) -> Named:
    if match["p1"]:
        return Named("pair", int(match["p1"]), int(match["p2"]))
    if match["x"]:
        return Named("pair", int(match["x"]), int(match["y"]))
    if match["l"]:
        return Named("letter", ord(match["l"].upper()) - ord("A") + 1, int(match["n"]))
    if match["c3"]:
        return Named("cr", int(match["c3"]), int(match["r3"]))
    return Named("rc", int(match["r1"] or match["r2"]), int(match["c1"] or match["c2"]))


def hints(text: str) -> dict[str, frozenset[str]]:
    """What a dialogue says outright about its way of naming cells: ``order``, ``base`` and ``corner``, as far as all
    that is said agrees."""
    text = text.lower()
    rules = {
        "order": {
            "rc": r"\brows?\s*,\s*col|\brows?,?\s+first|\brows?\s+and\s+col"
            r"|\brows?\s+(?:are\s+)?(?:letters|a\s*[-–to]+)",
            "cr": r"\bcol\w*\s*,\s*row|\bcolumns?,?\s+first|\bcolumns?\s+and\s+row|\bx\b.{0,40}\by\b"
            r"|\bcolumns?\s+(?:are\s+)?(?:letters|a\s*[-–to]+)",
        },
        "base": {
            "0": r"\b(?:0|zero)[- ]?(?:based|indexed)|\b(?:from|with|at) (?:0|zero)\b",
            "1": r"\b(?:1|one)[- ]?(?:based|indexed)|\b(?:from|with|at) (?:1|one)\b",
        },
        "corner": {
            "tl": r"\b(?:top|upper)[- ]left\b|\btop to bottom\b",
            "tr": r"\b(?:top|upper)[- ]right\b",
            "bl": r"\b(?:bottom|lower)[- ]left\b|\bfrom the bottom\b|\bbottom to top\b|\by (?:grows )?upwards?\b",
            "br": r"\b(?:bottom|lower)[- ]right\b",
        },
    }
    found = {axis: frozenset(v for v, rule in kinds.items() if re.search(rule, text)) for axis, kinds in rules.items()}
    return {axis: values for axis, values in found.items() if len(values) == 1}
