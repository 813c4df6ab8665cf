"""A matrix of set-ups: axes with one or more values each, and the reference teams beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, parse_seeds
from emcoop.interventions import apply

REFERENCES = ("random", "noop", "oracle")
PLAIN = ("random", "noop", "greedy", "scripted", "oracle", "team-oracle", "human", "null")
"""Agents that take neither a model nor options; in a mixed team both go to the other seats."""


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
Numbers = Annotated[tuple[int, ...], BeforeValidator(_listed), Field(min_length=1)]


class Matrix(StrictModel):
    """Every combination of the axes is a cell. A YAML file holds the same keys.

    `agent` names who plays, or one agent for each seat (``llm+scripted``). `set` has dotted keys of a set-up, such as
    ``limits.max_tokens``, `options` goes to the agents of a team that take any. `interventions` change every
    cell, in order. `references` are the floors and the ceiling that are played beside, alone with their world.
    """

    env: str
    level: Texts = ("easy",)
    agents: Numbers = (3,)
    topology: Texts = ("individual",)
    agent: Texts = ("scripted",)
    model: Annotated[tuple[str | None, ...], BeforeValidator(_listed)] = (None,)
    seeds: str | int = "0-9"
    set: dict[str, Any] = {}
    options: dict[str, Any] = {}
    interventions: tuple[str, ...] = ()
    references: tuple[str, ...] = REFERENCES

    def own(self) -> tuple[Setup, ...]:
        """The cells of the axes, in their order. Raises ConfigError."""
        axes = product(self.level, self.agents, self.topology, self.agent, self.model)
        cells = [self._cell(*values) for values in axes]
        return tuple({cell.cell: cell for cell in cells}.values())

    def beside(self) -> tuple[Setup, ...]:
        """The cells of the reference teams, without those that the axes have anyway."""
        own = {cell.cell for cell in self.own()}
        found = {}
        for level, agents, agent in product(self.level, self.agents, self.references):
            world = {key: value for key, value in _tree(self.set).items() if key in ("env_options", "limits")}
            axes = {"env": self.env, "level": level, "agents": agents, "team": (SeatConfig(agent=agent),)}
            cell = load(Setup, {**world, **axes}, "set")
            if cell.cell not in own:
                found[cell.cell] = cell
        return tuple(found.values())

    def study(self) -> Study:
        """All cells, the references last, and the seeds."""
        return Study(cells=(*self.own(), *self.beside()), seeds=parse_seeds(str(self.seeds)))

    def _cell(self, level: str, agents: int, topology: str, agent: str, model: str | None) -> Setup:
        data = _tree(self.set)
        axes = {"env": self.env, "level": level, "agents": agents, "topology": topology}
        for key in (*axes, "team", "interventions"):
            if key in data:
                raise ConfigError(f"set {key}: {key} is an axis of its own, not a value to set")
        names = agent.split("+")
        if self.options and all(name in PLAIN for name in names):
            raise ConfigError(f"agent {agent} takes no options; {', '.join(self.options)} would have no effect")
        seats = [
            SeatConfig(agent=name)
            if name in PLAIN
            else SeatConfig(agent=name, model=None if name == "replayed" else model, options=self.options)
            for name in names
        ]
        return apply(load(Setup, {**data, **axes, "team": tuple(seats)}, "set"), self.interventions)


def _tree(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as nested mappings. Raises ConfigError where a key is both a value and a mapping."""
    tree: dict[str, Any] = {}
    for dotted, value in flat.items():
        *path, last = dotted.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"set {dotted}: {part} has a value already")
        place[last] = value
    if tree and (unknown := sorted(set(tree) - set(Setup.model_fields))):
        raise ConfigError(f"set {unknown[0]}: no such key; {nearest(unknown[0], Setup.model_fields)}")
    return tree


def read_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``a.b=c`` pairs from a command line; values are read as YAML. Raises ConfigError."""
    return dict(_settings(pairs))


def _settings(pairs: Sequence[str]) -> Iterator[tuple[str, Any]]:
    import yaml

    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals):
            raise ConfigError(f"{pair!r} does not set anything; write key=value, such as limits.max_tokens=20000")
        try:
            yield key.strip(), yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{pair!r}: the value is not valid YAML: {getattr(error, 'problem', error)}") from error


def read_matrix(path: Path) -> Matrix:
    """A matrix file. Raises ConfigError naming the file and, for an unknown key, the nearest known one."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: not a mapping; it needs at least env: NAME")
    return load(Matrix, content, str(path))
