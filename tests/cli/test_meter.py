"""Live progress: what stands in its lines, by a clock that the test turns."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from emcoop.cli.meter import QUIET_S, Meter
from emcoop.core.types import Limit, Score, Usage
from emcoop.episode.loop import Outcome
from emcoop.episode.setup import Setup
from emcoop.experiment.caps import Caps
from emcoop.experiment.study import Progress

CELL = Setup(env="cube", level="hard", agents=3)
WON = Outcome(limit=Limit.SUCCESS, score=Score(True, 1.0, {}), steps=20, usage=Usage())


@dataclass
class Clock:
    """Seconds, as many as the test says."""

    time: float = 100.0

    def __call__(self) -> float:
        return self.time


def test_rate_time_left_and_the_longest_episode_are_told() -> None:
    clock = Clock()
    meter = Meter(now=clock)
    meter(Progress(CELL, 0, done=10, total=40))
    meter(Progress(CELL, 1, done=10, total=40))
    clock.time += 30
    meter(Progress(CELL, 1, done=11, total=40, outcome=WON))
    meter(Progress(CELL, 2, done=11, total=40))
    clock.time += 30
    meter(Progress(CELL, 0, done=11, total=40, step=7))
    assert meter.lines() == [
        "1.00 a minute, about 29 min left",
        "2 running, the longest for 60 s: cube/hard x3 individual scripted, seed 0: step 7",
    ]


def test_money_tokens_and_what_the_caps_leave_are_told() -> None:
    clock = Clock()
    meter = Meter(Caps(usd=2.0, tokens=50_000, hours=1.0), now=clock)
    clock.time += 600
    spent = Usage(30_000, 1_000, 0, 9, 0.5)
    meter(Progress(CELL, 0, done=1, total=2, outcome=WON, spent=spent))
    assert meter.lines()[1:] == ["$0.50 and 31.0k tokens spent", "caps leave $1.50, 19.0k tokens, 50 min"]


def test_episodes_that_the_models_provider_has_ended_are_counted() -> None:
    meter = Meter(now=Clock())
    lost = Outcome(limit=Limit.MODEL, score=Score(False, 0.0, {}), steps=2, usage=Usage())
    for seed, outcome in enumerate((lost, WON, lost)):
        meter(Progress(CELL, seed, done=seed + 1, total=3, outcome=outcome))
    assert "2 ended by model failures" in meter.lines()


def test_a_price_that_nobody_knows_is_not_called_nothing() -> None:
    meter = Meter(now=Clock())
    meter(Progress(CELL, 0, done=1, total=2, outcome=WON, spent=Usage(100, 10, 0, 1, None)))
    assert meter.lines() == ["price unknown and 110 tokens spent"]
    mixed = Usage(100, 10, 0, 1, None) + Usage(cost_usd=0.5)
    meter = Meter(Caps(usd=2.0), now=Clock())
    meter(Progress(CELL, 0, done=1, total=2, outcome=WON, spent=mixed))
    assert meter.lines() == ["$0.50 of known prices and 110 tokens spent", "caps leave $1.50"]


def test_failures_are_counted_and_an_episode_that_is_over_is_not_running() -> None:
    meter = Meter(now=Clock())
    meter(Progress(CELL, 0, done=0, total=1))
    meter(Progress(CELL, 0, done=1, total=1, error="nobody is at home"))
    assert meter.lines() == ["1 failed"]


def test_where_there_is_no_terminal_a_line_comes_now_and_then_and_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with Meter(now=clock) as meter:
        meter(Progress(CELL, 0, done=0, total=1, step=1))
        clock.time += QUIET_S
        meter(Progress(CELL, 0, done=0, total=1, step=2))
        meter(Progress(CELL, 0, done=0, total=1, step=3))
        meter(Progress(CELL, 0, done=1, total=1, outcome=WON))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("0/1 episodes; 1 running")
    assert lines[1].startswith("1/1 episodes; 12.0 a minute")


def test_on_a_real_terminal_a_bar_is_drawn_and_gone_at_the_end(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "emcoop", "run", "cube", "--seeds", "0-9", "--level", "hard", "--no-references"]
    process = subprocess.Popen([*command, "--out", str(tmp_path), "--json"], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    drawn = b""
    try:
        while chunk := os.read(master, 65536):
            drawn += chunk
    except OSError:  # Linux says so when the other end is closed
        pass
    finally:
        os.close(master)
    assert process.wait(timeout=300) == 0
    shown = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", drawn).decode()
    assert "/10" in shown
    assert "a minute" in shown
    assert drawn.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h"))  # the last thing is a line wiped, or the cursor back
