"""A seat at CUBE's table for the tests of agents: views, answers and scripted models."""

import asyncio
import json
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from emcoop.agents.base import Note, Role, Seat, View
from emcoop.core.types import Message
from emcoop.envs import ENVS
from emcoop.envs.base import AnyEnvironment
from emcoop.models.base import Model, Turn
from emcoop.models.scripted import ScriptedModel

T = TypeVar("T")
TEAM = ("agent_0", "agent_1", "agent_2")
ENV: AnyEnvironment = ENVS.get("cube")(agents=3, level="easy")
STATE = ENV.reset(0)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def seat(model: Model | None = None, agent: str = "agent_0", **options: Any) -> Seat:
    return Seat(agent, ENV, 7, model, options)


def view(**changes: Any) -> View:
    base = View(
        agent="agent_0",
        team=TEAM,
        role=Role("peer", "You are equals."),
        step=4,
        now=0,
        observation=ENV.observe(STATE, "agent_0"),
        unread=(),
        conversation=(),
        memory=(),
        feedback=(),
        plan=None,
        plan_left=0,
        recipients=("agent_1", "agent_2"),
        sends_left=3,
        seed=2**63 + 5,
    )
    return replace(base, **changes)


def message(content: str, sender: str = "agent_1", number: int = 1) -> Message:
    return Message(number, sender, ("agent_0",), content, 0, 4)


def notes(count: int) -> tuple[Note, ...]:
    return tuple(Note(i, "plan", f"note number {i}.") for i in range(count))


class Recorder:
    """Answers with the given texts in turn, the last one for ever; keeps what it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.prompts: list[tuple[Turn, ...]] = []
        self.seeds: list[int | None] = []
        self.schemas: list[Any] = []
        self.model = ScriptedModel(self._answer)

    def _answer(self, turns: Sequence[Turn], schema: Any, settings: Any) -> str:
        self.prompts.append(tuple(turns))
        self.seeds.append(settings.seed)
        self.schemas.append(schema)
        answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def plan_json(*actions: dict[str, Any], **more: Any) -> str:
    given = actions or ({"action_type": "wait", "num_steps": 2},)
    return json.dumps({"task": "none", "actions": given, "reasoning": "because", **more})
