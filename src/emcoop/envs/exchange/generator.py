"""What an exchange is made of: its level, its parameters, and all that is dealt by the seed.

Everything random is a function of the seed and of a place (this agent's n-th task, the order of this round), not of
what happened before: the same agent is given the same tasks in every condition, so that conditions are paired.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream

BUILTIN = ("easy", "short", "long", "hard")

TOP_VALUE = 100
"""A piece's value is 0 to this."""

MOST_AGENTS = 1000
"""Everybody knows who holds what, so what a round costs grows with the square."""

AMPLE_ACTIONS = 100
"""Actions in one decision that are always carried out; more where giving every piece to everybody needs them."""

Arm = Literal["received", "if_used", "by_recipient", "symbolic"]


class Level(StrictModel):
    """A level file. `task_pieces` a task needs, `open_tasks` an agent has, `agent_pieces` it holds at the start."""

    rounds: int = Field(default=20, ge=1)
    agent_pieces: int = Field(default=10, ge=1)
    open_tasks: int = Field(default=2, ge=1, le=10)
    task_pieces: int = Field(default=4, ge=1, le=20)
    pay: float = Field(default=10_000.0, gt=0)


class Options(StrictModel):
    """What `make` takes beside agents and level. None leaves the level's value.

    Time: `rounds`, or `horizon` in turns, which then says how many rounds there are (the last one may be cut).

    World: `pieces` in all (default: agents x agent_pieces), `overwrite` whether a piece that is received again takes
    the new value, `wrong_factor` what each wrong value leaves of a task's pay.

    Assists, each done by the engine: `auto_request`, `auto_fulfil`, `auto_submit`.

    Incentive: `incentive` per piece that is new to its recipient, in the arm `incentive_arm`: paid to the sender when
    it is ``received``, only ``if_used`` in a task, ``by_recipient`` (who pays), or ``symbolic`` (points, no money).

    Visibility: `revenue_board`, `notices`, `thoughts`, `receipts`. `protocol` puts three lines of policy into the
    rules.

    Bandwidth: pieces sent per turn (`most_sends`), actions per decision (`most_actions`); how many messages may go out
    is the topology's to say (`sends` of its channel).
    """

    rounds: int | None = Field(default=None, ge=1)
    horizon: int | None = Field(default=None, ge=1)
    pieces: int | None = Field(default=None, ge=1)
    open_tasks: int | None = Field(default=None, ge=1, le=10)
    task_pieces: int | None = Field(default=None, ge=1, le=20)
    pay: float | None = Field(default=None, gt=0)
    overwrite: bool = False
    wrong_factor: float = Field(default=0.5, ge=0, le=1)
    auto_request: bool = False
    auto_fulfil: bool = False
    auto_submit: bool = False
    incentive: float = Field(default=0.0, ge=0)
    incentive_arm: Arm = "received"
    revenue_board: bool = True
    notices: bool = True
    thoughts: bool = True
    receipts: bool = True
    protocol: bool = False
    most_sends: int | None = Field(default=None, ge=0)
    most_actions: int | None = Field(default=None, ge=1)


class Spec(StrictModel):
    """Everything that, with the seed, determines an exchange. N agents, K pieces, L open tasks each."""

    agents: int = Field(ge=1)
    rounds: int
    horizon: int
    pieces: int
    open_tasks: int
    task_pieces: int
    pay: float
    overwrite: bool
    wrong_factor: float
    auto_request: bool
    auto_fulfil: bool
    auto_submit: bool
    incentive: float
    incentive_arm: Arm
    revenue_board: bool
    notices: bool
    thoughts: bool
    receipts: bool
    protocol: bool
    most_sends: int | None
    most_actions: int

    @property
    def most_tasks(self) -> int:
        """The bound of the rules: no turn can submit more than the tasks that were open as it began."""
        return self.open_tasks * self.horizon

    def source(self, piece: int) -> int:
        """Which agent holds this piece at the start."""
        return piece * self.agents // self.pieces

    def own(self, agent: int) -> range:
        """The pieces that this agent holds at the start."""
        low, high = (-(-i * self.pieces // self.agents) for i in (agent, agent + 1))
        return range(low, high)


def read_level(name: str) -> Level:
    """A built-in level, or a level file by its path. Raises ConfigError, for an unknown name with the nearest."""
    if name in BUILTIN:
        path = Path(str(files("emcoop.envs.exchange") / "levels" / f"{name}.yaml"))
        return load(Level, read_yaml(path), f"level {name}")
    if name.endswith((".yaml", ".yml")):
        return load(Level, read_yaml(Path(name)), name)
    raise ConfigError(f"exchange has no level {name!r}; {nearest(name, BUILTIN)}; a file is named by its .yaml path")


def resolve(agents: int, level: Level, options: Options) -> Spec:
    """The parameters of an exchange with this many agents. Raises ConfigError for what cannot be dealt."""
    if not 1 <= agents <= MOST_AGENTS:
        raise ConfigError(f"exchange needs 1 to {MOST_AGENTS} agents, not {agents}")
    given = options.model_dump(exclude_none=True)
    values = {**level.model_dump(exclude={"agent_pieces"}), "pieces": agents * level.agent_pieces, **given}
    pieces, size = values["pieces"], values["task_pieces"]
    if pieces < agents:
        raise ConfigError(f"exchange: {pieces} pieces are too few for {agents} agents; each needs one of its own")
    if pieces < size:
        raise ConfigError(f"exchange: a task needs {size} different pieces and there are {pieces}; raise pieces")
    values.setdefault("horizon", values["rounds"] * agents)
    values["rounds"] = -(-values["horizon"] // agents)
    values.setdefault("most_actions", max(AMPLE_ACTIONS, -(-pieces // agents) * (agents - 1) + 4 * size))
    return load(Spec, {"most_sends": None, **values, "agents": agents}, "exchange")


@lru_cache(maxsize=64)
def true_values(seed: int, pieces: int) -> bytes:
    """The true value of every piece [K], each uniform in 0 to 100."""
    stream = Stream.named(seed, "exchange", "values")
    return bytes(stream.below(TOP_VALUE + 1) for _ in range(pieces))


@lru_cache(maxsize=65_536)
def needed(seed: int, agent: int, number: int, pieces: int, size: int) -> tuple[int, ...]:
    """The pieces of this agent's task of this number: `size` different ones, uniform over all K; ascending."""
    stream = Stream.named(seed, "exchange", "task", agent, number)
    drawn: set[int] = set()
    while len(drawn) < size:
        drawn.add(stream.below(pieces))
    return tuple(sorted(drawn))


@lru_cache(maxsize=4096)
def turn_order(seed: int, number: int, agents: int) -> tuple[int, ...]:
    """The agents in the order of their turns in this round."""
    order = list(range(agents))
    Stream.named(seed, "exchange", "order", number).shuffle(order)
    return tuple(order)
