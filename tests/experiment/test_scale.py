"""Larger studies: axes and rules, caps, shards and their merging, repeats of what a provider spoiled."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from tests.experiment import absent_model
from tests.models import faulty
from tests.models.faulty import FaultyServer

from emcoop.cli.running import How, merge_shards, play_into
from emcoop.core.errors import CapReached, ConfigError
from emcoop.core.types import Usage
from emcoop.experiment.caps import Caps
from emcoop.experiment.matrix import Matrix, read_matrix
from emcoop.experiment.merge import MATRIX, merge, shards_of, unfinished
from emcoop.experiment.parts import Shard
from emcoop.experiment.study import Progress, Study, log_path, parse_seeds, play
from emcoop.log.reader import LogReader

TEAMS = Matrix(env="cube", topology=("debate", "centralized"), seeds="0-2", references=("oracle",))


def finished(run: Path) -> dict[tuple[str, int], str | None]:
    with LogReader.open(log_path(run)) as reader:
        assert reader.check() == []
        return {(row.cell, row.seed): row.digest for row in reader.episodes() if row.status == "finished"}


def test_interventions_are_an_axis_and_rules_leave_combinations_out() -> None:
    matrix = Matrix(
        env="cube",
        topology=("individual", "debate"),
        intervention=("none", "silence", ("loss:0.5", "mute@0")),
        exclude=({"topology": "individual", "intervention": ["silence", "loss:0.5+mute@0"]},),
        references=(),
    )
    assert [(c.topology, c.interventions) for c in matrix.own()] == [
        ("individual", ()),
        ("debate", ()),
        ("debate", ("silence",)),
        ("debate", ("loss:0.5", "mute@0")),
    ]


def test_rules_hold_in_a_matrix_that_was_written_and_read_again() -> None:
    matrix = Matrix(env="cube", level=("easy", "hard"), agents=(2, 3), exclude=({"level": "hard", "agents": 2},))
    again = Matrix.model_validate(matrix.model_dump(mode="json"))
    assert again.own() == matrix.own()
    assert len(again.own()) == 3


def test_options_of_one_environment_reach_its_cells_and_its_references_alone() -> None:
    matrix = Matrix(env=("cube", "ma-crafter"), agents=2, env_options={"ma-crafter": {"mobs": "none"}})
    options = {(c.env, c.agent_label): c.env_options for c in (*matrix.own(), *matrix.beside())}
    assert options["cube", "scripted"] == options["cube", "oracle"] == {}
    assert options["ma-crafter", "scripted"] == options["ma-crafter", "oracle"] == {"mobs": "none"}
    with pytest.raises(ConfigError, match="'crafter' is not among the environments"):
        Matrix(env="cube", env_options={"crafter": {}}).own()


def test_arms_are_added_to_every_untouched_cell_by_one_line() -> None:
    matrix = Matrix(env="cube", agents=2, arms=("solo", "solo-matched", "silence", "oracle"), references=())
    own, solo, matched, silent = matrix.own()
    assert [seat.agent for seat in solo.seats()] == ["scripted", "null"]
    assert matched.make_env().horizon == 2 * own.make_env().horizon
    assert silent.topology_options == {"sends": 0}
    assert {c.control for c in (solo, matched, silent)} == {own.cell}
    assert [c.agent_label for c in matrix.beside()] == ["oracle"]


def test_prompt_variants_are_an_axis_of_language_model_teams() -> None:
    cells = Matrix(env="cube", agent="llm", model="local:x", prompt=("full", "short"), references=()).own()
    assert [c.team[0].options["prompt"] for c in cells] == ["full", "short"]
    with pytest.raises(ConfigError, match="reads no prompt"):
        Matrix(env="cube", prompt="full").own()


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (Matrix(env="cube", exclude=({"level": "easy"},)), "is empty"),
        (Matrix(env="cube", arms="sollo"), "did you mean 'solo'"),
        (Matrix(env="cube", agents=tuple(range(1, 1002)), level=tuple(map(str, range(1000)))), "1,001,000 cells"),
    ],
)
def test_a_matrix_of_nothing_or_of_too_much_is_refused(matrix: Matrix, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        matrix.study()


def test_official_splits_are_seeds_by_name() -> None:
    assert parse_seeds("dev:3") == (0, 1, 2)
    assert parse_seeds("test")[0::99] == (9000, 9099)
    with pytest.raises(ConfigError, match="dev has 1 to 100 seeds, not '101'"):
        parse_seeds("dev:101")


def test_shards_merged_are_the_run_played_whole(tmp_path: Path) -> None:
    study = TEAMS.study()
    whole, run = tmp_path / "whole", tmp_path / "run"
    asyncio.run(play(study, whole))
    for text in ("0/2", "1/2"):
        shard = Shard.parse(text)
        asyncio.run(play(study, run / shard.folder, shard=shard))
    assert merge(shards_of(run), run) == (9, 0)
    assert finished(run) == finished(whole)
    assert merge(shards_of(run), run) == (0, 9)


def test_a_merge_tells_of_shards_that_were_not_played_to_their_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    price = {"topology_options.price_usd": 1.0}
    dear = Matrix(env="cube", topology="centralized", seeds="0-5", set=price, references=())
    for shard, usd in ((Shard(0, 2), 5000.0), (Shard(1, 2), 0.5)):
        how = How(shard=shard, caps=Caps(usd=usd))
        with contextlib.suppress(CapReached):
            play_into(dear.study(), dear, tmp_path / shard.folder, how)
    assert unfinished(shards_of(tmp_path)) == {"1/2": (2, 3)}
    merge_shards(tmp_path, json=True)
    said = capsys.readouterr().err
    assert "4 episodes copied" in said
    assert "shard 1/2: 2 of its 3 episodes are not finished" in said
    play_into(dear.study(), dear, tmp_path / "shards" / "1-of-2", How(shard=Shard(1, 2)))
    merge_shards(tmp_path, json=True)
    assert "not finished" not in capsys.readouterr().err
    assert len(finished(tmp_path)) == 6


def test_a_merged_run_keeps_its_matrix_and_says_which_shards_had_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = Matrix(env="cube", seeds="0-3", references=())
    for shard in (Shard(0, 3), Shard(1, 3), Shard(2, 3)):
        play_into(matrix.study(), matrix, tmp_path / shard.folder, How(shard=shard))
    merge_shards(tmp_path, json=True)
    assert read_matrix(tmp_path / MATRIX) == matrix
    assert "warning" not in capsys.readouterr().err
    assert f"emcoop run {tmp_path / MATRIX}" in (tmp_path / "report.html").read_text()
    shorter = matrix.model_copy(update={"seeds": "0-1"})
    play_into(shorter.study(), shorter, tmp_path / "shards" / "1-of-3", How(shard=Shard(1, 3)))
    merge_shards(tmp_path, json=True)
    assert "different axes, seeds or options: 0/3, 2/3; 1/3" in capsys.readouterr().err


def test_missing_shards_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no shards"):
        shards_of(tmp_path)
    shard = Shard.parse("1/3")
    asyncio.run(play(TEAMS.study(), tmp_path / shard.folder, shard=shard))
    with pytest.raises(ConfigError, match="missing: 0/3, 2/3"):
        shards_of(tmp_path)
    (tmp_path / "shards" / "0-of-2").mkdir()
    with pytest.raises(ConfigError, match="2 and 3 parts"):
        shards_of(tmp_path)
    for wrong in ("3/3", "a/2", "1"):
        with pytest.raises(ConfigError, match="write i/n"):
            Shard.parse(wrong)


def test_a_cap_on_tokens_or_money_stops_the_experiment_and_keeps_what_is_finished(tmp_path: Path) -> None:
    dear = Matrix(
        env="cube", topology="centralized", seeds="0-9", set={"topology_options.price_usd": 1.0}, references=()
    )
    with pytest.raises(CapReached, match=r"cap of \$5 is reached: .* of 10 episodes were not begun"):
        asyncio.run(play(dear.study(), tmp_path, caps=Caps(usd=5)))
    kept = len(finished(tmp_path))
    assert 0 < kept < 10
    with pytest.raises(CapReached):
        asyncio.run(play(dear.study(), tmp_path, caps=Caps(usd=5)))
    assert len(finished(tmp_path)) == kept
    asyncio.run(play(dear.study(), tmp_path, caps=Caps(usd=5000)))
    assert len(finished(tmp_path)) == 10


def asked(function: str) -> Matrix:
    """Four episodes of one agent with this scripted model, which is asked once per decision."""
    absent_model.ASKED.clear()
    model, options = f"scripted:tests.experiment.absent_model:{function}", {"attempts": 1}
    settings = {"limits": {"max_steps": 4}}
    return Matrix(
        env="cube", agents=1, agent="llm", model=model, seeds="0-3", options=options, set=settings, references=()
    )


def test_what_failed_episodes_have_spent_counts_towards_the_caps(tmp_path: Path) -> None:
    study = asked("paid_and_gone").study()
    seen: list[Progress] = []
    with pytest.raises(CapReached, match=r"cap of \$3 is reached: \$4.0000 spent; 2 of 4 episodes were not begun"):
        asyncio.run(play(study, tmp_path, caps=Caps(usd=3), listener=seen.append))
    assert [step.spent.cost_usd for step in seen if step.error is not None] == [2.0, 4.0]
    with pytest.raises(CapReached, match=r"\$4.0000 spent; 4 of 4 episodes were not begun"):
        asyncio.run(play(study, tmp_path, caps=Caps(usd=3)))


def test_known_prices_count_towards_the_caps_where_others_are_unknown(tmp_path: Path) -> None:
    used = Usage(cost_usd=50.0) + Usage(cost_usd=None) + Usage(cost_usd=1.0)
    assert (used.cost_usd, used.known_usd) == (None, 51.0)
    study = asked("of_two_prices").study()
    with pytest.raises(CapReached, match=r"\$4.0000 spent; 2 of 4 episodes were not begun"):
        asyncio.run(play(study, tmp_path, caps=Caps(usd=3)))
    with pytest.raises(CapReached, match=r"\$4.0000 spent; 2 of 4 episodes were not begun"):
        asyncio.run(play(study, tmp_path, caps=Caps(usd=3)))
    with LogReader.open(log_path(tmp_path)) as reader:
        assert reader.check() == []


def test_a_cell_or_a_seed_given_twice_is_refused() -> None:
    cell = TEAMS.study().cells[0]
    for cells, seeds in (((cell, cell), (0,)), ((cell,), (5, 5))):
        with pytest.raises(ValueError, match="given twice"):
            Study(cells=cells, seeds=seeds)


def spoiled(model: str) -> Matrix:
    options = {"unavailable": 1}
    return Matrix(env="cube", agents=1, agent="llm", model=model, seeds="0", options=options, references=())


def ends(run: Path) -> list[tuple[str, str]]:
    with LogReader.open(log_path(run)) as reader:
        return [(row.status.value, (row.outcome or {})["limit"]) for row in reader.episodes()]


def test_an_episode_that_the_provider_spoiled_is_begun_anew_a_bounded_number_of_times(tmp_path: Path) -> None:
    absent_model.ASKED.clear()
    matrix = spoiled("scripted:tests.experiment.absent_model:never_there")
    asyncio.run(play(matrix.study(), tmp_path, repeats=3))
    assert len(absent_model.ASKED) == 4
    assert ends(tmp_path) == [("finished", "model_failure")]


def test_an_error_that_would_repeat_is_not_repeated(faulty_server: FaultyServer, tmp_path: Path) -> None:
    faulty_server.script = [faulty.status(401)]
    asyncio.run(play(spoiled(f"openai:faulty@{faulty_server.url}").study(), tmp_path, repeats=3))
    assert len(faulty_server.requests) == 1
    assert ends(tmp_path) == [("finished", "model_failure")]
