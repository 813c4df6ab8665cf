"""What changes hands in the exchange: requests, pieces, tasks, and what sharing pays."""

from __future__ import annotations

from emcoop.envs.exchange.state import (
    ASKED,
    ENGINE,
    NOTICES,
    PAID,
    PAST,
    RECEIPTS,
    SENT,
    Request,
)
from emcoop.envs.exchange.work import Refused, Work, task_name


def ask(work: Work, asker: int, holder: int, piece: int, kind: int) -> None:
    """Enter a request; filled at once where the assist says so and the holder has it. Raises Refused if it is open."""
    desk = work.desks[holder]
    if any(r.asker == asker and r.piece == piece for r in desk.asked):
        raise Refused("repeated")
    work.count("requests")
    has = work.holds(holder, piece)
    work.emit("requested", asker, to=f"agent_{holder}", piece=piece, how=("typed", "named", "engine")[kind], held=has)
    if kind != ENGINE:
        work.keep(asker, "past", PAST, ASKED, holder, piece)
    if work.spec.auto_fulfil and has:
        work.count("auto_filled")
        hand_over(work, holder, asker, piece, work.held[holder][piece], by_engine=True)
        return
    work.change(holder, asked=(*desk.asked, Request(asker, piece, work.turn, kind)))


def hand_over(work: Work, sender: int, to: int, piece: int, value: int, *, by_engine: bool = False) -> None:
    """A copy of a piece changes hands under this value; what it means for requests, counts and incentives."""
    new = not work.holds(to, piece)
    honest = value == work.held[sender][piece]
    answer = "engine" if by_engine else _answer(work, sender, to, piece, honest)
    if new or work.spec.overwrite:
        row = work.held[to]
        if isinstance(row, bytes):
            work.held[to] = row = bytearray(row)
        row[piece] = value
    facts = {"piece": piece, "value": value, "new": new, "honest": honest, "true": value == work.true[piece]}
    work.emit("sent", sender, to=f"agent_{to}", **facts, answer=answer)
    if not by_engine:
        work.keep(sender, "past", PAST, SENT, to, piece, value)
    work.keep(to, "receipts", RECEIPTS, sender, piece, value)
    if not by_engine:
        work.count("sends")
        work.count("false_sends", not honest)
        if new and work.spec.incentive:
            _reward(work, sender, to, piece)


def _answer(work: Work, sender: int, to: int, piece: int, honest: bool) -> str:
    """What a send is to the requests that the sender has, which it closes."""
    asked = work.desks[sender].asked
    request = next((r for r in asked if r.asker == to and r.piece == piece), None)
    if request is None:
        work.count("unsolicited")
        return "unsolicited"
    work.change(sender, asked=tuple(r for r in asked if r is not request))
    answer = "falsified" if not honest else "late" if request.chances else "answered"
    work.count(answer)
    return answer


def _reward(work: Work, sender: int, to: int, piece: int) -> None:
    arm, amount = work.spec.incentive_arm, work.spec.incentive
    if arm == "if_used":
        work.change(to, givers=(*work.desks[to].givers, (piece, sender)))
        return
    _pay_bonus(work, sender, amount, piece)
    if arm == "by_recipient":
        _pay_bonus(work, to, -amount, piece)


def _pay_bonus(work: Work, agent: int, amount: float, piece: int) -> None:
    work.change(agent, bonus=work.desks[agent].bonus + amount)
    work.emit("bonus", agent, amount=amount, piece=piece)


# -- submitting ------------------------------------------------------------------------------------------------------


def submit(work: Work, agent: int, number: int, *, by_engine: bool = False) -> None:
    """The task is paid, less for every wrong value, and replaced. Raises Refused."""
    desk = work.desks[agent]
    place = next((i for i, (n, _) in enumerate(desk.tasks) if n == number), None)
    if not 0 <= number < work.seen_tasks:  # one that this very turn has brought has not been seen yet
        raise Refused("unknown_task")
    if place is None:
        raise Refused("already_submitted")
    if not work.complete(agent, number):
        raise Refused("incomplete")
    if not desk.tasks[place][1]:
        mark_ready(work, agent, place)
    pieces = work.pieces_of(agent, number)
    wrong = sum(work.held[agent][p] != work.true[p] for p in pieces)
    pay = work.spec.pay * work.spec.wrong_factor**wrong
    tasks = tuple((desk.dealt, False) if i == place else task for i, task in enumerate(work.desks[agent].tasks))
    work.change(agent, tasks=tasks, dealt=desk.dealt + 1, done=desk.done + 1, revenue=desk.revenue + pay)
    work.count("submitted")
    work.count("submitted_wrong", wrong > 0)
    work.emit("submitted", agent, task=task_name(agent, number), pay=pay, wrong=wrong, by_engine=by_engine)
    work.keep(agent, "notices", NOTICES, PAID, number, pay, wrong)
    _pay_givers(work, agent, frozenset(pieces))


def _pay_givers(work: Work, agent: int, used: frozenset[int]) -> None:
    givers = work.desks[agent].givers
    if not givers:
        return
    for piece, giver in givers:
        if piece in used:
            _pay_bonus(work, giver, work.spec.incentive, piece)
    work.change(agent, givers=tuple(pair for pair in givers if pair[0] not in used))


def mark_ready(work: Work, agent: int, place: int) -> None:
    """The task in this place has all of its pieces in hand at a turn of its owner."""
    tasks = list(work.desks[agent].tasks)
    tasks[place] = (tasks[place][0], True)
    work.change(agent, tasks=tuple(tasks))
    work.count("feasible")
    work.emit("ready", agent, task=task_name(agent, tasks[place][0]))
