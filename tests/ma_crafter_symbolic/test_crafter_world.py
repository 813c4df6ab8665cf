"""MA-Crafter as an environment: score, capabilities, events, and the whole machinery around it."""

import json
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from crafter_kit import bag, carry_out, draw, quiet
from pettingzoo.test import parallel_api_test, parallel_seed_test

from emcoop.core.types import NO_TASK, Plan
from emcoop.envs.ma_crafter.actions import Collect, Craft
from emcoop.envs.ma_crafter.config import MILESTONES
from emcoop.envs.ma_crafter.constants import ACHIEVEMENTS, DEAD, HEALTH
from emcoop.envs.ma_crafter.env import make
from emcoop.rl import parallel_env

TEAMS = [1, 2, 3, 6]


@pytest.mark.parametrize("agents", TEAMS)
def test_the_parallel_api_test_passes_without_a_warning(agents: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(parallel_env("ma-crafter", agents=agents), num_cycles=60)


@pytest.mark.parametrize("agents", TEAMS)
def test_the_parallel_seed_test_passes(agents: int) -> None:
    parallel_seed_test(lambda: parallel_env("ma-crafter", agents=agents), num_cycles=30)


def test_a_made_pickaxe_is_a_gain_of_everybody_who_took_part() -> None:
    env = quiet(2)
    state = draw(env, ".0t1.", bags={0: {"wood": 1}})
    before = [env.capabilities(state, agent) for agent in env.agents]
    assert all(sum(c.tools.values()) == 0 for c in before)
    _, after, _ = carry_out(env, state, {a: Craft(item="wood_pickaxe", timeout=3) for a in env.agents})
    assert [env.capabilities(after, agent).tools["wood_pickaxe"] for agent in env.agents] == [1, 1]
    assert env.capabilities(after, "agent_0").skills == before[0].skills


def test_progress_climbs_the_technology_tree_and_is_one_with_the_diamond() -> None:
    env = quiet(2)
    state = draw(env, ".0d1.", bags={0: {"iron_pickaxe": 1}})
    assert env.score(state).progress == 0
    for count, name in enumerate(MILESTONES[:-1], start=1):
        state.achievements[count % 2, ACHIEVEMENTS.index(name)] = 1
        assert env.score(state).progress == pytest.approx(count / len(MILESTONES))
        assert not env.score(state).success
    transition = env.step(state, {"agent_0": 21, "agent_1": 0})
    assert transition.terminated
    assert bag(transition.state) == {"diamond": 1, "iron_pickaxe": 1}
    assert env.score(transition.state).success
    assert env.score(transition.state).progress == 1
    assert {"kind": "achieved", "agent": "agent_0", "achievement": "collect_diamond"} in transition.events


def test_a_diamond_without_the_milestones_is_success_all_the_same() -> None:
    env = quiet(1)
    state = draw(env, ".0d", bags={0: {"iron_pickaxe": 1}})
    score = env.score(env.step(state, {"agent_0": 21}).state)
    assert (score.success, score.progress) == (True, 1.0)


def test_a_task_set_is_scored_by_its_share() -> None:
    env = make(1, "easy", goal=("collect_wood", "place_table"), mobs="none")
    state = draw(env, "T0.", "...", bags={0: {"wood": 1}})
    transition = env.step(state, {"agent_0": 17})
    assert env.score(transition.state).progress == 0.5
    assert not transition.terminated
    transition = env.step(transition.state, {"agent_0": 8})
    assert env.score(transition.state).success
    assert transition.terminated


@pytest.mark.parametrize(("rule", "over"), [("end", True), ("continue", False), ("respawn", False)])
def test_a_death_ends_the_episode_only_if_the_level_says_so(rule: str, over: bool) -> None:
    env = make(2, "easy", on_death=rule, mobs="none")
    state = draw(env, "0!...", "....1", bags={0: {"wood": 3}})
    transition = env.step(state, {"agent_0": 2, "agent_1": 0})
    assert transition.terminated == over
    assert {"kind": "died", "agent": "agent_0"} in transition.events
    assert bool(transition.state.agents[0, DEAD]) == (rule != "respawn")
    assert bag(transition.state) == {}
    assert env.score(transition.state).detail["deaths"] == 1


def test_what_had_no_effect_is_a_blocked_event_with_its_reason() -> None:
    env = quiet(2)
    state = draw(env, "01..")
    events = env.step(state, {"agent_0": 11, "agent_1": 1}).events
    assert events == (
        {"kind": "blocked", "agent": "agent_0", "code": "no_station"},
        {"kind": "blocked", "agent": "agent_1", "code": "occupied"},
    )


def test_what_is_allowed_in_a_plan_is_what_the_agent_knows() -> None:
    env = quiet(2)
    state = draw(env, "0T.......1.i", bags={0: {"coal": 1}})
    allowed = env.allowed(env.observe(state, "agent_0"))
    assert "tree_1" in allowed["task"]
    assert not [name for name in allowed["task"] if name.startswith("iron_")]
    assert allowed["object_type"] == ["tree", "cell"]
    assert allowed["resource_type"] == ["coal"]
    assert allowed["recipient_agent_id"] == ["agent_1"]
    for task in allowed["task"]:
        env.plan_schema.model_validate({"task": task, "actions": [{"action_type": "sleep"}]})
        assert env.check_plan(state, "agent_0", Plan(task, (Collect(target="wood"),))) is None
    assert set(allowed) <= {"task"} | {
        field for body in env.plan_schema.model_json_schema()["$defs"].values() for field in body.get("properties", {})
    }


def test_a_frame_shows_the_agents_and_their_surroundings() -> None:
    env = make(3, "easy")
    state = env.reset(0)
    frame = env.render(state)
    root = ElementTree.fromstring(frame)
    numbers = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"0", "1", "2"} <= set(numbers)
    assert len(frame) < 60_000
    for row in state.inventory:
        row[HEALTH] = 0
    state.agents[:, DEAD] = 1
    assert ElementTree.fromstring(env.render(state)).tag.endswith("svg")


