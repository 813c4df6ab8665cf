"""What the loop writes fits the catalogue, and its columns keep their promises."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from emcoop.episode.setup import Setup
from emcoop.experiment.study import Study, play
from emcoop.log.reader import LogReader


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    common = {"env": "cube", "level": "easy", "agents": 2, "limits": {"max_steps": 12}}
    cells = tuple(
        Setup.model_validate({**common, "topology": topology, "team": [{"agent": agent}]})
        for topology in ("individual", "debate", "centralized", "decentralized")
        for agent in ("random", "scripted")
    )
    assert asyncio.run(play(Study(cells=cells, seeds=(0,)), folder, jobs=4)) == []
    return folder / "log.db"


def test_every_event_of_played_episodes_fits_the_catalogue(run: Path) -> None:
    with LogReader.open(run) as reader:
        assert len(reader.episodes()) == 8
        assert reader.check() == []


def test_time_and_steps_never_run_backwards(run: Path) -> None:
    with LogReader.open(run) as reader:
        for row in reader.episodes():
            events = list(reader.events(row.id))
            assert [event.seq for event in events] == list(range(len(events)))
            assert all(a.cog_time <= b.cog_time and a.env_step <= b.env_step for a, b in pairwise(events))
            assert (events[0].kind, events[-1].kind) == ("episode_start", "episode_end")
            steps = [event.env_step for event in events if event.kind == "step"]
            assert steps == list(range(1, events[-1].payload["steps"] + 1))
