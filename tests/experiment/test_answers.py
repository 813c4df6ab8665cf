"""The commands that answer, on one small run: what they print is what the analyses found."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from emcoop.cli import comparing, decomposing, explaining, forking, replaying, reporting, running
from emcoop.core.errors import CapReached, ConfigError, UnknownName
from emcoop.experiment.caps import Caps
from emcoop.experiment.matrix import Matrix, read_matrix
from emcoop.experiment.study import check, play

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Healthy and planted teams under two topologies, with floor and ceiling, on five seeds."""
    folder = tmp_path_factory.mktemp("run")
    matrix = Matrix(
        env="cube",
        level="hard",
        topology=("individual", "centralized"),
        intervention=("none", "incompetent@2"),
        exclude=({"topology": "individual", "intervention": "incompetent@2"},),
        seeds="dev:5",
    )
    assert asyncio.run(play(matrix.study(), folder, jobs=4)) == []
    return folder


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_compare_prints_paired_contrasts(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparing.show(run, "incompetent@2", "none", None, ["progress"], json=True)
    (found,) = printed(capsys)["contrasts"]
    assert found["n"] == 5
    assert found["difference"]["mean"] < 0
    assert found["where"]["topology"] == "centralized"
    comparing.show(run, "individual", "centralized", None, [], json=False)
    assert "individual -" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="not both"):
        comparing.show(run, "individual", None, "topology", [], json=False)