def test_the_rules_name_the_levels_numbers_and_what_the_team_cannot_do() -> None:
    for variant in make(3, "hard").prompt_variants:
        text = make(3, "hard").rules(variant)
        assert "- tree (gives wood): 2 agents" in text
        assert "- iron: 4 agents, each with stone_pickaxe; more than your team has" in text
        assert "more than your team has" not in make(4, "hard").rules(variant)
        assert "- place table: 2 wood" in text


def chatter(turns: Sequence[Any], schema: Any, settings: Any) -> str:
    """A model that, by its seed, walks, collects, crafts, shares, talks, or answers nonsense."""
    request, luck = turns[-1].content, settings.seed % 9
    if luck == 0:
        return "nonsense"
    if "# Wanted: a message" in request:
        return json.dumps({"recipients": ["agent_1"] if luck < 4 else [], "content": "here" if luck < 4 else None})
    actions: list[dict[str, Any]] = [
        {"action_type": "move", "direction": ["left", "right", "up", "down"][luck % 4], "num_steps": 3},
        {"action_type": "collect", "target": "wood"},
        {"action_type": "navigate", "object_type": "tree", "item_id": luck},
        {"action_type": "craft", "item": "wood_pickaxe"},
        {"action_type": "share", "recipient_agent_id": "agent_0", "resource_type": "wood"},
        {"action_type": "sleep"},
    ]
    plan = {"task": NO_TASK, "actions": [actions[luck % 6], actions[0]], "reasoning": ""}
    if "# Wanted: resume" in request:
        return json.dumps({"decision": "resume"} if luck < 5 else {"decision": "replan", "new_plan": plan})
    return json.dumps(plan)


@pytest.mark.parametrize("topology", ["individual", "debate", "centralized", "decentralized"])
def test_language_model_agents_play_in_every_topology_and_the_log_replays(topology: str, tmp_path: Path) -> None:
    def emcoop(*args: str) -> str:
        command = [sys.executable, "-m", "emcoop", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parent)
        assert done.returncode == 0, done.stderr
        return done.stdout

    axes = ["--level", "hard", "--agents", "3", "--topology", topology, "--agent", "llm", "--seeds", "1"]
    model = ["--model", "scripted:test_crafter_world:chatter", "--no-references", "--set", "limits.max_steps=12"]
    emcoop("run", "ma-crafter", *axes, *model, "--out", str(tmp_path / "run"), "--json")
    assert "states equal" in emcoop("replay", str(tmp_path / "run"), "--verify")
