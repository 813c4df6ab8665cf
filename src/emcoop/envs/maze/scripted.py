"""The scripted partners: they share their copy, follow the protocol, and walk by what they know and were told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from emcoop.core.config import StrictModel
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Outgoing, Plan, agent_index
from emcoop.envs.maze import talk
from emcoop.envs.maze.actions import (
    Listen,
)
from emcoop.envs.maze.rules import PHRASE
from emcoop.envs.maze.state import (
    DIRECTIONS,
    FINISH,
    FREE,
    HIDDEN,
    WALL,
    Cell,
    distances,
    moved,
)
from emcoop.envs.maze.walker import LISTEN, Choose, Walker, seen
from emcoop.envs.policy import PolicySeat, PolicyView


class SilentPartner(Walker):
    """Follows the protocol without a word: proposes shortest steps, accepts good ones, refuses walls, and takes what
    the others refuse for walls. It does understand maps that others share."""

    def look(self, view: PolicyView) -> None:
        """Also read maps, wherever they stand in what it has read; of two that differ the later one counts."""
        super().look(view)
        for text in _texts(view):
            for rows in talk.read_maps(text, len(self.own)):
                if rows in self._maps:
                    self._maps.remove(rows)
                self._maps.append(rows)
        self.known = talk.merged([self.believed(), *reversed(self._maps)])

    def believed(self) -> tuple[str, ...]:
        """Its own copy, as it reads it."""
        return self.own

    def _away(self) -> Mapping[Cell, int]:
        """Steps to the goal from every cell: over known cells if they hold a way from here, else over hidden ones."""
        rows = self._without_refused()
        sure = distances(rows, self.goal, WALL + HIDDEN)
        return sure if self.here in sure else distances(rows, self.goal, WALL)

    def _without_refused(self) -> tuple[str, ...]:
        """What it knows, with hidden cells that others refused to enter as walls."""
        rows = [list(row) for row in self.known]
        for cell, direction in self.refused:
            row, col = moved(cell, direction)
            if 0 <= row < len(rows) and 0 <= col < len(rows) and rows[row][col] == HIDDEN:
                rows[row][col] = WALL
        return tuple("".join(row) for row in rows)

    def choose(self, here: Cell) -> str | None:
        """The first step of a shortest way; where it sees none, of one by its own copy alone, else any that may be."""
        for away in (self._away(), distances(self.own, self.goal, WALL)):
            if here in away and here != self.goal:
                return next(d for d in DIRECTIONS if away.get(moved(here, d), 10**6) < away[here])
        return next((d for d in self.steps(here) if (here, d) not in self.refused), None)

    def judge(self, what: str, agreed: frozenset[int]) -> Choose:
        """Agrees to a step that brings the team nearer; refuses walls; else proposes its own."""
        if what == FINISH:
            return ("agree" if self.here == self.goal else "refuse"), what
        if what not in self.steps(self.here):
            return "refuse", what
        away, target = self._away(), moved(self.here, what)
        mine = self.choose(self.here)
        nearer = away.get(target, 10**6) < away.get(self.here, 10**6)
        if nearer or mine is None or mine == what or (self.here, mine) in self.refused:
            return "agree", what
        return "propose", mine


class Partner(SilentPartner):
    """The perfect partner: it also shares its copy, waits for those of the others, and says what it does."""

    def __init__(self, seat: PolicySeat) -> None:
        super().__init__(seat)
        self.shared = False
        self.told: set[int] = {self.index}
        self._turns = 0

    def look(self, view: PolicyView) -> None:
        """Also note who has shared a map, and whether its seat has, perhaps before it sat there."""
        super().look(view)
        sent = (note.text for note in view.memory if note.kind == "sent")
        self.shared = self.shared or any(map(self.serves, (m for t in sent for m in talk.read_maps(t, len(self.own)))))
        for message in (*view.unread, *view.conversation):
            if any(talk.read_maps(message.content, len(self.own))):
                self.told.add(agent_index(message.sender))

    def waits(self) -> bool:
        """In its first turn it waits for the others' maps, unless it has them or knows a way without."""
        return self._turns <= 1 and len(self.told) < self.team

    def decide(self) -> Choose:
        """Waits for maps first; then as every partner."""
        self._turns += 1
        if self.waits() and not (self.pending and self.index not in self.pending[1]):
            return LISTEN
        return super().decide()

    def shown(self) -> tuple[str, ...]:
        """The copy that it shares."""
        return self.own

    def serves(self, rows: tuple[str, ...]) -> bool:
        """Whether this map, once sent from its seat, need not be sent again: a wrong one is corrected."""
        return rows == self.shown()

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Its map the first time, then what it is about to do."""
        if not view.recipients or any(message.sender == f"agent_{self.index}" for message in view.conversation):
            return None
        self.look(view)
        if seen(view).phase != "dialogue":
            return None
        verb, what = self._decision(view)
        return Outgoing(view.recipients, self._speech(verb, what))

    def _speech(self, verb: str, what: str) -> str:
        parts = [] if verb == "listen" else [talk.say(verb, what)]
        if not self.shared:
            self.shared = True
            parts.append(talk.say_map(self.shown()))
        return "\n".join(parts) or "I wait."

    def _in_words(self, verb: str, what: str, view: PolicyView) -> Plan:
        """The same in the free mode, where the words come with the turn."""
        if verb != "listen":
            self._account(self.index, verb, what)
        text = self._speech(verb, what)
        if self.here == self.goal:
            text += f" {PHRASE}."
        return Plan(NO_TASK, (Listen(),), "", (Outgoing(view.team, text),))


class NoisyOptions(StrictModel):
    """`error` is the share of its own cells that it gets wrong; `misreads`: it goes by its errors itself, else it only
    tells them."""

    error: float = Field(default=0.3, ge=0, le=1)
    misreads: bool = False


class NoisyPartner(Partner):
    """The perfect partner with errors in the map: free cells told as walls and walls as free."""

    def __init__(self, seat: PolicySeat, options: NoisyOptions) -> None:
        super().__init__(seat)
        self._options = options
        self._wrong: tuple[str, ...] = ()
        self._noise = Stream.named(seat.seed, "maze", "noise")

    def look(self, view: PolicyView) -> None:
        """Misread the copy once."""
        if not self._wrong:
            own = talk.merged(seen(view).maps)
            self._wrong = tuple("".join(self._misread(symbol) for symbol in row) for row in own)
        super().look(view)

    def believed(self) -> tuple[str, ...]:
        """The wrong copy, if it goes by its errors."""
        return self._wrong if self._options.misreads else self.own

    def _misread(self, symbol: str) -> str:
        if symbol not in (FREE, WALL) or self._noise.uniform() >= self._options.error:
            return symbol
        return WALL if symbol == FREE else FREE

    def shown(self) -> tuple[str, ...]:
        """The wrong copy."""
        return self._wrong

    def serves(self, rows: tuple[str, ...]) -> bool:
        """Any map will do."""
        return True


def _texts(view: PolicyView) -> Iterator[str]:
    """Everything it has been told and still has: notes of what it read, and what is new."""
    for note in view.memory:
        if note.kind == "read":
            yield note.text
    for message in (*view.conversation, *view.unread):
        if message.sender != view.agent:
            yield message.content
