"""Language models in the exchange, as scripted functions: good ones, wild ones, and one among scripted peers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from exchange_kit import TURNS, played

from emcoop.agents.forms import action_models, parse_compact
from emcoop.agents.narrow import narrowed
from emcoop.core.types import Json
from emcoop.envs.exchange.actions import ExchangePlan, Turn
from emcoop.envs.exchange.env import make
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.models.base import Model, Settings
from emcoop.models.base import Turn as Prompt
from emcoop.models.scripted import ScriptedModel


def sharer(turns: Sequence[Prompt], schema: Mapping[str, Json] | None, settings: Settings) -> str:
    """A model that reads its prompt: asks in plain words for what it lacks, answers what is asked, submits."""
    text = turns[-1].content
    lists = re.findall(r"^- agent_(\d+): ([\d, -]+)$", text, re.M)
    listed = {agent: [r.partition("-") for r in row.split(", ")] for agent, row in lists}
    actions: list[dict[str, Any]] = []
    for asker, piece, value in re.findall(r"agent_(\d+) asks for piece (\d+) .*value (\d+)", text):
        actions.append({"action_type": "send", "to": f"agent_{asker}", "piece": int(piece), "value": int(value)})
    for number in re.findall(r"- task (\d+) needs .*ready to submit", text):
        actions.append({"action_type": "submit", "number": int(number)})
    for lacks in re.findall(r"you lack ([\d, ]+)", text):
        for piece in lacks.split(", "):
            holders = [a for a, rows in listed.items() for lo, _, hi in rows if int(lo) <= int(piece) <= int(hi or lo)]
            words = f"Hello, may I have piece {piece}?"
            actions.append({"action_type": "message", "to": f"agent_{holders[0]}", "text": words})
    plan = {"reasoning": "share and be shared with", "task": "none", "actions": actions or [{"action_type": "pass"}]}
    return json.dumps(plan)


def wild(turns: Sequence[Prompt], schema: Mapping[str, Json] | None, settings: Settings) -> str:
    """A thousand actions, most of them impossible."""
    bad: list[dict[str, Any]] = [
        {"action_type": "send", "to": "agent_99", "piece": 3, "value": 4},
        {"action_type": "send", "to": "agent_0", "piece": 29, "value": 4},
        {"action_type": "request", "to": "agent_1", "piece": 4000},
        {"action_type": "submit", "number": 0},
        {"action_type": "broadcast", "text": "piece 5, piece 15 and piece 25 please"},
    ]
    return json.dumps({"reasoning": "all at once", "task": "none", "actions": bad * 200})


def llm_team(agents: int, models: int = 0, **changes: Any) -> Setup:
    """`models` language models (all of them at 0), scripted peers for the rest."""
    model, peer = SeatConfig(agent="llm", model="scripted:m"), SeatConfig(agent="scripted")
    team = (model,) if not models else (model,) * models + (peer,) * (agents - models)
    return Setup(**{"env": "exchange", "agents": agents, **TURNS, "team": team, **changes})


def mind(function: Any) -> dict[str, Model]:
    return {"scripted:m": ScriptedModel(function, "m")}


def test_models_that_ask_in_plain_words_share_as_well_as_the_scripted_team(tmp_path: Path) -> None:
    cell = llm_team(4, env_options={"rounds": 6})
    outcome, events = played(tmp_path, cell, models=mind(sharer))
    told = outcome.score.detail
    assert told["tasks"] >= 8
    assert told["response_rate"] == 1.0
    assert {
        fact["how"] for e in events if e.kind == "step" for fact in e.payload["events"] if fact["kind"] == "requested"
    } == {"named"}
    assert all(e.payload["fallback"] is None for e in events if e.kind == "decision")


def test_one_model_among_scripted_peers_is_answered_and_answers(tmp_path: Path) -> None:
    outcome, events = played(tmp_path, llm_team(4, 1, env_options={"rounds": 8}), models=mind(sharer))
    done = [f for e in events if e.kind == "step" for f in e.payload["events"] if f["kind"] == "submitted"]
    assert {fact["agent"] for fact in done} == {f"agent_{i}" for i in range(4)}
    assert outcome.score.detail["response_rate"] == 1.0


def test_a_thousand_actions_a_turn_are_bounded_and_all_of_them_are_in_the_log(tmp_path: Path) -> None:
    cell = llm_team(3, env_options={"rounds": 3, "most_actions": 20})
    outcome, events = played(tmp_path, cell, models=mind(wild))
    assert outcome.steps == 9
    plans = [e.payload["plan"] for e in events if e.kind == "plan_committed"]
    assert {len(plan["actions"][0]["actions"]) for plan in plans} == {1000}
    for event in events:
        if event.kind == "step":
            codes = [fact["code"] for fact in event.payload["events"] if fact["kind"] == "blocked"]
            assert codes[-1] == "too_many_actions"
            assert len(codes) <= 21
    sent = sum(e.kind == "message_sent" for e in events)
    assert sent <= 9 * 8, "of twenty actions at most eight speak"


@pytest.mark.parametrize(
    "answer", ["no plan at all", '{"task": "none", "actions": []}', "[]", '{"actions": [{"x": 1}]}']
)
def test_an_answer_that_cannot_be_read_ends_in_a_pass_with_its_reason(tmp_path: Path, answer: str) -> None:
    outcome, events = played(tmp_path, llm_team(2, env_options={"rounds": 2}), models=mind(lambda *_: answer))
    assert outcome.steps == 4
    assert all(e.payload["fallback"] == "wait" for e in events if e.kind == "decision")
    failures = [f["code"] for e in events if e.kind == "decision" for f in e.payload["failures"]]
    assert set(failures) == {"unreadable_answer"}


def test_a_turn_is_no_choice_that_a_model_or_a_person_is_told_of() -> None:
    env = make(3)
    assert "turn" not in action_models(env.plan_schema)
    assert "Turn" not in json.dumps(env.plan_schema.model_json_schema()["$defs"])
    typed = parse_compact("request agent_1 12; submit 0", env.plan_schema)
    answer = ExchangePlan.model_construct(task=typed.task, actions=list(typed.actions))
    plan = env.parse_plan(answer)
    assert isinstance(plan.actions[0], Turn)
    assert [said.content for said in plan.messages] == ["Please send me piece 12."]


def test_what_exists_now_narrows_what_a_constrained_model_can_name() -> None:
    env = make(3)
    state = env.reset(0)
    seen = env.observe(state, "agent_1")
    schema = narrowed(env.plan_schema, env.allowed(seen))
    definitions = schema["$defs"]
    assert definitions["Submit"]["properties"]["number"]["enum"] == [0, 1]
    assert definitions["Send"]["properties"]["to"]["enum"] == ["agent_0", "agent_2"]
    missing = {piece for task in seen.tasks for piece in task.missing}
    assert set(definitions["Request"]["properties"]["piece"]["enum"]) == missing
    assert schema["properties"]["task"]["enum"] == ["none", "agent_1:task_0", "agent_1:task_1"]
