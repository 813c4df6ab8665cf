"""The language-model agent: each faculty is one structured question to a model, with a declared fallback.

An answer that cannot be read becomes a PRE_CHECK failure of category FORMAT; the model is asked again with the
error, and when its attempts are used up the fallback stands in: plan: wait one step; speak: silence; interrupt:
resume. No answer whatsoever raises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model, model_validator

from emcoop.agents.base import Decision, Role, Seat, View
from emcoop.agents.narrow import narrowed
from emcoop.agents.prompts import interrupt_turn, one_line, plan_turn, speak_turn, system_turn
from emcoop.core.config import StrictModel, load, nearest
from emcoop.core.errors import ConfigError
from emcoop.core.types import AgentId, Category, Choice, Failure, Interrupt, Json, Outgoing, Phase, Plan, Usage
from emcoop.envs.base import AnyEnvironment, Grounding, Progress, by_turns
from emcoop.models.base import Answer, Model, Settings, Turn
from emcoop.models.structured import ask

A = TypeVar("A", bound=BaseModel)
T = TypeVar("T")

ERROR_CHARS = 400
"""How much of a reading error goes into the failure that the agent reads."""


REASONING_CHARS = 300

MEMORY = 12
"""How many own events a prompt tells at least, unless the world or the options say otherwise."""


class LlmOptions(StrictModel):
    """Options of the agent ``llm``.

    `prompt` is one of the environment's prompt variants (default: its first); `attempts` how often one question is
    asked until its answer can be read; `memory` how many own events a prompt tells at least (default: what a world of
    turns needs for its dialogue, else `MEMORY`); `unavailable` after how many questions in a row that found no model
    the agent gives up; `message_chars` the longest message it may write. `reasoning_chars` and `plan_actions` keep the
    answers of a constrained model short (`plan_actions` by default: what a turn takes in a world of turns).
    """

    prompt: str | None = None
    max_tokens: int = Field(default=512, ge=16)
    temperature: float = Field(default=0.0, ge=0, le=2)
    timeout_s: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=2, ge=1, le=10)
    memory: int | None = Field(default=None, ge=0)
    unavailable: int = Field(default=3, ge=1)
    message_chars: int = Field(default=500, ge=1, le=2000)
    reasoning_chars: int | None = Field(default=None, ge=1)
    plan_actions: int | None = Field(default=None, ge=1)

    def longest(self) -> dict[str, int]:
        """The bounds of `reasoning_chars` and `plan_actions`, by the name of the field they bound."""
        bounds = {"reasoning": self.reasoning_chars, "actions": self.plan_actions}
        return {field: bound for field, bound in bounds.items() if bound is not None}


def _cut(text: object) -> object:
    return text[:REASONING_CHARS] if isinstance(text, str) else text


def _once(names: object) -> object:
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return list(dict.fromkeys(names))
    return names


Reasoning = Annotated[str, BeforeValidator(_cut), Field(max_length=REASONING_CHARS)]
"""Asked for within bounds, which ends a weak model's repetitions; a longer one is cut and spoils no answer."""


class MessageAnswer(BaseModel):
    """What a model answers when it may speak (paper, appendix E); null content is silence."""

    recipients: list[str]
    content: str | None
    reasoning: Reasoning = ""

    @model_validator(mode="after")
    def _addressed(self) -> MessageAnswer:
        if self.content and self.content.strip() and not self.recipients:
            raise ValueError("content without recipients; name them, or give null for silence")
        return self


@lru_cache(maxsize=256)
def message_answer(recipients: tuple[str, ...], max_chars: int) -> type[MessageAnswer]:
    """The answer type for these recipients: no other can be named, and content has at most `max_chars` characters."""
    name: Any = Literal[recipients]
    content: Any = Annotated[str, Field(max_length=max_chars)] | None
    return create_model(
        "MessageAnswer",
        __base__=MessageAnswer,
        recipients=(Annotated[list[name], BeforeValidator(_once)], Field(max_length=len(recipients))),
        content=(content, ...),
    )


class InterruptAnswer(BaseModel):
    """What a model answers to an interruption (paper, appendix E); the subclass types the plan."""

    decision: Literal["resume", "replan"]
    reasoning: Reasoning = ""
    new_plan: Any = None


@lru_cache(maxsize=64)
def interrupt_answer(plan_schema: type[BaseModel]) -> type[InterruptAnswer]:
    """The answer type to an interruption with this environment's plans."""
    optional: Any = plan_schema | None
    return create_model("InterruptAnswer", __base__=InterruptAnswer, new_plan=(optional, None))


