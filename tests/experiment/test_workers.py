"""A study in several real processes of this machine: killed, stopped and capped, and the same as in one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from emcoop.core.errors import CapReached, ConfigError, EmcoopError, LogLocked
from emcoop.episode.setup import Setup
from emcoop.experiment import workers
from emcoop.experiment.caps import Caps
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.parts import Shard
from emcoop.experiment.study import Progress, Study, log_path, play
from emcoop.experiment.workers import play_in_processes
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

TEAMS = Matrix(env="cube", level="easy", topology=("debate", "individual"), seeds="0-5", references=("noop",)).study()
LONG = Matrix(env="cube", level="hard", topology="debate", seeds="0-29", references=()).study()


def finished(run: Path) -> dict[tuple[str, int], str | None]:
    with LogReader.open(log_path(run)) as reader:
        return {(row.cell, row.seed): row.digest for row in reader.episodes() if row.status == "finished"}


def holder(log: Path) -> int | None:
    """The worker that writes this log; its lock file says so, unless it is being made or removed."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int(log.with_name("log.db.lock").read_text())
    return None


def meanwhile(act: Callable[[], bool]) -> threading.Thread:
    """Try to act, again and again, beside the test, until it has been done."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not act():
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str | None]:
    """What one process makes of TEAMS."""
    run = tmp_path_factory.mktemp("alone")
    asyncio.run(play(TEAMS, run))
    return finished(run)


def test_several_processes_make_the_same_run_as_one_and_tell_of_every_episode(
    tmp_path: Path, alone: dict[tuple[str, int], str | None]
) -> None:
    told: list[Progress] = []
    assert play_in_processes(TEAMS, tmp_path, workers=2, jobs=2, listener=told.append) == []
    assert finished(tmp_path) == alone
    over = [step for step in told if step.outcome is not None]
    assert [step.done for step in over] == list(range(1, 19))
    assert {step.total for step in told} == {18}
    assert {(step.cell.cell, step.seed) for step in over} == set(alone)
    assert [path.name for path in tmp_path.iterdir()] == ["log.db"]


def test_what_is_finished_is_left_alone_and_the_rest_is_divided(
    tmp_path: Path, alone: dict[tuple[str, int], str | None]
) -> None:
    asyncio.run(play(TEAMS, tmp_path, shard=Shard(0, 2)))
    told: list[Progress] = []
    play_in_processes(TEAMS, tmp_path, workers=4, listener=told.append)
    assert sorted(step.done for step in told if step.outcome is not None) == list(range(10, 19))
    assert finished(tmp_path) == alone
    play_in_processes(TEAMS, tmp_path, workers=3, listener=told.append)
    assert finished(tmp_path) == alone


def test_a_worker_killed_in_the_middle_is_started_anew_and_nothing_finished_is_lost(tmp_path: Path) -> None:
    killed: dict[int, int] = {}
    warned: list[str] = []
    log = tmp_path / "run" / "workers" / "0" / "log.db"

    def kill() -> bool:
        process = holder(log)
        if process is not None and log.exists() and len(before := finished(log)) >= 3:
            killed[process] = len(before)
            os.kill(process, signal.SIGKILL)
        return bool(killed)

    killer = meanwhile(kill)
    errors = play_in_processes(LONG, tmp_path / "run", workers=2, warn=warned.append)
    killer.join()
    assert errors == []
    assert len(killed) == 1
    assert warned == ["a worker was killed (SIGKILL); it is started anew and goes on where it was"]
    asyncio.run(play(LONG, tmp_path / "alone"))
    assert finished(tmp_path / "run") == finished(tmp_path / "alone")


def test_a_worker_that_dies_again_and_again_ends_the_run_with_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "RETRIES", 0)
    log = tmp_path / "workers" / "0" / "log.db"

    def kill() -> bool:
        process = holder(log)
        if process is None or not log.exists() or not finished(log):
            return False
        os.kill(process, signal.SIGKILL)
        return True

    killer = meanwhile(kill)
    with pytest.raises(EmcoopError, match="a worker was killed 1 times, by SIGKILL at last; what is finished is kept"):
        play_in_processes(LONG, tmp_path, workers=2)
    killer.join()
    assert finished(tmp_path)
    assert not (tmp_path / "workers").exists()


RUN = "import sys; from emcoop.cli.app import run_app\nif __name__ == '__main__':\n    sys.exit(run_app())\n"


def command(tmp_path: Path, *more: str) -> subprocess.Popen[str]:
    script = tmp_path / "emcoop_main.py"
    script.write_text(RUN)
    words = ["run", "cube", "--level", "hard", "--topology", "debate", "--seeds", "0-29", "--no-references"]
    return subprocess.Popen(
        [sys.executable, str(script), *words, "--out", str(tmp_path / "run"), "--workers", "2", *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def some_finished(run: Path) -> bool:
    logs = [run / "workers" / str(i) / "log.db" for i in range(2)]
    return all(log.exists() and finished(log) for log in logs)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_ctrl_c_stops_all_processes_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = command(tmp_path)
    wait_for(lambda: some_finished(tmp_path / "run"))
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "finished episodes are kept" in said
    kept = finished(tmp_path / "run")
    assert 0 < len(kept) < 30
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["log.db", "run.yaml"]
    asyncio.run(play(LONG, tmp_path / "run"))
    asyncio.run(play(LONG, tmp_path / "alone"))
    assert finished(tmp_path / "run") == finished(tmp_path / "alone")


def test_workers_of_a_killed_parent_end_and_the_next_run_keeps_what_they_finished(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = command(tmp_path)
    wait_for(lambda: some_finished(run))
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not list(run.glob("workers/*/log.db.lock")))
    kept = {**finished(run / "workers" / "0"), **finished(run / "workers" / "1")}
    assert 0 < len(kept) < 30
    told: list[Progress] = []
    assert play_in_processes(LONG, run, workers=2, listener=told.append) == []
    assert sum(step.outcome is not None for step in told) == 30 - len(kept)
    assert finished(run).items() >= kept.items()
    assert len(finished(run)) == 30


def left_behind(run: Path, seed: int = 0) -> Setup:
    """What a killed run of several processes leaves: a worker's log with a finished episode, of other answers."""
    cell = Setup(env="cube", level="easy", agents=2)
    with LogStore.open(log_path(run / workers.WORKERS / "0")) as store:
        writer = store.start(cell=cell.cell, seed=seed, setup=cell.model_dump(mode="json"))
        usage = {"input_tokens": 7, "output_tokens": 0, "cached_tokens": 0, "calls": 1, "cost_usd": 2.0}
        writer.append("episode_end", {"usage": usage}, cog_time=0, env_step=0)
        writer.finish("finished", {})
    return cell


