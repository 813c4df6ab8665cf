"""A human at the terminal in an agent's seat.

What the agent may know is shown on standard error; one typed line decides. A wrong line is explained and asked for
again; the end of the input is the faculty's null (wait, silence, resume). Ctrl-C passes through.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from emcoop.agents.base import Decision, Seat, View
from emcoop.agents.forms import FormError, compact_forms, explain_errors, parse_compact
from emcoop.agents.null import NoOptions
from emcoop.agents.prompts import one_line, quote
from emcoop.core.config import load, nearest
from emcoop.core.types import AgentId, Choice, Interrupt, Json, Outgoing, Plan
from emcoop.envs.base import Grounding, Progress

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

TERMINAL = threading.Lock()
"""There is one terminal; humans in several seats take turns at it."""

PLAN_HELP = """\
A plan is actions separated by ';', each a name and its values in order (or field=value):
{forms}
Begin with 'for TASK;' to say what the plan is for. A plan as one JSON object works too. Nothing: wait one step."""

SPEAK_HELP = """\
say all: text           to everyone of {names}
say agent_1, 2: text    to some of them, by name or number
Nothing: silence."""

INTERRUPT_HELP = """\
resume, or nothing      go on with the plan
replan                  give it up and be asked for another
replan PLAN             give it up for this one
{plan}"""


class Human:
    """`ask` reads one line after a prompt and raises EOFError at the end of the input; `console` shows the rest."""

    name = "human"
    privileged = False

    def __init__(self, seat: Seat, ask: Callable[[str], str] | None = None, console: Console | None = None) -> None:
        from rich.console import Console

        self._seat = seat
        self._console = console or Console(stderr=True, emoji=False)
        self._read = ask or self._input

    def _input(self, prompt: str) -> str:
        # Standard output may carry a program's result, so the prompt goes where everything else is shown.
        self._console.print(prompt, end="", markup=False, highlight=False)
        return read_line()

    async def plan(self, view: View) -> Decision[Plan]:
        wait = self._seat.env.wait_plan(1)

        def read(line: str) -> Plan:
            return self._parse_plan(line) if line else wait

        return await self._decide(view, "plan> ", self._plan_help(), read, wait, "wait")

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        if not view.recipients or not view.sends_left:
            return Decision(None)

        def read(line: str) -> Outgoing | None:
            return parse_say(line, view.recipients) if line else None

        help_text = SPEAK_HELP.format(names=", ".join(view.recipients))
        return await self._decide(view, "message> ", help_text, read, None, "silence")

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        resume = Interrupt(Choice.RESUME)

        def read(line: str) -> Interrupt:
            word, _, rest = line.partition(" ")
            if word in ("", "resume") and not rest.strip():
                return resume
            if word == "replan":
                return Interrupt(Choice.REPLAN, self._parse_plan(rest.strip()) if rest.strip() else None)
            raise FormError("write resume, replan, or replan and a plan")

        help_text = INTERRUPT_HELP.format(plan=self._plan_help())
        return await self._decide(view, "resume or replan> ", help_text, read, resume, "resume")

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._seat.env.ground(state, self._seat.agent, action, progress)

    def describe(self) -> Mapping[str, Json]:
        return {"name": self.name, "privileged": False, "options": {}}

    # -- inside ------------------------------------------------------------------------------------------------

    def _plan_help(self) -> str:
        forms = "\n".join(f"  {line}" for line in compact_forms(self._seat.env.plan_schema))
        return PLAN_HELP.format(forms=forms)

    def _parse_plan(self, text: str) -> Plan:
        """A plan from compact text or JSON. Raises FormError."""
        env = self._seat.env
        if not text.startswith("{"):
            typed = parse_compact(text, env.plan_schema)
            return env.parse_plan(env.plan_schema.model_construct(task=typed.task, actions=list(typed.actions)))
        try:
            plan = env.parse_plan(env.plan_schema.model_validate(json.loads(text)))
        except ValidationError as error:
            raise FormError(explain_errors(error)) from None
        except (json.JSONDecodeError, RecursionError) as error:
            raise FormError(f"not JSON: {error}") from None
        if not plan.actions:
            raise FormError("a plan needs at least one action")
        return plan

    async def _decide(
        self, view: View, prompt: str, help_text: str, read: Callable[[str], T], null: T, fallback: str
    ) -> Decision[T]:
        """Talk until a line can be read; the talk runs in its own thread, so that the loop lives on."""

        def talk() -> Decision[T]:
            with TERMINAL:
                self._show(view)
                while True:
                    try:
                        line = self._read(prompt).strip()
                    except EOFError:
                        self._say("end of input")
                        return Decision(null, fallback=fallback)
                    if line in ("help", "?"):
                        self._say(help_text)
                        continue
                    try:
                        return Decision(read(line))
                    except FormError as error:
                        self._say(f"{error}. Type 'help' for what can be written.")

        began = time.perf_counter()
        decision = await in_thread(talk)
        return Decision(decision.value, fallback=decision.fallback, measured_s=time.perf_counter() - began)

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def _show(self, view: View) -> None:
        self._console.rule(f"{view.agent} ({view.role.name}), step {view.step}")
        self._say(self._seat.env.describe(view.observation))
        for failure in view.feedback:
            self._say(f"! {one_line(failure.message)} ({failure.code})")
        if view.plan is not None:
            self._say(
                f"your plan for {one_line(view.plan.task)}: {view.plan_left} of {len(view.plan.actions)} actions left"
            )
        for message in (*view.conversation, *view.unread):
            self._say(f"{message.sender}: {quote(message.content)}")


def parse_say(line: str, recipients: tuple[AgentId, ...]) -> Outgoing:
    """``say all: text`` or ``say agent_1, 2: text`` as a message to some of `recipients`. Raises FormError."""
    head, colon, content = line.partition(":")
    word, _, names = head.strip().partition(" ")
    if word != "say" or not colon or not names.strip():
        raise FormError("write 'say all: text' or 'say NAME: text', or nothing for silence")
    if not content.strip():
        raise FormError("the message is empty")
    wanted = [name for name in re.split(r"[,\s]+", names.strip()) if name]
    if wanted == ["all"]:
        return Outgoing(recipients, content.strip())
    asked = {f"agent_{name}" if name.isdecimal() else name for name in wanted}
    wrong = sorted(asked - set(recipients))
    if wrong:
        raise FormError(f"you cannot write to {wrong[0]!r} now; {nearest(wrong[0], recipients)}")
    return Outgoing(tuple(agent for agent in recipients if agent in asked), content.strip())


def read_line() -> str:
    """One line of standard input. Raises EOFError at its end."""
    if sys.stdin.isatty():
        return input()
    # Not by the buffered reader: its lock, held by a waiting thread, makes the interpreter abort when it exits.
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    if not byte and not line:
        raise EOFError
    return line.decode("utf-8", errors="replace")


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread that nobody waits for when the program ends.

    A thread of the loop's executor would keep the program alive after Ctrl-C until the next line is typed.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except (Exception, KeyboardInterrupt) as raised:  # noqa: BLE001 - raised again where the work is awaited
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="human", daemon=True).start()
    return await future


def make(seat: Seat) -> Human:
    """Seat a human at this process's terminal. Raises ConfigError for any option."""
    load(NoOptions, dict(seat.options), "agent human")
    return Human(seat)
