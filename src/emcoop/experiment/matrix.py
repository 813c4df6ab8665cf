"""A matrix of set-ups: axes with one or more values each, and the reference teams beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from emcoop.core.canonical import content_hash
from emcoop.core.config import StrictModel, load, nearest, parse_yaml, read_yaml
from emcoop.core.errors import ConfigError, NotApplicable
from emcoop.envs.policy import HasPolicies
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.caps import NO_CAPS, Caps
from emcoop.experiment.study import Study, parse_seeds
from emcoop.interventions import apply

REFERENCES = ("random", "noop", "oracle")
ALONE = ("random", "noop", "greedy", "oracle", "team-oracle")
"""Reference teams that may be named among the arms."""

MOST_CELLS = 1_000_000
PLAIN = (
    *("random", "noop", "greedy", "scripted", "oracle", "team-oracle", "human", "null"),
    *("silent", "noisy", "half-map", "random-walk"),
)
"""Agents that take neither a model nor options; in a mixed team both go to the other seats."""


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _seeds(value: object) -> object:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError("write them as one text, such as 0-9, 0-4,9000-9004, dev:20 or test")
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
Sizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_listed), Field(min_length=1)]


Values = Annotated[tuple[str | int | None, ...], BeforeValidator(_listed)]

ARMS: Mapping[str, tuple[str, ...]] = {
    "silence": ("silence",),
    "solo": ("solo",),
    "solo-matched": ("solo:matched",),
    "solo-full": ("alone:full",),
}
"""The invariant arms that are made from each cell; the others (random, noop, oracle, team-oracle) are references."""

NONE = "none"
"""The value of the axis `intervention` that changes nothing."""


class Exclude(StrictModel):
    """A cell that has one of the values on every axis that is named here is left out; an empty axis is not named."""

    env: Values = ()
    level: Values = ()
    agents: Values = ()
    topology: Values = ()
    agent: Values = ()
    model: Values = ()
    prompt: Values = ()
    intervention: Values = ()

    def fits(self, axes: Mapping[str, object]) -> bool:
        """Whether the rule leaves out the cell with these values."""
        return all(axes[name] in values for name, values in self if values)


class Tuned(StrictModel):
    """A model with options for the agents that play with it, beside those of all (`Matrix.options`) and over them."""

    name: str
    options: dict[str, Any] = Field(min_length=1)

    def __str__(self) -> str:
        """As rules and tables name it: ``openai:gpt-4o-mini temperature=0.2``."""
        return " ".join((self.name, *(f"{key}={value}" for key, value in sorted(self.options.items()))))


class Matrix(StrictModel):
    """Every combination of the axes is a cell. A YAML file holds the same keys.

    `agent` names who plays, or one agent for each seat (``llm+scripted``). A `model` is a name, or a name with options
    of its own (``{name: openai:gpt-4o-mini, options: {temperature: 0.2}}``). `prompt` are prompt variants,
    `intervention` values are one intervention, several in order (a list), or ``none``. `exclude` leaves combinations
    out.

    `set` has dotted keys of a set-up, such as ``limits.max_tokens``, `env_options` the options of environments by
    their names (``ma-crafter: {mobs: cows}``), `options` goes to the agents of a team that take any. `interventions`
    change every cell, in order. `references` are the floors and the ceiling that are played beside, alone with their
    world. `arms` adds invariant arms by name: those of ARMS to every cell without an intervention (but where one does
    not apply, see `not_applicable`), and further references. `caps` bound what all of it may use.
    """

    env: Texts
    level: Texts = ("easy",)
    agents: Sizes = (3,)
    topology: Texts = ("individual",)
    agent: Texts = ("scripted",)
    model: Annotated[tuple[str | Tuned | None, ...], BeforeValidator(_listed)] = (None,)
    prompt: Annotated[tuple[str | None, ...], BeforeValidator(_listed)] = (None,)
    intervention: Annotated[tuple[Texts, ...], BeforeValidator(_listed)] = ((NONE,),)
    exclude: Annotated[tuple[Exclude, ...], BeforeValidator(_listed)] = ()
    seeds: Annotated[str | int, BeforeValidator(_seeds)] = "0-9"
    set: dict[str, Any] = {}
    env_options: dict[str, dict[str, Any]] = {}
    options: dict[str, Any] = {}
    interventions: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    references: Annotated[tuple[str, ...], BeforeValidator(_listed)] = REFERENCES
    arms: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    caps: Caps = NO_CAPS

    @property
    def name(self) -> str:
        """The name of a run folder for it: the environments, and a hash of all that decides what is played."""
        return f"{self.label}-{content_hash(self.played())[:8]}"

    def played(self) -> dict[str, Any]:
        """All that decides what is played, as plain values: the caps do not."""
        return self.model_dump(mode="json", exclude={"caps"})

    @property
    def label(self) -> str:
        """The environments in one word."""
        return "+".join(self.env)

    @property
    def size(self) -> int:
        """How many combinations the axes have, before any is left out or made."""
        axes = (self.env, self.level, self.agents, self.topology, self.agent, self.model, self.prompt)
        return math.prod(map(len, (*axes, self.intervention)))

    def own(self) -> tuple[Setup, ...]:
        """The cells of the axes, in their order, each followed by its arms. Raises ConfigError."""
        if self.size > MOST_CELLS:
            raise ConfigError(f"the axes multiply to {self.size:,} cells; more than {MOST_CELLS:,} are never played")
        self._check()
        cells = [cell for axes in self._combinations() for cell in self._with_arms(self._cell(axes), axes)]
        if not cells:
            raise ConfigError("the matrix is empty: its exclude rules leave out every cell")
        return tuple({cell.cell: cell for cell in cells}.values())

    def not_applicable(self) -> tuple[str, ...]:
        """Which arms are left out of which world, and why; each once. Raises ConfigError."""
        self._check()
        cells = ((self._cell(axes), axes) for axes in (self._combinations() if self.arms else ()))
        arms = (named for cell, axes in cells for named in self._arms_of(cell, axes).items())
        return tuple(dict.fromkeys(f"arm {arm}: {reason}" for arm, reason in arms if isinstance(reason, str)))

    def beside(self) -> tuple[Setup, ...]:
        """The cells of the reference teams, without those that the axes have anyway. Raises ConfigError."""
        own = {cell.cell for cell in self.own()}
        worlds = dict.fromkeys((axes["env"], axes["level"], axes["agents"]) for axes in self._combinations())
        names = dict.fromkeys((*self.references, *(arm for arm in self.arms if arm not in ARMS)))
        found, shipped = {}, dict.fromkeys(REFERENCES)
        for (env, level, agents), agent in product(worlds, names):
            world = {key: value for key, value in self._settings_of(env).items() if key in ("env_options", "limits")}
            axes = {"env": env, "level": level, "agents": agents, "team": (SeatConfig(agent=agent),)}
            cell = load(Setup, {**world, **axes}, "set")
            policies = _policies(cell)
            shipped.update(policies)
            if cell.cell not in own and (agent in self.arms or agent in policies):
                found[cell.cell] = cell
        for name in self.references:
            if name not in shipped:
                raise ConfigError(f"references: {self.label} has no policy {name!r}; {nearest(name, shipped)}")
        return tuple(found.values())

    def study(self) -> Study:
        """All cells, the references last, and the seeds."""
        return Study(cells=(*self.own(), *self.beside()), seeds=parse_seeds(str(self.seeds)))

    def _check(self) -> None:
        known = (*ARMS, *ALONE)
        for arm in self.arms:
            if arm not in known:
                raise ConfigError(f"arms: unknown arm {arm!r}; {nearest(arm, known)}")
        who = "+".join(dict.fromkeys(self.agent))
        models = [model for model in self.model if model is not None]
        if models and all(name in PLAIN for name in who.split("+")):
            raise ConfigError(f"agent {who} takes no model; {models[0]} would have no effect without --agent llm")
        for env in self.env_options:
            if env not in self.env:
                raise ConfigError(f"env_options: {env!r} is not among the environments; {nearest(env, self.env)}")

    def _settings_of(self, env: str) -> dict[str, Any]:
        """What `set` and `env_options` say about a cell of this environment, as nested mappings."""
        tree = _tree(self.set)
        options = {**tree.get("env_options", {}), **self.env_options.get(env, {})}
        return {**tree, "env_options": options} if options else tree

    def _combinations(self) -> Iterator[dict[str, Any]]:
        """The values of every cell that no rule leaves out, by axis."""
        names = ("env", "level", "agents", "topology", "agent", "model", "prompt", "intervention")
        for values in product(*(getattr(self, name) for name in names)):
            axes = dict(zip(names, values, strict=True))
            shown = {**axes, "intervention": "+".join(axes["intervention"]), "model": _label(axes["model"])}
            if not any(rule.fits(shown) for rule in self.exclude):
                yield axes

    def _with_arms(self, cell: Setup, axes: Mapping[str, Any]) -> Iterator[Setup]:
        yield cell
        yield from (arm for arm in self._arms_of(cell, axes).values() if isinstance(arm, Setup))

    def _arms_of(self, cell: Setup, axes: Mapping[str, Any]) -> dict[str, Setup | str]:
        """The cell's arms by name, or why one does not apply to it."""
        found: dict[str, Setup | str] = {}
        for arm in self.arms if axes["intervention"] == (NONE,) else ():
            if arm in ARMS:
                try:
                    found[arm] = apply(cell, ARMS[arm])
                except NotApplicable as error:
                    found[arm] = str(error)
        return found

    def _cell(self, axes: Mapping[str, Any]) -> Setup:
        data = self._settings_of(axes["env"])
        world = {name: axes[name] for name in ("env", "level", "agents", "topology")}
        for key in (*world, "team", "interventions", "control"):
            if key in data:
                raise ConfigError(f"set {key}: {key} is an axis of its own, not a value to set")
        names = axes["agent"].split("+")
        if self.options and all(name in PLAIN for name in names):
            raise ConfigError(f"agent {axes['agent']} takes no options; {', '.join(self.options)} would have no effect")
        if axes["prompt"] is not None and "llm" not in names:
            raise ConfigError(f"agent {axes['agent']} reads no prompt; prompt {axes['prompt']} would have no effect")
        team = tuple(self._seat(name, axes["model"], axes["prompt"]) for name in names)
        changes = (*self.interventions, *(name for name in axes["intervention"] if name != NONE))
        return apply(load(Setup, {**data, **world, "team": team}, "set"), changes)

    def _seat(self, name: str, model: str | Tuned | None, prompt: str | None) -> SeatConfig:
        if name in PLAIN:
            return SeatConfig(agent=name)
        options = self.options
        if isinstance(model, Tuned):
            options, model = {**options, **model.options}, model.name
        if prompt is not None and name == "llm":
            options = {**options, "prompt": prompt}
        return SeatConfig(agent=name, model=None if name == "replayed" else model, options=options)


