"""An agent by itself follows no protocol: one cell of it is played for all topologies, and told beside each."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from emcoop.analysis import pairing
from emcoop.analysis.cells import EpisodeRecord, names_of, read_records, summarise
from emcoop.analysis.compare import compare, pairwise
from emcoop.analysis.dialogue import tell
from emcoop.analysis.gap import gaps
from emcoop.cli import comparing, dialogue, explaining
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.estimate import forecast
from emcoop.experiment.matrix import ARMS, Matrix
from emcoop.experiment.study import Study, log_path, play
from emcoop.interventions import apply
from emcoop.interventions.registry import ALONE
from emcoop.log.reader import LogReader

TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")
SHORT: dict[str, Any] = {"env": "cube", "agents": 2, "seeds": "0-2", "set": {"limits.max_steps": 30}}


def played(study: Study, folder: Path) -> list[EpisodeRecord]:
    assert asyncio.run(play(study, folder, jobs=2)) == []
    with LogReader.open(log_path(folder)) as reader:
        return read_records(reader)


def test_one_agent_alone_is_one_cell_for_all_topologies(tmp_path: Path) -> None:
    matrix = Matrix(**SHORT, topology=TOPOLOGIES, arms=tuple(ARMS), references=())
    done = [(cell.interventions, cell.topology) for cell in matrix.own() if cell.interventions]
    alone = [(name, "individual") for arm in ("solo", "solo-matched", "solo-full") for name in [ARMS[arm]]]
    assert sorted(done) == sorted([*alone, *((("silence",), topology) for topology in TOPOLOGIES)])
    found = forecast(matrix.study(), tmp_path)
    assert found.episodes == 3 * (4 + 4 + 3)


def test_one_agent_alone_is_one_cell_on_the_axis_of_interventions_too() -> None:
    matrix = Matrix(**SHORT, topology=TOPOLOGIES, intervention=("none", "solo"), interventions="silence", references=())
    assert [cell.interventions for cell in matrix.own()].count(("silence", "solo")) == 1


def test_further_topologies_leave_the_cell_of_one_agent_alone_as_it_is() -> None:
    cells = [{c.cell for c in Matrix(**SHORT, topology=some, arms="solo").own()} for some in (("debate",), TOPOLOGIES)]
    assert len(cells[0]) == 2
    assert cells[0] <= cells[1]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeRecord]:
    matrix = Matrix(**SHORT, topology=TOPOLOGIES[1:3], arms=("solo", "solo-matched", "silence"))
    return played(matrix.study(), tmp_path_factory.mktemp("arms"))


def test_every_team_is_told_beside_the_one_agent_alone(records: list[EpisodeRecord]) -> None:
    found = gaps(records)
    assert [gap.where["topology"] for gap in found] == ["debate", "centralized"]
    for gap in found:
        assert [arm.n for arm in (gap.solo, gap.matched, gap.silent) if arm] == [3, 3, 3]
        assert gap.retention is not None
    assert found[0].solo == found[1].solo


def test_one_agent_alone_is_compared_with_the_team_under_each_topology(records: list[EpisodeRecord]) -> None:
    for arms in (("solo", "none"), ("solo", "silence")):
        found = compare(records, *arms, ["progress"])
        assert [c.b["topology"] for c in found] == ["debate", "centralized"]
        assert {c.a["topology"] for c in found} == {"individual"}
        assert {c.contrast.difference.n for c in found} == {3}
    assert {c.a["intervention"] for c in compare(records, "solo", "solo:matched", ["progress"])} == {"solo"}
    (one, silent) = compare(records, "solo", "debate", ["progress"])
    assert (one.b["topology"], silent.b["intervention"]) == ("debate", "silence")
    (teams, silents) = pairwise(records, "topology", ["progress"])
    assert (teams.where.get("intervention"), silents.where.get("intervention")) == (None, "silence")


def test_a_log_with_one_agent_alone_for_each_topology_is_told_as_before(tmp_path: Path) -> None:
    """Earlier versions named the team of each topology as the control, and played the same again for each."""
    teams = [Setup(env="cube", agents=2, topology=topology) for topology in TOPOLOGIES]
    old = [apply(team, ["solo"]).model_copy(update={"control": team.cell}) for team in teams]
    floor = [
        team.model_copy(update={"team": (SeatConfig(agent=name),)})
        for name in ("random", "oracle")
        for team in teams[:1]
    ]
    every = [Setup.model_validate(cell.model_dump()) for cell in (*teams, *old, *floor)]
    records = played(Study(cells=tuple(every), seeds=(0, 1)), tmp_path)
    assert [gap.solo.n for gap in gaps(records) if gap.solo] == [2, 2, 2, 2]
    beside = [(c.a_cell, c.b_cell) for c in compare(records, "solo", "none", ["progress"])]
    assert beside == [(alone.cell, team.cell) for alone, team in zip(old, teams, strict=True)]
    names = names_of(summarise(records))
    assert [names[alone.cell] for alone in old] == [
        f"individual scripted+null +solo (for {topology} scripted)" for topology in TOPOLOGIES
    ]


def test_agents_alone_of_several_teams_are_told_apart_by_who_plays_in_them(tmp_path: Path) -> None:
    matrix = Matrix(
        **SHORT, topology=TOPOLOGIES[1:3], agent=("scripted", "scripted+greedy"), arms="solo", references=()
    )
    names = names_of(summarise(played(matrix.study(), tmp_path)))
    assert {name for name in names.values() if "+solo" in name} == {
        "individual scripted+null +solo (for scripted)",
        "individual scripted+null +solo (for scripted+greedy)",
    }


def test_a_dialogue_alone_is_told_beside_the_pair_under_each_topology(tmp_path: Path) -> None:
    matrix = Matrix(
        env="maze", agents=2, topology=("turns", "decentralized"), intervention=("none", "alone:full"), seeds="0-1",
        references=(),
    )  # fmt: skip
    assert len(matrix.own()) == 3
    assert asyncio.run(play(matrix.study(), tmp_path)) == []
    with LogReader.open(log_path(tmp_path)) as reader:
        told = [(cell.team, bool(cell.against)) for cell in tell(reader) if cell.interventions]
    assert told == [("scripted x2, turns", True), ("scripted x2, decentralized", True)]


def test_tables_of_arms_say_on_how_many_seeds_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = Matrix(**SHORT, topology="debate", arms="solo")
    played(matrix.study(), tmp_path)
    comparing.show(tmp_path, "solo", "none", None, ["success", "progress"], json=False)
    said = capsys.readouterr().err
    assert "warning: 3 seeds cannot tell one of 1 differences of a metric from chance" in said
    assert "play at least 6" in said
    teams = tuple(cell for cell in matrix.study().cells if not cell.interventions)
    played(Study(cells=teams, seeds=tuple(range(6))), tmp_path)
    explaining.gap(tmp_path, "progress", json=False)
    assert "n=3" in capsys.readouterr().out
    comparing.show(tmp_path, "agent=scripted,none", "agent=random", None, ["progress"], json=False)
    assert "warning" not in capsys.readouterr().err


def test_interventions_on_dialogues_are_told_with_their_n(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    primer = "primer:messages=2;agent=scripted@0"
    matrix = Matrix(env="maze", agents=2, topology="turns", seeds="0-1", intervention=("none", primer), references=())
    played(matrix.study(), tmp_path)
    dialogue.dialogue(tmp_path, json=False)
    shown = capsys.readouterr().out.partition("interventions against")[2].splitlines()
    assert [line.split()[:2] for line in shown if line.strip()][1] == ["n", "with"]


def test_a_rows_json_names_every_team_that_it_is_compared_with(records: list[EpisodeRecord]) -> None:
    rows = {(row.topology, row.interventions): row for row in summarise(records) if not row.role}
    teams = [rows[topology, ()].cell for topology in TOPOLOGIES[1:3]]
    solo = json.loads(json.dumps(rows["individual", ("solo",)].to_json()))
    assert solo["bases"] == [solo["control"], *teams]


def test_analyses_and_interventions_agree_on_what_leaves_an_agent_alone() -> None:
    assert set(pairing.ALONE) == ALONE


def test_a_logged_set_up_has_the_name_that_pairing_counts_on(tmp_path: Path) -> None:
    cell = Setup(env="cube", agents=2, topology="debate", topology_options={"sends": 3})
    (record,) = played(Study(cells=(cell,), seeds=(0,)), tmp_path)
    (base,) = pairing.bases({record.cell: (record.setup, pairing.emcoop_of(record.version))})[record.cell]
    assert base == cell.cell
    untied = cell.model_copy(update={"topology": "individual", "topology_options": {}})
    solo = apply(cell, ["solo"])
    assert solo.control == untied.cell
    logged = {record.cell: (record.setup, pairing.emcoop_of(record.version)), "s": (solo.plain, "")}
    assert pairing.bases(logged)["s"] == (untied.cell, cell.cell)