def test_power_says_how_many_seeds_tell_two_arms_apart(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparing.power(run, "incompetent@2", "none", ["progress", "steps"], 0.8, 0.05, json=True)
    pilots = {item["metric"]: item for item in printed(capsys)["pilots"]}
    assert pilots["progress"]["n"] == 5
    assert 5 < pilots["progress"]["seeds_needed"] < 100
    comparing.power(run, "incompetent@2", "none", ["progress"], 0.99, 0.05, json=True)
    (more,) = printed(capsys)["pilots"]
    assert more["seeds_needed"] > pilots["progress"]["seeds_needed"]
    comparing.power(run, "incompetent@2", "none", ["progress"], 0.8, 0.05, json=False)
    assert "seeds for 80%" in capsys.readouterr().out


def test_explain_names_who_was_missing_in_each_failed_episode(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explaining.explain(run, None, 20, json=True)
    cells = {item["name"]: item for item in printed(capsys)["cells"]}
    planted = cells["cube hard, 3 agents: centralized scripted +incompetent@2"]
    assert planted["failed"] >= 3
    assert max(planted["missing"], key=planted["missing"].get) == "agent_2"
    assert all("agent 2" in failure["sentence"] for failure in planted["failures"] if failure["missing"] == ["agent_2"])
    assert cells["cube hard, 3 agents: centralized scripted"]["failed"] == 0
    assert cells["cube hard, 3 agents: centralized scripted"]["influence"]["centrality"]["agent_0"] >= 0.5  # the leader
    explaining.explain(run, planted["cell"][:8], 20, json=False)
    assert "missing at the stuck task" in capsys.readouterr().out


def test_gap_prints_teams_between_floor_and_ceiling(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explaining.gap(run, "progress", json=True)
    found = {item["where"]["topology"]: item for item in printed(capsys)["gaps"]}
    assert found["centralized"]["team"]["mean"] == 1.0
    assert found["centralized"]["gap"]["mean"] == 0.0
    explaining.gap(run, "progress", json=False)
    assert "centralized" in capsys.readouterr().out


def test_gap_lays_teams_on_the_scale_of_their_own_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for settings in ({}, {"limits": {"max_steps": 40}}):
        matrix = Matrix(env="cube", level="hard", topology="debate", seeds="0-2", set=settings)
        assert asyncio.run(play(matrix.study(), tmp_path)) == []
    explaining.gap(tmp_path, "progress", json=False)
    heads = [line.strip() for line in capsys.readouterr().out.splitlines() if "floor" in line]
    assert [head.partition("; ")[0] for head in heads] == [
        "cube hard, 3 agents, no options",
        "cube hard, 3 agents, max_steps 40",
    ]


def test_decompose_plays_the_swaps_and_names_the_seat(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explaining.explain(run, None, 20, json=True)
    cell = next(i["cell"] for i in printed(capsys)["cells"] if "incompetent" in i["name"])
    where: dict[str, Any] = {"by": "seats", "seat": None, "source": "oracle", "metric": "steps", "seeds": "dev:8"}
    decomposing.decomposition(run, cell, **where, jobs=2, json=True)
    found = printed(capsys)
    assert found["culprit"]["factors"] == ["agent_2"]
    shapley = {e["factors"][0]: e["mean"] for e in found["shapley"]}
    assert max(shapley, key=lambda name: shapley[name]) == "agent_2"
    assert sum(shapley.values()) == pytest.approx(found["all"]["mean"] - found["base"]["mean"])
    with pytest.raises(ConfigError, match="'zz': no cell of this run has it"):
        decomposing.decomposition(run, "zz", **where, jobs=1, json=True)


@pytest.mark.parametrize(
    ("source", "by", "said"),
    [
        ("null", "seats", "what the team misses most: agent_1."),
        ("null", "faculties", "what the team misses most: act and plan."),
        ("noop", "seats", "what costs most: agent_1."),
        ("oracle", "silence,incompetent", "what costs most: incompetent."),
    ],
)
def test_decompose_asks_what_is_missed_where_nobody_takes_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, by: str, said: str
) -> None:
    matrix = Matrix(env="cube", agents=2, topology="centralized", seeds="dev:8", references=())
    assert asyncio.run(play(matrix.study(), tmp_path)) == []
    cell = matrix.study().cells[0].cell
    decomposing.decomposition(tmp_path, cell, by, None, source, "progress", None, 2, json=False)
    out = " ".join(capsys.readouterr().out.split())
    assert said in out
    assert not any(other in out for other in ("helps", "no factor", "loses most"))
    decomposing.decomposition(tmp_path, cell, by, None, source, "progress", None, 2, json=True)
    found = printed(capsys)
    assert found["source"] == (source if "," not in by else None)
    assert (found["culprit"], found["mainstay"]["factors"]) == (None, [said.rstrip(".").split()[-1]])


def test_a_cell_is_named_by_what_it_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[str, Any] = {"by": "seats", "seat": None, "source": "oracle", "metric": "steps", "seeds": "dev:3"}
    decomposing.decomposition(run, "level=hard,incompetent@2", **how, jobs=2, json=False)
    shown = capsys.readouterr().out
    for title in ("oracle instead, alone", "main effect", "interaction", "Shapley value"):
        assert title in shown
    with pytest.raises(ConfigError, match=r"cells of .* fit 'hard': .* cube hard x3 individual scripted; .*name one"):
        decomposing.decomposition(run, "hard", **how, jobs=2, json=False)
    with pytest.raises(ConfigError, match="no cell of this run has all of it"):
        decomposing.decomposition(run, "individual,incompetent@2", **how, jobs=2, json=False)
    explaining.explain(run, "centralized,none", 20, json=True)
    assert [item["name"] for item in printed(capsys)["cells"]] == ["cube hard, 3 agents: centralized scripted"]
    replaying.replay(run, None, verify=False, export=None, json=False)
    listed = capsys.readouterr().out
    for shown in ("cube hard x3  centralized", "+incompetent@2"):
        assert shown in listed
    assert "…" not in listed


def test_a_decomposition_keeps_to_its_caps_and_keeps_answers(tmp_path: Path) -> None:
    model = "scripted:tests.experiment.test_answers:waiting"
    matrix = Matrix(env="cube", agents=2, agent="llm", model=model, seeds="0-1", set={"limits.max_steps": 10})
    assert asyncio.run(play(matrix.study(), tmp_path)) == []
    how: dict[str, Any] = {"by": "seats", "seat": None, "source": "null", "metric": "progress", "seeds": None}
    with pytest.raises(CapReached, match=r"the cap of 1 tokens is reached: .* 6 of 8 episodes were not begun"):
        decomposing.decomposition(tmp_path, "llm,none", **how, jobs=1, json=True, caps=Caps(tokens=1))
    kept = tmp_path / "answers.db"
    decomposing.decomposition(tmp_path, "llm,none", **how, jobs=1, json=True, cache=kept)
    assert kept.stat().st_size > 0


def waiting(*asked: object) -> str:
    """A language model that waits."""
    return json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": 5}]})


def test_seeds_without_a_value_are_told_and_a_second_look_is_sent_to_other_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for topology, seeds in (("individual", "0-4"), ("debate", "0-6")):
        matrix = Matrix(env="cube", level="hard", topology=topology, seeds=seeds, references=())
        assert asyncio.run(play(matrix.study(), tmp_path)) == []
    comparing.show(tmp_path, "debate", "individual", None, ["progress"], json=False)
    assert "5 of 7" in capsys.readouterr().out
    comparing.power(tmp_path, "debate", "individual", ["progress"], 0.8, 0.05, json=False)
    assert "5 of 7" in capsys.readouterr().out
    cell = matrix.study().cells[0].cell
    for metric, said in (
        ("deficit_temporal", " to 7 of 7 seeds: those with a value of deficit_temporal with the factor and without"),
        ("progress", "n = 7 seeds"),
    ):
        decomposing.decomposition(tmp_path, cell, "screen", None, "null", metric, None, 2, json=False)
        out = " ".join(capsys.readouterr().out.split())
        assert said in out
    assert "look at it on other seeds (--seeds)" in out


def test_decompose_by_listening_tells_whose_messages_change_anything(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explaining.explain(run, None, 20, json=True)
    names = {i["name"]: i["cell"] for i in printed(capsys)["cells"]}
    cell = names["cube hard, 3 agents: centralized scripted"]
    where: dict[str, Any] = {"source": "oracle", "metric": "progress", "seeds": None, "jobs": 2}
    decomposing.decomposition(run, cell, "listening", None, **where, json=True)
    seats = {seat["agent"]: seat for seat in printed(capsys)["listening"]}
    assert list(seats) == ["agent_0", "agent_1", "agent_2"]
    assert seats["agent_1"]["changed"]["mean"] == 1.0  # a follower of a leader
    assert not any(seat["deaf"] for seat in seats.values())
    decomposing.decomposition(run, cell, "listening", None, **where, json=False)
    assert "every seat that gets messages uses them" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="--seat goes with --by faculties"):
        decomposing.decomposition(run, cell, "listening", 1, **where, json=True)


def test_forks_are_played_once_and_their_options_are_checked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    what = forking.fork_of(4, ["agent_1=noop"], None, None, None)
    forking.fork(run, 1, what, json=True)
    first = printed(capsys)
    forking.fork(run, 1, what, json=True)
    assert printed(capsys) == first
    assert first["fork"].endswith("at=4;agent_1=noop")
    forking.sweep(run, 1, "oracle", json=True)
    assert printed(capsys)["policy"] == "oracle"
    for options, said in (
        ((None, [], None, None, None), "say where"),
        ((3, [], 1, None, None), "say where"),
        ((None, ["agent_1=noop"], 1, None, None), "goes with --at"),
        ((3, ["agent_1"], None, None, None), "SEAT=AGENT"),
        ((None, [], None, "3", None), "MESSAGE=SECONDS"),
        ((None, [], None, "3=0", None), "a delay needs seconds above 0"),
        ((None, [], None, None, "3="), "a rewrite needs a text"),
    ):
        with pytest.raises(ConfigError, match=said):
            forking.fork_of(*options)


def test_a_sweep_by_nobody_is_refused_even_of_an_episode_that_was_won(run: Path) -> None:
    with pytest.raises(UnknownName, match="unknown agent 'orcle'; did you mean 'oracle'"):
        forking.sweep(run, 1, "orcle", json=True)
    assert not list(run.rglob("no-return-1-orcle.json"))


def test_the_report_tells_contrasts_failures_and_how_to_play_again(run: Path) -> None:
    (run / "run.yaml").write_text("env: cube\nlevel: <hard>\n")
    reporting.show(run, json=True)
    page, plain = (run / "report.html").read_text(), (run / "report.md").read_text()
    for text in (page, plain):
        assert "contrasts differ beyond chance" in text
        assert "while agents 0 and 1 stood at block" in text
        assert "emcoop 0." in text
        assert "no language model was called" in text
    assert f"emcoop run {run / 'run.yaml'} --out {run}" in page
    assert "<pre>env: cube\nlevel: &lt;hard&gt;</pre>" in page  # whoever has the page alone can play it again
    assert "\n    env: cube\n    level: <hard>\n" in plain
    assert "M13: individual - centralized (cube hard, 3 agents)" in page
    assert "Which constraints fell short" in page


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_every_example_expands_and_can_be_estimated(name: str, tmp_path: Path) -> None:
    matrix = read_matrix(EXAMPLES / name)
    study = matrix.study()
    assert len(study.cells) >= 3
    assert {cell.env for cell in study.cells} <= set(matrix.env)


def test_the_study_of_the_documentation_can_be_played_as_it_is_written(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs" / "experiments.md").read_text()
    path = tmp_path / "study.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    study = read_matrix(path).study()
    assert {cell.env for cell in study.cells} == {"cube", "ma-crafter"}
    asked = {seat.options["temperature"] for cell in study.cells for seat in cell.team if seat.agent == "llm"}
    assert asked == {0.2, 1.0}
    assert check(study) == []


def test_a_million_cells_and_caps_below_the_estimate_ask_for_yes(tmp_path: Path) -> None:
    huge = Matrix(env="cube", seeds="0-99999")
    with pytest.raises(ConfigError, match="200,000 episodes or more; say --yes"):
        running.run(huge.model_copy(update={"agent": ("scripted", "greedy")}), tmp_path, running.How(), json=True)
    teams = Matrix(env="cube", agent="llm", model="openai:gpt-4o-mini", seeds="0", references=())
    how = running.How(caps=running.Caps(tokens=10))
    with pytest.raises(ConfigError, match=r"caps are below the estimate \(10 of about"):
        running.run(teams, tmp_path, how, json=True)
