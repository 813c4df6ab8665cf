"""What a study must refuse, each with one message that names the thing and the mend."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from emcoop.cli import comparing, explaining, reporting, running
from emcoop.core.errors import ConfigError, MissingDependency
from emcoop.experiment.caps import Caps
from emcoop.experiment.cluster import play_on_ray
from emcoop.experiment.matrix import Matrix, read_matrix
from emcoop.experiment.study import play


def matrix(text: str, tmp_path: Path) -> Matrix:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    return running.matrix_of(str(path), {}, None, [], [], None, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("env: cube\nexclude: [{level: easy}]", "the matrix is empty: its exclude rules leave out every cell"),
        ("env: cube\nlevels: easy", r"levels.*did you mean 'level'"),
        ("env: cube\ntopology: []", "topology"),
        ("env: cube\nlevel: easier", r"cube has no level 'easier'; did you mean 'easy'"),
        ("env: cub", r"unknown environment 'cub'; did you mean 'cube'"),
        ("env: cube\ntopology: debates", r"unknown topology 'debates'; did you mean 'debate'"),
        ("env: cube\nagent: scriptedd", r"unknown agent 'scriptedd'; did you mean 'scripted'"),
        ("env: cube\nintervention: silense", r"'silense'.*did you mean 'silence'"),
        ("env: cube\nseeds: 9-1", "the range 9-1 is empty"),
        ("env: cube\nseeds: '9999999999999999999'", "a seed has at most 18 digits"),
        (
            "env: cube\ntopology: [debate, individual]\nexclude: [{topology: debat}]",
            r"exclude: topology 'debat' is not among the values of that axis; did you mean 'debate'",
        ),
        ("env: cube\nexclude: [{topolgy: debate}]", r"unknown key 'exclude\.0\.topolgy'; did you mean 'topology'\?$"),
        ("env: cube\nagents: 0", r"study\.yaml: agents: Input should be greater than or equal to 1$"),
        ("env: cube\nagents: [2, 0]", r"study\.yaml: agents\.1: Input should be greater than or equal to 1$"),
        ("env: cube\nseeds: []", r"study\.yaml: seeds: write them as one text, such as 0-9, [^\n]*$"),
        ("env: cube\nseeds: [0, 1]", r"study\.yaml: seeds: write them as one text, such as 0-9, [^\n]*$"),
        ("- cube", "not a mapping; it needs at least env: NAME"),
        ("env: cube\nenv_options: {cubes: {}}", r"'cubes' is not among the environments; did you mean 'cube'"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_played(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        running.run(matrix(text, tmp_path), tmp_path / "run", running.How(), json=True)
    assert not (tmp_path / "run" / "log.db").exists()


def test_a_rule_for_what_the_command_line_left_out_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("env: cube\ntopology: [debate, individual]\nexclude: [{topology: debate}]")
    narrowed = running.matrix_of(str(path), {"topology": "individual"}, None, [], [], None, True)
    assert {cell.topology for cell in narrowed.own()} == {"individual"}


def test_a_run_keeps_a_file_that_plays_the_same_cells_again(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    rules = "[{topology: debate, agents: [2, 3]}, {topology: individual, agents: [3, 4], level: easy}]"
    path.write_text(f"env: cube\ntopology: [debate, individual]\nagents: [2, 3, 4]\nexclude: {rules}\nreferences: []")
    narrowed = running.matrix_of(str(path), {"topology": "individual", "agents": "2,3"}, "0", [], [], None, True)
    running.run(narrowed, tmp_path / "run", running.How(), json=True)
    again = read_matrix(tmp_path / "run" / "run.yaml")
    assert [cell.agents for cell in again.own()] == [2]
    assert again.study() == narrowed.study()


def test_more_than_anybody_means_needs_yes_and_is_counted(tmp_path: Path) -> None:
    million = Matrix(env="cube", agents=tuple(range(1, 1001)), level=tuple(map(str, range(1000))), seeds="0")
    with pytest.raises(ConfigError, match=r"1,000,000 episodes or more; say --yes"):
        running.run(million, tmp_path, running.How(), json=True)
    more = million.model_copy(update={"agents": tuple(range(1, 1002))})
    with pytest.raises(ConfigError, match=r"the axes multiply to 1,001,000 cells"):
        running.run(more, tmp_path, running.How(yes=True), json=True)


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        (Caps(tokens=10), r"10 of about [\d,]+ tokens"),
        (Caps(usd=1e-6), r"\$1e-06 of about \$"),
        (Caps(hours=1e-6), r"1e-06 of about .* hours"),
    ],
)
def test_a_cap_below_the_estimate_is_refused_with_both_numbers(caps: Caps, said: str, tmp_path: Path) -> None:
    teams = Matrix(env="cube", agent="llm", model="openai:gpt-4o-mini", seeds="0", references=())
    with pytest.raises(ConfigError, match=rf"the caps are below the estimate \({said}.*--yes plays until"):
        running.run(teams, tmp_path, running.How(caps=caps), json=True)


def test_results_of_different_versions_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for version, topology in (("9.0", "individual"), ("9.1", "debate")):
        monkeypatch.setattr("emcoop.episode.setup.__version__", version)
        teams = Matrix(
            env="cube", topology=topology, seeds="0", set={"limits.max_steps": 15}, references=("noop", "oracle")
        )
        assert asyncio.run(play(teams.study(), tmp_path)) == []
    said = r"different versions cannot be compared: emcoop 9\.0, cube 1 .*; emcoop 9\.1, cube 1"
    with pytest.raises(ConfigError, match=said):
        comparing.show(tmp_path, "individual", "debate", None, [], json=True)
    with pytest.raises(ConfigError, match=said):
        explaining.gap(tmp_path, "progress", json=True)
    reporting.report(tmp_path, json=True)
    capsys.readouterr()
    for name in ("report.html", "report.md"):
        told = (tmp_path / name).read_text().replace("\\", "")
        assert re.search(rf"Topologies are not contrasted: results of {said}", told)


def test_different_environments_of_one_version_stand_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = Matrix(
        env=("cube", "ma-crafter"), agents=2, seeds="0", set={"limits.max_steps": 12}, references=("noop", "oracle")
    )
    assert asyncio.run(play(both.study(), tmp_path)) == []
    explaining.gap(tmp_path, "progress", json=False)
    assert "cube easy, 2 agents" in capsys.readouterr().out


def test_an_address_where_no_cluster_is_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    study = Matrix(env="cube", seeds="0", references=()).study()
    with pytest.raises(ConfigError, match=r"no Ray cluster at auto: "):
        play_on_ray(study, tmp_path, workers=2, address="auto")


def test_ray_that_is_not_installed_is_named_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    study = Matrix(env="cube", seeds="0", references=()).study()
    with pytest.raises(MissingDependency, match=r"pip install 'emcoop\[ray\]'"):
        play_on_ray(study, tmp_path, workers=2)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        read_matrix(tmp_path / "absent.yaml")