def test_one_process_goes_on_with_what_killed_workers_have_left(tmp_path: Path) -> None:
    cell = left_behind(tmp_path)
    kept = finished(tmp_path / workers.WORKERS / "0")
    with pytest.raises(CapReached, match=r"\$2.0000 spent; 1 of 2 episodes were not begun"):
        asyncio.run(play(Study(cells=(cell,), seeds=(0, 1)), tmp_path, caps=Caps(usd=1)))
    assert finished(tmp_path) == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.db"]


def test_what_cut_off_workers_have_spent_counts(tmp_path: Path) -> None:
    study = Study(cells=(Setup(env="cube", level="easy", agents=2),), seeds=(0,))
    with LogStore.open(log_path(tmp_path / workers.WORKERS / "0")) as store:
        writer = store.start(cell=study.cells[0].cell, seed=0, setup=study.cells[0].model_dump(mode="json"))
        sent = {"id": 1, "to": ["agent_1"], "content": "go", "price": 2.0}
        writer.append("message_sent", sent, cog_time=0, env_step=0, agent="agent_0")
    for _ in range(2):
        with pytest.raises(CapReached, match=r"\$2.0000 spent; 1 of 1 episodes were not begun"):
            asyncio.run(play(study, tmp_path, caps=Caps(usd=1)))
    assert play_in_processes(study, tmp_path, workers=2) == []
    assert len(finished(tmp_path)) == 1


def test_what_the_run_has_finished_by_itself_since_is_kept(tmp_path: Path) -> None:
    study = Study(cells=(Setup(env="cube", level="easy", agents=2),), seeds=(0,))
    asyncio.run(play(study, tmp_path))
    before = finished(tmp_path)
    left_behind(tmp_path)
    assert play_in_processes(study, tmp_path, workers=2) == []
    assert finished(tmp_path) == before
    assert not (tmp_path / workers.WORKERS).exists()


def test_workers_logs_go_once_the_disk_has_their_episodes(tmp_path: Path) -> None:
    left_behind(tmp_path)
    kept = finished(tmp_path / workers.WORKERS / "0")
    (tmp_path / "bare").mkdir()
    with LogStore.open(log_path(tmp_path)) as store:
        with contextlib.closing(sqlite3.connect(log_path(tmp_path), isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM episodes").fetchall()
            workers.join(tmp_path, store)
            assert (tmp_path / workers.WORKERS).exists()
        workers.join(tmp_path, store)
        assert not (tmp_path / workers.WORKERS).exists()
        # A loss of power may take what is only in the write-ahead log.
        shutil.copy(log_path(tmp_path), log_path(tmp_path / "bare"))
    assert finished(tmp_path / "bare") == kept


def spent(run: Path) -> float:
    with LogReader.open(log_path(run)) as reader:
        ends = [next(iter(reader.events(row.id, kinds=("episode_end",)))) for row in reader.episodes()]
    return sum(end.payload["usage"]["cost_usd"] for end in ends)


def test_caps_hold_for_all_workers_together_and_for_runs_before(tmp_path: Path) -> None:
    price, cap = {"topology_options.price_usd": 1.0}, 300
    dear = Matrix(env="cube", topology="centralized", seeds="0-299", set=price, references=()).study()
    with pytest.raises(CapReached, match=r"cap of \$300 is reached: .* of 300 episodes were not begun"):
        play_in_processes(dear, tmp_path, workers=2, caps=Caps(usd=cap))
    assert cap <= spent(tmp_path) < 2 * cap  # two that do not hear of each other spend it twice
    kept = len(finished(tmp_path))
    with pytest.raises(CapReached, match=rf"{300 - kept} of 300 episodes were not begun"):
        play_in_processes(dear, tmp_path, workers=2, caps=Caps(usd=cap))
    assert len(finished(tmp_path)) == kept


def test_what_a_worker_cannot_do_is_raised_as_what_it_is_and_nothing_is_left_behind(tmp_path: Path) -> None:
    unknown = TEAMS.model_copy(
        update={"cells": tuple(cell.model_copy(update={"agents": 3, "level": "nowhere"}) for cell in TEAMS.cells)}
    )
    with pytest.raises(ConfigError, match="no level 'nowhere'"):
        play_in_processes(unknown, tmp_path, workers=2)
    assert [path.name for path in tmp_path.iterdir()] == ["log.db"]


def test_a_run_folder_that_is_being_played_refuses_a_second_run(tmp_path: Path) -> None:
    refused: list[str] = []

    def again(_: Progress) -> None:
        if not refused:
            with pytest.raises(LogLocked) as caught:
                play_in_processes(TEAMS, tmp_path, workers=2)
            refused.append(str(caught.value))

    play_in_processes(TEAMS, tmp_path, workers=2, listener=again)
    assert "is writing this log" in refused[0]
