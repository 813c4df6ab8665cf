"""Interventions: their names, what they change in a set-up, and what that does in play."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interventions.played import events_of, played, team, values

from emcoop.agents.altered import garble, mislead
from emcoop.core.errors import ConfigError, UnknownName
from emcoop.core.seeds import Stream
from emcoop.episode.setup import SeatConfig
from emcoop.interventions import INTERVENTIONS, apply, parse


@pytest.mark.parametrize(
    ("text", "name", "value", "parameters", "seats"),
    [
        ("silence", "silence", None, {}, ()),
        ("loss:0.3", "loss", "0.3", {}, ()),
        ("deaf@0+2", "deaf", None, {}, (0, 2)),
        ("faculty:plan=oracle;speak=null@1", "faculty", None, {"plan": "oracle", "speak": "null"}, (1,)),
        ("model:openai:gpt-4o-mini@0", "model", "openai:gpt-4o-mini", {}, (0,)),
        ("model:openai:m@http://127.0.0.1:1/v1@0", "model", "openai:m@http://127.0.0.1:1/v1", {}, (0,)),
    ],
)
def test_a_name_is_taken_apart(
    text: str, name: str, value: str | None, parameters: dict[str, str], seats: tuple[int, ...]
) -> None:
    found = parse(text)
    assert (found.name, found.value, dict(found.parameters), found.seats) == (name, value, parameters, seats)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("silense", "did you mean 'silence'"),
        ("silence:3", "silence takes no value"),
        ("silence@0", "done to the whole team"),
        ("loss", "share: Field required"),
        ("loss:much", "valid number"),
        ("loss:2", "no probability"),
        ("faculty:plann=oracle", "did you mean 'plan'"),
        ("faculty:plan=oracel", "did you mean 'oracle'"),
        ("faculty@0", "name at least one"),
        ("faculty:plan=oracle;plan=null", "each key once"),
        ("deaf@3", "no seat 3 in a team of 3"),
        ("deaf@", "after @ come numbers"),
        (":3", "has no name"),
        ("relay:decisions=3", "name who is first"),
        ("relay:first=oracle", "decisions: Field required"),
        ("model:openai:x", "has no model to swap"),
        ("prompt:short", "no variant 'short'|reads no prompt"),
        ("feedback:loud", "own"),
    ],
)
def test_a_wrong_name_or_parameter_is_said_with_the_mend(text: str, said: str) -> None:
    with pytest.raises((ConfigError, UnknownName), match=said):
        team(text)


def test_interventions_compose_in_order_and_keep_their_names_and_the_cell_without_them() -> None:
    plain = team()
    assert plain.cell == team().cell
    both = apply(apply(plain, ["loss:0.5"]), ["mute@1"])
    assert both.interventions == ("loss:0.5", "mute@1")
    assert both.control == plain.cell != both.cell
    assert both.topology_options == {"loss": 0.5}
    assert [seat.agent for seat in both.team] == ["scripted", "composite", "scripted"]
    assert team("loss:0.5", "mute@1").cell == both.cell


def test_every_intervention_says_what_it_does() -> None:
    assert all(INTERVENTIONS.get(name).__doc__ for name in INTERVENTIONS.names())


def test_swapping_nothing_changes_nothing(tmp_path: Path) -> None:
    plain, sham, late = team(), team("own@0"), team("relay:then=oracle;decisions=9999@0")
    played(tmp_path, [plain, sham, late], [0, 1])
    for seed in (0, 1):
        steps = [events_of(tmp_path, cell, seed, "step", "message_sent") for cell in (plain, sham, late)]
        assert steps[0] == steps[1] == steps[2]


def test_silence_and_muteness_stop_messages_and_nothing_else_does(tmp_path: Path) -> None:
    plain, silent, mute = team(), team("silence"), team("mute@0")
    records = played(tmp_path, [plain, silent, mute], [0, 1])
    assert min(values(records, plain, "M6")) > 0
    assert max(values(records, silent, "M6")) == 0
    assert {e.agent for e in events_of(tmp_path, mute, 0, "message_sent")} == {"agent_1", "agent_2"}


def test_the_channel_loses_delays_and_prices_what_is_sent(tmp_path: Path) -> None:
    lossy, late, dear = team("loss:1"), team("delay:1.5"), team("price:0.25")
    records = played(tmp_path, [lossy, late, dear], [0])
    assert events_of(tmp_path, lossy, 0, "message_delivered") == []
    (sent, *_), (got, *_) = (events_of(tmp_path, late, 0, kind) for kind in ("message_sent", "message_delivered"))
    assert got.cog_time - sent.cog_time == 1_500_000
    assert values(records, dear, "cost_usd")[0] == 0.25 * values(records, dear, "M6")[0]


def test_a_deaf_follower_acts_on_no_order(tmp_path: Path) -> None:
    plain, deaf = team(level="medium"), team("deaf@1", level="medium")
    records = played(tmp_path, [plain, deaf], range(4))
    assert sum(values(records, deaf, "M13")) < sum(values(records, plain, "M13"))


def test_a_relay_hands_over_after_so_many_decisions(tmp_path: Path) -> None:
    noop = {"team": (SeatConfig(agent="noop"),), "topology": "individual", "level": "easy"}
    never, soon, at_once = (
        team(*names, **noop) for names in ([], ["relay:then=oracle;decisions=4"], ["relay:then=oracle;decisions=0"])
    )
    records = played(tmp_path, [never, soon, at_once], [0])
    assert values(records, never, "success") == [0.0]
    assert values(records, soon, "success") == values(records, at_once, "success") == [1.0]
    assert values(records, soon, "steps")[0] > values(records, at_once, "steps")[0]


def test_incompetent_and_adversarial_seats_cost_the_team_steps(tmp_path: Path) -> None:
    plain, random, liar = team(), team("incompetent@2"), team("adversary@0")
    records = played(tmp_path, [plain, random, liar], range(4))
    steps = {cell.cell: sum(values(records, cell, "steps")) for cell in (plain, random, liar)}
    assert steps[random.cell] > steps[plain.cell]
    assert steps[liar.cell] > steps[plain.cell]


def test_noise_loses_about_the_given_share_of_words_and_repeats_itself() -> None:
    text = " ".join(["word"] * 2000)
    lost = garble(text, 0.25, Stream(1)).split().count("###")
    assert 420 <= lost <= 580
    assert garble(text, 0.25, Stream(1)) == garble(text, 0.25, Stream(1))
    assert garble("a b", 0.0, Stream(1)) == "a b"


def test_a_liar_names_the_next_agent_and_the_next_number() -> None:
    assert mislead("ASSIGN agent_2 block_9:left slot 0", 3) == "ASSIGN agent_0 block_10:left slot 1"


@pytest.mark.parametrize("world", [{}, {"env": "ma-crafter", "level": "easy", "topology": "individual"}])
def test_a_policy_does_not_take_feedback_on_cooperation_for_a_failure_of_its_own(
    tmp_path: Path, world: dict[str, str]
) -> None:
    limits = {"limits": {"max_steps": 60}}
    plain, told = team(**world, **limits), team("feedback", **world, **limits)
    played(tmp_path, [plain, told], seeds=[0, 1])
    for seed in (0, 1):
        states = [[e.payload["state"] for e in events_of(tmp_path, cell, seed, "step")] for cell in (plain, told)]
        assert states[0] == states[1]


def test_feedback_tells_what_the_tasks_at_hand_lack(tmp_path: Path) -> None:
    spoken = team("feedback:spoken@0")
    played(tmp_path, [spoken], [0])
    said = {e.agent: e.payload["content"] for e in events_of(tmp_path, spoken, 0, "message_sent")}
    assert "agents at once; in place:" in said["agent_0"]
    assert "short by" in said["agent_0"]
    assert "agents at once" not in said["agent_1"]
