"""The split maze as an `emcoop.envs.base.Environment`. The rules are in `rules`, the drawn world in README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from emcoop.core.config import StrictModel, load
from emcoop.core.errors import ConfigError
from emcoop.core.types import (
    NO_TASK,
    ActionRecord,
    AgentId,
    Capabilities,
    Failure,
    Json,
    Move,
    Outgoing,
    Plan,
    Score,
    TaskConstraints,
    TaskId,
    agent_index,
    agent_names,
)
from emcoop.envs.base import Grounding, Progress, Transition, chosen_primitives
from emcoop.envs.maze import actions, constraints, generator, grading, observe, prompts, rules
from emcoop.envs.maze.state import DIRECTIONS, HIDDEN, PRIMITIVES, MazeState, first_state, from_bytes, to_bytes
from emcoop.envs.policy import PolicyFactory

VERSION = "1"

TURNS = 50
"""The paper's bound on messages."""

WALL_COST = 1.0

MOST_AGENTS = 100
"""More copies of one map would have hardly a cell each."""

DIALOGUE_NOTES = 64
"""As many notes as an agent keeps: a turn leaves about four."""


class _Options(StrictModel):
    """What `make` takes beside agents and level."""

    horizon: int = Field(default=TURNS, ge=1, le=100_000)
    mode: Literal["structured", "free"] = "structured"
    exit_questions: bool = False
    view: Literal["half", "both", "full"] | None = None
    hurry: bool = False
    review: bool = False
    size: int | None = None
    walls: float | None = None
    distance: tuple[int, int] | None = None
    overlap: float | None = None
    shares: tuple[float, ...] | None = None
    corner: bool | None = None


