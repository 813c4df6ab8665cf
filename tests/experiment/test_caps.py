"""Caps over a whole experiment as a user meets them: in the file, over it, in shards, and what is told at the end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from emcoop.cli import running
from emcoop.cli.app import app
from emcoop.core.errors import CapReached, ConfigError
from emcoop.experiment.caps import NO_CAPS, Caps
from emcoop.experiment.matrix import Matrix, read_matrix
from emcoop.experiment.parts import Shard

STUDY: dict[str, Any] = {
    "env": "cube",
    "agents": 2,
    "agent": "llm",
    "model": "scripted:tests.experiment.test_answers:waiting",
    "set": {"limits.max_steps": 10},
    "references": [],
    "seeds": "0-3",
}


def written(tmp_path: Path, **more: Any) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **more}))
    return path


def emcoop(*args: object) -> BaseException | None:
    """What the command has raised."""
    return CliRunner().invoke(app, list(map(str, args))).exception


def test_caps_of_the_file_bound_a_run_and_the_command_line_wins_over_each(tmp_path: Path) -> None:
    path, out = written(tmp_path, caps={"tokens": 1, "usd": 5}), tmp_path / "run"
    stopped = emcoop("run", path, "--out", out, "--yes")
    assert isinstance(stopped, CapReached)
    assert "the cap of 1 tokens is reached" in str(stopped)
    assert "3 of 4 episodes were not begun" in str(stopped)
    assert str(stopped).endswith(f"what is finished is kept in {out}")
    assert read_matrix(out / "run.yaml").caps == Caps(tokens=1, usd=5)
    assert emcoop("run", path, "--out", out, "--yes", "--max-tokens", 10**9) is None
    document = json.loads(CliRunner().invoke(app, ["report", str(out), "--json"]).stdout)
    assert [row["n"] for row in document["rows"]] == [4]


def test_a_run_that_a_cap_has_ended_is_reported_as_far_as_it_got(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, how = Matrix.model_validate(STUDY), running.How(caps=Caps(tokens=1), yes=True)
    with pytest.raises(CapReached):
        running.run(matrix, tmp_path, how, json=True)
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["n"] == 1
    assert (tmp_path / "report.html").exists()


def test_shards_share_the_caps_and_say_so(tmp_path: Path) -> None:
    assert Caps(usd=3, tokens=7, hours=2).share(3) == Caps(usd=1, tokens=2, hours=2)
    matrix = Matrix.model_validate(STUDY)
    how = running.How(caps=Caps(tokens=2), yes=True, shard=Shard(0, 2))
    with pytest.raises(CapReached, match=r"the cap of 1 tokens .* 1 of 2 .*\(shard 0 has 1/2 of the caps\)"):
        running.run(matrix, tmp_path, how, json=True)
    with pytest.raises(ConfigError, match=r"the caps are below the estimate \(1 of about"):
        running.run(matrix, tmp_path, replace(how, yes=False), json=True)


def test_caps_name_no_run_and_set_no_shards_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = Matrix.model_validate(STUDY)
    assert plain.name == plain.model_copy(update={"caps": Caps(usd=1)}).name
    for index, caps in enumerate((NO_CAPS, Caps(tokens=10**9))):
        part = running.How(shard=Shard(index, 2), yes=True)
        running.run(plain.model_copy(update={"caps": caps}), tmp_path, part, json=True)
    capsys.readouterr()
    running.merge_shards(tmp_path, json=True)
    said = capsys.readouterr()
    assert "different axes" not in said.err
    assert [row["n"] for row in json.loads(said.out)["rows"]] == [4]


def test_an_estimate_says_which_caps_are_below_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = Matrix.model_validate(STUDY)
    running.estimate(matrix, tmp_path, running.How(caps=Caps(tokens=5)), json=False)
    assert "The caps are below this (5 of about " in capsys.readouterr().out
    running.estimate(matrix, tmp_path, running.How(caps=Caps(tokens=10**9)), json=True)
    assert json.loads(capsys.readouterr().out)["estimate"]["caps_below"] == []


def test_a_cap_on_money_says_which_models_it_does_not_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    unpriced = "openai:no-such-model@http://127.0.0.1:9"
    matrix = Matrix.model_validate({**STUDY, "model": [STUDY["model"], unpriced], "seeds": "0"})
    with pytest.raises(ConfigError, match="below the estimate"):
        running.run(matrix, tmp_path, running.How(caps=Caps(usd=1, tokens=1)), json=True)
    assert f"warning: the price of {unpriced} is not known" in capsys.readouterr().err


def test_a_wrong_cap_in_the_file_is_named(tmp_path: Path) -> None:
    for caps, said in (({"usd": 0}, "caps.usd: Input should be greater than 0"), ({"dollars": 1}, "'caps.dollars'")):
        error = emcoop("run", written(tmp_path, caps=caps))
        assert isinstance(error, ConfigError)
        assert said in str(error)
