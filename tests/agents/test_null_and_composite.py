"""Null faculties, and agents put together from the faculties of others."""

from typing import Any

import pytest
from agent_kit import ENV, STATE, Recorder, plan_json, run, seat, view

from emcoop.agents import AGENTS
from emcoop.agents.base import Decision
from emcoop.agents.null import Composite, NullAgent, make_composite, make_null
from emcoop.core.errors import ConfigError, UnknownName
from emcoop.core.types import Choice, Interrupt
from emcoop.envs.base import Done, Primitive, Progress


class Spy(NullAgent):
    """Keeps the state that its views carry."""

    def __init__(self, privileged: bool) -> None:
        super().__init__(seat())
        self.privileged = privileged
        self.states: list[Any] = []

    async def plan(self, view: Any) -> Decision[Any]:
        self.states.append(view.state)
        return Decision(ENV.wait_plan(3))


def test_the_null_of_each_faculty_is_what_the_contract_says() -> None:
    null = make_null(seat())
    assert run(null.plan(view())).value == ENV.wait_plan(1)
    assert run(null.speak(view())).value is None
    assert run(null.interrupt(view())).value == Interrupt(Choice.RESUME)
    action = ENV.wait_plan(5).actions[0]
    assert null.act(STATE, action, Progress()) == Primitive(0)
    assert null.act(STATE, action, Progress(steps=1)) == Done()


def test_a_composite_takes_each_faculty_from_its_part() -> None:
    recorder = Recorder(plan_json())
    mind = make_composite(seat(recorder.model, plan="llm", act={"agent": "llm", "options": {}}))
    assert run(mind.plan(view())).usage.calls == 1
    assert run(mind.speak(view())).usage.calls == 0
    assert run(mind.interrupt(view())).value.choice is Choice.RESUME
    action = ENV.wait_plan(5).actions[0]
    assert mind.act(STATE, action, Progress(steps=1)) == ENV.ground(STATE, "agent_0", action, Progress(steps=1))
    assert len(recorder.prompts) == 1


def test_the_base_gives_the_faculties_that_are_not_named() -> None:
    recorder = Recorder("no JSON")
    mind = make_composite(seat(recorder.model, base="llm", speak="null"))
    assert run(mind.speak(view())).fallback is None
    assert run(mind.interrupt(view())).fallback == "resume"


def test_faculties_of_the_same_part_share_one_mind() -> None:
    recorder = Recorder("no JSON")
    mind = make_composite(
        seat(recorder.model, plan="llm", speak="llm", interrupt={"agent": "llm", "options": {"memory": 3}})
    )
    assert mind.parts["plan"] is mind.parts["speak"]
    assert mind.parts["plan"] is not mind.parts["interrupt"]
    assert mind.parts["interrupt"] is not mind.parts["act"]


def test_a_composite_is_privileged_when_a_part_is_and_shows_the_state_to_that_part_only() -> None:
    oracle, plain = Spy(True), Spy(False)
    for planner, seen in ((oracle, "secret"), (plain, None)):
        mind = Composite(plan=planner, speak=plain, interrupt=oracle, act=plain)
        assert mind.privileged
        run(mind.plan(view(state="secret")))
        assert planner.states == [seen]
    assert not Composite(plan=plain, speak=plain, interrupt=plain, act=plain).privileged


def test_a_composite_describes_its_parts() -> None:
    described = make_composite(seat()).describe()
    assert {faculty: part["name"] for faculty, part in described["parts"].items()} == dict.fromkeys(
        ("plan", "speak", "interrupt", "act"), "null"
    )


def test_wrong_parts_and_options_are_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'interrupt'"):
        make_composite(seat(interupt="null"))
    with pytest.raises(UnknownName, match="did you mean 'null'"):
        make_composite(seat(plan="nul"))
    with pytest.raises(ConfigError, match="needs a model"):
        make_composite(seat(plan="llm"))
    with pytest.raises(ConfigError, match="agent null: unknown key 'x'"):
        make_null(seat(x=1))


def test_null_and_composite_are_registered() -> None:
    assert AGENTS.get("null") is make_null
    assert AGENTS.get("composite") is make_composite
