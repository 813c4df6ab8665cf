"""The reference policies of MA-Crafter: what they reach, and that they are deterministic."""

from __future__ import annotations

import pytest
from crafter_seats import play

from emcoop.core.errors import ConfigError
from emcoop.envs.ma_crafter.config import MILESTONES, read_level
from emcoop.envs.ma_crafter.env import make

TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")


def test_the_environment_ships_all_six_policies() -> None:
    assert list(make().policies()) == ["random", "noop", "greedy", "scripted", "oracle", "team-oracle"]


def test_a_policy_refuses_options() -> None:
    from types import SimpleNamespace

    env = make(agents=1)
    seat = SimpleNamespace(agent="agent_0", env=env, seed=0, options={"speed": 3})
    for name, factory in env.policies().items():
        with pytest.raises(ConfigError, match=name):
            factory(seat)


def test_one_scripted_agent_reaches_the_diamond_without_enemies() -> None:
    played = play("scripted", seed=0, steps=600, mobs="cows")
    assert played.outcome.score.success


def test_the_oracle_reaches_the_diamond_without_enemies() -> None:
    played = play("oracle", seed=0, steps=600, mobs="cows")
    assert played.outcome.score.success


def test_the_same_seed_gives_the_same_episode() -> None:
    first, second = (play("scripted", "hard", "decentralized", agents=3, seed=2, steps=60) for _ in range(2))
    assert first.events == second.events
    assert first.of_kind("step")


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_scripted_squad_fells_trees_together_under_every_topology(topology: str) -> None:
    played = play("scripted", "hard", topology, agents=4, seed=1, steps=100, mobs="cows")
    assert "collect_wood" in played.achievements


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_no_plan_of_a_scripted_team_is_rejected(topology: str) -> None:
    played = play("scripted", "medium", topology, agents=3, seed=3, steps=80)
    assert not played.of_kind("plan_rejected")
    assert played.of_kind("step")


@pytest.mark.parametrize("policy", ["oracle", "team-oracle"])
def test_oracles_cooperate_without_a_message(policy: str) -> None:
    played = play(policy, "hard", "decentralized", agents=4, seed=1, steps=100, mobs="cows")
    assert "collect_wood" in played.achievements
    assert not played.of_kind("message_sent")
    assert not played.of_kind("message")


def test_greedy_takes_wood_and_makes_nothing() -> None:
    played = play("greedy", seed=0, steps=60)
    assert "collect_wood" in played.achievements
    assert not any(name.startswith(("make_", "place_")) for name in played.achievements)


def test_noop_achieves_nothing_that_takes_an_action() -> None:
    assert not play("noop", seed=0, steps=30).achievements & set(MILESTONES)


@pytest.mark.slow
def test_scripted_teams_reach_more_milestones_than_random_ones() -> None:
    assert read_level("easy").goal == "diamond"
    scripted, random = (
        [play(policy, seed=seed, steps=1500).outcome for seed in range(5)] for policy in ("scripted", "random")
    )
    better = [s.score.progress > r.score.progress for s, r in zip(scripted, random, strict=True) if s and r]
    assert len(better) == 5
    assert sum(better) >= 4
