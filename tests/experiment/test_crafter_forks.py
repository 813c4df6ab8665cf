"""Counterfactuals in MA-Crafter: forks from a logged state, one message changed, and the point of no return."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from emcoop.episode.fork import Fork, play_fork, point_of_no_return
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, log_path, play
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

WOOD: dict[str, Any] = {"mobs": "none", "goal": ["collect_wood"]}
TEAM = Setup(
    env="ma-crafter",
    level="easy",
    agents=2,
    topology="centralized",
    env_options={"mobs": "none", "goal": ["make_wood_pickaxe"]},
    limits={"max_steps": 60},
)
IDLE = TEAM.model_copy(update={"team": (SeatConfig(agent="noop"),), "env_options": WOOD, "topology": "individual"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episode 1: a scripted team that talks; episode 2: a team that does nothing."""
    folder = tmp_path_factory.mktemp("crafter")
    assert asyncio.run(play(Study(cells=(TEAM, IDLE), seeds=(3,)), folder)) == []
    return folder


def states(path: Path, episode: int) -> list[str]:
    with LogReader.open(path) as reader:
        return [str(event.payload["state"]) for event in reader.events(episode, kinds=("episode_start", "step"))]


def forked(run: Path, episode: int, what: Fork, out: Path) -> list[str]:
    """The states of the fork."""
    with LogReader.open(log_path(run)) as reader, LogStore.open(out / "log.db") as store:
        asyncio.run(play_fork(reader, episode, what, store, {}))
    return states(out / "log.db", 1)


def test_a_fork_that_changes_nobody_repeats_the_episode(run: Path, tmp_path: Path) -> None:
    before = states(log_path(run), 1)
    assert forked(run, 1, Fork(at=len(before) // 2), tmp_path) == before


def test_a_swapped_seat_goes_on_from_the_logged_state(run: Path, tmp_path: Path) -> None:
    before = states(log_path(run), 2)
    after = forked(run, 2, Fork(at=5, swap={"agent_1": SeatConfig(agent="oracle")}), tmp_path)
    assert after[:6] == before[:6]
    assert after[-1] != before[-1]
    assert len(after) < len(before)  # it takes the wood


@pytest.mark.parametrize("change", [{"change": "drop"}, {"change": "rewrite", "text": "hello"}])
def test_one_changed_message_leaves_everything_before_it(run: Path, tmp_path: Path, change: dict[str, str]) -> None:
    with LogReader.open(log_path(run)) as reader:
        sent = list(reader.events(1, kinds=("message_sent",)))
    assert sent
    last = sent[-1]
    before = states(log_path(run), 1)
    after = forked(run, 1, Fork.model_validate({"tamper": {"message": last.payload["id"], **change}}), tmp_path)
    assert after[: last.env_step + 1] == before[: last.env_step + 1]


def test_the_point_of_no_return_is_where_too_few_steps_are_left(run: Path) -> None:
    with LogReader.open(log_path(run)) as reader:
        found = asyncio.run(point_of_no_return(reader, 2, "oracle"))
    assert not found.success
    assert found.step is not None
    assert 0 < found.step < found.steps
