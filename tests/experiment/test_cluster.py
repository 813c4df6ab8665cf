"""A study on a real local Ray cluster of several worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from emcoop.core.errors import CapReached, ConfigError
from emcoop.experiment.caps import Caps
from emcoop.experiment.cluster import play_on_ray
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import log_path, play
from emcoop.log.reader import LogReader

pytest.importorskip("ray")

STUDY = Matrix(env="cube", level="hard", topology=("debate", "centralized"), seeds="0-19", references=("noop",)).study()


def finished(run: Path) -> dict[tuple[str, int], str | None]:
    with LogReader.open(log_path(run)) as reader:
        return {(row.cell, row.seed): row.digest for row in reader.episodes() if row.status == "finished"}


def holders(run: Path) -> list[int]:
    """The workers' processes that hold a shard's lock: its file says who, unless it is being made or removed."""
    said = []
    for lock in sorted(run.glob("shards/*/log.db.lock")):
        with contextlib.suppress(FileNotFoundError):
            said.append(lock.read_text().strip())
    return [int(text) for text in said if text and int(text) != os.getpid()]


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    run = tmp_path / "run"
    killed: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not killed:
            logs = list(run.glob("shards/*/log.db"))
            if len(logs) == 2 and all(len(finished(log)) >= 2 for log in logs):
                for holder in holders(run)[:1]:
                    killed.append(holder)
                    os.kill(holder, signal.SIGKILL)
            time.sleep(0.05)

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        assert play_on_ray(STUDY, run, workers=2) == []
    finally:
        killer.join()
    assert len(killed) == 1
    asyncio.run(play(STUDY, tmp_path / "alone"))
    assert finished(run) == finished(tmp_path / "alone")
    assert len(finished(run)) == 60


@pytest.mark.slow
def test_a_part_that_has_used_its_share_of_the_caps_ends_and_all_is_merged(tmp_path: Path) -> None:
    model = "scripted:tests.experiment.test_answers:waiting"
    matrix = Matrix(env="cube", agents=2, agent="llm", model=model, seeds="0-5", set={"limits.max_steps": 10})
    study = matrix.model_copy(update={"references": ()}).study()
    said = r"2 of 2 parts have used their share of the caps; one says: the cap of 1 tokens .* 2 of 3 episodes"
    with pytest.raises(CapReached, match=said):
        play_on_ray(study, tmp_path, workers=2, caps=Caps(tokens=2))
    assert len(finished(tmp_path)) == 2


def test_a_cluster_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no Ray cluster at 127\.0\.0\.1:1: "):
        play_on_ray(STUDY, tmp_path, workers=2, address="127.0.0.1:1")
