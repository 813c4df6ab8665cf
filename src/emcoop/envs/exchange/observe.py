"""What an agent sees of the exchange: its own papers, the directory of the round's start, what the switches show.

The texts of messages are no part of it: they reach the agent as mail, see `emcoop.agents.base.View`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from emcoop.envs.exchange.generator import Spec, turn_order
from emcoop.envs.exchange.rules import REASONS
from emcoop.envs.exchange.state import ABSENT, ASKED, ENGINE, PAID, Desk, ExchangeState
from emcoop.envs.exchange.work import Work

WHOLE_DIRECTORY = 40
"""A larger team is shown only who holds the pieces that it misses."""

HOLDERS_SHOWN = 10


class _Seen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SeenTask(_Seen):
    """An own open task."""

    number: int
    pieces: tuple[int, ...]
    missing: tuple[int, ...]


class SeenRequest(_Seen):
    """An open request: to the agent (`agent` asks) or of the agent (`agent` is asked)."""

    agent: str
    piece: int
    round: int


class ExchangeObservation(_Seen):
    """The observation of one agent.

    `round` counts from 0, `place` is its turn in this round, `acting` whether it is on turn now. `inventory` has the
    value under which it holds each piece, `directory` per agent the pieces held at the start of the round (large teams:
    empty), `holders` who held each piece that its tasks miss. What a switch hides is None.
    """

    agent: str
    round: int
    rounds: int
    place: int
    acting: bool
    team: int
    pieces: int
    tasks: tuple[SeenTask, ...]
    inventory: dict[int, int]
    directory: tuple[str, ...]
    holders: dict[int, tuple[int, ...]]
    requests: tuple[SeenRequest, ...]
    asking: tuple[SeenRequest, ...]
    done: tuple[int, ...] | None
    revenue: tuple[float, ...] | None
    points: tuple[float, ...] | None
    notices: tuple[str, ...] | None
    receipts: tuple[str, ...] | None
    past: tuple[str, ...]
    thought: str | None


def observe(state: ExchangeState, agent: int, spec: Spec) -> ExchangeObservation:
    """The observation of this agent."""
    desk, row = state.desks[agent], state.held[agent]
    work = Work(spec, state)
    number = min(state.turn, spec.horizon - 1) // spec.agents
    order = turn_order(state.seed, number, spec.agents)
    tasks = tuple(_task(work, agent, n) for n, _ in desk.tasks)
    missing = sorted({p for task in tasks for p in task.missing})
    board = spec.revenue_board
    bonus = [d.bonus for d in state.desks] if spec.incentive else []
    money = spec.incentive_arm != "symbolic"
    return ExchangeObservation.model_construct(
        agent=f"agent_{agent}",
        round=number,
        rounds=spec.rounds,
        place=order.index(agent),
        acting=order[state.turn % spec.agents] == agent,
        team=spec.agents,
        pieces=spec.pieces,
        tasks=tasks,
        inventory={piece: value for piece, value in enumerate(row) if value != ABSENT},
        directory=tuple(map(ranges, state.listed)) if spec.agents <= WHOLE_DIRECTORY else (),
        holders={piece: holders(state.listed, piece) for piece in missing},
        requests=tuple(_request(r.asker, r.piece, r.turn, spec) for r in desk.asked),
        asking=tuple(_asking(state, agent, spec)),
        done=tuple(d.done for d in state.desks) if board else None,
        revenue=tuple(d.revenue + (d.bonus if money else 0.0) for d in state.desks) if board else None,
        points=tuple(bonus) if board and bonus and not money else None,
        notices=_told(desk, "notices", spec) if spec.notices else None,
        receipts=_told(desk, "receipts", spec) if spec.receipts else None,
        past=_told(desk, "past", spec),
        thought=desk.thought if spec.thoughts else None,
    )


def _task(work: Work, agent: int, number: int) -> SeenTask:
    pieces = work.pieces_of(agent, number)
    row = work.held[agent]
    missing = tuple(p for p in pieces if row[p] == ABSENT)
    return SeenTask.model_construct(number=number, pieces=pieces, missing=missing)


def _request(agent: int, piece: int, turn: int, spec: Spec) -> SeenRequest:
    return SeenRequest.model_construct(agent=f"agent_{agent}", piece=piece, round=turn // spec.agents)


def _asking(state: ExchangeState, agent: int, spec: Spec) -> Iterable[SeenRequest]:
    """The agent's own open requests for pieces that it still lacks; what the engine asks is not its own."""
    row = state.held[agent]
    for holder, desk in enumerate(state.desks):
        for request in desk.asked:
            if request.asker == agent and row[request.piece] == ABSENT and request.kind != ENGINE:
                yield _request(holder, request.piece, request.turn, spec)


def holders(listed: Sequence[bytes], piece: int) -> tuple[int, ...]:
    """Who held the piece at the start of the round, the first few by index."""
    found = [agent for agent, row in enumerate(listed) if row[piece] != ABSENT]
    return tuple(found[:HOLDERS_SHOWN])


@lru_cache(maxsize=16_384)
def ranges(row: bytes) -> str:
    """The pieces of a row in words: ``0-9, 17, 40-41``."""
    held = [piece for piece, value in enumerate(row) if value != ABSENT]
    runs = (list(run) for _, run in groupby(enumerate(held), lambda pair: pair[1] - pair[0]))
    bounds = [(run[0][1], run[-1][1]) for run in runs]
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in bounds)


