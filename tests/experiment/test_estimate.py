"""What a study will take is said before it is played, and from what it is known."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from emcoop.cli import running
from emcoop.experiment.estimate import REASONING_TOKENS, Cost, forecast
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.parts import WORKERS, Shard
from emcoop.experiment.study import log_path, play
from emcoop.log.reader import LogReader

HOSTED = Matrix(env="cube", topology="debate", agents=2, agent="llm", model="openai:gpt-4o-mini", seeds="0-4")
WAITING = "scripted:tests.interventions.waiting_model:answer"
EASY = Matrix(env="cube", agents=1, agent="llm", model=WAITING, seeds="0-3", set={"limits.max_steps": 3}, references=())


def test_unknown_models_are_tried_with_real_prompts_and_the_scripted_policys_answers(tmp_path: Path) -> None:
    first = forecast(HOSTED.study(), tmp_path / "run")
    assert (first.episodes, first.finished, first.past, first.tried) == (20, 0, 0, 4)
    assert first.cost.calls >= 5 * 4  # at least a message and a plan of each agent in every episode
    assert first.cost.input_tokens > 300 * first.cost.calls
    assert first.cost.output_tokens > REASONING_TOKENS * first.cost.calls
    assert first.cost.usd is not None
    assert 0 < first.cost.usd < 1
    assert first.answers == {"openai:gpt-4o-mini": 0}


def test_the_estimate_of_a_shard_is_of_its_episodes(tmp_path: Path) -> None:
    assert forecast(HOSTED.study(), tmp_path, Shard(0, 2)).episodes == 10


def test_past_episodes_of_a_cell_and_past_calls_of_a_model_are_learned_from(tmp_path: Path) -> None:
    asyncio.run(play(EASY.study().model_copy(update={"seeds": (0, 1)}), tmp_path / "first"))
    with LogReader.open(log_path(tmp_path / "first")) as reader:
        calls = [e for row in reader.episodes() for e in reader.events(row.id, kinds=("model_call",))]
    known = forecast(EASY.study(), tmp_path / "first")
    assert (known.episodes, known.finished, known.past, known.tried) == (2, 2, 1, 0)
    assert known.cost.calls == len(calls)
    written = sum(e.payload["usage"]["output_tokens"] for e in calls) / len(calls)
    other = forecast(EASY.model_copy(update={"level": ("medium",)}).study(), tmp_path / "second")
    assert (other.past, other.tried, other.answers) == (0, 1, {WAITING: len(calls)})
    assert other.cost.output_tokens == pytest.approx(written * other.cost.calls)
    assert written < REASONING_TOKENS


def test_what_killed_workers_have_finished_is_not_estimated_again(tmp_path: Path) -> None:
    asyncio.run(play(EASY.study(), tmp_path / WORKERS / "0", shard=Shard(0, 2)))
    known = forecast(EASY.study(), tmp_path)
    assert (known.episodes, known.finished, known.past) == (2, 2, 1)


def test_a_broken_log_beside_the_run_is_no_reason_not_to_estimate(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "log.db").write_bytes(b"no database")
    assert forecast(EASY.study(), tmp_path / "run").answers == {WAITING: 0}


def test_episodes_wait_for_models_side_by_side_and_work_one_after_the_other() -> None:
    assert Cost(waiting_s=60.0, working_s=5.0).seconds(jobs=4) == 20.0


def test_the_estimate_says_what_its_answers_are_taken_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running.estimate(EASY, tmp_path / "first", running.How(), json=False)
    assert f"{WAITING}: no past calls found" in capsys.readouterr().out
    asyncio.run(play(EASY.study().model_copy(update={"seeds": (0,)}), tmp_path / "first"))
    running.estimate(EASY.model_copy(update={"level": ("hard",)}), tmp_path / "second", running.How(), json=False)
    assert "past calls of it" in capsys.readouterr().out
