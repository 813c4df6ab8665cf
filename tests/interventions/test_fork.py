"""Counterfactuals: the past is repeated exactly, the future is another one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.interventions import waiting_model
from tests.interventions.played import played, team

from emcoop.core.errors import ConfigError, LogError
from emcoop.episode.fork import Fork, Tamper, play_fork, point_of_no_return
from emcoop.episode.replay import verify
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import log_path
from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.build import build


def forked(folder: Path, episode: int, fork: Fork) -> list[Event]:
    """The events of the fork, whose log lies beside the run's."""
    with LogReader.open(log_path(folder)) as reader, LogStore.open(folder / "forks" / "log.db") as store:
        setup, _ = asyncio.run(play_fork(reader, episode, fork, store, {}))
    with LogReader.open(folder / "forks" / "log.db") as reader:
        (row,) = [row for row in reader.episodes() if row.cell == setup.cell]
        assert verify(reader, row.id).digest == row.digest
        return list(reader.events(row.id))


def original(folder: Path, episode: int) -> list[Event]:
    with LogReader.open(log_path(folder)) as reader:
        return list(reader.events(episode))


def play_one(folder: Path, cell: Setup) -> None:
    played(folder, [cell], [0])


def world(events: list[Event]) -> list[str]:
    return [e.payload["state"] for e in events if e.kind in ("episode_start", "step")]


@pytest.mark.parametrize("topology", ["individual", "debate", "centralized", "decentralized"])
@pytest.mark.parametrize("at", [0, 3, 9])
def test_a_fork_that_changes_nobody_repeats_the_whole_episode(tmp_path: Path, topology: str, at: int) -> None:
    play_one(tmp_path, team(topology=topology, latency={"jitter": 0.3}))
    before, after = original(tmp_path, 1), forked(tmp_path, 1, Fork(at=at))
    assert [(e.cog_time, e.agent, e.kind, e.payload) for e in before[1:]] == [
        (e.cog_time, e.agent, e.kind, e.payload) for e in after[1:]
    ]
    assert after[0].payload["setup"]["interventions"][0].startswith("fork:digest=")


def test_oracles_in_every_seat_win_where_nobody_did_anything(tmp_path: Path) -> None:
    play_one(tmp_path, team(team=(SeatConfig(agent="noop"),), topology="individual"))
    swap = {f"agent_{i}": SeatConfig(agent="oracle") for i in range(3)}
    before, after = original(tmp_path, 1), forked(tmp_path, 1, Fork(at=5, swap=swap))
    assert before[-1].payload["score"]["success"] is False
    assert after[-1].payload["score"]["success"] is True
    assert world(before)[:6] == world(after)[:6]
    assert world(after)[6] != world(before)[6]


def test_the_swapped_seat_drops_the_plan_it_finds_and_the_others_keep_theirs(tmp_path: Path) -> None:
    play_one(tmp_path, team())
    after = forked(tmp_path, 1, Fork(at=4, swap={"agent_1": SeatConfig(agent="noop")}))
    moved = [e.payload["actions"] for e in after if e.kind == "step"]
    assert {actions["agent_1"] for actions in moved[4:]} == {0}
    assert any(actions["agent_0"] for actions in moved[4:])


def test_a_dropped_delayed_or_rewritten_message_changes_only_what_comes_after_it(tmp_path: Path) -> None:
    play_one(tmp_path, team())
    before = original(tmp_path, 1)
    cut = next(i for i, e in enumerate(before) if e.kind == "message_sent" and e.payload["id"] == 1)
    kinds = ("message_lost", "message_delivered")
    for tamper in (
        Tamper(message=1, change="drop"),
        Tamper(message=1, change="delay", seconds=40),
        Tamper(message=1, change="rewrite", text="ASSIGN agent_1 block_0:left slot 0; agent_2 block_1:left slot 0"),
    ):
        after = forked(tmp_path, 1, Fork(tamper=tamper))
        assert [e.payload for e in before[1 : cut + 1]] == [e.payload for e in after[1 : cut + 1]]
        arrived = [(e.kind, e.cog_time) for e in after if e.kind in kinds and e.payload["id"] == 1]
        was = [(e.kind, e.cog_time) for e in before if e.kind in kinds and e.payload["id"] == 1]
        if tamper.change == "drop":
            assert {kind for kind, _ in arrived} == {"message_lost"}
        elif tamper.change == "delay":
            assert [time for _, time in arrived] == [time + 40_000_000 for _, time in was]
        else:
            assert arrived == was
        assert [(e.cog_time, e.payload) for e in after[1:]] != [(e.cog_time, e.payload) for e in before[1:]]


def test_what_cannot_be_forked_is_said(tmp_path: Path) -> None:
    play_one(tmp_path, team())
    for fork, said in (
        (Fork(at=99999), "cannot be forked at step 99999"),
        (Fork(at=0, swap={"agent_7": SeatConfig(agent="oracle")}), "no agent 'agent_7'"),
        (Fork(tamper=Tamper(message=99999, change="drop")), "there is no number 99999"),
        (Fork(tamper=Tamper(message=1, change="rewrite")), "needs a text"),
        (Fork(), "a step or a message"),
    ):
        with pytest.raises(ConfigError, match=said):
            forked(tmp_path, 1, fork)
    with pytest.raises(LogError, match="no episode 7"):
        forked(tmp_path, 7, Fork(at=0))
    forked(tmp_path, 1, Fork(at=2))
    with pytest.raises(LogError, match="finished already"):
        forked(tmp_path, 1, Fork(at=2))


def test_the_point_of_no_return_is_the_last_step_with_time_enough_for_the_oracle(tmp_path: Path) -> None:
    lazy = team(team=(SeatConfig(agent="noop"),), topology="individual", level="easy", limits={"max_steps": 30})
    records = played(
        tmp_path, [lazy, team(team=(SeatConfig(agent="oracle"),), topology="individual", level="easy")], [0]
    )
    needed = next(int(r.metrics["steps"] or 0) for r in records if r.setup["team"][0]["agent"] == "oracle")
    lost = next(r.id for r in records if r.setup["team"][0]["agent"] == "noop")
    with LogReader.open(log_path(tmp_path)) as reader:
        found = asyncio.run(point_of_no_return(reader, lost))
        won = asyncio.run(point_of_no_return(reader, next(r.id for r in records if r.id != lost)))
    assert (found.success, found.step) == (False, 30 - needed)
    assert (won.success, won.step) == (True, won.steps)


def test_a_language_model_is_not_asked_again_for_what_it_has_decided(tmp_path: Path) -> None:
    name = "scripted:tests.interventions.waiting_model:answer"
    asks = Setup.model_validate(
        {"agents": 2, "team": [{"agent": "llm", "model": name}], "limits": {"max_steps": 8, "max_tokens": 10**9}}
    )
    play_one(tmp_path, asks)
    waiting_model.ASKED.clear()
    with LogReader.open(log_path(tmp_path)) as reader, LogStore.open(tmp_path / "forks" / "log.db") as store:
        _, outcome = asyncio.run(play_fork(reader, 1, Fork(at=5), store, {name: build(name)}))
    assert outcome.steps == 8
    assert len(waiting_model.ASKED) == 2 * (8 - 5)  # one plan a step and agent, from the cut on
    usage = original(tmp_path, 1)[-1].payload["usage"]
    with LogReader.open(tmp_path / "forks" / "log.db") as reader:
        after = list(reader.events(1))
    assert after[-1].payload["usage"] == usage
    assert world(after) == world(original(tmp_path, 1))
