"""One agent alone with full information: what that is in each world, where it means nothing, and what it is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.interventions.played import events_of, played, values

from emcoop.cli import explaining
from emcoop.core.errors import ConfigError, NotApplicable
from emcoop.episode.replay import verify
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import log_path
from emcoop.interventions import apply, why_not
from emcoop.log.reader import LogReader


def crafter(level: str = "easy", **options: object) -> Setup:
    return Setup(
        env="ma-crafter",
        level=level,
        agents=2,
        topology="decentralized",
        env_options={"mobs": "none", "horizon": 40, **options},
    )


def test_in_ma_crafter_it_is_a_world_for_one_agent_that_knows_the_map() -> None:
    team = crafter()
    full = apply(team, ["alone:full"])
    assert (full.agents, full.topology, full.interventions, full.control) == (
        1, "individual", ("alone:full",), team.model_copy(update={"topology": "individual"}).cell,
    )  # fmt: skip
    assert full.env_options == {"mobs": "none", "horizon": 40, "whole_map": True}
    assert full.team == team.seats()[:1]


def test_in_cube_it_is_solo_since_everybody_sees_the_board() -> None:
    team = Setup(env="cube", level="hard", agents=3, topology="debate", team=(SeatConfig(agent="greedy"),))
    full, solo = apply(team, ["alone:full"]), apply(team, ["solo"])
    assert full.model_copy(update={"interventions": solo.interventions}) == solo
    with pytest.raises(ConfigError, match="use alone:full"):
        apply(team, ["alone:half"])


def test_in_the_exchange_one_agent_holds_every_piece() -> None:
    full = apply(Setup(env="exchange", agents=4, topology="decentralized"), ["alone:full"])
    assert full.agents == 1
    assert "every piece" in full.make_env().warnings[0]


def test_the_deaths_of_idle_mates_do_not_end_the_episode_of_who_plays_alone(tmp_path: Path) -> None:
    team = Setup(env="ma-crafter", agents=3, env_options={"horizon": 250}, team=(SeatConfig(agent="noop"),))
    solo = apply(team, ["solo"])
    played(tmp_path, [solo], seeds=[0])
    steps = events_of(tmp_path, solo, 0, "step")
    died = [event.env_step for event in steps for fact in event.payload["events"] if fact["kind"] == "died"]
    assert died
    assert died[0] < len(steps)


def test_only_the_rule_that_a_death_ends_the_episode_is_lifted_for_who_plays_alone() -> None:
    team = Setup(env="ma-crafter", agents=2, env_options={"horizon": 250})
    assert apply(team, ["solo"]).env_options == {"horizon": 250, "on_death": "continue"}
    assert apply(team, ["solo:matched"]).env_options == {"horizon": 500, "on_death": "continue"}
    respawning = team.model_copy(update={"env_options": {"on_death": "respawn"}})
    assert apply(respawning, ["solo"]).env_options == {"on_death": "respawn"}
    assert apply(team.model_copy(update={"agents": 1}), ["solo"]).env_options == {"horizon": 250}
    assert apply(Setup(env="cube"), ["solo"]).env_options == {}


@pytest.mark.parametrize("level", ["medium", "hard"])
def test_where_one_agent_cannot_reach_the_goal_it_does_not_apply(level: str) -> None:
    with pytest.raises(NotApplicable, match=f"ma-crafter {level}: no team of 1 can reach collect_diamond"):
        apply(crafter(level), ["alone:full"])
    assert why_not(crafter("hard-scaled"), "alone:full") is None  # its requirements follow the team's size
    assert why_not(crafter(goal=["collect_drink"]), "alone:full") is None


def test_a_matrix_leaves_out_arms_that_do_not_apply_and_says_why() -> None:
    matrix = Matrix(env="ma-crafter", level=("easy", "hard"), agents=2, arms=("solo", "solo-full"))
    arms = [(cell.level, cell.interventions) for cell in matrix.own()]
    assert arms == [
        ("easy", ()), ("easy", ("solo",)), ("easy", ("alone:full",)),
        ("hard", ()), ("hard", ("solo",)),
    ]  # fmt: skip
    (reason,) = matrix.not_applicable()
    assert reason.startswith("arm solo-full: one agent alone in ma-crafter hard: no team of 1")
    assert Matrix(env="ma-crafter", level="easy", arms=("solo-full",)).not_applicable() == ()


def test_it_is_played_named_and_replayed_and_stands_in_the_table_of_gaps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {"mobs": "none", "horizon": 40}
    matrix = Matrix(
        env="ma-crafter",
        level=("easy", "hard"),
        agents=2,
        env_options={"ma-crafter": short},
        arms=("solo-full",),
        seeds="60-61",
    )
    study = matrix.study()
    records = played(tmp_path, study.cells, study.seeds)
    full = next(cell for cell in study.cells if cell.interventions == ("alone:full",))
    team = next(cell for cell in study.cells if cell.cell == full.control)
    assert len(values(records, full, "progress")) == len(values(records, team, "progress")) == 2
    (start,) = events_of(tmp_path, full, 60, "episode_start")
    assert start.payload["setup"]["interventions"] == ["alone:full"]
    with LogReader.open(log_path(tmp_path)) as reader:
        rows = [row for row in reader.episodes() if row.cell == full.cell]
        assert [verify(reader, row.id).states > 1 for row in rows] == [True, True]
    explaining.gap(tmp_path, "progress", json=True)
    gaps = {gap["where"]["level"]: gap for gap in json.loads(capsys.readouterr().out)["gaps"]}
    assert gaps["easy"]["informed"]["n"] == 2
    assert gaps["easy"]["informed_not_applicable"] is None
    assert gaps["hard"]["informed"] is None
    assert "no team of 1" in gaps["hard"]["informed_not_applicable"]
