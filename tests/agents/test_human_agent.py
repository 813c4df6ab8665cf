"""A human at the terminal, played by a list of typed lines."""

import asyncio
import io
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_kit import ENV, message, plan_json, run, seat, view
from rich.console import Console

from emcoop.agents.forms import FormError
from emcoop.agents.human import Human, in_thread, make, parse_say
from emcoop.core.errors import ConfigError
from emcoop.core.types import Category, Choice, Failure, Outgoing, Phase, Plan


def typing(*lines: str) -> Callable[[str], str]:
    left = list(lines)

    def ask(prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return ask


def human(*lines: str) -> tuple[Human, io.StringIO]:
    shown = io.StringIO()
    return Human(seat(), typing(*lines), Console(file=shown, width=200)), shown


def names(plan: Plan) -> list[str]:
    return [action.model_dump()["action_type"] for action in plan.actions]


def test_compact_text_and_json_both_make_plans() -> None:
    mind, _ = human("for block_1:left; push 1 2; wait 3", plan_json())
    typed = run(mind.plan(view()))
    assert (typed.value.task, names(typed.value), typed.fallback) == ("block_1:left", ["push", "wait"], None)
    assert names(run(mind.plan(view())).value) == ["wait"]


def test_a_wrong_line_is_explained_and_asked_for_again() -> None:
    mind, shown = human("psh 2", "push x 2", "{", '{"actions": []}', "wait 2")
    assert names(run(mind.plan(view())).value) == ["wait"]
    for complaint in ("did you mean 'push'", "block_id", "not JSON", "Type 'help'"):
        assert complaint in shown.getvalue()


@pytest.mark.parametrize("faculty", ["plan", "speak", "interrupt"])
def test_help_is_shown_and_then_the_line_is_asked_for_again(faculty: str) -> None:
    mind, shown = human("help", "")
    decision = run(getattr(mind, faculty)(view(plan=ENV.wait_plan(3), plan_left=1)))
    assert decision.fallback is None
    wanted = {"plan": "push", "speak": "say all: text", "interrupt": "replan PLAN"}[faculty]
    assert wanted in shown.getvalue()


def test_an_empty_line_is_the_null_by_choice_and_the_end_of_input_by_fallback() -> None:
    mind, _ = human("", "", "")
    chosen = [run(mind.plan(view())), run(mind.speak(view())), run(mind.interrupt(view()))]
    ended = [run(mind.plan(view())), run(mind.speak(view())), run(mind.interrupt(view()))]
    assert [d.value for d in chosen] == [d.value for d in ended]
    assert chosen[0].value == ENV.wait_plan(1)
    assert [d.fallback for d in chosen] == [None, None, None]
    assert [d.fallback for d in ended] == ["wait", "silence", "resume"]


def test_interruptions_can_be_resumed_replanned_and_answered_with_a_plan() -> None:
    mind, shown = human("resume", "replan", "stop", "replan push 0 1")
    assert run(mind.interrupt(view())).value.choice is Choice.RESUME
    bare = run(mind.interrupt(view())).value
    assert (bare.choice, bare.new_plan) == (Choice.REPLAN, None)
    full = run(mind.interrupt(view())).value
    assert names(full.new_plan) == ["push"]
    assert "write resume, replan" in shown.getvalue()


def test_a_message_is_addressed_to_all_or_to_some() -> None:
    reach = ("agent_1", "agent_2", "agent_12")
    assert parse_say("say all: go: left", reach) == Outgoing(reach, "go: left")
    assert parse_say("say 2, agent_1: hi", reach) == Outgoing(("agent_1", "agent_2"), "hi")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("hello", "write 'say all: text'"),
        ("say hello", "write 'say all: text'"),
        ("say : hello", "write 'say all: text'"),
        ("say all:  ", "empty"),
        ("say agent_7: hi", "cannot write to 'agent_7'"),
    ],
)
def test_a_wrong_message_says_what_is_wrong(line: str, complaint: str) -> None:
    with pytest.raises(FormError) as caught:
        parse_say(line, ("agent_1", "agent_2"))
    assert complaint in str(caught.value)


