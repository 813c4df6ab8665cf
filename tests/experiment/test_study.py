"""Playing a study: the same logs whatever the machine does, and nothing lost when it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from emcoop.core.errors import ConfigError, MissingDependency
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import Progress, check, log_path, play
from emcoop.log.reader import LogReader

FOUR = ("individual", "debate", "centralized", "decentralized")
TEAMS = Matrix(env="cube", level="hard", topology=FOUR, seeds="0-1", references=("random", "oracle"))


def digests(run: Path) -> dict[tuple[str, int], str | None]:
    with LogReader.open(log_path(run)) as reader:
        return {(row.cell, row.seed): row.digest for row in reader.episodes() if row.status == "finished"}


def test_parallel_episodes_on_a_loaded_machine_have_the_digests_of_single_ones(tmp_path: Path) -> None:
    study = TEAMS.study()
    asyncio.run(play(study, tmp_path / "one"))
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=burn) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        asyncio.run(play(study, tmp_path / "eight", jobs=8))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(digests(tmp_path / "one")) == 12
    assert digests(tmp_path / "one") == digests(tmp_path / "eight")


def test_other_processes_with_other_hash_seeds_give_the_same_digests(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "emcoop", "run", "cube", "--agents", "2", "--topology", "decentralized"]
    for hash_seed in ("1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        out = ["--seeds", "0-1", "--json", "--out", str(tmp_path / hash_seed)]
        subprocess.run([*command, *out], env=env, check=True, capture_output=True, timeout=300)
    assert digests(tmp_path / "1") == digests(tmp_path / "77")


def test_finished_episodes_are_left_alone_and_more_seeds_are_added(tmp_path: Path) -> None:
    first = Matrix(env="cube", seeds="0-1", references=())
    asyncio.run(play(first.study(), tmp_path))
    before = digests(tmp_path)
    seen: list[Progress] = []
    asyncio.run(play(Matrix(env="cube", seeds="0-3", references=()).study(), tmp_path, listener=seen.append))
    assert sorted({p.seed for p in seen}) == [2, 3]
    assert (seen[0].done, seen[0].total, seen[-1].done) == (2, 4, 4)
    assert before.items() <= digests(tmp_path).items()


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_and_loses_no_finished_episode(tmp_path: Path, way: signal.Signals) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "emcoop", "run", "cube", "--level", "hard", "--seeds", "0-59", "--out", str(run)]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and (not (run / "log.db").exists() or len(digests(run)) < 3):
            time.sleep(0.05)
        process.send_signal(way)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    kept = digests(run)
    assert 3 <= len(kept) < 60 * 4
    if way is signal.SIGINT:
        assert process.returncode == 130
        assert "The same command goes on from there" in said
    study = Matrix(env="cube", level="hard", seeds="0-9", references=()).study()
    asyncio.run(play(study, run))
    after = digests(run)
    assert kept.items() <= after.items()
    assert {(cell.cell, seed) for cell in study.cells for seed in range(10)} <= set(after)


def test_what_would_fail_is_said_before_the_first_episode(tmp_path: Path) -> None:
    warnings = check(Matrix(env="cube", level="hard", agents=2, references=()).study())
    assert warnings == ["cube/hard with 2 agents: impossible: a block of weight 3 needs 3 agents, the team has 2"]
    for wrong, error in (
        (Matrix(env="cube", agent="llm", references=()), ConfigError),
        (Matrix(env="cube", agent="llm", model="smollm2", references=()), ConfigError),
        (Matrix(env="cube", agent="llm", model="openai:gpt-4o-mini", references=()), MissingDependency),
        (Matrix(env="cube", agent="llm", model="local:no/such/file.gguf", references=()), MissingDependency),
        (Matrix(env="cube", agent="composite", options={"volume": 3}, references=()), ConfigError),
    ):
        run = tmp_path / "run"
        with pytest.raises(error):
            asyncio.run(play(wrong.study(), run))
        assert digests(run) == {}


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
