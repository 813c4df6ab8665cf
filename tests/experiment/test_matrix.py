"""From axes to cells."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from emcoop.core.config import load
from emcoop.core.errors import ConfigError
from emcoop.experiment.matrix import Matrix, read_matrix, read_settings
from emcoop.experiment.study import log_path, parse_seeds


def test_axes_multiply_and_references_come_last_without_repeats() -> None:
    matrix = Matrix(
        env="cube", level=("easy", "hard"), topology=("debate", "centralized"), agent="scripted", seeds="0-1"
    )
    study = matrix.study()
    played = [(c.level, c.topology, c.agent_label) for c in study.cells]
    assert played[:4] == [
        ("easy", "debate", "scripted"),
        ("easy", "centralized", "scripted"),
        ("hard", "debate", "scripted"),
        ("hard", "centralized", "scripted"),
    ]
    assert [who for _, _, who in played[4:]] == ["random", "noop", "oracle"] * 2
    assert len({c.cell for c in study.cells}) == 10
    assert study.seeds == (0, 1)


def test_a_reference_that_is_played_anyway_is_not_played_twice() -> None:
    matrix = Matrix(env="cube", agent="random")
    assert [c.agent_label for c in matrix.study().cells] == ["random", "noop", "oracle"]


def test_a_mixed_team_gives_the_model_to_the_seats_that_use_one() -> None:
    (cell,) = Matrix(env="cube", agents=2, agent="llm+scripted", model="local:smollm2", references=()).own()
    assert [(s.agent, s.model) for s in cell.team] == [("llm", "local:smollm2"), ("scripted", None)]


def test_dotted_settings_reach_the_set_up() -> None:
    settings = read_settings(["limits.max_tokens=500", "topology_options.loss=0.5", "latency.kind=constant"])
    (cell,) = Matrix(env="cube", set=settings, references=()).own()
    assert (cell.limits.max_tokens, cell.topology_options, cell.latency.kind) == (500, {"loss": 0.5}, "constant")


def test_cells_with_equal_content_have_equal_names_and_others_do_not() -> None:
    one, same, other = (Matrix(env="cube", agents=n, references=()).own()[0].cell for n in (2, 2, 3))
    assert one == same != other


def test_an_intervention_changes_the_cell_and_leaves_its_name_in_it() -> None:
    (plain,) = Matrix(env="cube", topology="debate", references=()).own()
    (silent,) = Matrix(env="cube", topology="debate", interventions=("silence",), references=()).own()
    assert silent.topology_options == {"sends": 0}
    assert silent.interventions == ("silence",)
    assert silent.cell != plain.cell


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["limits.max_token=3"], "did you mean 'max_tokens'"),
        (["limit.max_tokens=3"], "did you mean 'limits'"),
        (["level=hard"], "level is an axis"),
        (["nothing"], "write key=value"),
        (["limits=3", "limits.max_tokens=3"], "has a value already"),
        (["limits.max_tokens={"], "not valid YAML"),
    ],
)
def test_a_wrong_setting_is_named_with_the_mend(settings: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Matrix(env="cube", set=read_settings(settings)).own()


def test_options_that_nobody_takes_are_refused() -> None:
    with pytest.raises(ConfigError, match="scripted takes no options; volume would have no effect"):
        Matrix(env="cube", agent="scripted", options={"volume": 3}).own()


def test_a_model_that_nobody_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"agent scripted\+greedy takes no model; local:x would have no effect"):
        Matrix(env="cube", agent=("scripted", "greedy"), model="local:x").own()
    assert len(Matrix(env="cube", agent=("scripted", "llm"), model="local:x", references=()).own()) == 2


def test_a_model_may_have_settings_of_its_own_as_a_value_of_its_axis(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "env: cube\nagents: 2\nagent: [llm, scripted+llm]\nreferences: []\n"
        "options: {temperature: 0.0, max_tokens: 50}\n"
        "model:\n  - local:x\n  - {name: local:x, options: {temperature: 0.7}}\n"
        "exclude:\n  - {agent: llm, model: local:x temperature=0.7}\n"
    )
    matrix = read_matrix(path)
    told = [(cell.agent_label, cell.seats()[1].model, cell.seats()[1].options) for cell in matrix.own()]
    assert told == [
        ("llm", "local:x", {"temperature": 0.0, "max_tokens": 50}),
        ("scripted+llm", "local:x", {"temperature": 0.0, "max_tokens": 50}),
        ("scripted+llm", "local:x", {"temperature": 0.7, "max_tokens": 50}),
    ]
    path.write_text(yaml.safe_dump(matrix.model_dump(mode="json")))
    assert read_matrix(path) == matrix
    with pytest.raises(ConfigError, match=r"unknown key 'model\.temperatur'; known: name, options"):
        load(Matrix, {"env": "cube", "agent": "llm", "model": {"name": "local:x", "temperatur": 1}}, "study")


def test_a_reference_that_no_environment_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="references: cube has no policy 'orcale'; did you mean 'oracle'"):
        Matrix(env="cube", references=("random", "orcale")).beside()
    beside = Matrix(env=("cube", "maze"), agents=2, level="easy", references=("half-map", "noop")).beside()
    assert [(cell.env, cell.agent_label) for cell in beside] == [
        ("cube", "noop"),
        ("maze", "half-map"),
        ("maze", "noop"),
    ]


def test_a_matrix_file_is_strict(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("env: cube\nlevel: [easy, hard]\nagents: 2\nseeds: 0-3\n")
    assert read_matrix(path).level == ("easy", "hard")
    path.write_text("env: cube\nlevels: easy\n")
    with pytest.raises(ConfigError, match="unknown key 'levels'; did you mean 'level'"):
        read_matrix(path)
    path.write_text("- cube\n")
    with pytest.raises(ConfigError, match="not a mapping"):
        read_matrix(path)


def test_seeds_are_numbers_and_ranges() -> None:
    assert parse_seeds("0-2,9000,1") == (0, 1, 2, 9000)
    for wrong in ("", "a", "3-1", "1-", "-1", "0-99999999"):
        with pytest.raises(ConfigError, match="seeds"):
            parse_seeds(wrong)


def test_a_log_file_stands_for_itself_and_a_folder_for_its_log(tmp_path: Path) -> None:
    assert log_path(tmp_path) == tmp_path / "log.db"
    assert log_path(tmp_path / "other.db") == tmp_path / "other.db"
    assert log_path(tmp_path / "v1.2") == tmp_path / "v1.2" / "log.db"