def _label(model: str | Tuned | None) -> str | None:
    return str(model) if isinstance(model, Tuned) else model


def _policies(cell: Setup) -> dict[str, None]:
    """The reference policies of the cell's world; one that lacks a floor or a ceiling is played without."""
    env = cell.make_env()
    return dict.fromkeys(env.policies() if isinstance(env, HasPolicies) else ())


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
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals):
            raise ConfigError(f"{pair!r} does not set anything; write key=value, such as limits.max_tokens=20000")
        yield key.strip(), parse_yaml(text, repr(pair[:80]))


def read_matrix(path: Path) -> Matrix:
    """A matrix file. Raises ConfigError naming the file and, for an unknown key, the nearest known one."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: not a mapping; it needs at least env: NAME")
    matrix = load(Matrix, content, str(path))
    _check_rules(matrix, path)
    return matrix


def without_idle_rules(matrix: Matrix) -> Matrix:
    """The same cells, without what `read_matrix` would refuse: values in rules that no axis has any more."""
    rules = []
    for rule in matrix.exclude:
        named = {name: [v for v in values if v in _values(matrix, name)] for name, values in rule if values}
        if all(named.values()):
            rules.append(Exclude.model_validate(named))
    return matrix.model_copy(update={"exclude": tuple(rules)})


def _values(matrix: Matrix, name: str) -> Sequence[object]:
    """The values of an axis as rules name them."""
    axis: Sequence[Any] = getattr(matrix, name)
    if name == "model":
        return [_label(value) for value in axis]
    return ["+".join(value) for value in axis] if name == "intervention" else axis


def _check_rules(matrix: Matrix, path: Path) -> None:
    """A rule whose value no axis has would leave nothing out without a word. Asked of a file as it is written: options
    of the command line may narrow its axes."""
    for rule in matrix.exclude:
        for name, values in rule:
            known = _values(matrix, name)
            for value in values:
                if value not in known:
                    help = nearest(str(value), map(str, known))
                    raise ConfigError(f"{path}: exclude: {name} {value!r} is not among the values of that axis; {help}")
