"""The exchange as an `emcoop.envs.base.Environment`. The rules are in `rules`, the drawn world in README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.core.config import load
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
from emcoop.envs.exchange import actions, grounding, observe, prompts, results
from emcoop.envs.exchange.generator import Level, Options, Spec, read_level, resolve
from emcoop.envs.exchange.rules import Action, begin, take_turn
from emcoop.envs.exchange.scripted import KINDS, Mind, answers
from emcoop.envs.exchange.simulate import sight_of
from emcoop.envs.exchange.state import ExchangeState, from_bytes, initial, to_bytes
from emcoop.envs.exchange.work import Work, task_name
from emcoop.envs.policy import PolicyFactory

VERSION = "1"

DIALOGUE_NOTES = 64
"""As many notes as an agent keeps: nine others may write to it between two of its turns."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """See `emcoop.envs.base.Environment` for every method's contract."""

    level: str
    layout: Level
    spec: Spec
    agents: tuple[AgentId, ...]

    name = "exchange"
    version = VERSION
    plan_schema = actions.ExchangePlan
    prompt_variants = prompts.VARIANTS
    hears = True
    dialogue_notes = DIALOGUE_NOTES
    turn_actions = None

    @property
    def horizon(self) -> int:
        return self.spec.horizon

    @property
    def primitives(self) -> tuple[str, ...]:
        return grounding.primitives(self.spec)

    @property
    def warnings(self) -> tuple[str, ...]:
        if len(self.agents) == 1:
            return ("one agent holds every piece itself: there is nobody to share with",)
        return ()

    @property
    def impossible(self) -> str | None:
        return None

    def parameters(self) -> Mapping[str, Json]:
        return {"level": self.layout.model_dump(mode="json"), **self.spec.model_dump(mode="json")}

    def reset(self, seed: int) -> ExchangeState:
        work = Work(self.spec, initial(self.spec, seed))
        begin(work)
        return work.freeze()

    def acting(self, state: ExchangeState) -> tuple[AgentId, ...]:
        return (self.agents[grounding.mover(state)],)

    def step(self, state: ExchangeState, actions: Mapping[AgentId, Move]) -> Transition[ExchangeState]:
        chosen = chosen_primitives(actions, self.agents, len(self.primitives))
        mover = grounding.mover(state)
        work = Work(self.spec, state)
        work.events += self._opening(state)
        listed, thought, said = self._meant(work, mover, actions[self.agents[mover]], chosen[mover])
        take_turn(work, listed, thought, said)
        for agent, move in actions.items():
            if not isinstance(move, int) and move.get("actions") and agent_index(agent) != mover:
                work.emit("blocked", agent_index(agent), code="not_your_turn", index=0, action={})
        after = work.freeze()
        return Transition(
            state=after,
            rewards=results.rewards(state, after, self.spec),
            terminated=False,
            truncated=after.turn >= self.spec.horizon,
            events=tuple(work.events),
        )

    def _opening(self, state: ExchangeState) -> list[dict[str, Json]]:
        """What the engine did before the first turn: the events of a reset, told with the first step."""
        if state.turn or not self.spec.auto_request:
            return []
        work = Work(self.spec, initial(self.spec, state.seed))
        begin(work)
        return work.events

    def _meant(
        self, work: Work, mover: int, move: Move, primitive: int
    ) -> tuple[Sequence[Action], str, Sequence[str] | None]:
        """The mover's actions, its thought, and what it really said (None: all that it meant to)."""
        thought, said = "", None
        listed: list[Action] = _short(work, mover, primitive)
        if not isinstance(move, int):
            given = move.get("actions", [])
            if isinstance(given, list | tuple) and given:
                listed = [action if isinstance(action, Mapping) else {} for action in given]
            thought = str(move.get("thought", ""))
            texts = move.get("said")
            said = [str(text) for text in texts] if isinstance(texts, list | tuple) else None
        return listed, thought, said

    def parse_plan(self, answer: BaseModel) -> Plan:
        assert isinstance(answer, actions.ExchangePlan)
        return actions.pack(answer.task, answer.actions, answer.reasoning, self.spec)

    def allowed(self, observation: BaseModel) -> Mapping[str, Sequence[Json]]:
        assert isinstance(observation, observe.ExchangeObservation)
        me = agent_index(observation.agent)
        tasks = [task.number for task in observation.tasks]
        missing = [piece for task in observation.tasks for piece in task.missing]
        asked = [request.piece for request in observation.requests]
        useful = sorted({*missing, *(piece for piece in asked if piece in observation.inventory)})
        return {
            "to": [agent for agent in self.agents if agent != observation.agent],
            "piece": useful or sorted(observation.inventory),
            "number": tasks,
            "num_steps": [1],
            "task": ["none", *(task_name(me, number) for number in tasks)],
        }

    def wait_plan(self, steps: int = 1) -> Plan:
        return Plan("none", (actions.Pass(num_steps=min(max(1, steps), actions.MAX_STEPS)),))

    def check_plan(self, state: ExchangeState, agent: AgentId, plan: Plan) -> Failure | None:
        return actions.check_plan(state, agent_index(agent), plan, self.spec)

    def ground(self, state: ExchangeState, agent: AgentId, action: BaseModel, progress: Progress) -> Grounding:
        return grounding.ground(state, agent_index(agent), action, progress, self.spec)

    def observe(
        self, state: ExchangeState, agent: AgentId, history: Sequence[ActionRecord] = ()
    ) -> observe.ExchangeObservation:
        return observe.observe(state, agent_index(agent), self.spec)

    def describe(self, observation: BaseModel) -> str:
        assert isinstance(observation, observe.ExchangeObservation)
        return observe.describe(observation)

    def rules(self, variant: str) -> str:
        return prompts.rules(variant, self.spec)

    def array(self, state: ExchangeState, agent: AgentId) -> NDArray[np.float32]:
        return observe.array(state, agent_index(agent), self.spec)

    def tasks(self, state: ExchangeState) -> tuple[TaskId, ...]:
        return tuple(task_name(i, number) for i, desk in enumerate(state.desks) for number, _ in desk.tasks)

    def constraints(
        self, state: ExchangeState, actions: Mapping[AgentId, Move], named: frozenset[TaskId] = frozenset()
    ) -> Mapping[TaskId, TaskConstraints]:
        from emcoop.envs.exchange.constraints import constraints

        return constraints(state, actions, named, self.spec)

    def score(self, state: ExchangeState) -> Score:
        return results.score(state, self.spec)

    def capabilities(self, state: ExchangeState, agent: AgentId) -> Capabilities:
        index = agent_index(agent)
        return Capabilities(results.tools(state.held[index]), frozenset({"ask", "send", "submit"}), (index,))

    def snapshot(self, state: ExchangeState) -> bytes:
        return to_bytes(state)

    def restore(self, data: bytes) -> ExchangeState:
        return from_bytes(data, self.spec)

    def render(self, state: ExchangeState) -> str:
        from emcoop.envs.exchange.render import render

        return render(state, self.spec)

    def full_view(self) -> FullView:
        """A world for one agent, which holds every piece itself."""
        return FullView(made_for_one=True, options={})

    def policies(self) -> Mapping[str, PolicyFactory]:
        """The reference policies by name."""
        from emcoop.envs.exchange.reference import POLICIES

        return POLICIES


def _short(work: Work, mover: int, primitive: int) -> list[Action]:
    """The actions that a bare primitive stands for."""
    if primitive == grounding.ASK:
        return list(Mind(KINDS["scripted"]).requests(sight_of(work, mover)))
    if primitive == grounding.ANSWER:
        return list(answers(sight_of(work, mover)))
    if primitive >= grounding.SUBMIT:
        number, _ = work.desks[mover].tasks[primitive - grounding.SUBMIT]
        return [{"action_type": "submit", "number": number}]
    return []


def make(agents: int = 10, level: str = "easy", **parameters: Any) -> Exchange:
    """The exchange with this many agents.

    `level` is ``easy`` (the published defaults), ``short``, ``long``, ``hard`` or the path of a level file; parameters
    are those of `generator.Options`. Raises ConfigError for anything that cannot be set up.
    """
    options = load(Options, parameters, "exchange")
    layout = read_level(level)
    return Exchange(level, layout, resolve(agents, layout, options), agent_names(agents))
