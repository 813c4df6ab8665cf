"""How an intervention is named, checked and called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, get_type_hints

from pydantic import create_model

from emcoop.core.config import StrictModel, load, nearest
from emcoop.core.errors import ConfigError, NotApplicable
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.interventions.registry import ALONE, INTERVENTIONS

Intervention: TypeAlias = Callable[..., Setup]
"""Called with a set-up and, by keyword, its parameters; one that is done to seats takes ``seats: Seats``.

Its first parameter takes a bare value. Its control is the set-up without it, unless its documentation says more.
"""

Seats: TypeAlias = tuple[int, ...]
"""Indices of seats; empty for all."""

_SEATED = re.compile(r"^(?P<rest>.*)@(?P<seats>\d+(\+\d+)*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Named:
    """An intervention as it was written, taken apart; `value` is the bare one, if there was one."""

    name: str
    value: str | None
    parameters: Mapping[str, str]
    seats: Seats


def parse(text: str) -> Named:
    """Take a name apart. Raises ConfigError for another form."""
    seats: Seats = ()
    rest = text.strip()
    if match := _SEATED.match(rest):
        rest, seats = match["rest"], tuple(dict.fromkeys(int(part) for part in match["seats"].split("+")))
    elif re.search(r"@[\d+]*$", rest):
        raise ConfigError(f"intervention {text!r}: after @ come numbers of seats, such as @0 or @0+2")
    name, colon, arguments = rest.partition(":")
    if not name:
        raise ConfigError(f"intervention {text!r}: it has no name; write NAME, NAME:VALUE or NAME:KEY=VALUE;KEY=VALUE")
    if not colon:
        return Named(name, None, {}, seats)
    parts = arguments.split(";")
    if len(parts) == 1 and "=" not in arguments:
        return Named(name, arguments, {}, seats)
    parameters: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not (equals and key.strip() and value.strip()) or key.strip() in parameters:
            raise ConfigError(f"intervention {text!r}: {part!r} is not KEY=VALUE, each key once")
        parameters[key.strip()] = value.strip()
    return Named(name, None, parameters, seats)


def invoke(setup: Setup, text: str) -> Setup:
    """The set-up after this one intervention, without its name in it.

    Raises UnknownName, and ConfigError for wrong parameters (naming the nearest), seats that are not there, and an
    installed package's entry that gives something else than a set-up.
    """
    named = parse(text)
    function = INTERVENTIONS.get(named.name)
    changed = function(setup, **_arguments(function, named, text, setup.agents))
    if not isinstance(changed, Setup):
        raise ConfigError(f"intervention {named.name!r} gave a {type(changed).__name__}, not a Setup")
    return changed


def _arguments(function: Intervention, named: Named, text: str, agents: int) -> dict[str, Any]:
    hints = get_type_hints(function)
    _, *taken = inspect.signature(function).parameters.values()
    fields = {p.name: p for p in taken if p.name != "seats"}
    given = dict(named.parameters)
    if named.value is not None:
        if not fields:
            raise ConfigError(f"intervention {text!r}: {named.name} takes no value")
        given[next(iter(fields))] = named.value
    definitions: dict[str, Any] = {
        name: (hints[name], ... if p.default is inspect.Parameter.empty else p.default) for name, p in fields.items()
    }
    model = create_model("Parameters", __base__=StrictModel, **definitions)
    values = load(model, given, f"intervention {text!r}")
    arguments = {name: getattr(values, name) for name in fields}
    if any(p.name == "seats" for p in taken):
        arguments["seats"] = _seats(named, text, agents)
    elif named.seats:
        raise ConfigError(f"intervention {text!r}: {named.name} is done to the whole team, not to seats")
    return arguments


def _seats(named: Named, text: str, agents: int) -> Seats:
    far = [seat for seat in named.seats if seat >= agents]
    if far:
        raise ConfigError(f"intervention {text!r}: no seat {far[0]} in a team of {agents}; seats are 0-{agents - 1}")
    return named.seats or tuple(range(agents))


def apply(setup: Setup, names: Iterable[str]) -> Setup:
    """The set-up after these interventions, in order; it keeps their names, and that of the cell without them.

    An agent by itself (see ALONE) gets the name of its team under `individual`, whatever the team's topology.

    Raises UnknownName and ConfigError, see `invoke`.
    """
    for name in names:
        changed = invoke(setup, name)
        alone = parse(name).name in ALONE
        control = _untied(setup).cell if alone else setup.control or setup.cell
        setup = changed.model_copy(update={"interventions": (*setup.interventions, name), "control": control})
    return setup


def _untied(setup: Setup) -> Setup:
    """The same team under no protocol."""
    return setup.model_copy(update={"topology": "individual", "topology_options": {}, "control": None})


def why_not(setup: Setup, name: str) -> str | None:
    """Why this intervention means nothing for the set-up's world, or None. Raises UnknownName and ConfigError."""
    try:
        invoke(setup, name)
    except NotApplicable as error:
        return str(error)
    return None


def reseat(setup: Setup, seats: Seats, change: Callable[[SeatConfig], SeatConfig]) -> Setup:
    """The set-up with these seats changed; a team that is alike all over is spelled out only if need be."""
    team = tuple(change(seat) if i in seats else seat for i, seat in enumerate(setup.seats()))
    return setup.model_copy(update={"team": team[:1] if len(set(map(repr, team))) == 1 else team})


def part(seat: SeatConfig) -> dict[str, Any]:
    """The seat's agent as a part of a composed one; the model stays with the seat."""
    return {"agent": seat.agent, "options": dict(seat.options)}


def composed(seat: SeatConfig, faculties: Mapping[str, Any]) -> SeatConfig:
    """The seat with these faculties given by other agents, the rest by its own."""
    return seat.model_copy(update={"agent": "composite", "options": {"base": part(seat), **faculties}})


def known_agent(name: str) -> str:
    """The name, if an agent has it. Raises UnknownName."""
    from emcoop.agents import AGENTS

    if name not in AGENTS.names():
        raise ConfigError(f"unknown agent {name!r}; {nearest(name, AGENTS.names())}")
    return name
