"""A set-up: everything that determines an episode, as one strict value with a name made of its content."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import Field

from emcoop import __version__
from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Seat
from emcoop.core.canonical import content_hash
from emcoop.core.config import StrictModel
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import derive
from emcoop.core.types import AgentId, Json
from emcoop.envs import ENVS
from emcoop.envs.base import AnyEnvironment, by_turns
from emcoop.episode.latency import LatencyConfig
from emcoop.episode.loop import Limits
from emcoop.models.base import Model
from emcoop.topologies import TOPOLOGIES
from emcoop.topologies.base import Topology


class SeatConfig(StrictModel):
    """Who sits in a seat. `model` is ``adapter:name`` for agents that need one.

    `more_models` are further ones that the parts of a composed agent name in its options.
    """

    agent: str = "scripted"
    model: str | None = None
    options: dict[str, Any] = {}
    more_models: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Every model of this seat, each once."""
        return tuple(dict.fromkeys((*([self.model] if self.model else []), *self.more_models)))


class Setup(StrictModel):
    """One cell of an experiment without its seed, or, with it, one episode.

    `team` has one entry for everybody, or one per seat. `env_options` and `topology_options` go to the factories.
    `step_s` is the simulated duration of one joint step, `interventions` the names of those applied already, and
    `control` then the name of the cell without them.
    """

    env: str = "cube"
    level: str = "easy"
    agents: int = Field(default=3, ge=1)
    env_options: dict[str, Any] = {}
    topology: str = "individual"
    topology_options: dict[str, Any] = {}
    team: tuple[SeatConfig, ...] = (SeatConfig(),)
    latency: LatencyConfig = LatencyConfig()
    limits: Limits = Limits()
    step_s: float = Field(default=0.1, gt=0)
    interventions: tuple[str, ...] = ()
    control: str | None = None

    @cached_property
    def cell(self) -> str:
        """The name of this cell: a hash of its content and of emcoop's version."""
        return content_hash({"emcoop": __version__, **self.plain})[:16]

    @cached_property
    def plain(self) -> Mapping[str, Json]:
        """The set-up as JSON, made once, since every episode's log begins with it; nobody may change it."""
        return self.model_dump(mode="json")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some values replaced; its cell is named anew."""
        copy = super().model_copy(update=update, deep=deep)
        for cached in ("cell", "plain"):  # pydantic copies these, too
            copy.__dict__.pop(cached, None)
        return copy

    @property
    def agent_label(self) -> str:
        """Who plays, for tables: ``scripted``, or ``llm+scripted`` for a mixed team."""
        return "+".join(dict.fromkeys(seat.agent for seat in self.team))

    @property
    def model_label(self) -> str | None:
        """Which models play, or None."""
        names = dict.fromkeys(name for seat in self.team for name in seat.models)
        return "+".join(names) or None

    def seats(self) -> tuple[SeatConfig, ...]:
        """One entry per seat. Raises ConfigError when their number fits neither one nor the team."""
        if len(self.team) == 1:
            return self.team * self.agents
        if len(self.team) != self.agents:
            raise ConfigError(f"team names {len(self.team)} seats for {self.agents} agents; give one entry or one each")
        return self.team

    def make_env(self) -> AnyEnvironment:
        """The environment. Raises UnknownName and ConfigError."""
        env: AnyEnvironment = ENVS.get(self.env)(agents=self.agents, level=self.level, **self.env_options)
        return env

    def make_topology(self, team: tuple[AgentId, ...]) -> Topology:
        """The topology. Raises UnknownName and ConfigError."""
        factory = TOPOLOGIES.get(self.topology)
        try:
            topology: Topology = factory(team, **self.topology_options)
        except TypeError as error:
            raise ConfigError(f"topology {self.topology}: {error}") from error
        return topology

    def make_team(self, env: AnyEnvironment, seed: int, models: Mapping[str, Model]) -> dict[AgentId, Agent]:
        """One agent per seat; `models` has every model that the seats name."""
        team: dict[AgentId, Agent] = {}
        for agent, config in zip(env.agents, self.seats(), strict=True):
            model = models[config.model] if config.model else None
            own = {name: models[name] for name in config.models}
            seat = Seat(agent, env, derive(seed, "seat", agent), model, config.options, own)
            team[agent] = AGENTS.get(config.agent)(seat)
        return team

    def opening(
        self, env: AnyEnvironment, topology: Topology, team: Mapping[AgentId, Agent], seed: int
    ) -> dict[str, Json]:
        """What the log's first event says of the set-up."""
        return {
            "emcoop": __version__,
            "setup": self.plain,
            "env": {
                "name": env.name,
                "version": env.version,
                "level": env.level,
                "horizon": env.horizon,
                "parameters": dict(env.parameters()),
                "primitives": list(env.primitives),
                **({"by_turns": True} if by_turns(env) else {}),
            },
            "topology": dict(topology.describe()),
            "team": [{"agent": agent, **mind.describe()} for agent, mind in team.items()],
            "seed": seed,
            "latency": self.plain["latency"],
            "limits": self.plain["limits"],
            "warnings": list(env.warnings),
            "impossible": env.impossible,
        }