# -- facts in words --------------------------------------------------------------------------------------------------


def _told(desk: Desk, drawer: str, spec: Spec) -> tuple[str, ...]:
    say = {"notices": _notice, "receipts": _receipt, "past": _past}[drawer]
    return tuple(f"round {fact[0] // spec.agents + 1}: {say(fact[1:])}" for fact in getattr(desk, drawer))


def _notice(fact: Sequence[Any]) -> str:
    if fact[0] == PAID:
        wrong = f", {fact[3]} of its pieces had a wrong value" if fact[3] else ""
        return f"your task {fact[1]} was paid {fact[2]:g}{wrong}"
    return f"{fact[2]} was refused: {REASONS[fact[1]].format(most='so many')}"


def _receipt(fact: Sequence[Any]) -> str:
    return f"agent_{fact[0]} sent you piece {fact[1]} with the value {fact[2]}"


def _past(fact: Sequence[Any]) -> str:
    if fact[0] == ASKED:
        return f"asked agent_{fact[1]} for piece {fact[2]}"
    return f"sent piece {fact[2]} with the value {fact[3]} to agent_{fact[1]}"


def describe(seen: ExchangeObservation) -> str:
    """The observation as text: what changes from turn to turn."""
    on_turn = "it is your turn" if seen.acting else "another agent is on turn"
    lines = [f"Round {seen.round + 1} of {seen.rounds}; you are number {seen.place + 1} of {seen.team}; {on_turn}."]
    lines += _money(seen)
    lines.append("Your tasks:")
    for task in seen.tasks:
        lacks = f"you lack {_list(task.missing)}" if task.missing else "you hold all of them: ready to submit"
        lines.append(f"- task {task.number} needs pieces {_list(task.pieces)}; {lacks}")
    held = ", ".join(f"{piece}={value}" for piece, value in sorted(seen.inventory.items()))
    lines.append(f"Your pieces (piece=value): {held or 'none'}")
    lines += _directory(seen)
    lines += _section("Open requests to you", _asked(seen))
    asking = [f"agent_{r.agent.rpartition('_')[2]} for piece {r.piece} (round {r.round + 1})" for r in seen.asking]
    lines += _section("You still wait for", asking)
    lines += _section("What you sent and asked for lately", seen.past)
    lines += _section("What you received lately", seen.receipts or ())
    lines += _section("Notices", seen.notices or ())
    if seen.thought:
        lines.append(f"Your thoughts at your last turn: {json.dumps(seen.thought, ensure_ascii=False)}")
    return "\n".join(lines)


def _money(seen: ExchangeObservation) -> list[str]:
    if seen.revenue is None or seen.done is None:
        return []
    me = int(seen.agent.rpartition("_")[2])
    total = f"Revenue: you {seen.revenue[me]:g}, the group {sum(seen.revenue):g} from {sum(seen.done)} tasks."
    if seen.points is not None:
        total += f" Your points: {seen.points[me]:g}."
    if seen.team > WHOLE_DIRECTORY:
        return [total]
    return [total, "Per agent: " + ", ".join(f"agent_{i} {money:g}" for i, money in enumerate(seen.revenue))]


def _directory(seen: ExchangeObservation) -> list[str]:
    if seen.directory:
        rows = [f"agent_{i}: {held or 'nothing'}" for i, held in enumerate(seen.directory)]
        return ["Who held which pieces at the start of this round:", *(f"- {row}" for row in rows)]
    rows = [f"piece {p}: {_list([f'agent_{a}' for a in who])}" for p, who in seen.holders.items()]
    return _section("Who held the pieces that you lack at the start of this round", rows)


def _asked(seen: ExchangeObservation) -> list[str]:
    return [
        f"{r.agent} asks for piece {r.piece} (round {r.round + 1})"
        + (f"; you hold it with the value {seen.inventory[r.piece]}" if r.piece in seen.inventory else "; you lack it")
        for r in seen.requests
    ]


def _list(items: Sequence[object]) -> str:
    return ", ".join(map(str, items))


SHOWN = 40
"""At most so many entries of one kind are told, the latest ones."""


def _section(title: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    left = len(entries) - SHOWN
    more = [f"- ({left} earlier ones are left out)"] if left > 0 else []
    return [f"{title}:", *more, *(f"- {entry}" for entry in entries[-SHOWN:])]


def array(state: ExchangeState, agent: int, spec: Spec) -> NDArray[np.float32]:
    """[3 + 3 K]: elapsed share of the episode, whether on turn, own revenue in tasks; then per piece whether it is
    held, how many open tasks lack it, and how many open requests to the agent name it."""
    work = Work(spec, state)
    seen = np.zeros(3 + 3 * spec.pieces, np.float32)
    desk = state.desks[agent]
    on_turn = state.turn < spec.horizon and work.mover == agent
    seen[:3] = state.turn / spec.horizon, on_turn, desk.revenue / spec.pay
    held = np.frombuffer(state.held[agent], np.uint8) != ABSENT
    blocks = seen[3:].reshape(3, spec.pieces)
    blocks[0] = held
    for number, _ in desk.tasks:
        for piece in work.pieces_of(agent, number):
            blocks[1, piece] += not held[piece]
    for request in desk.asked:
        blocks[2, request.piece] += 1
    return seen
