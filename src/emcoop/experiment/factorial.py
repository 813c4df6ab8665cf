"""Which faculty of which seat makes the difference: the cells of factorial experiments.

A *factor* is something that another agent (the oracle, the null agent, a healthy policy) can take over: a faculty of a
seat, or a whole seat; or an intervention that does a part of the work for the team. A *coalition* is the set of factors
that are taken over; each is a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError, NotApplicable
from emcoop.core.types import agent_names
from emcoop.episode.setup import Setup
from emcoop.interventions import apply

FACULTIES = ("plan", "speak", "interrupt", "act")
MOST_FACTORS = 10
"""A full factorial of more factors would have more than a thousand cells."""

Coalition: TypeAlias = frozenset[str]
Extent: TypeAlias = Literal["full", "single"]
"""All coalitions; or a fraction: nothing, each factor alone, all but each, everything."""


@dataclass(frozen=True)
class Design:
    """The factors, in order, and the cell of each coalition; the empty coalition is the untouched set-up."""

    factors: tuple[str, ...]
    cells: Mapping[Coalition, Setup]

    def setups(self) -> tuple[Setup, ...]:
        """The cells, the untouched one first."""
        return tuple(self.cells.values())


def by_faculty(setup: Setup, source: str = "oracle", seat: int | None = None, extent: Extent = "full") -> Design:
    """Faculties of one seat (of all seats at once, when none is named) given by `source`. Raises ConfigError."""

    def cell(coalition: Coalition) -> Setup:
        given = ";".join(f"{name}={source}" for name in FACULTIES if name in coalition)
        return apply(setup, [f"faculty:{given}" + ("" if seat is None else f"@{seat}")])

    return _design(FACULTIES, setup, cell, extent)


def by_seat(setup: Setup, source: str = "oracle", extent: Extent = "full") -> Design:
    """Whole seats given to `source`: which agent makes the difference. Raises ConfigError."""
    names = agent_names(setup.agents)
    given = ";".join(f"{name}={source}" for name in FACULTIES)

    def cell(coalition: Coalition) -> Setup:
        return apply(setup, [f"faculty:{given}@" + "+".join(str(i) for i, n in enumerate(names) if n in coalition)])

    return _design(names, setup, cell, extent)


def by_intervention(setup: Setup, factors: Sequence[str], extent: Extent = "full") -> Design:
    """Whole interventions as factors, each named as it is written (``assist:request``): what helps, and with what.

    They are applied in the order of `factors`. Raises ConfigError, also for one that is named twice.
    """
    names = tuple(factors)
    if len(set(names)) != len(names):
        raise ConfigError(f"a factor is named twice among {', '.join(names)}")

    def cell(coalition: Coalition) -> Setup:
        return apply(setup, [name for name in names if name in coalition])

    return _design(names, setup, cell, extent)


def screen(setup: Setup, source: str = "oracle", faculties: Iterable[str] = FACULTIES) -> Design:
    """Every faculty of every seat, one at a time: factors are named ``agent_1.plan``. Raises ConfigError."""
    chosen = tuple(faculties)
    for name in chosen:
        if name not in FACULTIES:
            raise ConfigError(f"no faculty {name!r}; {nearest(name, FACULTIES)}")
    cells: dict[Coalition, Setup] = {frozenset(): setup}
    for seat, agent in enumerate(agent_names(setup.agents)):
        for name in chosen:
            cells[frozenset({f"{agent}.{name}"})] = apply(setup, [f"faculty:{name}={source}@{seat}"])
    return Design(tuple(factor for coalition in cells for factor in sorted(coalition)), cells)


def by_listening(setup: Setup) -> Design:
    """Each seat deaf, alone: what the team's messages change (see `emcoop.analysis.listening`). Factors are seats.

    Raises NotApplicable for a world that hears: what is said there is also seen by who gets no mail.
    """
    if setup.make_env().hears:
        raise NotApplicable(f"{setup.env} hears what is said and shows it; making a seat deaf does not take that away")
    names = agent_names(setup.agents)
    cells: dict[Coalition, Setup] = {frozenset(): setup}
    return Design(names, cells | {frozenset({name}): apply(setup, [f"deaf@{i}"]) for i, name in enumerate(names)})


def _design(factors: tuple[str, ...], setup: Setup, cell: Callable[[Coalition], Setup], extent: Extent) -> Design:
    if extent == "full" and len(factors) > MOST_FACTORS:
        raise ConfigError(f"{len(factors)} factors make {2 ** len(factors)} cells; use the fraction 'single'")
    sizes = range(1, len(factors) + 1) if extent == "full" else sorted({1, len(factors) - 1, len(factors)} - {0})
    cells: dict[Coalition, Setup] = {frozenset(): setup}
    for size in sizes:
        for chosen in combinations(factors, size):
            cells[frozenset(chosen)] = cell(frozenset(chosen))
    return Design(factors, cells)
