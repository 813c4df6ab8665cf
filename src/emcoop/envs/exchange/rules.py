"""The rules of the exchange: what one turn does, written once and in place.

`Work` is a working copy of a state. The environment makes one for every step; the simulator (`simulate`) plays a whole
episode on one. A refused action has no effect and leaves a typed reason; the actions after it are carried out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from emcoop.core.types import Json
from emcoop.envs.exchange.generator import TOP_VALUE
from emcoop.envs.exchange.state import ENGINE, NAMED, NOT_DONE, NOTICES, REFUSED, THOUGHT_CHARS, TYPED
from emcoop.envs.exchange.trade import ask, hand_over, mark_ready, submit
from emcoop.envs.exchange.work import Refused, Work, agent_number

READ_CHARS = 4000
"""Of so many characters of a message the pieces that it names are read."""

_LIST = r"(\d{1,6}(?:(?:, ?| and |, and | & )\d{1,6}){0,40})"
NAMES_PIECE = re.compile(r"(?:\b(?:pieces?|info(?:rmation)?)[ _#-]{0,3}|#)" + _LIST, re.IGNORECASE)
_NUMBER = re.compile(r"\d+")

REASONS: Mapping[str, str] = {
    "malformed": "not an action of this world",
    "not_your_turn": "it was not your turn",
    "too_many_actions": "one decision holds at most {most} actions; the rest was left out",
    "over_bandwidth": "no more pieces can be sent in this turn",
    "not_sent": "the message did not go out",
    "empty_message": "the message is empty",
    "unknown_agent": "there is no such agent",
    "to_oneself": "you cannot address yourself",
    "unknown_piece": "there is no such piece",
    "not_held": "you do not hold this piece",
    "already_held": "you hold this piece already",
    "repeated": "the same request is still open",
    "value_out_of_range": "a value is 0 to 100",
    "unknown_task": "you have seen no such task of yours",
    "already_submitted": "this task has been submitted already",
    "incomplete": "you do not hold every piece of this task",
}
"""Every reason why an action is refused."""


Action = Mapping[str, Json]
"""A symbolic action as JSON: ``action_type`` and its fields."""


def request_text(piece: int) -> str:
    """What a typed request says to its recipient."""
    return f"Please send me piece {piece}."


def named_pieces(text: str, pieces: int) -> tuple[int, ...]:
    """The pieces that a text names (``piece 12``, ``pieces 3, 4 and 5``, ``piece_7``, ``#9``), each once, in order."""
    found = [int(n) for run in NAMES_PIECE.findall(text[:READ_CHARS]) for n in _NUMBER.findall(run)]
    return tuple(dict.fromkeys(n for n in found if n < pieces))


def begin(work: Work) -> None:
    """What the assists do before the first turn."""
    _start_round(work)


def take_turn(work: Work, actions: Sequence[Action], thought: str = "", said: Sequence[str] | None = None) -> None:
    """The mover's whole turn: its actions in order, then what the assists do, then the next mover's turn begins.

    `said` are the texts that really went out; where it is given, a message that is not among them does not count, and a
    text that no action stands for is heard by everybody. None: every message went out.
    """
    agent = work.mover
    work.sends_now, work.seen_tasks = 0, work.desks[agent].dealt
    work.emit("turn", agent, round=work.turn // work.spec.agents)
    for place, (number, ready) in enumerate(work.desks[agent].tasks):
        if not ready and work.complete(agent, number):
            mark_ready(work, agent, place)
    ready_now = [number for number, ready in work.desks[agent].tasks if ready]
    _carry_out(work, agent, actions, None if said is None else Counter(said))
    if work.spec.auto_submit:
        still = {number for number, _ in work.desks[agent].tasks}
        for number in ready_now:
            if number in still:
                submit(work, agent, number, by_engine=True)
    if work.spec.thoughts:
        work.change(agent, thought=thought[:THOUGHT_CHARS])
    _count_chances(work, agent)
    work.turn += 1
    if work.turn % work.spec.agents == 0:
        _start_round(work)


def _carry_out(work: Work, agent: int, actions: Sequence[Action], said: Counter[str] | None) -> None:
    spec = work.spec
    refused: list[tuple[int, str]] = []
    for place, action in enumerate(actions[: spec.most_actions]):
        try:
            _one(work, agent, action, said)
        except Refused as refusal:
            refused.append((place, refusal.code))
            _note_refusal(work, agent, place, refusal.code, action)
    if len(actions) > spec.most_actions:
        refused.append((spec.most_actions, "too_many_actions"))
        _note_refusal(work, agent, spec.most_actions, "too_many_actions", {"count": len(actions) - spec.most_actions})
    if said is not None:
        for text in said.elements():
            work.count("messages")
            _heard(work, agent, None, text)
    worked = len(actions[: spec.most_actions]) - sum(code != "too_many_actions" for _, code in refused)
    work.change(agent, worked=worked, refused=tuple(refused[:REFUSED]))


def _note_refusal(work: Work, agent: int, place: int, code: str, action: Action) -> None:
    work.count("refused")
    brief = {k: v if isinstance(v, int) else str(v)[:40] for k, v in list(action.items())[:5]}
    work.emit("blocked", agent, code=code, index=place, action=brief)
    what = str(action.get("action_type", f"{action.get('count', 0)} actions"))[:20]
    work.keep(agent, "notices", NOTICES, NOT_DONE, code, what)


def _one(work: Work, agent: int, action: Action, said: Counter[str] | None) -> None:
    """Carry out one action. Raises Refused."""
    kind = action.get("action_type")
    if kind == "send":
        _send(work, agent, action)
    elif kind == "submit":
        submit(work, agent, _number(action, "number", "unknown_task"))
    elif kind == "request":
        _request(work, agent, action, said)
    elif kind in ("message", "broadcast"):
        _message(work, agent, action, said)
    elif kind != "pass":
        raise Refused("malformed")


def _send(work: Work, agent: int, action: Action) -> None:
    to, piece = _recipient(work, agent, action), _piece(work, action)
    value = _number(action, "value", "value_out_of_range")
    if not work.holds(agent, piece):
        raise Refused("not_held")
    if not 0 <= value <= TOP_VALUE:
        raise Refused("value_out_of_range")
    if work.spec.most_sends is not None and work.sends_now >= work.spec.most_sends:
        raise Refused("over_bandwidth")
    work.sends_now += 1
    hand_over(work, agent, to, piece, value)


def _request(work: Work, agent: int, action: Action, said: Counter[str] | None) -> None:
    to, piece = _recipient(work, agent, action), _piece(work, action)
    if not _goes_out(said, request_text(piece)):
        raise Refused("not_sent")
    work.count("messages")
    if work.holds(agent, piece):
        raise Refused("already_held")
    ask(work, agent, to, piece, TYPED)


def _message(work: Work, agent: int, action: Action, said: Counter[str] | None) -> None:
    text = action.get("text")
    if not isinstance(text, str):
        raise Refused("malformed")
    to = _recipient(work, agent, action) if action["action_type"] == "message" else None
    if not text.strip():
        raise Refused("empty_message")
    if not _goes_out(said, text):
        raise Refused("not_sent")
    work.count("messages")
    _heard(work, agent, to, text)


def _heard(work: Work, agent: int, to: int | None, text: str) -> None:
    """A text that names a piece is a request for it, to a recipient who holds what the sender lacks."""
    for piece in named_pieces(text, work.spec.pieces):
        if work.holds(agent, piece):
            continue
        listeners = range(work.spec.agents) if to is None else (to,)
        holder = next((j for j in listeners if j != agent and work.holds(j, piece)), None)
        if holder is not None and not any(r.asker == agent and r.piece == piece for r in work.desks[holder].asked):
            ask(work, agent, holder, piece, NAMED)


def _goes_out(said: Counter[str] | None, text: str) -> bool:
    """Whether this text went out; each that did stands for one action."""
    if said is None:
        return True
    if said[text] <= 0:
        return False
    said[text] -= 1
    return True


def _number(action: Action, field: str, code: str) -> int:
    value = action.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(code if value is not None else "malformed")
    return value


def _piece(work: Work, action: Action) -> int:
    piece = _number(action, "piece", "unknown_piece")
    if not 0 <= piece < work.spec.pieces:
        raise Refused("unknown_piece")
    return piece


def _recipient(work: Work, agent: int, action: Action) -> int:
    to = agent_number(action.get("to"), work.spec.agents)
    if to is None:
        raise Refused("unknown_agent")
    if to == agent:
        raise Refused("to_oneself")
    return to


def _count_chances(work: Work, agent: int) -> None:
    """At the end of a turn: requests that are met otherwise are closed, and every other one was a chance to answer."""
    asked = work.desks[agent].asked
    if not asked:
        return
    kept = []
    for request in asked:
        if work.holds(request.asker, request.piece):
            work.count("ignored" if request.chances else "moot")
        elif work.holds(agent, request.piece):
            kept.append(replace(request, chances=request.chances + 1))
        else:
            kept.append(request)
    work.change(agent, asked=tuple(kept))


def _start_round(work: Work) -> None:
    """The directory is written anew, and the engine asks for whoever has it ask."""
    work.held = [row if isinstance(row, bytes) else bytes(row) for row in work.held]
    work.listed = tuple(row for row in work.held if isinstance(row, bytes))
    if not work.spec.auto_request or work.turn >= work.spec.horizon:
        return
    for agent in range(work.spec.agents):
        for piece in work.missing(agent):
            holder = work.spec.source(piece)
            if not any(r.asker == agent and r.piece == piece for r in work.desks[holder].asked):
                ask(work, agent, holder, piece, ENGINE)