def test_nobody_is_asked_to_speak_to_nobody() -> None:
    mind, shown = human("say all: hi")
    assert run(mind.speak(view(recipients=()))).value is None
    assert shown.getvalue() == ""


def test_what_the_agent_knows_is_shown_and_messages_cannot_steer_the_terminal() -> None:
    mind, shown = human("")
    failure = Failure(Phase.EXECUTION, Category.COORDINATION, "insufficient_force", "Needs 2, has 1.")
    run(mind.plan(view(unread=(message("\x1b[2J[red]come[/red]\nhere"),), feedback=(failure,))))
    text = shown.getvalue()
    assert ENV.describe(view().observation).splitlines()[0] in text
    assert "insufficient_force" in text
    assert "[red]come[/red]" in text
    assert "\x1b" not in text


def test_the_loop_lives_on_while_the_human_thinks() -> None:
    async def both() -> tuple[int, Any]:
        ticks = 0
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        released = threading.Event()

        def slow(prompt: str) -> str:
            loop.call_soon_threadsafe(ready.set)
            assert released.wait(5)
            return "wait 1"

        mind = Human(seat(), slow, Console(file=io.StringIO()))
        task = asyncio.create_task(mind.plan(view()))
        await ready.wait()
        for _ in range(10):
            await asyncio.sleep(0)
            ticks += 1
        assert not task.done()
        released.set()
        return ticks, await task

    ticks, decision = run(both())
    assert ticks == 10
    assert names(decision.value) == ["wait"]


def test_two_humans_share_the_terminal_one_after_the_other() -> None:
    log: list[str] = []

    def asking(name: str) -> Callable[[str], str]:
        lines = iter(["nonsense", "wait 1"])

        def ask(prompt: str) -> str:
            log.append(name)
            return next(lines)

        return ask

    async def both() -> None:
        minds = [Human(seat(agent=a), asking(a), Console(file=io.StringIO())) for a in ("agent_0", "agent_1")]
        await asyncio.gather(*(mind.plan(view()) for mind in minds))

    run(both())
    assert log in (["agent_0", "agent_0", "agent_1", "agent_1"], ["agent_1", "agent_1", "agent_0", "agent_0"])


def test_control_c_and_other_errors_pass_through() -> None:
    def fail(prompt: str) -> str:
        raise OSError("terminal gone")

    with pytest.raises(OSError, match="terminal gone"):
        run(Human(seat(), fail, Console(file=io.StringIO())).plan(view()))

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(in_thread(stop))


SCRIPT = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from agent_kit import seat, view
from emcoop.agents.human import make
print("deciding", file=sys.stderr, flush=True)
print(asyncio.run(make(seat()).plan(view())).value.actions)
"""


def start_at_terminal() -> "subprocess.Popen[str]":
    here = str(Path(__file__).parent)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", SCRIPT, here], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_at_a_real_terminal_prompts_go_to_standard_error_and_only_results_to_standard_output() -> None:
    out, err = start_at_terminal().communicate("nonsense\nwait 2\n", timeout=120)
    assert out.strip() == "(Wait(action_type='wait', num_steps=2),)"
    assert "plan> " in err
    assert "there is no action 'nonsense'" in err


def test_control_c_at_the_prompt_ends_the_program_without_another_line() -> None:
    with start_at_terminal() as process:
        assert process.stderr is not None
        shown = ""
        while "plan> " not in shown:
            letter = process.stderr.read(1)
            assert letter, shown
            shown += letter
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) != 0
        assert process.stderr.read().rstrip().endswith("KeyboardInterrupt")


def test_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="agent human: unknown key 'colour'"):
        make(seat(colour="red"))
