"""The record of an earlier episode is played again, decision by decision."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_kit import ENV, run, seat, view

from emcoop.agents.replayed import make
from emcoop.core.errors import ConfigError
from emcoop.core.types import Choice, Interrupt, Outgoing


def event(kind: str, agent: str | None = "agent_0", **payload: Any) -> dict[str, Any]:
    return {"episode": 1, "kind": kind, "agent": agent, "payload": payload}


def decision(faculty: str) -> dict[str, Any]:
    return event("decision", faculty=faculty, fallback=None)


def plan(steps: int) -> dict[str, Any]:
    return ENV.wait_plan(steps).to_json()


def sent(to: list[str], content: str) -> dict[str, Any]:
    return event("message_sent", id=1, to=to, content=content, price=0)


def refused(reason: str, to: list[str], content: str, number: int | None = None) -> dict[str, Any]:
    return event("message_refused", id=number, reason=reason, to=to, content=content)


def replay(tmp_path: Path, *events: dict[str, Any], **options: Any) -> Any:
    file = tmp_path / "episode.jsonl"
    file.write_text("\n".join(json.dumps(e) for e in events) + "\n")
    return make(seat(file=str(file), **options))


def test_plans_come_again_in_order_rejected_ones_included_and_then_waiting(tmp_path: Path) -> None:
    mind = replay(
        tmp_path,
        event("episode_start", None),
        decision("plan"),
        event("plan_rejected", plan=plan(9), failure={}),
        decision("plan"),
        event("plan_committed", plan=plan(2), plan_id=1, origin="new"),
        event("plan_committed", "agent_1", plan=plan(5), plan_id=2, origin="new"),
        event("plan_committed", plan=plan(1), plan_id=3, origin="fallback"),
    )
    decisions = [run(mind.plan(view())) for _ in range(4)]
    assert [d.value for d in decisions] == [ENV.wait_plan(k) for k in (9, 2, 1, 1)]
    assert [d.fallback for d in decisions] == [None, None, "wait", "wait"]


def test_messages_and_silences_come_again_in_order(tmp_path: Path) -> None:
    mind = replay(
        tmp_path,
        decision("speak"),
        sent(["agent_1"], "one"),
        decision("speak"),
        decision("speak"),
        refused("unknown_recipient", ["agent_9"], "two"),
        sent(["agent_2"], "two"),
        refused("receive_budget", ["agent_0"], "not mine", number=4),
        decision("speak"),
        refused("too_long", ["agent_1"], "cut off"),
    )
    decisions = [run(mind.speak(view())) for _ in range(5)]
    assert [d.value for d in decisions] == [
        Outgoing(("agent_1",), "one"),
        None,
        Outgoing(("agent_9", "agent_2"), "two"),
        None,
        None,
    ]
    assert [d.fallback for d in decisions] == [None, None, None, None, "silence"]


def test_interrupt_decisions_come_again_with_their_plans(tmp_path: Path) -> None:
    mind = replay(
        tmp_path,
        decision("interrupt"),
        event("plan_resumed", plan_id=1),
        decision("interrupt"),
        event("plan_ended", plan_id=1, outcome="replaced"),
        event("plan_committed", plan=plan(4), plan_id=2, origin="replan"),
        decision("interrupt"),
        event("plan_ended", plan_id=2, outcome="replaced"),
        decision("plan"),
        event("plan_committed", plan=plan(6), plan_id=3, origin="replan"),
    )
    decisions = [run(mind.interrupt(view())) for _ in range(4)]
    assert [d.value for d in decisions] == [
        Interrupt(Choice.RESUME),
        Interrupt(Choice.REPLAN, ENV.wait_plan(4)),
        Interrupt(Choice.REPLAN),
        Interrupt(Choice.RESUME),
    ]
    assert [d.fallback for d in decisions] == [None, None, None, "resume"]
    assert run(mind.plan(view())).value == ENV.wait_plan(6)


def two_episodes() -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for number in (1, 2):
        lines.append({"type": "episode", "id": number, "seed": 40 + number})
        for line in (
            event("decision", "agent_2", faculty="plan"),
            event("plan_committed", "agent_2", plan=plan(number), plan_id=1, origin="new"),
        ):
            lines.append({**line, "episode": number})
    return lines


@pytest.mark.parametrize("choice", [{"episode": 2}, {"seed": 42}])
def test_another_agents_record_and_one_of_several_episodes_can_be_chosen(tmp_path: Path, choice: Any) -> None:
    mind = replay(tmp_path, *two_episodes(), agent="agent_2", **choice)
    assert run(mind.plan(view())).value == ENV.wait_plan(2)


def test_an_episode_that_is_not_in_the_file_or_not_the_only_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"say which .* it holds 2: 1 \(seed 41\), 2 \(seed 42\)"):
        replay(tmp_path, *two_episodes(), agent="agent_2")
    with pytest.raises(ConfigError, match="no episode fits"):
        replay(tmp_path, *two_episodes(), agent="agent_2", seed=43)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no episode fits; it holds 0: none"),
        ("{", r":1: not JSON"),
        ("[1]", r":1: not an event"),
        ("{}", r":1: not an event"),
        ('{"kind": "decision", "agent": "agent_1", "payload": {}}', "it has agent_1"),
        ('{"kind": "decision", "agent": "agent_0", "payload": {}}', "another form"),
        ('{"kind": "decision", "agent": "agent_0"}', "another form"),
        ("[" * 100_000, r":1: not JSON"),
    ],
)
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        make(seat(file=str(file)))


def test_a_plan_of_another_environment_is_refused(tmp_path: Path) -> None:
    wrong = event("plan_committed", plan={"task": "none", "actions": [{"action_type": "fly"}]}, plan_id=1)
    with pytest.raises(ConfigError, match="the record of agent_0"):
        replay(tmp_path, decision("plan"), wrong)


def test_a_missing_file_and_wrong_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        make(seat(file=str(tmp_path / "none.jsonl")))
    with pytest.raises(ConfigError, match="did you mean 'file'"):
        make(seat(fiel="x"))
    with pytest.raises(ConfigError, match="file: Field required"):
        make(seat())
