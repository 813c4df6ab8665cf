"""CUBE as an `emcoop.envs.base.Environment`. The rules are in `rules`, the map and the actions in README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

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
from emcoop.envs.cube import actions, contact, generator, grounding, observe, prompts
from emcoop.envs.cube.constraints import constraints
from emcoop.envs.cube.rules import step_in_place
from emcoop.envs.cube.state import (
    OCCUPIED,
    PRIMITIVES,
    RESULTS,
    SIDES,
    CubeState,
    from_bytes,
    to_bytes,
)
from emcoop.envs.policy import PolicyFactory

if TYPE_CHECKING:
    from emcoop.envs.cube.batch import CubeWorlds

VERSION = "1"

STEP_COST = 0.01
"""Every agent pays this at every step; delivered weight is split equally among all."""


class _Options(StrictModel):
    """What `make` takes beside agents and level."""

    horizon: int | None = None


@dataclass(frozen=True, eq=False)
class Cube:
    """See `emcoop.envs.base.Environment` for every method's contract."""

    level: str
    layout: generator.Level
    agents: tuple[AgentId, ...]
    horizon: int

    name = "cube"
    version = VERSION
    primitives = PRIMITIVES
    plan_schema = actions.CubePlan
    prompt_variants = prompts.VARIANTS
    hears = False

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    @property
    def impossible(self) -> str | None:
        heaviest = self.layout.heaviest(len(self.agents))
        if heaviest > len(self.agents):
            return f"a block of weight {heaviest} needs {heaviest} agents, the team has {len(self.agents)}"
        return None

    def parameters(self) -> Mapping[str, Json]:
        return {
            "agents": len(self.agents),
            "level": self.layout.model_dump(mode="json", exclude_none=True),
            "horizon": self.horizon,
        }

    def reset(self, seed: int) -> CubeState:
        return generator.generate(self.layout, len(self.agents), seed)

    def step(self, state: CubeState, actions: Mapping[AgentId, Move]) -> Transition[CubeState]:
        chosen = np.array(chosen_primitives(actions, self.agents, len(PRIMITIVES)), np.int64)
        after = CubeState(
            step=state.step + 1,
            agents=state.agents.copy(),
            blocks=state.blocks.copy(),
            alive=state.alive.copy(),
            last=state.last.copy(),
            grid=state.grid.copy(),
        )
        weight = step_in_place(after.grid, after.agents, after.blocks, after.alive, after.last, chosen)
        reward = weight / len(self.agents) - STEP_COST
        results = after.last[:, 0].tolist()
        done = 1 not in after.alive.tolist()
        return Transition(
            state=after,
            rewards=dict.fromkeys(self.agents, reward),
            terminated=done,
            truncated=not done and after.step >= self.horizon,
            events=self._events(state, after) if weight or max(results) >= _BLOCKED else (),
        )

    def acting(self, state: CubeState) -> tuple[AgentId, ...]:
        return self.agents

    def _events(self, before: CubeState, after: CubeState) -> tuple[Mapping[str, Json], ...]:
        delivered = np.flatnonzero(before.alive != after.alive)
        events: list[Mapping[str, Json]] = [
            {"kind": "delivered", "block": int(b), "weight": int(after.blocks[b, 2])} for b in delivered
        ]
        for agent, (result, _, _) in zip(self.agents, after.last.tolist(), strict=True):
            if result >= _BLOCKED:
                events.append({"kind": "blocked", "agent": agent, "code": RESULTS[result]})
        return tuple(events)

    def parse_plan(self, answer: BaseModel) -> Plan:
        assert isinstance(answer, actions.CubePlan)
        return Plan(answer.task, tuple(answer.actions), answer.reasoning)

    def allowed(self, observation: BaseModel) -> Mapping[str, Sequence[Json]]:
        assert isinstance(observation, observe.CubeObservation)
        blocks = tuple((block.id, block.weight) for block in observation.blocks)
        return _allowed(blocks, self.agents, observation.agent)

    def wait_plan(self, steps: int = 1) -> Plan:
        return Plan("none", (actions.Wait(num_steps=min(max(1, steps), actions.MAX_STEPS)),))

    def check_plan(self, state: CubeState, agent: AgentId, plan: Plan) -> Failure | None:
        return actions.check_plan(state, agent, plan)

    def ground(self, state: CubeState, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
        return grounding.ground(state, agent, action, progress)

    def observe(
        self, state: CubeState, agent: AgentId, history: Sequence[ActionRecord] = ()
    ) -> observe.CubeObservation:
        return observe.observe(state, agent, self.horizon, history)

    def describe(self, observation: BaseModel) -> str:
        assert isinstance(observation, observe.CubeObservation)
        return observe.describe(observation)

    def rules(self, variant: str) -> str:
        return prompts.rules(variant, self.layout.size(len(self.agents)), self.horizon)

    def array(self, state: CubeState, agent: AgentId) -> NDArray[np.float32]:
        return observe.array(state)

    def global_array(self, state: CubeState) -> NDArray[np.float32]:
        """Everything there is: here every agent's array is."""
        return observe.array(state)

    def action_masks(self, state: CubeState) -> NDArray[np.bool_]:
        """[N, P]: which primitives can have an effect now (see `masks`)."""
        from emcoop.envs.cube.masks import mask_agent

        masks = np.zeros((len(self.agents), len(PRIMITIVES)), np.bool_)
        for i, mask in enumerate(masks):
            mask_agent(state.grid, state.agents, state.blocks, i, mask)
        return masks

    def batch(self, states: Sequence[CubeState]) -> CubeWorlds:
        """These states side by side, for stepping many worlds at once."""
        from emcoop.envs.cube.batch import CubeWorlds

        return CubeWorlds(self, states)

    def tasks(self, state: CubeState) -> tuple[TaskId, ...]:
        return tuple(contact.task_name(int(b), side) for b in np.flatnonzero(state.alive) for side in SIDES)

    def constraints(
        self, state: CubeState, actions: Mapping[AgentId, Move], named: frozenset[TaskId] = frozenset()
    ) -> Mapping[TaskId, TaskConstraints]:
        return constraints(state, actions, named)

    def score(self, state: CubeState) -> Score:
        weights = state.blocks[:, 2]
        total, left = int(weights.sum()), int(weights[state.alive == 1].sum())
        blocks = int((state.alive == 0).sum())
        return Score(left == 0, 1.0 - left / total, {"delivered_blocks": blocks, "delivered_weight": total - left})

    def capabilities(self, state: CubeState, agent: AgentId) -> Capabilities:
        return Capabilities({}, _SKILLS, tuple(state.agents[agent_index(agent)].tolist()))

    def snapshot(self, state: CubeState) -> bytes:
        return to_bytes(state)

    def restore(self, data: bytes) -> CubeState:
        state = from_bytes(data)
        if len(state.agents) != len(self.agents):
            raise ValueError(f"a CUBE snapshot of {len(state.agents)} agents, this world has {len(self.agents)}")
        return state

    def render(self, state: CubeState) -> str:
        from emcoop.envs.cube.render import render

        return render(state)

    def full_view(self) -> FullView:
        """The team's own world: everybody sees the whole board."""
        return FullView(made_for_one=False, options={})

    def policies(self) -> Mapping[str, PolicyFactory]:
        """The reference policies by name."""
        from emcoop.envs.cube.reference import POLICIES

        return POLICIES


@lru_cache(maxsize=256)
def _allowed(
    blocks: tuple[tuple[int, int], ...], team: tuple[AgentId, ...], agent: AgentId
) -> Mapping[str, Sequence[Json]]:
    """What an agent may name, of blocks by number and weight that are still there; nobody may change it."""
    slots = max((weight for _, weight in blocks), default=0)
    return {
        "block_id": [block for block, _ in blocks],
        "slot": [None, *range(slots)],
        "task": ["none", *(contact.task_name(block, side) for block, _ in blocks for side in SIDES)],
        "agent_id": [name for name in team if name != agent],
    }


_BLOCKED = min(RESULTS.index("wall"), OCCUPIED)
_SKILLS = frozenset({"push"})


def make(agents: int = 3, level: str = "easy", **parameters: Any) -> Cube:
    """CUBE with this many agents.

    `level` is ``easy``, ``medium``, ``hard``, ``curriculum`` or the path of a scenario file; `horizon` replaces the
    level's. Raises ConfigError for anything that cannot be set up.
    """
    options = load(_Options, parameters, "cube")
    if agents < 1:
        raise ConfigError(f"cube needs at least one agent, not {agents}")
    if options.horizon is not None and options.horizon < 1:
        raise ConfigError(f"cube: a horizon of {options.horizon} steps leaves no time to act")
    layout = generator.read_level(level)
    generator.check_level(layout, agents, level)
    return Cube(level, layout, agent_names(agents), options.horizon or layout.steps(agents))
