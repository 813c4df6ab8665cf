"""Who sits in a team and asks which model, from its logged set-up, in words for tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from emcoop.core.types import Json


def agent_of(seat: Mapping[str, Json], changed: bool) -> str:
    """Who sits in a seat; in a cell that interventions have changed, who sat there before they wrapped it."""
    return str(_unwrapped(seat, changed).get("agent", "?"))


def _unwrapped(seat: Mapping[str, Json], changed: bool) -> Mapping[str, Json]:
    options = seat.get("options") or {}
    kept = {"composite": "base", "altered": "inner"}.get(str(seat.get("agent"))) if changed else None
    inner = options.get(kept) if kept else None
    return _unwrapped(inner, changed) if isinstance(inner, Mapping) else seat


def models_of(setups: Mapping[str, Mapping[str, Json]], besides: Collection[str] = ()) -> dict[str, str]:
    """The models of each cell (name -> set-up), with the options that not all cells of the same models have.

    ``openai:gpt-4o-mini temperature=0.2``; the empty string without a model. Options of the names `besides` are left
    out, and so are those of seats that are made of several agents (relay).
    """
    names = {cell: "+".join(_models(setup)) for cell, setup in setups.items()}
    told = {cell: _options(setup, besides) for cell, setup in setups.items()}
    common: dict[str, frozenset[str]] = {}
    for cell, options in told.items():
        if options is not None:
            common[names[cell]] = common.get(names[cell], options) & options
    own = {cell: sorted((told[cell] or frozenset()) - common.get(name, frozenset())) for cell, name in names.items()}
    return {cell: " ".join((name, *own[cell])) if name else "" for cell, name in names.items()}


def _team(setup: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
    return setup.get("team") or ()


def _models(setup: Mapping[str, Json]) -> dict[str, None]:
    return dict.fromkeys(str(seat["model"]) for seat in _team(setup) if seat.get("model"))


def _options(setup: Mapping[str, Json], besides: Collection[str]) -> frozenset[str] | None:
    """``key=value`` of all seats; None where a seat is made of several agents."""
    changed = bool(setup.get("interventions"))
    seats = [_unwrapped(seat, changed).get("options") or {} for seat in _team(setup)]
    if any(isinstance(value, Mapping) for options in seats for value in options.values()):
        return None
    return frozenset(f"{key}={value}" for options in seats for key, value in options.items() if key not in besides)
