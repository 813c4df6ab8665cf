"""The speech acts of one clause: which steps are meant, and which are only described, refused or told once more."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from emcoop.envs.maze import acts
from emcoop.envs.maze import lexicon as say
from emcoop.envs.maze.acts import Token
from emcoop.envs.maze.plain import TABLE
from emcoop.envs.maze.steps import NUMBERS, STEP_RE, Step, steps_of


def agrees(text: str) -> bool:
    """Whether a word of agreement stands in the text, whoever gives it."""
    return any(found["yes"] or found["y"] for found in say.ACT.finditer(text))


def _unknown(words: str) -> bool:
    """Whether these are words, none of which is known to leave a proposal open."""
    known = say.HOLDS.search(words) or say.NAMES.search(words)
    return known is None and re.search(r"[^\W\d_]{2}", words) is not None


FEW = 4
"""A question of so few words may be a proposal."""

Found = tuple[int, int, tuple[Step, ...]]
"""Steps with the place of their first and last letter."""

Event = tuple[int, Token]
"""What is done at a place of the clause."""


@dataclass(slots=True)
class Clause:
    """One clause of a message; `listed`: an item of a list, but not its first; `told`: under a heading of the past;
    `reason`: it begins with a word like "because"."""

    text: str
    number: int
    whole: bool
    listed: bool
    told: bool
    reason: bool = False

    def tokens(self) -> Iterator[Token]:
        """What it does, in the order of its words."""
        text = self.text
        if say.RELATIVE.search(text) and not (say.SEES.search(text) and not say.GOES.search(text)):
            yield Token(acts.RELATIVE, self.number)
        if say.EXAMPLE.search(text):
            return
        steps, seen = self._steps()
        told = self.told or say.HISTORY.search(text) is not None
        events = [] if told else self._acts(steps)
        refused = _refused(steps, [start for start, token in events if token.kind == acts.REFUSE])
        gone = {start for start, _, _ in refused}
        steps = [found for found in steps if found[0] not in gone]
        if told:
            events += [(start, Token(acts.TOLD, self.number, group)) for start, group, _ in grouped(text, steps, [])]
        else:
            events += self._moves(steps, [start for start, _ in events])
            events += [] if steps else self._pointers()
        seen = [*seen, *refused]
        events += [(start, Token(acts.SEEN, self.number, found, asked=self.asks)) for start, _, found in seen]
        events += self._signs()
        offers = any(token.kind in (acts.MOVES, acts.AGAIN, acts.THERE, acts.UNCLEAR) for _, token in events)
        known = any(token.kind not in (acts.ARRIVED, acts.SEEN) for _, token in events)
        asked = self.asks
        long = asked and len(text.split()) > FEW
        if not (known or told or long or self.reason) and self._unknown(seen):
            events.append(
                (0, Token(acts.UNKNOWN, self.number, listed=self.listed, asked=asked, goes=self._may_propose()))
            )
        if self.asks and (say.DOUBTS.search(text) or not (offers or say.ACCEPTABLE.search(text))):
            events.append((len(text), Token(acts.ASKED, self.number)))
        yield from (token for _, token in sorted(events, key=lambda event: event[0]))

    def _signs(self) -> list[Event]:
        """What it gives away beside what it says: two walkers, an obstacle, a table, the goal."""
        rules = ((acts.APART, say.APART), (acts.BLOCKED, say.BLOCKED))
        found = [(-1, Token(kind, self.number)) for kind, rule in rules if rule.search(self.text)]
        found += [(-1, Token(acts.UNCLEAR, self.number))] if TABLE in self.text else []
        return found + [(len(self.text), Token(acts.ARRIVED, self.number))] * (
            say.ARRIVED.search(self.text) is not None
        )

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip().endswith("?")

    def _may_propose(self) -> bool:
        """Whether it may be a proposal in words that are not known."""
        return say.GOES.search(self.text) is not None or len(self.text.split()) <= FEW

    def _unknown(self, seen: list[Found]) -> bool:
        """Whether the clause, or a piece of it, may be an answer in words that are not known."""
        if say.SEES.search(self.text) is None and not seen and self.text[-1:] != ":":
            return _unknown(self.text)
        pieces = [self.text[begin:end] for begin, end in _pieces(self.text)]
        pieces = [piece for piece in pieces if not (say.SEES.search(piece) or STEP_RE.search(piece))]
        return any(_unknown(piece) for piece in pieces if say.STANDS_FOR.search(piece) is None)

    def _steps(self) -> tuple[list[Found], list[Found]]:
        """The steps that are meant, and those that are only described, each with its place."""
        text = self.text
        naming = say.NAMES.search(text) is not None
        wondering = self.asks and say.ASKS_WHERE.search(text) is not None
        spans = _pieces(text)
        origins = {found.start("it") for found in say.FROM.finditer(text)}
        places = _inside(found.span() for found in say.PLACE.finditer(text))
        matches = list(STEP_RE.finditer(text))
        plain = [step.direction for match in matches if match["cell"] is None for step in steps_of(match)]
        legend = len(set(plain)) == 4 and (len(plain) == 4 or naming)
        runs = _described_runs(text, matches)
        meant: list[Found] = []
        seen: list[Found] = []
        affirms = len(matches) == 1 and say.AFFIRMS.search(text) is not None and not agrees(text)
        spoken = _inside(found.span() for found in say.ACT.finditer(text) if found["yes"])
        at, judged = 0, dict[int, tuple[bool, bool, bool]]()
        for match, (in_run, begin) in zip(matches, runs, strict=True):
            first, last = match.start(), match.end() - 1
            if (first in spoken and last in spoken) or (affirms and match is matches[0]):
                continue  # "that's right"
            if match["cell"] is None and (naming or legend):
                continue
            while spans[at][1] <= begin and at < len(spans) - 1:
                at += 1
            goes, sees, cannot = judged[at] = judged.get(at) or _judged(text[slice(*spans[at])])
            silent = in_run or wondering or cannot or (sees and not goes)
            silent = silent or (self.reason and first < spans[0][1]) or first in origins
            silent = silent or (match["cell"] is None and first in places and last in places and not goes)
            (seen if silent else meant).append((match.start(), match.end(), steps_of(match)))
        return meant, seen

    def _acts(self, steps: list[Found]) -> list[Event]:
        """Agreement, refusal and withdrawal."""
        events: list[Event] = []
        groups = {start: group for start, group, _ in grouped(self.text, steps, [])}
        last = steps[-1][0] if steps else -1
        conditional = False
        for found in say.ACT.finditer(self.text):
            start, end = found.span()
            if found["yes"] or found["y"]:
                if not self._asked_for(start, end):
                    conditional = conditional or say.PROVIDED.match(self.text, end) is not None
                    events += [] if conditional else self._agreement(found, last, _agreed_to(self.text, end, groups))
            elif found["no"]:
                events.append((start, Token(acts.REFUSE, self.number)))
            elif found["back"] or (found["pardon"] and last >= end):
                events.append((start, Token(acts.WITHDRAW, self.number)))
        return events

    def _asked_for(self, start: int, end: int) -> bool:
        """Whether a word of agreement is asked for, or talked of, and not given."""
        if self.asks and (re.search(r"\byou\b", self.text) or not self.text[end:].strip(" ?")):
            return True
        near = max(0, start - 40)
        asked = say.ASKED.search(self.text, near, start) is not None
        return asked and say.HAPPENED.search(self.text, near, start) is None

    def _agreement(self, found: re.Match[str], last: int, named: tuple[Step, ...]) -> list[Event]:
        """An agreement, if it is one to all; `last` is the place of the last step, `named` what is agreed to."""
        start, end = found.span()
        partly = say.PARTLY.search(self.text, end, end + 200)
        if partly and partly["first"]:
            first = partly["first"]
            count = int(first) if first.isdigit() else NUMBERS[first.lower()]
            return [(start, Token(acts.AGREE, self.number, first=count))]
        if partly:
            return [] if last >= end else [(start, Token(acts.UNCLEAR, self.number))]
        bare = last < 0 and say.YES.match(found[0]) is not None
        strong = say.STRONG.search(found[0]) is not None
        hedged = say.HEDGES.search(self.text) is not None
        return [(start, Token(acts.AGREE, self.number, steps=named, bare=bare, strong=strong, vague=hedged))]

    def _moves(self, steps: list[Found], said: list[int]) -> list[Event]:
        """The proposals, of which each ends where something else is said."""
        text = self.text
        joined, more, far, counter, anew, goes, also = (
            rule.search(text) is not None
            for rule in (say.JOINS, say.ANEW, say.VAGUE, say.COUNTER, say.ANEW_FROM_START, say.GOES, say.ALSO)
        )
        vague = far or self._has_gap(steps) or self._miscounts(steps)
        label, ordinal = say.OPTION.search(text), say.ORDINAL.search(text)
        common = Token(
            acts.MOVES, self.number, whole=self.whole or anew, anew=anew, more=more, confirms=agrees(text) and not more,
            counter=counter, listed=self.listed, asked=self.asks, vague=vague, goes=goes or more,
            also=also and not goes, label=label["label"].lower() if label else "",
            ordinal=ordinal["n"].lower() if ordinal else "", wordy=self._wordy(steps),
        )  # fmt: skip
        return [
            (start, replace(common, steps=group, joined=joined and not either, either=either))
            for start, group, either in grouped(text, steps, said)
        ]

    def _wordy(self, steps: list[Found]) -> bool:
        """Whether much is said of the steps right after them, none of which is agreement or proposal."""
        if agrees(self.text) or say.GOES.search(self.text) or say.JOINS.search(self.text):
            return False
        after = self.text[steps[-1][1] :].partition(",")[0] if steps else ""
        return len(re.findall(r"[a-z]{3,}", after)) > 1

    def _miscounts(self, steps: list[Found]) -> bool:
        """Whether a number of steps is told that none of them has, nor all together."""
        taken = _inside((start, end) for start, end, _ in steps)
        told = [found for found in say.COUNTED.finditer(self.text) if found.start() not in taken]
        total = sum(len(group) for _, _, group in steps)
        return bool(steps) and any(
            total != (int(found[1]) if found[1].isdigit() else NUMBERS[found[1].lower()]) for found in told
        )

    def _has_gap(self, steps: list[Found]) -> bool:
        """Whether an item of a list of steps was not understood ("right, topward, right")."""
        if len(steps) < 2:
            return False
        ends = [0, *(end for _, end, _ in steps)], [*(start for start, _, _ in steps), len(self.text)]
        between = [self.text[a:b] for a, b in zip(*ends, strict=True)]
        items = between if between[0].rstrip().endswith(",") else between[1:]
        plain = (say.ACT, say.GOES, say.JOINS, say.ARRIVED, say.ORDINAL)
        items = [item for item in items if _unknown(item) and not any(rule.search(item) for rule in plain)]
        return any(say.GAP.fullmatch(item) is not None for item in items)

    def _pointers(self) -> list[Event]:
        """Steps that are not named but pointed at."""
        text, number = self.text, self.number
        if found := say.AGAIN.match(text):
            return [(0, Token(acts.AGAIN, number, first=2 if found["twice"] else 1, asked=self.asks))]
        events = [(found.start(), Token(acts.THERE, number)) for found in say.THERE.finditer(text)]
        labels = {found["label"].lower(): found.start() for found in say.OPTION.finditer(text)}
        if labels:
            plain = re.sub(r"\bno (?:conflicts?|problems?|objections?|walls?|issues?)\b", "", text)
            clear = say.SEES.search(plain) is None and re.search(r"n't\b|\b(?:not|no|either|both)\b", plain) is None
            label = next(iter(labels)) if len(labels) == 1 and clear else ""
            events.append((next(iter(labels.values())), Token(acts.CHOOSE, number, label=label)))
        return events


def _judged(piece: str) -> tuple[bool, bool, bool]:
    """Whether a piece of a clause speaks of going, of what is seen, of what cannot be done."""
    goes, sees, cannot = (rule.search(piece) is not None for rule in (say.GOES, say.SEES, say.CANNOT))
    sees = sees or say.BLOCKED.search(piece) is not None
    verbs = say.GOES.findall(piece) if sees else []
    return goes and not (sees and say.GERUND.search(piece) and len(verbs) == 1), sees, cannot


def _pieces(text: str) -> list[tuple[int, int]]:
    """The pieces of a clause as (begin, end)."""
    cuts = [found.start() for found in say.PIECES.finditer(text)]
    return list(zip([0, *cuts], [*cuts, len(text)], strict=True))


_RUN = re.compile(r"[\s,/&()]*(?:(?:and|or|,)\s*)*(?:also\s+)?")
_SEES_AFTER = re.compile(
    r"[\s)]*(?:,\s*)?(?:(?:all|both|too|each)\s+)*(?:is|are|was|were|seems?|looks?)\s+(?:(?!where|what"
    r"|our)\w+\s+){0,3}?"
    rf"(?:{say.SEES.pattern})|[\s)]*(?:[=:(–-]\s*)?(?:as\s+)?(?:an?\s+)?(?:{say.SEES.pattern})|[\s)]*(?:which "
    rf"|that )?i (?:can |only )*(?:see|have|know)\b|\s*,\s+as\s+(?:{say.SEES.pattern})",
    re.IGNORECASE,
)
_SEES_BEFORE = re.compile(
    rf"(?:{say.SEES.pattern})\s*(?:(?:at|in|on|are|is|:|=|,|cells?|both|that|also)\s*)*$", re.IGNORECASE
)


def _refused(steps: list[Found], refusals: list[int]) -> list[Found]:
    """The steps right before a refusal ("(1,4): no")."""
    found = []
    for at in refusals:
        before = bisect_left(steps, at, key=lambda step: step[1] - 1) - 1
        if before >= 0:
            found.append(steps[before])
    return found


def _described_runs(text: str, matches: list[re.Match[str]]) -> list[tuple[bool, int]]:
    """For each mention whether it belongs to a run of cells that is only described ("walls at (1,1) and (2,3)"), and
    where what it is part of begins: a list of three cells or more is of one piece."""
    runs: list[list[re.Match[str]]] = []
    for match in matches:
        if runs and _RUN.fullmatch(text, runs[-1][-1].end(), match.start()):
            runs[-1].append(match)
        else:
            runs.append([match])
    found: list[tuple[bool, int]] = []
    for run in runs:
        before = _SEES_BEFORE.search(text, max(0, run[0].start() - 40), run[0].start()) is not None
        after = _SEES_AFTER.match(text, run[-1].end()) is not None
        described = (before or after) and run[0]["cell"] is not None
        found += [(described, run[0].start() if len(run) > 2 else match.start()) for match in run]
    return found


def _inside(spans: Iterable[tuple[int, int]]) -> set[int]:
    """The places that these spans cover."""
    return {place for begin, end in spans for place in range(begin, end)}


def _agreed_to(clause: str, end: int, groups: Mapping[int, tuple[Step, ...]]) -> tuple[Step, ...]:
    """The steps that an agreement names ("yes to up, no to left"), if it names any."""
    names = say.AGREED_TO.match(clause, end)
    return groups.get(names.end(), ()) if names else ()


def grouped(clause: str, steps: list[Found], said: list[int]) -> Iterator[tuple[int, tuple[Step, ...], bool]]:
    """Steps that follow one another in a clause are one proposal, unless something was said between them; the last
    value is whether they are another choice beside the steps before."""
    begin, group, last, either = 0, list[Step](), 0, False
    said = sorted(said)
    for start, end, found in steps:
        between = clause[last:start]
        choice = say.CHOICE.search(between) is not None and (bool(group) or between.lower().lstrip().startswith("or"))
        if group and not choice and bisect_left(said, last) == bisect_left(said, start):
            one = len(found) == 1 and found[0].cell is not None and group[-1].cell is None
            if one and re.fullmatch(
                r"\s*(?:,|(?:,\s*)?(?:to|into|onto)|:|=|->|→|\(|which is|i\.e\.|that is)?\s*", between
            ):
                group[-1] = Step(group[-1].direction, found[0].cell)
            else:
                group += found
        else:
            if group:
                yield begin, tuple(group), either
            begin, group, either = start, list(found), choice
        last = end
    if group:
        yield begin, tuple(group), either
