"""The working copy of an exchange's state: what a turn reads and changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emcoop.core.types import Json
from emcoop.envs.exchange.generator import Spec, needed, true_values, turn_order
from emcoop.envs.exchange.state import ABSENT, INDEX, Desk, ExchangeState


class Refused(Exception):
    """An action that has no effect; carries its code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Work:
    """A state that is being changed. The fields are those of `ExchangeState`; `events` are the facts of this turn."""

    def __init__(self, spec: Spec, state: ExchangeState) -> None:
        self.spec = spec
        self.seed = state.seed
        self.turn = state.turn
        self.true = true_values(state.seed, spec.pieces)
        self.held: list[bytes | bytearray] = list(state.held)
        self.listed = state.listed
        self.desks = list(state.desks)
        self.tally = list(state.tally)
        self.events: list[dict[str, Json]] = []
        self.sends_now = 0
        self.seen_tasks = 0
        self._mine: set[int] = set()
        """The agents whose desks are copies of its own."""

    def freeze(self) -> ExchangeState:
        """The state as a value; rows that did not change are those it was made with."""
        held = tuple(row if isinstance(row, bytes) else bytes(row) for row in self.held)
        self._mine.clear()
        return ExchangeState(self.seed, self.turn, held, self.listed, tuple(self.desks), tuple(self.tally))

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def mover(self) -> int:
        """Whose turn it is."""
        agents = self.spec.agents
        return turn_order(self.seed, self.turn // agents, agents)[self.turn % agents]

    def holds(self, agent: int, piece: int) -> bool:
        """Whether the agent holds the piece, under whatever value."""
        return self.held[agent][piece] != ABSENT

    def pieces_of(self, agent: int, number: int) -> tuple[int, ...]:
        """The pieces that this task of the agent needs."""
        return needed(self.seed, agent, number, self.spec.pieces, self.spec.task_pieces)

    def missing(self, agent: int) -> list[int]:
        """The pieces that the agent's open tasks need and it does not hold, each once, in the order of its tasks."""
        row = self.held[agent]
        wanted = (p for number, _ in self.desks[agent].tasks for p in self.pieces_of(agent, number))
        return list(dict.fromkeys(p for p in wanted if row[p] == ABSENT))

    def complete(self, agent: int, number: int) -> bool:
        """Whether the agent holds every piece of this task of its own."""
        row = self.held[agent]
        return all(row[p] != ABSENT for p in self.pieces_of(agent, number))

    # -- writing ---------------------------------------------------------------------------------------------------

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter of the tally."""
        self.tally[INDEX[name]] += by

    def emit(self, kind: str, agent: int, **facts: Json) -> None:
        """State a fact of this turn."""
        self.events.append({"kind": kind, "agent": f"agent_{agent}", **facts})

    def change(self, agent: int, **values: Any) -> Desk:
        """Put these values on the agent's desk."""
        desk = self.desks[agent]
        if agent not in self._mine:
            self.desks[agent] = desk = replace(desk)
            self._mine.add(agent)
        for name, value in values.items():
            setattr(desk, name, value)
        return desk

    def keep(self, agent: int, drawer: str, most: int, *fact: Json) -> None:
        """Put a fact into a drawer of the agent's desk, which keeps the latest `most`."""
        kept = (*getattr(self.desks[agent], drawer), (self.turn, *fact))
        self.change(agent, **{drawer: kept[-most:]})


def task_name(agent: int, number: int) -> str:
    """The name of an agent's task of this number."""
    return f"agent_{agent}:task_{number}"


def agent_number(name: Json, agents: int) -> int | None:
    """The index in an agent's name, or None where there is no such agent."""
    if not isinstance(name, str) or not name.startswith("agent_"):
        return None
    digits = name[6:]
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 6) or digits != str(int(digits)):
        return None
    return int(digits) if int(digits) < agents else None