class LlmAgent:
    """A language model in a seat. One decision at a time; nothing is remembered but the count of dead calls."""

    name = "llm"
    privileged = False

    def __init__(self, seat: Seat, model: Model, options: LlmOptions) -> None:
        self._seat = seat
        self._env = seat.env
        self._model = model
        self._options = _for_world(options, seat.env)
        self._memory = MEMORY if self._options.memory is None else self._options.memory
        self._variant = options.prompt or seat.env.prompt_variants[0]
        self._rules = seat.env.rules(self._variant)
        self._interrupt_answer = interrupt_answer(seat.env.plan_schema)
        self._system: dict[tuple[AgentId, tuple[AgentId, ...], Role, bool], Turn] = {}
        self._dead_calls = 0

    async def plan(self, view: View) -> Decision[Plan]:
        turn = plan_turn(self._env.describe(view.observation), view, self._memory)
        answer, measured = await self._ask(view, turn, self._env.plan_schema, self._check_plan)
        if not isinstance(answer.value, BaseModel):
            return self._decision(self._env.wait_plan(1), answer, measured, "wait")
        return self._decision(self._env.parse_plan(answer.value), answer, measured)

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        if not view.recipients or not view.sends_left:
            return Decision(None)
        longest = min(self._options.message_chars, view.max_chars)
        answer_type = message_answer(view.recipients, longest)
        description = self._env.describe(view.observation)
        turn = speak_turn(description, view, self._memory, longest)
        answer, measured = await self._ask(view, turn, answer_type)
        if not isinstance(answer.value, MessageAnswer):
            return self._decision(None, answer, measured, "silence")
        content = (answer.value.content or "").strip()
        named = frozenset(answer.value.recipients)
        recipients = tuple(agent for agent in view.recipients if agent in named)
        said = Outgoing(recipients, content) if content and recipients else None
        return self._decision(said, answer, measured)

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        turn = interrupt_turn(self._env.describe(view.observation), view, self._memory)
        answer, measured = await self._ask(view, turn, self._interrupt_answer, self._check_interrupt)
        if not isinstance(answer.value, InterruptAnswer):
            return self._decision(Interrupt(Choice.RESUME), answer, measured, "resume")
        choice = Choice(answer.value.decision)
        plan = None
        if choice is Choice.REPLAN and answer.value.new_plan is not None:
            plan = self._env.parse_plan(answer.value.new_plan)
        return self._decision(Interrupt(choice, plan, answer.value.reasoning), answer, measured)

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._env.ground(state, self._seat.agent, action, progress)

    def describe(self) -> Mapping[str, Json]:
        options = {**self._options.model_dump(mode="json"), "prompt": self._variant, "memory": self._memory}
        return {"name": self.name, "privileged": False, "options": options, "model": dict(self._model.describe())}

    def _check_plan(self, answer: BaseModel) -> str | None:
        return None if self._env.parse_plan(answer).actions else "the plan has no actions; give at least one"

    def _check_interrupt(self, answer: InterruptAnswer) -> str | None:
        wanted = answer.decision == "replan" and answer.new_plan is not None
        return self._check_plan(answer.new_plan) if wanted else None

    async def _ask(
        self, view: View, turn: Turn, answer_type: type[A], check: Callable[[A], str | None] | None = None
    ) -> tuple[Answer, float]:
        """One structured question; the second value is the real time that it took, in seconds."""
        options = self._options
        settings = Settings(
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            seed=view.seed & 0x7FFFFFFF,
            timeout_s=options.timeout_s,
        )
        turns = (self._system_turn(view), turn)
        began = time.perf_counter()
        schema = narrowed(answer_type, self._env.allowed(view.observation), options.longest())
        answer = await ask(
            self._model, turns, answer_type, settings, attempts=options.attempts, schema=schema, check=check
        )
        measured = time.perf_counter() - began
        # An answer from the cache counts with the time that it took when it was made.
        measured += sum(
            call.completion.latency_s for call in answer.calls if call.completion and call.completion.cached
        )
        dead = answer.error is not None and answer.error.startswith("unavailable:")
        self._dead_calls = self._dead_calls + 1 if dead else 0
        return answer, measured

    def _system_turn(self, view: View) -> Turn:
        """Made once for each that is in use, as is the name under which the log keeps it."""
        kind = view.agent, view.team, view.role, bool(view.recipients)
        if kind not in self._system:
            self._system[kind] = system_turn(self._rules, self._env.plan_schema, view)
        return self._system[kind]

    def _decision(self, value: T, answer: Answer, measured: float, fallback: str | None = None) -> Decision[T]:
        return Decision(
            value,
            usage=_usage(answer),
            calls=answer.calls,
            failures=_failures(answer),
            fallback=fallback,
            measured_s=measured,
            fatal=self._fatal(answer),
        )

    def _fatal(self, answer: Answer) -> str | None:
        """Why the model cannot answer any more, or None."""
        if answer.error is None:
            return None
        if answer.error.startswith("refused:"):
            return f"model {self._model.name} {answer.error}"
        if self._dead_calls >= self._options.unavailable:
            return f"model {self._model.name}, {self._dead_calls} times in a row: {answer.error}"
        return None


def _for_world(options: LlmOptions, env: AnyEnvironment) -> LlmOptions:
    """The options with what a world of turns wants where nothing is set."""
    if not by_turns(env):
        return options
    wanted = {"memory": env.dialogue_notes, "plan_actions": env.turn_actions}
    return options.model_copy(update={name: value for name, value in wanted.items() if getattr(options, name) is None})


def _failures(answer: Answer) -> tuple[Failure, ...]:
    """One failure for each answer that came and could not be used."""
    return tuple(
        Failure(
            Phase.PRE_CHECK,
            Category.FORMAT,
            "unreadable_answer",
            f"Your answer could not be used: {one_line(call.error, ERROR_CHARS)}",
            {"finish_reason": call.completion.finish_reason},
        )
        for call in answer.calls
        if call.completion is not None and call.error is not None
    )


def _usage(answer: Answer) -> Usage:
    """What the calls cost together; calls that brought no answer are counted."""
    total = sum((call.completion.usage for call in answer.calls if call.completion), Usage())
    return replace(total, calls=len(answer.calls))


def make(seat: Seat) -> LlmAgent:
    """Seat a language model. Raises ConfigError without a model, for unknown options and for an unknown prompt."""
    if seat.model is None:
        raise ConfigError("agent 'llm' needs a model: give --model adapter:name, e.g. --model local:smollm2")
    options = load(LlmOptions, dict(seat.options), "agent llm")
    variants = seat.env.prompt_variants
    if options.prompt is not None and options.prompt not in variants:
        where = f"agent llm: environment {seat.env.name!r}"
        raise ConfigError(f"{where} has no prompt variant {options.prompt!r}; {nearest(options.prompt, variants)}")
    return LlmAgent(seat, seat.model, options)