@dataclass(frozen=True, eq=False)
class SplitMaze:
    """See `emcoop.envs.base.Environment` for every method's contract. A step is a turn of one agent."""

    level: str
    layout: generator.Level
    agents: tuple[AgentId, ...]
    terms: rules.Terms
    view: Literal["half", "both", "full"]
    hurry: bool = False

    name = "maze"
    version = VERSION
    primitives = PRIMITIVES
    plan_schema = actions.MazePlan
    prompt_variants = prompts.VARIANTS
    dialogue_notes = DIALOGUE_NOTES
    turn_actions = 1

    @property
    def hears(self) -> bool:
        """In the free mode what is said is the move."""
        return self.terms.free

    @property
    def horizon(self) -> int:
        """The turns of the dialogue and the steps of the exit questions."""
        return self.terms.turns + (rules.EXIT_STEPS if self.terms.questions else 0)

    @property
    def parts(self) -> int:
        """Into so many copies the maze is split: one agent alone plays the maze of a pair."""
        return max(2, len(self.agents))

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.terms.written:
            return ()
        steps = self.layout.distance[1]
        needed = steps * len(self.agents)
        if self.terms.turns >= needed:
            return ()
        return (f"a way of {steps} steps takes {len(self.agents)} agents {needed} turns; there are {self.terms.turns}",)

    @property
    def impossible(self) -> str | None:
        return None

    def parameters(self) -> Mapping[str, Json]:
        return {
            "agents": len(self.agents),
            "level": self.layout.model_dump(mode="json"),
            "horizon": self.terms.turns,
            "mode": "free" if self.terms.free else "structured",
            "exit_questions": self.terms.questions,
            "view": self.view,
            "review": self.terms.written,
            "hurry": self.hurry,
        }

    def reset(self, seed: int) -> MazeState:
        return first_state(generator.generate(self.layout, self.parts, seed), len(self.agents))

    def step(self, state: MazeState, actions: Mapping[AgentId, Move]) -> Transition[MazeState]:
        chosen = chosen_primitives(actions, self.agents, len(PRIMITIVES))
        after, events = rules.step(state, chosen, actions, self.terms)
        over = rules.finished(after, self.terms)
        reward = self._value(after) - self._value(state)
        return Transition(
            state=after,
            rewards=dict.fromkeys(self.agents, reward),
            terminated=over and bool(after.ended),
            truncated=over and not after.ended,
            events=events,
        )

    def _value(self, state: MazeState) -> float:
        """What the team has earned so far: the weighted outcome, less WALL_COST for a wall; in the free mode it comes
        at the end."""
        if self.terms.free and not rules.over(state, self.terms):
            return 0.0
        found = grading.outcome(state, self.terms)
        return grading.weighted(state.maze, found.path[-1]) - WALL_COST * bool(found.hit)

    def acting(self, state: MazeState) -> tuple[AgentId, ...]:
        return tuple(self.agents[i] for i in rules.acting(state, self.terms))

    def parse_plan(self, answer: BaseModel) -> Plan:
        assert isinstance(answer, actions.MazePlan)
        said = (answer.message or "").strip()
        messages = (Outgoing(self.agents, said),) if said and len(self.agents) > 1 else ()
        return Plan(answer.task, tuple(answer.actions), answer.reasoning, messages)

    def allowed(self, observation: BaseModel) -> Mapping[str, Sequence[Json]]:
        """Fields without a value take the actions that need them off the list: answers before the end, steps after."""
        assert isinstance(observation, observe.MazeObservation)
        tasks = {"task": [NO_TASK, *map(actions.step_task, DIRECTIONS)]}
        return {**tasks, **{field: [] for field in actions.idle_fields(observation.phase)}}

    def wait_plan(self, steps: int = 1) -> Plan:
        return Plan(NO_TASK, (actions.Listen(num_turns=min(max(1, steps), actions.MAX_TURNS)),))

    def check_plan(self, state: MazeState, agent: AgentId, plan: Plan) -> Failure | None:
        return actions.check_plan(plan, state.maze.size, rules.phase(state, self.terms))

    def ground(self, state: MazeState, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
        on_turn = agent_index(agent) in rules.acting(state, self.terms)
        return actions.ground(state, agent, action, progress, on_turn=on_turn)

    def observe(
        self, state: MazeState, agent: AgentId, history: Sequence[ActionRecord] = ()
    ) -> observe.MazeObservation:
        return observe.observe(state, agent, self.view, self.terms)

    def describe(self, observation: BaseModel) -> str:
        assert isinstance(observation, observe.MazeObservation)
        return observe.describe(observation)

    def rules(self, variant: str) -> str:
        return prompts.rules(variant, self.layout.size, self.view, len(self.agents), self.terms, self.hurry)

    def array(self, state: MazeState, agent: AgentId) -> NDArray[np.float32]:
        return observe.array(state, agent, self.view, self.terms)

    def tasks(self, state: MazeState) -> tuple[TaskId, ...]:
        return constraints.open_tasks(state, self.terms)

    def constraints(
        self, state: MazeState, actions: Mapping[AgentId, Move], named: frozenset[TaskId] = frozenset()
    ) -> Mapping[TaskId, TaskConstraints]:
        chosen = chosen_primitives(actions, self.agents, len(PRIMITIVES))
        seen_by = [self._seen_by(state, i) for i in range(len(self.agents))]
        return constraints.constraints(state, chosen, named, self.terms, seen_by)

    def _seen_by(self, state: MazeState, agent: int) -> frozenset[int]:
        """The parts of the maze whose cells this agent sees."""
        return frozenset((agent,)) if self.view == "half" else frozenset(range(state.maze.parts))

    def score(self, state: MazeState) -> Score:
        return grading.score(state, self.terms)

    def capabilities(self, state: MazeState, agent: AgentId) -> Capabilities:
        """What an agent has are the cells it knows. All stand in one cell: the last number is the agent's own."""
        i = agent_index(agent)
        maps = observe.copies(state, i, self.view)
        cells = [{rows[r][c] for rows in maps} for r in range(state.maze.size) for c in range(state.maze.size)]
        known = sum(symbols != {HIDDEN} for symbols in cells)
        row, col = state.maze.start if self.terms.free else state.position
        return Capabilities({"known_cells": known}, frozenset({"agree"}), (row, col, i))

    def snapshot(self, state: MazeState) -> bytes:
        return to_bytes(state)

    def restore(self, data: bytes) -> MazeState:
        state = from_bytes(data)
        if state.team != len(self.agents):
            raise ValueError(f"a maze snapshot of {state.team} agents, this world has {len(self.agents)}")
        return state

    def render(self, state: MazeState) -> str:
        from emcoop.envs.maze.render import render

        return render(state, self.terms, self.view)

    def policies(self) -> Mapping[str, PolicyFactory]:
        """The reference policies by name."""
        from emcoop.envs.maze.reference import POLICIES

        return POLICIES


def make(agents: int = 2, level: str = "easy", **parameters: Any) -> SplitMaze:
    """The maze for this many agents.

    `level` is ``easy``, ``medium`` (the paper's main setting), ``hard`` or a YAML file; `size`, `walls`, `distance`,
    `overlap`, `shares` and `corner` replace parts of it. `horizon` bounds the turns of the dialogue. `mode` is
    ``structured`` or ``free``. `exit_questions` asks every agent at the end. `view` is for one agent alone: ``both``
    halves apart (the default), the ``full`` map, or one ``half``; `review` then asks for the whole way at once, and
    once more after a look at it. `hurry` adds a line to the rules. Raises ConfigError.
    """
    options = load(_Options, parameters, "maze")
    if not 1 <= agents <= MOST_AGENTS:
        raise ConfigError(f"maze needs 1 to {MOST_AGENTS} agents, not {agents}")
    if options.view not in (None, "half") and agents > 1:
        raise ConfigError(f"maze: view {options.view} is for one agent alone, not for {agents}; leave it out")
    changed = {key: getattr(options, key) for key in ("size", "walls", "distance", "overlap", "shares", "corner")}
    base = generator.read_level(level).model_dump()
    layout = load(generator.Level, {**base, **{k: v for k, v in changed.items() if v is not None}}, f"maze {level}")
    generator.check_level(layout, max(2, agents))
    if options.review and agents > 1:
        raise ConfigError(f"maze: review is for one agent alone, not for {agents}; leave it out")
    terms = rules.Terms(options.horizon, options.mode == "free", options.exit_questions)
    if options.review:
        terms = rules.Terms(rules.WRITTEN_TURNS, False, options.exit_questions, written=True)
    view = options.view or ("half" if agents > 1 else "both")
    return SplitMaze(level, layout, agent_names(agents), terms, view, options.hurry)
