"""The study of topologies as its users run it, killed in the middle more than once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from emcoop.experiment.matrix import read_matrix
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader

EXAMPLE = Path(__file__).parents[2] / "examples" / "topologies.yaml"
SHORT = ("--seeds", "0-1", "--set", "limits.max_steps=40", "--jobs", "3", "--json")


def command(out: Path) -> list[str]:
    return [sys.executable, "-m", "emcoop", "run", str(EXAMPLE), *SHORT, "--out", str(out)]


def finished(run: Path) -> list[tuple[str, int, str | None]]:
    if not log_path(run).exists():
        return []
    with LogReader.open(log_path(run)) as reader:
        return [(row.cell, row.seed, row.digest) for row in reader.episodes() if row.status == "finished"]


def kill_after(episodes: int, run: Path) -> None:
    """Begin or go on with the run, and kill it once so many episodes are finished."""
    process = subprocess.Popen(command(run), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None and len(finished(run)) < episodes:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_study_killed_twice_ends_with_the_episodes_of_one_that_was_left_alone(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kept: list[set[tuple[str, int, str | None]]] = []
    for episodes in (20, 60):
        kill_after(episodes, killed)
        kept.append(set(finished(killed)))
    assert 20 <= len(kept[0]) < len(kept[1])
    for run in (killed, whole):
        subprocess.run(command(run), check=True, capture_output=True, timeout=900)
    after = finished(killed)
    assert sorted(after) == sorted(finished(whole))
    assert kept[0] <= kept[1] <= set(after)
    assert set(Counter((cell, seed) for cell, seed, _ in after).values()) == {1}
    study = read_matrix(EXAMPLE).model_copy(update={"seeds": "0-1"}).study()
    assert len(after) == 2 * len(study.cells)
    with LogReader.open(log_path(killed)) as reader:
        assert reader.check() == []
