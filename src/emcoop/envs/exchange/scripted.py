"""How the reference players of the exchange decide, from what an agent sees: one class, its habits as options.

The same mind plays in a seat (`reference`) and in the fast simulator (`simulate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from emcoop.core.types import Json
from emcoop.envs.exchange.generator import TOP_VALUE

PATIENCE = 2
"""Rounds after which a request that brought nothing is put to the next holder: by then the first has had a turn.

One that is not open any more, since it never went out, is made again at once.
"""

Action = dict[str, Json]


@dataclass(frozen=True)
class Sight:
    """What a player knows at its turn.

    `tasks` are (number, pieces); `inventory` has the value under which it holds each piece; `holders` says who held a
    piece at the start of the round; `asked` are the open requests to it, (asker, piece); `waits` says whether its own
    request to this holder for this piece is still open.
    """

    agent: int
    team: int
    round: int
    tasks: Sequence[tuple[int, Sequence[int]]]
    inventory: Mapping[int, int]
    holders: Callable[[int], Sequence[int]]
    asked: Sequence[tuple[int, int]]
    waits: Callable[[int, int], bool]

    def missing(self) -> list[int]:
        """The pieces that its tasks need and it does not hold, each once."""
        return list(dict.fromkeys(p for _, pieces in self.tasks for p in pieces if p not in self.inventory))

    def complete(self) -> list[int]:
        """The tasks whose pieces it holds."""
        return [number for number, pieces in self.tasks if all(p in self.inventory for p in pieces)]


@dataclass(frozen=True)
class Habits:
    """What a player does of its own accord; see `KINDS`."""

    asks: bool = True
    answers: bool = True
    submits: bool = True
    lies: bool = False
    asks_wrongly: bool = False
    floods: bool = False


KINDS: Mapping[str, Habits] = {
    "noop": Habits(asks=False, answers=False, submits=False),
    "scripted": Habits(),
    "selfish": Habits(answers=False),
    "falsifier": Habits(lies=True),
    "replier": Habits(asks=False),
    "loner": Habits(asks=False, answers=False),
    "forgetful": Habits(submits=False),
    "muddled": Habits(asks_wrongly=True),
    "flood": Habits(asks=False, answers=False, floods=True),
}
"""scripted: asks for what it needs, answers what it is asked, submits what is complete, all truthfully. selfish: never
answers. falsifier: answers with a wrong value. replier: never asks. loner: neither. forgetful: never submits. muddled:
asks those who do not hold the piece. flood: sends every piece to everybody in its first turn, then submits."""


@dataclass
class Mind:
    """A player of these habits; it remembers whom it has asked for what, and since when."""

    habits: Habits
    tried: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Piece -> (how often it was asked for, in which round and of whom the last time)."""
    flooded: bool = False

    def decide(self, sight: Sight) -> list[Action]:
        """The actions of this turn: what is sent, what is submitted, what is asked for."""
        actions: list[Action] = []
        if self.habits.floods and not self.flooded:
            self.flooded = True
            actions += flood(sight)
        if self.habits.answers:
            actions += answers(sight, lies=self.habits.lies)
        if self.habits.submits:
            actions += [{"action_type": "submit", "number": number} for number in sight.complete()]
        if self.habits.asks:
            actions += self.requests(sight)
        return actions

    def requests(self, sight: Sight) -> list[Action]:
        """What it asks for at this turn."""
        found: list[Action] = []
        for piece in sight.missing():
            asked, since, last = self.tried.get(piece, (0, 0, -1))
            waiting = last >= 0 and sight.waits(last, piece)
            if waiting and sight.round - since < PATIENCE:
                continue
            whom = self._whom(sight, piece, asked)
            if whom is None:
                continue
            self.tried[piece] = (asked + 1, sight.round, whom)
            if not sight.waits(whom, piece):
                found.append({"action_type": "request", "to": f"agent_{whom}", "piece": piece})
        return found

    def _whom(self, sight: Sight, piece: int, asked: int) -> int | None:
        """The holders in turn, beginning with another one for each agent and piece, so that no one is asked by all."""
        holders = [a for a in sight.holders(piece) if a != sight.agent]
        if self.habits.asks_wrongly:
            holders = [a for a in range(sight.team) if a != sight.agent and a not in holders]
        return holders[(asked + sight.agent + piece) % len(holders)] if holders else None


def answers(sight: Sight, *, lies: bool = False) -> list[Action]:
    """Every request that the player can meet, met; lies state another value than it holds."""
    return [
        _send(asker, piece, false_value(sight.inventory[piece]) if lies else sight.inventory[piece])
        for asker, piece in sight.asked
        if piece in sight.inventory
    ]


def flood(sight: Sight) -> list[Action]:
    """Every piece that the player is listed to hold, to everybody else; what came in this round comes to all anyway."""
    others = [a for a in range(sight.team) if a != sight.agent]
    own = [(piece, value) for piece, value in sorted(sight.inventory.items()) if sight.agent in sight.holders(piece)]
    return [_send(to, piece, value) for piece, value in own for to in others]


def false_value(value: int) -> int:
    """Another value, far from this one."""
    return (value + TOP_VALUE // 2) % (TOP_VALUE + 1)


def _send(to: int, piece: int, value: int) -> Action:
    return {"action_type": "send", "to": f"agent_{to}", "piece": piece, "value": value}
