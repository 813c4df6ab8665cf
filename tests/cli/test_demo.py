"""The demo's matrices are valid, and it goes on without a model."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from emcoop.core.errors import MissingDependency
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import check


def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", Path(__file__).parents[2] / "examples" / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_plays_four_topologies_with_scripted_and_language_model_teams() -> None:
    module = demo()
    scripted, model = module.SCRIPTED, module.LANGUAGE_MODEL
    assert check(scripted.study()) == check(model.study()) == []
    four = ("individual", "debate", "centralized", "decentralized")
    assert scripted.topology == model.topology == four
    assert (scripted.level, scripted.agents) == (("easy", "hard"), (3,))
    assert (model.level, model.agents, model.model) == (("easy",), (2,), ("local:smollm2",))


def test_without_the_model_the_demo_says_so_in_one_line_and_plays_the_scripted_teams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = demo()

    def unreachable(name: str, progress: object) -> Path:
        raise MissingDependency("the package index cannot be reached\nmore")

    monkeypatch.setattr(module, "pull", unreachable)
    monkeypatch.setattr(module, "SCRIPTED", Matrix(env="cube", seeds="0", references=("noop",)))
    assert module.main(tmp_path) == 0
    shown = capsys.readouterr()
    assert "without the language model (the package index cannot be reached)" in shown.err
    assert "floor: noop" in shown.out
