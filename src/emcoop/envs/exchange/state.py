"""The state of the exchange as a value: who holds what, who has which tasks, who has asked whom.

N agents, K pieces, L open tasks each. What the seed deals (true values, tasks' pieces, the order of turns) is no
part of it; `generator` says it again. Rows are shared between states as long as nothing changes them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from emcoop.core.canonical import canonical_json
from emcoop.envs.exchange.generator import TOP_VALUE, Spec, true_values

ABSENT = 255
"""In a row of `held`: a piece that the agent does not hold."""

NOTICES, RECEIPTS, PAST = 4, 6, 6
"""How many of each an agent's state keeps, the latest ones."""

REFUSED = 8
"""Of so many refused actions a desk keeps the reason."""

THOUGHT_CHARS = 300

TALLY = (
    "messages",
    "requests",
    "answered",
    "late",
    "ignored",
    "falsified",
    "moot",
    "auto_filled",
    "unsolicited",
    "sends",
    "false_sends",
    "submitted",
    "submitted_wrong",
    "feasible",
    "refused",
)
"""The counters of a state, in order. See docs/exchange.md for what they count."""
INDEX = {name: i for i, name in enumerate(TALLY)}

ASKED, SENT, PAID, NOT_DONE = "a", "s", "p", "r"
"""The codes of the facts on a desk."""

TYPED, NAMED, ENGINE = range(3)
"""How a request came about: the typed action, a message that names the piece, or the engine's assist."""

_MAGIC = b"EXCHANGE1\n"


@dataclass(frozen=True, slots=True)
class Request:
    """An open request. `chances`: turns that the holder has ended since, holding the piece and not sending it."""

    asker: int
    piece: int
    turn: int
    kind: int = TYPED
    chances: int = 0


@dataclass(slots=True)
class Desk:
    """One agent's papers. Part of a value: only the working copy that made a desk may write on it (`work.Work`).

    `tasks` [L] are (number, ready): numbered in the order they were dealt; ready once it held every piece at the start
    of a turn of its own. `asked` are the open requests to it. `givers` are (piece, sender) not yet paid for (incentive
    ``if_used``). Of its last decision, `refused` has (index, code) of the first few refused actions and
    `worked` counts those that had effect. `notices`, `receipts` and `past` are facts that it is shown: (turn, ...).
    """

    tasks: tuple[tuple[int, bool], ...]
    dealt: int
    done: int = 0
    revenue: float = 0.0
    bonus: float = 0.0
    asked: tuple[Request, ...] = ()
    givers: tuple[tuple[int, int], ...] = ()
    worked: int = 0
    refused: tuple[tuple[int, str], ...] = ()
    notices: tuple[tuple[Any, ...], ...] = ()
    receipts: tuple[tuple[Any, ...], ...] = ()
    past: tuple[tuple[Any, ...], ...] = ()
    thought: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeState:
    """One state. `held` [N] rows of K bytes: the value under which the agent holds the piece, or ABSENT.

    `listed` are these rows at the start of the round: the directory. `tally` counts, see TALLY.
    """

    seed: int
    turn: int
    held: tuple[bytes, ...]
    listed: tuple[bytes, ...]
    desks: tuple[Desk, ...]
    tally: tuple[int, ...]


def initial(spec: Spec, seed: int) -> ExchangeState:
    """The state before the first turn, without what the assists do at the start."""
    true = true_values(seed, spec.pieces)
    rows = []
    for agent in range(spec.agents):
        row = bytearray([ABSENT]) * spec.pieces
        for piece in spec.own(agent):
            row[piece] = true[piece]
        rows.append(bytes(row))
    held = tuple(rows)
    desk = Desk(tuple((number, False) for number in range(spec.open_tasks)), spec.open_tasks)
    return ExchangeState(seed, 0, held, held, (desk,) * spec.agents, (0,) * len(TALLY))


# -- bytes -----------------------------------------------------------------------------------------------------------


def to_bytes(state: ExchangeState) -> bytes:
    """The whole state as canonical bytes: pieces as bitmaps, false values and what is new in this round by name."""
    pieces = len(state.held[0])
    true = true_values(state.seed, pieces)
    return _MAGIC + canonical_json(
        {
            "seed": state.seed,
            "turn": state.turn,
            "pieces": pieces,
            "held": [f"{_bits(row):x}" for row in state.held],
            "false": [_false(row, true) for row in state.held],
            "new": [_new(row, listed) for row, listed in zip(state.held, state.listed, strict=True)],
            "desks": [_desk_out(desk) for desk in state.desks],
            "tally": list(state.tally),
        }
    )


