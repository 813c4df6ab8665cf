"""MA-Crafter as an `emcoop.envs.base.Environment`. The rules are in `rules`, the map and the actions in README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.core.config import StrictModel, load
from emcoop.core.errors import ConfigError
from emcoop.core.types import (
    ActionRecord,
    AgentId,
    Capabilities,
    Failure,
    Json,
    Move,
    Plan,
    Score,
    TaskConstraints,
    TaskId,
    agent_index,
    agent_names,
)
from emcoop.envs.base import FullView, Grounding, Progress, Transition, chosen_primitives
from emcoop.envs.ma_crafter import actions, config, events, observe, prompts, tasks
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    COL,
    CRAFTED,
    DEATHS,
    ITEMS,
    MAX_AGENTS,
    PLACED,
    ROW,
    primitive_names,
)
from emcoop.envs.ma_crafter.state import CrafterState, from_bytes, to_bytes
from emcoop.envs.ma_crafter.tables import Rules
from emcoop.envs.policy import PolicyFactory

if TYPE_CHECKING:
    from emcoop.envs.ma_crafter.batch import CrafterWorlds

VERSION = "2"

SKILLS = frozenset({"collect", "craft", "place", "share"})
"""What every agent can do from the start; what it gains are tools."""


class _Options(StrictModel):
    """What `make` takes beside agents and level: these replace the level's."""

    horizon: int | None = None
    mobs: bool | Literal["all", "cows", "none"] | None = None
    on_death: Literal["end", "continue", "respawn"] | None = None
    goal: str | tuple[str, ...] | None = None
    size: int | None = None
    whole_map: bool | None = None


