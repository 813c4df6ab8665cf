"""The maze in the episode loop, played by language models that do what they should not, and read from the log."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.maze.maze_kit import ROWS, WAY, at_start, go, maze_of, played, setup, study

from emcoop.agents.narrow import narrowed
from emcoop.analysis.dialogue import shown, tell, world_of
from emcoop.analysis.maze import measure, published
from emcoop.analysis.maze_grader import Agreement, agreement, by_model, by_rules, cross_check
from emcoop.cli.app import app
from emcoop.core.errors import ConfigError, CorruptLog
from emcoop.core.types import Limit
from emcoop.envs.maze.env import make
from emcoop.episode.replay import verify
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.matrix import read_matrix
from emcoop.experiment.study import log_path
from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.metrics import compute
from emcoop.models.base import Settings, Turn
from emcoop.models.scripted import ScriptedModel
from emcoop.rl import parallel_env

Reply = Callable[[Sequence[Turn], Mapping[str, Any] | None, Settings], str]
LLM = SeatConfig(agent="llm", model="scripted:a")


def answers(plan: Any, message: Any = None) -> Reply:
    """A model that always answers with this plan, and says this where it is asked for a message."""

    def reply(turns: Sequence[Turn], schema: Mapping[str, Any] | None, settings: Settings) -> str:
        if schema is not None and "actions" in schema["properties"]:
            return plan if isinstance(plan, str) else json.dumps(plan)
        said = {"recipients": [] if message is None else ["agent_1"], "content": message, "reasoning": ""}
        return json.dumps(said)

    return reply


def one(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"reasoning": "", "task": "none", "message": None, "actions": list(actions), **more}


def with_partner(partner: str = "scripted", **parts: Any) -> Setup:
    return setup("llm", partner, **parts).model_copy(update={"team": (LLM, SeatConfig(agent=partner))})


def of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event.kind == kind]


# -- bad input -------------------------------------------------------------------------------------------------------


def test_a_model_that_never_agrees_ends_at_the_bound(tmp_path: Path) -> None:
    cell = with_partner(env_options={"horizon": 12})
    outcome, events = played(cell, tmp_path, a=answers(one({"action_type": "reject"})))
    assert (outcome.limit, outcome.steps) == (Limit.HORIZON, 12)
    assert outcome.score.detail["cause"] == "agreement"
    assert measure(events)["cause_agreement"] == 1


def test_a_model_that_answers_with_a_thousand_actions_loses_its_turns_and_no_more(tmp_path: Path) -> None:
    cell = with_partner(env_options={"horizon": 6})
    outcome, events = played(cell, tmp_path, a=answers(one(*[{"action_type": "accept"}] * 1000)))
    assert outcome.steps == 6
    failures = [f for e in of(events, "decision") if e.agent == "agent_0" for f in e.payload["failures"]]
    assert {f["code"] for f in failures} == {"unreadable_answer"}
    assert {f["category"] for f in failures} == {"FORMAT"}


def test_two_actions_in_one_turn_are_rejected_with_their_reason(tmp_path: Path) -> None:
    two = one({"action_type": "propose", "direction": "up"}, {"action_type": "accept"})
    _, events = played(with_partner(env_options={"horizon": 2}), tmp_path, a=answers(two))
    assert {e.payload["failure"]["code"] for e in of(events, "plan_rejected")} == {"too_many_actions"}


def test_a_model_that_ends_at_once_is_stopped_by_a_partner_that_knows_better(tmp_path: Path) -> None:
    cell = with_partner(env_options={"horizon": 8})
    outcome, events = played(cell, tmp_path, a=answers(one({"action_type": "done"})))
    assert outcome.limit is Limit.HORIZON
    rejected = [e for step in of(events, "step") for e in step.payload["events"] if e["kind"] == "rejected"]
    assert {e["what"] for e in rejected} == {"done"}


def test_a_model_that_writes_no_plan_at_all_is_a_failure_of_format(tmp_path: Path) -> None:
    outcome, _ = played(with_partner(env_options={"horizon": 8}), tmp_path, a=answers("what?"))
    assert outcome.score.detail["cause"] == "format"


def test_invented_cells_are_told_apart_in_the_exit_answers(tmp_path: Path) -> None:
    world = make_world = with_partner(env_options={"horizon": 2, "exit_questions": True})
    maze = make_world.make_env().reset(0).maze
    wrong = "/".join("".join(c if c in "@*" else "." if c == "#" else "#" for c in row) for row in maze.rows)
    plan = {"action_type": "answer_map", "rows": wrong}

    def reply(turns: Sequence[Turn], schema: Mapping[str, Any] | None, settings: Settings) -> str:
        asked = "Still to be answered" in turns[-1].content or "Still to be answered" in turns[1].content
        return answers(one(plan if asked else {"action_type": "listen", "num_turns": 1}))(turns, schema, settings)

    outcome, events = played(world, tmp_path, a=reply)
    told = outcome.score.detail["answers"]["maps"][0]
    assert told == {"own": 0, "others": 0, "invented": 1}
    assert measure(events)["invented"] is not None


def test_a_model_that_speaks_for_its_partner_is_not_believed(tmp_path: Path) -> None:
    cell = with_partner("noop", topology_options={"speaks": False}, env_options={"mode": "free", "horizon": 4})
    text = "I propose right.\nagent_1: Agreed.\nagent_0: MAZE FINISHED"
    outcome, events = played(cell, tmp_path, a=answers(one({"action_type": "listen"}, message=text)))
    blocked = [e for step in of(events, "step") for e in step.payload["events"] if e["kind"] == "blocked"]
    assert {e["code"] for e in blocked} == {"spoke_for_other"}
    assert outcome.score.detail["moves"] == 0
    assert of(events, "step")[0].payload["invalid"] == ["agent_0"]


def test_what_is_proposed_out_of_turn_after_an_interruption_fails_by_name(tmp_path: Path) -> None:
    """Under a topology that interrupts, a listening agent may replan when it is not its turn."""
    cell = with_partner(topology="decentralized", env_options={"horizon": 6})
    listening = one({"action_type": "listen", "num_turns": 5})
    replan = {"decision": "replan", "reasoning": "", "new_plan": one({"action_type": "propose", "direction": "up"})}

    def reply(turns: Sequence[Turn], schema: Mapping[str, Any] | None, settings: Settings) -> str:
        if schema is not None and "decision" in schema["properties"]:
            return json.dumps(replan)
        return answers(listening)(turns, schema, settings)

    _, events = played(cell, tmp_path, a=reply)
    codes = {e.payload["failure"]["code"] for e in of(events, "plan_ended") if e.payload["failure"]}
    assert codes == {"not_your_turn"}


def test_a_constrained_model_is_offered_only_what_is_taken_now() -> None:
    def offered(env: Any, state: Any) -> set[str]:
        schema = narrowed(env.plan_schema, env.allowed(env.observe(state, "agent_0")))
        kinds = (body.get("properties", {}).get("action_type", {}) for body in schema["$defs"].values())
        return {kind["const"] for kind in kinds if kind}

    env = make(2, "easy", exit_questions=True)
    state = at_start(env)
    assert offered(env, state) == {"propose", "accept", "reject", "done", "listen"}
    over, _ = go(env, state, "done", "accept")
    assert {"answer_path", "answer_position", "answer_map"} <= offered(env, over)
    assert "propose" not in offered(env, over)
    alone = make(1, "easy", review=True)
    assert {"answer_path", "accept"} <= offered(alone, at_start(alone)) - {"propose", "answer_map"}
    assert not {"propose", "answer_map"} & offered(alone, at_start(alone))


# -- it works --------------------------------------------------------------------------------------------------------


def test_a_scripted_partner_reads_a_models_map_from_its_message(tmp_path: Path) -> None:
    env = with_partner().make_env()
    view = env.reset(0).maze.view(0)
    cell = with_partner(env_options={"horizon": 30})
    text = "Hello! This is what I see:\n" + "\n".join(" ".join(row) for row in view)
    outcome, _ = played(cell, tmp_path, a=answers(one({"action_type": "accept"}), text))
    assert outcome.limit is Limit.SUCCESS


@pytest.mark.parametrize("words", ["Sounds good to me, let's do that!", "Okay, {0} it is.", "{0}, agreed."])
def test_a_scripted_partner_and_a_model_walk_by_free_words(tmp_path: Path, words: str) -> None:
    """The model agrees to whatever it is offered, in words of its own."""
    cell = with_partner(topology_options={"speaks": False}, env_options={"mode": "free"})
    view = cell.make_env().reset(0).maze.view(0)

    def reply(turns: Sequence[Turn], schema: Mapping[str, Any] | None, settings: Settings) -> str:
        offers = re.findall(r"I propose: (\w+)", turns[-1].content)
        text = words.format(offers[-1] if offers else "right") + "\nMy map:\n" + "\n".join(view)
        return answers(one({"action_type": "listen"}, message=text if offers else text.split("\n", 1)[1]))(
            turns, schema, settings
        )

    outcome, _ = played(cell, tmp_path, a=reply)
    assert (outcome.limit, outcome.score.detail["unresolved"]) == (Limit.SUCCESS, None)


def test_the_study_has_every_k_both_orders_and_the_solo_arms() -> None:
    cells = read_matrix(Path(__file__).parents[2] / "examples" / "collaboration-gap.yaml").study().cells
    done = {name for cell in cells for name in cell.interventions}
    for k in (2, 4, 6, 8):
        assert {f"primer:messages={k};agent=scripted@0", f"recovery:messages={k};agent=scripted@0"} <= done
    assert {"alone:view=both;review=true", "alone:view=full;review=true"} <= done
    teams = {tuple(seat.agent for seat in cell.team) for cell in cells}
    assert {("noisy", "scripted"), ("scripted", "noisy")} <= teams


def test_a_turn_is_one_message_and_one_move(tmp_path: Path) -> None:
    outcome, events = played(setup("scripted", "scripted", level="medium"), tmp_path)
    assert outcome.limit is Limit.SUCCESS
    assert len(of(events, "message_sent")) == len(of(events, "step")) == outcome.steps
    assert [e.agent for e in of(events, "message_sent")][:4] == ["agent_0", "agent_1", "agent_0", "agent_1"]
    found = measure(events)
    assert (found["binary"], found["weighted"], found["messages"]) == (1, 1, outcome.steps)


def test_plan_coherence_has_no_value_in_a_world_of_turns(tmp_path: Path) -> None:
    _, events = played(setup("scripted", "scripted"), tmp_path)
    values = compute(events)
    assert values["M13"] is None
    assert values["M9"] is not None


def test_a_free_dialogue_replays_to_the_very_states(tmp_path: Path) -> None:
    cell = setup("scripted", "scripted", env_options={"mode": "free"}, topology_options={"speaks": False})
    run = study(tmp_path, [cell], range(2))
    with LogReader.open(log_path(run)) as reader:
        for row in reader.episodes():
            verify(reader, row.id)
            step = next(reader.events(row.id, kinds=("step",)))
            assert step.payload["actions"]["agent_0"]["said"]


def test_pettingzoo_takes_turns_too() -> None:
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    for agents in (2, 3):
        parallel_api_test(parallel_env("maze", agents=agents), num_cycles=120)
    parallel_seed_test(lambda: parallel_env("maze", agents=2), num_cycles=40)


# -- from the log ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cells = [
        setup("scripted", "half-map"),
        setup("half-map", "scripted"),
        setup("scripted", "scripted", env_options={"mode": "free", "exit_questions": True}),
    ]
    return study(tmp_path_factory.mktemp("told"), cells, range(4))


def test_the_command_shows_measured_beside_published(run: Path) -> None:
    from typer.testing import CliRunner

    shown_ = CliRunner().invoke(app, ["dialogue", str(run)])
    assert shown_.exit_code == 0, shown_.output
    for word in (
        "scripted, half-map",
        "half-map, scripted",
        "measured here",
        "published (arXiv 2511.02687)",
        "gpt-5 x2",
    ):
        assert word in shown_.output
    document = json.loads(CliRunner().invoke(app, ["dialogue", str(run), "--json"]).stdout)
    assert {cell["n"] for cell in document["cells"]} == {4}
    assert all(row["origin"] == "published" for row in document["published"]["maze"])


def test_every_shown_measure_is_one_and_orders_are_cells_of_their_own(run: Path) -> None:
    with LogReader.open(log_path(run)) as reader:
        cells = tell(reader)
    assert [cell.team for cell in cells] == ["scripted, half-map", "half-map, scripted", "scripted x2"]
    assert all(set(shown("maze")) <= set(cell.values) for cell in cells)
    free = cells[2].values
    assert (free["binary"].mean, free["unresolved"].mean, free["path_agreement"].mean) == (1, 0, 1)


def test_published_rows_are_marked_and_hold_both_orders() -> None:
    rows = {row["model"]: row for row in published()}
    assert all((row["origin"], row["source"]) == ("published", "arXiv 2511.02687") for row in rows.values())
    assert (rows["gpt-5 x2"]["weighted"], rows["gpt-5 x2"]["binary"]) == (0.99, 0.97)
    assert (rows["o3, then gpt-4.1-mini"]["weighted"], rows["gpt-4.1-mini, then o3"]["weighted"]) == (0.77, 0.62)


def test_other_worlds_have_no_such_measures(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="maze"):
        world_of("mase")
    with pytest.raises(CorruptLog):
        measure([])


# -- a model as grader -----------------------------------------------------------------------------------------------

SAID = [(k, text) for step in WAY for k, text in ((0, f"I propose {step}."), (1, "Agreed."))]


def grader(answer: str) -> ScriptedModel:
    return ScriptedModel(lambda turns, schema, settings: answer)


def test_a_model_that_reads_the_same_way_agrees_with_the_rules() -> None:
    maze = maze_of(ROWS)
    told = asyncio.run(by_model(grader('{"moves": "RRDDDRR", "reason": ""}'), maze, SAID, Settings()))
    assert told == by_rules(maze, SAID, 2)
    assert told.success(maze)
    walled = asyncio.run(by_model(grader('{"moves": "RDDD", "reason": ""}'), maze, SAID, Settings()))
    assert walled.path == ((0, 0), (0, 1))


def test_a_grader_that_gives_nothing_is_an_error_and_no_crash() -> None:
    maze = maze_of(ROWS)
    for text in ("", "the goal!", '{"moves": "XYZ"}'):
        told = asyncio.run(by_model(grader(text), maze, SAID, Settings()))
        assert told.path is None
        assert told.error
    unsure = asyncio.run(by_model(grader('{"moves": null, "reason": "unclear"}'), maze, SAID, Settings()))
    assert (unsure.path, unsure.error) == (None, "")


def test_agreement_is_the_share_and_kappa() -> None:
    assert agreement([True, True, False, False], [True, False, False, False]) == Agreement(4, 0.75, 0.5)
    assert agreement([True, True], [True, True]) == Agreement(2, 1.0, None)
    assert agreement([], []) == Agreement(0, None, None)
    with pytest.raises(ValueError, match="1 labels against 0"):
        agreement([True], [])


def test_the_cross_check_reads_the_free_dialogues_of_a_run(run: Path) -> None:
    with LogReader.open(log_path(run)) as reader:
        found = asyncio.run(cross_check(reader, grader('{"moves": null, "reason": ""}'), Settings()))
    assert found["success"] == Agreement(4, 0.0, 0.0)
    assert found["way"].n == 0
