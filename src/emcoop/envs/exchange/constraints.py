"""The cooperation constraints of an exchange's tasks, as sets of agents (after paper, equations 6 and 22).

The team of a task is its owner and the sources of its pieces: who held them at the start. For each task:

- p(g) is the size of that team;
- spatial: there is no place here, so everybody in the team satisfies it;
- dependency: who waits for nobody: a source always, the owner once it holds every piece;
- temporal: whose part is done or can be done now: a source whose pieces the owner holds, and the owner on its turn;
- participation: all of these at once; it reaches p(g) exactly when the owner could submit now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emcoop.core.types import AgentId, Constraint, Json, Move, TaskConstraints, TaskId
from emcoop.envs.exchange.generator import Spec
from emcoop.envs.exchange.grounding import ANSWER, ASK, SUBMIT, mover
from emcoop.envs.exchange.state import ABSENT, ExchangeState
from emcoop.envs.exchange.work import Work, agent_number, task_name


def constraints(
    state: ExchangeState, actions: Mapping[AgentId, Move], named: frozenset[TaskId], spec: Spec
) -> dict[TaskId, TaskConstraints]:
    """The mover's tasks, those that its move serves, and those named that are open."""
    work = Work(spec, state)
    on_turn = mover(state)
    serves = _served(work, on_turn, actions[f"agent_{on_turn}"])
    wanted = {(on_turn, number) for number, _ in state.desks[on_turn].tasks} | serves
    wanted |= {found for found in (parse_task(name, state) for name in named) if found is not None}
    return {
        task_name(owner, number): _of(work, owner, number, on_turn, (owner, number) in serves)
        for owner, number in sorted(wanted)
    }


def parse_task(name: TaskId, state: ExchangeState) -> tuple[int, int] | None:
    """The owner and the number of an open task, or None."""
    owner, colon, number = name[:60].partition(":task_")
    index = agent_number(owner, len(state.desks))
    if index is None or not colon or not (number.isascii() and number.isdecimal()):
        return None
    is_open = number == str(int(number)) and any(n == int(number) for n, _ in state.desks[index].tasks)
    return (index, int(number)) if is_open else None


def _of(work: Work, owner: int, number: int, on_turn: int, attempted: bool) -> TaskConstraints:
    row = work.held[owner]
    pieces = work.pieces_of(owner, number)
    lacking = {work.spec.source(p) for p in pieces if row[p] == ABSENT}
    team = {owner, *(work.spec.source(p) for p in pieces)}
    depends = team if not lacking else team - {owner}
    timely = {a for a in team if a not in lacking and (a != owner or on_turn == owner)}
    return TaskConstraints(
        required=len(team),
        satisfied={
            Constraint.SPATIAL: _names(team),
            Constraint.DEPENDENCY: _names(depends),
            Constraint.TEMPORAL: _names(timely),
            Constraint.PARTICIPATION: _names(depends & timely),
        },
        attempting=_names({on_turn}) if attempted else frozenset(),
    )


def _names(agents: set[int]) -> frozenset[AgentId]:
    return frozenset(f"agent_{agent}" for agent in agents)


def _served(work: Work, agent: int, move: Move) -> set[tuple[int, int]]:
    """The tasks (owner, number) that this move of the mover asks for, sends a needed piece for, or submits."""
    found: set[tuple[int, int]] = set()
    desk = work.desks[agent]
    for action in _actions(move):
        kind = action.get("action_type")
        if kind == "submit":
            found |= {(agent, n) for n, _ in desk.tasks if n == action.get("number")}
        elif kind == "request":
            found |= _needing(work, agent, action.get("piece"))
        elif kind == "send":
            to = agent_number(action.get("to"), work.spec.agents)
            if to is not None:
                found |= _needing(work, to, action.get("piece"))
    if isinstance(move, int):
        if move == ASK:
            found |= {(agent, n) for n, _ in desk.tasks if not work.complete(agent, n)}
        elif move == ANSWER:
            for request in desk.asked:
                found |= _needing(work, request.asker, request.piece)
        elif move >= SUBMIT:
            found.add((agent, desk.tasks[move - SUBMIT][0]))
    return found


def _actions(move: Move) -> list[Mapping[str, Json]]:
    if isinstance(move, int):
        return []
    listed: Any = move.get("actions", ())
    return [action for action in listed if isinstance(action, Mapping)] if isinstance(listed, list | tuple) else []


def _needing(work: Work, owner: int, piece: Json) -> set[tuple[int, int]]:
    """The open tasks of this agent that lack the piece."""
    if not isinstance(piece, int) or not 0 <= piece < work.spec.pieces or work.holds(owner, piece):
        return set()
    return {(owner, n) for n, _ in work.desks[owner].tasks if piece in work.pieces_of(owner, n)}