@dataclass(frozen=True, eq=False)
class MACrafter:
    """See `emcoop.envs.base.Environment` for every method's contract."""

    level: str
    layout: config.Level
    """The level with its options, as this team plays it."""
    agents: tuple[AgentId, ...]
    tables: Rules
    primitives: tuple[str, ...]
    hints: tasks.Hints = field(default_factory=dict, repr=False)
    """Where named things were found; a cache that changes no result."""

    name = "ma-crafter"
    version = VERSION
    plan_schema = actions.CrafterPlan
    prompt_variants = prompts.VARIANTS
    hears = False

    @property
    def horizon(self) -> int:
        return self.layout.horizon

    @property
    def warnings(self) -> tuple[str, ...]:
        return config.warnings(self.layout, len(self.agents))

    @property
    def impossible(self) -> str | None:
        return config.impossible(self.layout, len(self.agents))

    def parameters(self) -> Mapping[str, Json]:
        return {"agents": len(self.agents), "level": self.layout.model_dump(mode="json"), "horizon": self.horizon}

    def reset(self, seed: int) -> CrafterState:
        from emcoop.envs.ma_crafter.generator import generate

        size = (self.layout.size, self.layout.size)
        return generate(self.tables, len(self.agents), seed, size, config.materials_needed(self.layout))

    def step(self, state: CrafterState, actions: Mapping[AgentId, Move]) -> Transition[CrafterState]:
        from emcoop.envs.ma_crafter.rules import GOING, step_in_place

        chosen, rewards = self._primitives(actions), np.zeros(len(self.agents), np.float64)
        after = state.copy()
        outcome = step_in_place(after, self.tables, chosen, rewards)
        return Transition(
            state=after,
            rewards=dict(zip(self.agents, rewards.tolist(), strict=True)),
            terminated=outcome != GOING,
            truncated=outcome == GOING and after.step >= self.horizon,
            events=events.events(state, after, self.agents),
        )

    def acting(self, state: CrafterState) -> tuple[AgentId, ...]:
        return self.agents

    def _primitives(self, actions: Mapping[AgentId, Move]) -> NDArray[np.int64]:
        return np.array(chosen_primitives(actions, self.agents, len(self.primitives)), np.int64)

    def parse_plan(self, answer: BaseModel) -> Plan:
        assert isinstance(answer, actions.CrafterPlan)
        return Plan(answer.task, tuple(answer.actions), answer.reasoning)

    def allowed(self, observation: BaseModel) -> Mapping[str, Sequence[Json]]:
        assert isinstance(observation, observe.CrafterObservation)
        mates = [agent for agent in self.agents if agent != observation.agent]
        named = [target.name for target in observation.targets]
        kinds = list(dict.fromkeys(target.kind for target in observation.targets))
        met = [agent_index(mate.id) for mate in observation.teammates if mate.step is not None]
        return {
            "task": ["none", *named, *(f"make_{item}" for item in CRAFTED), *(f"place_{thing}" for thing in PLACED)],
            "object_type": [*kinds, *(["agent"] if met else []), "cell"],
            "item_id": sorted({0, *(target.id for target in observation.targets), *met}),
            "resource_type": list(observation.bag),
            "recipient_agent_id": mates,
            "agent_id": mates,
        }

    def wait_plan(self, steps: int = 1) -> Plan:
        return Plan("none", (actions.Noop(num_steps=min(max(1, steps), actions.MAX_STEPS)),))

    def check_plan(self, state: CrafterState, agent: AgentId, plan: Plan) -> Failure | None:
        from emcoop.envs.ma_crafter.checks import check_plan

        return check_plan(state, self.layout, agent, plan)

    def ground(self, state: CrafterState, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
        from emcoop.envs.ma_crafter.grounding import ground

        return ground(state, self.layout, agent, action, progress)

    def observe(
        self, state: CrafterState, agent: AgentId, history: Sequence[ActionRecord] = ()
    ) -> observe.CrafterObservation:
        """The history is not shown: what others do out of sight is not for the agent to know."""
        return observe.observe(state, self.layout, agent)

    def describe(self, observation: BaseModel) -> str:
        from emcoop.envs.ma_crafter.describe import describe

        assert isinstance(observation, observe.CrafterObservation)
        return describe(observation)

    def rules(self, variant: str) -> str:
        return prompts.rules(variant, self.layout, len(self.agents))

    def array(self, state: CrafterState, agent: AgentId) -> NDArray[np.float32]:
        from emcoop.envs.ma_crafter.arrays import array

        return array(state, agent)

    def global_array(self, state: CrafterState) -> NDArray[np.float32]:
        """Everything there is, which no agent sees (see `arrays`)."""
        from emcoop.envs.ma_crafter.arrays import global_array

        return global_array(state, self.horizon)

    def action_masks(self, state: CrafterState) -> NDArray[np.bool_]:
        """[N, P]: which primitives can have an effect now (see `masks`)."""
        from emcoop.envs.ma_crafter.masks import mask_agent

        masks = np.zeros((len(self.agents), len(self.primitives)), np.bool_)
        for i, mask in enumerate(masks):
            mask_agent(state, self.tables, i, mask)
        return masks

    def batch(self, states: Sequence[CrafterState]) -> CrafterWorlds:
        """These states side by side, for stepping many worlds at once."""
        from emcoop.envs.ma_crafter.batch import CrafterWorlds

        return CrafterWorlds(self.tables, self.horizon, states)

    def tasks(self, state: CrafterState) -> tuple[TaskId, ...]:
        return tasks.open_tasks(state)

    def constraints(
        self, state: CrafterState, actions: Mapping[AgentId, Move], named: frozenset[TaskId] = frozenset()
    ) -> Mapping[TaskId, TaskConstraints]:
        from emcoop.envs.ma_crafter.constraints import constraints

        return constraints(state, self.tables, actions, named, self.hints)

    def score(self, state: CrafterState) -> Score:
        reached = {name for name, count in zip(ACHIEVEMENTS, state.achievements.sum(axis=0), strict=True) if count}
        goals = self.layout.goals()
        success = reached.issuperset(self.layout.needed())
        share = sum(name in reached for name in goals) / len(goals)
        # A level whose recipes leave out a milestone can be won without it.
        progress = 1.0 if success else min(share, 1 - 1 / len(goals))
        deaths = int(state.agents[:, DEATHS].sum())
        return Score(success, progress, {"achievements": sorted(reached), "deaths": deaths})

    def capabilities(self, state: CrafterState, agent: AgentId) -> Capabilities:
        me = agent_index(agent)
        items = dict(zip(ITEMS, state.inventory[me].tolist(), strict=True))
        position = int(state.agents[me, ROW]), int(state.agents[me, COL])
        return Capabilities({tool: items[tool] for tool in CRAFTED}, SKILLS, position)

    def snapshot(self, state: CrafterState) -> bytes:
        return to_bytes(state)

    def restore(self, data: bytes) -> CrafterState:
        state = from_bytes(data)
        if state.team != len(self.agents):
            raise ValueError(f"an MA-Crafter snapshot of {state.team} agents, this world has {len(self.agents)}")
        return state

    def render(self, state: CrafterState) -> str:
        from emcoop.envs.ma_crafter.render import render

        return render(state)

    def full_view(self) -> FullView:
        """A world for one agent that knows the whole map: in the team's own world mates would stand in its way."""
        return FullView(made_for_one=True, options={"whole_map": True})

    def policies(self) -> Mapping[str, PolicyFactory]:
        """The reference policies by name."""
        from emcoop.envs.ma_crafter.reference import POLICIES

        return POLICIES


def make(agents: int = 3, level: str = "easy", **parameters: Any) -> MACrafter:
    """MA-Crafter with this many agents.

    `level` is ``easy``, ``medium``, ``hard``, ``hard-wide``, ``hard-scaled`` or the path of a level file; `horizon`,
    `mobs`, `on_death`, `goal`, `size` and `whole_map` replace the level's. Raises ConfigError for what cannot be set
    up.
    """
    options = load(_Options, parameters, "ma-crafter")
    if not 1 <= agents <= MAX_AGENTS:
        raise ConfigError(f"ma-crafter needs 1 to {MAX_AGENTS} agents, not {agents}")
    layout = config.read_level(level)
    changes = options.model_dump(exclude_none=True)
    if changes:
        layout = load(config.Level, {**layout.model_dump(), **changes}, "ma-crafter")
    layout = layout.for_team(agents)
    names = primitive_names(agents)
    return MACrafter(level, layout, agent_names(agents), config.tables(layout), names)
