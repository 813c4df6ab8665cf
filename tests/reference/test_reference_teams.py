"""Whole episodes of reference teams: floors, ceilings, and the shapes that topologies give."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import mean

import pytest
from tests.reference.seated import Played, play

TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")
SEEDS = range(10)


@cache
def hard(agent: str, topology: str) -> tuple[Played, ...]:
    """Ten episodes of level hard with three agents."""
    return tuple(play(agent, "hard", topology, 3, seed) for seed in SEEDS)


def average(agent: str, metric: str) -> Mapping[str, float]:
    return {t: mean(p.values[metric] or 0.0 for p in hard(agent, t)) for t in TOPOLOGIES}


def test_the_oracle_solves_hard_under_every_topology() -> None:
    assert average("oracle", "success") == dict.fromkeys(TOPOLOGIES, 1.0)


def test_oracles_stay_in_step_without_a_failed_or_replaced_plan() -> None:
    for topology in TOPOLOGIES:
        for played in hard("oracle", topology):
            assert {e.payload["outcome"] for e in played.of_kind("plan_ended")} <= {"done", "truncated"}
            assert not played.of_kind("plan_rejected")


def test_the_team_oracle_equals_the_oracle_because_everything_is_seen() -> None:
    for seed in range(3):
        one, other = play("oracle", seed=seed), play("team-oracle", seed=seed)
        assert [e.payload["state"] for e in one.of_kind("step")] == [e.payload["state"] for e in other.of_kind("step")]


@pytest.mark.parametrize("agent", ["random", "noop", "greedy"])
def test_floors_do_not_solve_hard(agent: str) -> None:
    assert mean(p.values["success"] or 0.0 for p in (play(agent, seed=s) for s in range(4))) == 0.0


def test_greedy_solves_easy_alone() -> None:
    assert mean(play("greedy", "easy", seed=s).values["success"] or 0.0 for s in range(4)) >= 0.5


@pytest.mark.parametrize(("topology", "least"), [("centralized", 0.9), ("debate", 0.8), ("decentralized", 0.8)])
def test_a_scripted_team_that_talks_solves_hard(topology: str, least: float) -> None:
    assert average("scripted", "success")[topology] >= least


def test_a_scripted_team_without_words_often_solves_hard() -> None:
    assert average("scripted", "success")["individual"] >= 0.5


def test_nobody_speaks_under_individual_and_most_is_said_under_decentralized() -> None:
    messages = average("scripted", "M6")
    assert messages["individual"] == 0
    assert messages["decentralized"] > max(messages["debate"], messages["centralized"])


def test_only_talking_teams_are_interrupted() -> None:
    interruptions = average("scripted", "M10")
    assert interruptions["individual"] == 0
    assert min(v for t, v in interruptions.items() if t != "individual") > 0


def test_the_leader_makes_plans_most_coherent() -> None:
    coherence = average("scripted", "M13")
    assert coherence["centralized"] > max(v for t, v in coherence.items() if t != "centralized")


def test_individual_agents_have_the_least_decision_overhead() -> None:
    overhead = average("scripted", "M1")
    assert overhead["individual"] < min(v for t, v in overhead.items() if t != "individual")


def test_words_save_steps() -> None:
    steps = average("scripted", "steps")
    assert steps["centralized"] < steps["individual"]


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_same_seed_gives_the_same_episode(topology: str) -> None:
    again = play("scripted", "hard", topology, 3, 0)
    assert [(e.kind, e.cog_time, e.payload) for e in again.events] == [
        (e.kind, e.cog_time, e.payload) for e in hard("scripted", topology)[0].events
    ]


def test_episodes_do_not_depend_on_the_hash_order_of_a_process() -> None:
    program = (
        "import hashlib; from tests.reference.seated import play; "
        "played = [play(a, 'hard', 'decentralized', 3, 1).events for a in ('scripted', 'oracle')]; "
        "print(hashlib.sha256(repr(played).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 1


def test_scripted_followers_obey_an_oracle_leader() -> None:
    outcomes = [play(["oracle", "scripted", "scripted"], "hard", "centralized", 3, s) for s in range(4)]
    assert all(p.values["success"] for p in outcomes)


def test_a_scripted_team_survives_a_channel_that_loses_messages() -> None:
    for topology in TOPOLOGIES[1:]:
        options = {"loss": 0.3}
        played = [play("scripted", "hard", topology, 3, s, options) for s in range(3)]
        assert mean(p.values["success"] or 0.0 for p in played) > 0.5, topology