@lru_cache(maxsize=16_384)
def _bits(row: bytes) -> int:
    """The pieces of a row as bits."""
    return int("".join("0" if value == ABSENT else "1" for value in reversed(row)), 2)


def _new(row: bytes, listed: bytes) -> list[int]:
    """The pieces that came since the directory was written."""
    bits = _bits(row) & ~_bits(listed)
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


@lru_cache(maxsize=16_384)
def _false(row: bytes, true: bytes) -> list[list[int]]:
    return [[k, value] for k, value in enumerate(row) if value not in (ABSENT, true[k])]


def _desk_out(desk: Desk) -> list[Any]:
    asked = [[r.asker, r.piece, r.turn, r.kind, r.chances] for r in desk.asked]
    facts = [list(map(list, facts)) for facts in (desk.givers, desk.refused, desk.notices, desk.receipts, desk.past)]
    numbers = [desk.dealt, desk.done, desk.revenue, desk.bonus, desk.worked]
    return [[[number, int(ready)] for number, ready in desk.tasks], numbers, asked, *facts, desk.thought]


def from_bytes(data: bytes, spec: Spec) -> ExchangeState:
    """The inverse of `to_bytes`. Raises ValueError for anything else, and for a state of another world."""
    if not data.startswith(_MAGIC):
        raise ValueError("these bytes are no snapshot of an exchange")
    try:
        return _state_in(json.loads(data[len(_MAGIC) :]), spec)
    except (KeyError, TypeError, IndexError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"a damaged snapshot of an exchange: {error!r}") from error


def _state_in(found: dict[str, Any], spec: Spec) -> ExchangeState:
    pieces, seed = int(found["pieces"]), int(found["seed"])
    counts = {len(found[name]) for name in ("held", "false", "new", "desks")}
    if pieces != spec.pieces or counts != {spec.agents} or len(found["tally"]) != len(TALLY):
        raise ValueError(f"a snapshot of an exchange other than this one of {spec.agents} agents, {spec.pieces} pieces")
    true = true_values(seed, pieces)
    held = tuple(_row(bits, true, false) for bits, false in zip(found["held"], found["false"], strict=True))
    # A piece is never lost, so what is listed is what is held without what is new; nobody reads a listed value.
    listed = tuple(_without(row, new) for row, new in zip(held, found["new"], strict=True))
    desks = tuple(_desk_in(desk) for desk in found["desks"])
    return ExchangeState(seed, int(found["turn"]), held, listed, desks, tuple(map(int, found["tally"])))


def _row(bits: str, true: bytes, false: Any) -> bytes:
    number = int(bits, 16)
    if number < 0 or number >> len(true):
        raise ValueError("a snapshot of an exchange with a piece that there is not")
    row = bytearray(true[k] if number >> k & 1 else ABSENT for k in range(len(true)))
    for piece, value in false:
        if not 0 <= value <= TOP_VALUE or row[piece] == ABSENT:
            raise ValueError("a snapshot of an exchange with an impossible value of a piece")
        row[piece] = value
    return bytes(row)


def _without(row: bytes, pieces: Any) -> bytes:
    if not pieces:
        return row
    rest = bytearray(row)
    for piece in pieces:
        if not 0 <= piece < len(row) or row[piece] == ABSENT:
            raise ValueError("a snapshot of an exchange in which a new piece is not held")
        rest[piece] = ABSENT
    return bytes(rest)


def _desk_in(desk: list[Any]) -> Desk:
    tasks, numbers, asked, givers, refused, notices, receipts, past, thought = desk
    dealt, done, revenue, bonus, worked = numbers
    return Desk(
        tasks=tuple((int(number), bool(ready)) for number, ready in tasks),
        dealt=int(dealt),
        done=int(done),
        revenue=float(revenue),
        bonus=float(bonus),
        asked=tuple(Request(*map(int, request)) for request in asked),
        givers=tuple((int(p), int(a)) for p, a in givers),
        worked=int(worked),
        refused=tuple((int(i), str(code)) for i, code in refused),
        notices=tuple(map(tuple, notices)),
        receipts=tuple(map(tuple, receipts)),
        past=tuple(map(tuple, past)),
        thought=str(thought),
    )
