"""What `emcoop.envs.base.Environment` promises, asked of every registered world.

A new world gets this suite by being registered; what it needs beside its name is in `WORLDS` (team sizes, levels).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Constraint, Failure, Plan, primitive_of
from emcoop.envs import ENVS
from emcoop.envs.base import Done, Failed, Primitive, Progress
from emcoop.envs.policy import HasPolicies

CASES = {
    "cube": [(1, "easy"), (3, "easy"), (3, "hard"), (2, "medium"), (6, "curriculum")],
    "exchange": [(1, "easy"), (3, "easy"), (2, "hard"), (5, "short")],
    "ma-crafter": [(1, "easy"), (3, "hard"), (2, "medium"), (6, "hard-scaled")],
    "maze": [(1, "easy"), (2, "easy"), (3, "medium"), (5, "hard")],
}
"""Team sizes and levels per world; a world that is not listed is tried with three agents at ``easy``."""

WORLDS = [(name, agents, level) for name in ENVS.names() for agents, level in CASES.get(name, [(3, "easy")])]
MAX_TEXT = 20_000


@pytest.fixture(params=WORLDS, ids=lambda world: "-".join(map(str, world)))
def env(request: pytest.FixtureRequest) -> Any:
    name, agents, level = request.param
    return ENVS.get(name)(agents=agents, level=level)


def joint(env: Any, stream: Stream) -> dict[str, int]:
    """A random joint action in which the agents often agree, so that cooperation happens."""
    common = stream.below(len(env.primitives))
    return {a: common if stream.below(2) else stream.below(len(env.primitives)) for a in env.agents}


def play(env: Any, seed: int, steps: int) -> list[tuple[Any, dict[str, int], Any]]:
    """(state, joint action, transition) of a random play."""
    stream = Stream.named(seed, "conformance")
    state, found = env.reset(seed), []
    for _ in range(steps):
        actions = joint(env, stream)
        transition = env.step(state, actions)
        found.append((state, actions, transition))
        if transition.terminated or transition.truncated:
            break
        state = transition.state
    return found


def test_the_world_says_who_and_what_it_is(env: Any) -> None:
    assert env.name in ENVS.names()
    assert env.version
    assert env.agents == tuple(f"agent_{i}" for i in range(len(env.agents)))
    assert env.horizon >= 1
    assert len(set(env.primitives)) == len(env.primitives) >= 2
    assert env.impossible is None or isinstance(env.impossible, str)
    assert all(isinstance(line, str) and line for line in env.warnings)
    assert json.loads(json.dumps(env.parameters(), sort_keys=True)) == dict(env.parameters())


def test_a_seed_names_the_state_and_its_whole_future(env: Any) -> None:
    first, second = play(env, 4, 40), play(env, 4, 40)
    assert [env.snapshot(t.state) for _, _, t in first] == [env.snapshot(t.state) for _, _, t in second]
    assert [dict(t.rewards) for _, _, t in first] == [dict(t.rewards) for _, _, t in second]
    assert [t.events for _, _, t in first] == [t.events for _, _, t in second]
    assert env.snapshot(env.reset(4)) != env.snapshot(env.reset(5))


def test_nothing_changes_a_state(env: Any) -> None:
    for state, actions, _ in play(env, 1, 20):
        before = env.snapshot(state)
        env.step(state, actions)
        env.constraints(state, actions, frozenset(env.tasks(state)))
        env.score(state)
        env.render(state)
        for agent in env.agents:
            env.describe(env.observe(state, agent))
            env.array(state, agent)[...] = 7
            env.capabilities(state, agent)
            env.check_plan(state, agent, env.wait_plan(2))
        assert env.snapshot(state) == before


def test_a_restored_state_is_the_state_and_has_the_same_future(env: Any) -> None:
    for state, actions, transition in play(env, 2, 30):
        data = env.snapshot(state)
        again = env.restore(data)
        assert env.snapshot(again) == data
        assert env.snapshot(env.step(again, actions).state) == env.snapshot(transition.state)
        for agent in env.agents:
            assert env.observe(again, agent) == env.observe(state, agent)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\0" * 64])
def test_bytes_that_are_no_snapshot_are_refused(env: Any, data: bytes) -> None:
    with pytest.raises(ValueError):
        env.restore(data)


def test_a_torn_snapshot_is_refused(env: Any) -> None:
    data = env.snapshot(env.reset(0))
    with pytest.raises(ValueError):
        env.restore(data[: len(data) // 2])


def test_every_agent_is_rewarded_and_an_episode_ends_at_the_horizon_at_the_latest(env: Any) -> None:
    state, noop = env.reset(3), dict.fromkeys(env.agents, 0)
    for step in range(1, env.horizon + 1):
        transition = env.step(state, noop)
        assert set(transition.rewards) == set(env.agents)
        assert all(np.isfinite(float(reward)) for reward in transition.rewards.values())
        assert not (transition.terminated and transition.truncated)
        assert transition.truncated or transition.terminated or step < env.horizon
        if transition.terminated or transition.truncated:
            break
        state = transition.state
    json.dumps(transition.events)


def test_unknown_primitives_and_missing_agents_are_refused(env: Any) -> None:
    state = env.reset(0)
    fine = dict.fromkeys(env.agents, 0)
    for bad in (-1, len(env.primitives), 10**6):
        with pytest.raises(ValueError):
            env.step(state, {**fine, env.agents[-1]: bad})
    with pytest.raises(ValueError, match=env.agents[-1]):
        env.step(state, dict.fromkeys(env.agents[:-1], 0))


def test_bad_parameters_are_refused_with_the_nearest_known_one(env: Any) -> None:
    make = ENVS.get(env.name)
    with pytest.raises(ConfigError, match="horizon"):
        make(agents=len(env.agents), level=env.level, horizn=3)
    with pytest.raises(ConfigError, match="easy"):
        make(agents=len(env.agents), level="eazy")
    for agents in (0, -1):
        with pytest.raises(ConfigError):
            make(agents=agents, level=env.level)


def test_the_null_plan_passes_its_own_check_and_waits(env: Any) -> None:
    state = env.reset(0)
    for steps in (1, 2, 5):
        plan = env.wait_plan(steps)
        assert plan.task == NO_TASK
        for agent in env.agents:
            assert env.check_plan(state, agent, plan) is None
            grounded = env.ground(state, agent, plan.actions[0], Progress())
            assert isinstance(grounded, Primitive)
            assert grounded.action == 0
            assert isinstance(env.ground(state, agent, plan.actions[0], Progress(steps=steps)), Done)


def test_the_plan_schema_is_a_closed_json_schema_that_reads_back_its_own_plans(env: Any) -> None:
    schema = env.plan_schema.model_json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert {"task", "actions", "reasoning"} <= set(schema["properties"])
    plan = env.wait_plan(2)
    answer = env.plan_schema.model_validate(plan.to_json())
    assert env.parse_plan(answer) == plan
    for bad in ({}, {"task": NO_TASK}, {**plan.to_json(), "surprise": 1}, {**plan.to_json(), "actions": [{"x": 1}]}):
        with pytest.raises(ValidationError):
            env.plan_schema.model_validate(bad)


def test_every_task_can_be_named_in_a_plan(env: Any) -> None:
    state = env.reset(0)
    wait = env.wait_plan().actions
    for task in env.tasks(state):
        env.plan_schema.model_validate({"task": task, "actions": [a.model_dump() for a in wait], "reasoning": ""})
        assert env.check_plan(state, env.agents[0], Plan(task, wait)) is None
    unknown = env.check_plan(state, env.agents[0], Plan("no such task", wait))
    assert isinstance(unknown, Failure)
    assert unknown.phase == "PRE_CHECK"


def test_there_are_three_distinct_prompts_and_they_name_every_action(env: Any) -> None:
    texts = {variant: env.rules(variant) for variant in env.prompt_variants}
    assert len(texts) >= 3
    assert len(set(texts.values())) == len(texts)
    actions = [
        definition["properties"]["action_type"]["const"]
        for definition in env.plan_schema.model_json_schema()["$defs"].values()
        if "action_type" in definition.get("properties", {})
    ]
    assert actions
    for text in texts.values():
        assert len(text) <= MAX_TEXT
        missing = [action for action in actions if action not in text]
        assert not missing
    with pytest.raises(ConfigError):
        env.rules("no such variant")


def test_observations_are_data_and_bounded_text(env: Any) -> None:
    for state, _, _ in play(env, 6, 15):
        for agent in env.agents:
            seen = env.observe(state, agent)
            assert isinstance(seen, BaseModel)
            assert type(seen).model_validate_json(seen.model_dump_json()) == seen
            text = env.describe(seen)
            assert 0 < len(text) <= MAX_TEXT
            array = env.array(state, agent)
            assert array.dtype == np.float32
            assert np.isfinite(array).all()


def test_constraints_are_sets_of_the_team_and_participation_is_within_each(env: Any) -> None:
    everybody = frozenset(env.agents)
    for state, actions, _ in play(env, 7, 60):
        open_tasks = set(env.tasks(state))
        named = frozenset([*sorted(open_tasks)[:3], "no such task"])
        listed = env.constraints(state, actions, named)
        assert set(listed) <= open_tasks
        assert named & open_tasks <= set(listed)
        for task in listed.values():
            assert task.required >= 1
            assert set(task.satisfied) == set(Constraint)
            assert all(agents <= everybody for agents in task.satisfied.values())
            assert task.attempting <= everybody
            together = task.satisfied[Constraint.PARTICIPATION]
            assert all(together <= agents for agents in task.satisfied.values())
        assert {t: listed[t] for t in env.constraints(state, actions)} == dict(env.constraints(state, actions))


def test_the_score_is_a_share_and_one_exactly_on_success(env: Any) -> None:
    for _, _, transition in play(env, 8, 80):
        score = env.score(transition.state)
        assert 0.0 <= score.progress <= 1.0
        assert score.success == (score.progress == 1.0)
        json.dumps(score.detail)
    assert not env.score(env.reset(8)).success


def test_capabilities_say_where_an_agent_is(env: Any) -> None:
    state = env.reset(0)
    found = [env.capabilities(state, agent) for agent in env.agents]
    assert len({c.position for c in found}) == len(env.agents)
    assert all(isinstance(x, int) for c in found for x in c.position)


def test_a_frame_is_well_formed_svg(env: Any) -> None:
    for state, _, _ in play(env, 9, 5):
        root = ElementTree.fromstring(env.render(state))
        assert root.tag.endswith("svg")
        assert env.render(state) == env.render(env.restore(env.snapshot(state)))


def some_action(env: Any, stream: Stream) -> BaseModel:
    """Some action of the plan schema, drawn from its JSON schema."""
    schema = env.plan_schema.model_json_schema()
    kinds = sorted(k for k, v in schema["$defs"].items() if "action_type" in v.get("properties", {}))
    definition = schema["$defs"][kinds[stream.below(len(kinds))]]
    values: dict[str, Any] = {}
    for name, field in definition["properties"].items():
        options = field.get("anyOf", [field])
        option = options[stream.below(len(options))]
        if "$ref" in option:
            option = schema["$defs"][option["$ref"].rpartition("/")[2]]
        if "const" in option:
            values[name] = option["const"]
        elif "enum" in option:
            values[name] = option["enum"][stream.below(len(option["enum"]))]
        elif option.get("type") == "integer":
            values[name] = option.get("minimum", 0) + stream.below(min(4, option.get("maximum", 9)))
        elif option.get("type") == "string":
            values[name] = env.agents[stream.below(len(env.agents))]
        else:
            values[name] = None
    answer = {"task": NO_TASK, "actions": [values], "reasoning": ""}
    return env.plan_schema.model_validate(answer).actions[0]


def carry_out(env: Any, state: Any, agent: str, action: BaseModel, stream: Stream) -> tuple[Any, Any]:
    """Ground this action against a moving world until it or the episode ends: (last grounding, state or None)."""
    progress = Progress()
    while True:
        grounding = env.ground(state, agent, action, progress)
        assert env.ground(state, agent, action, progress) == grounding, "grounding a step twice differs"
        if not isinstance(grounding, Primitive):
            return grounding, state
        assert 0 <= primitive_of(grounding.action) < len(env.primitives)
        assert json.loads(json.dumps(grounding.action)) == grounding.action
        assert json.loads(json.dumps(grounding.memo)) == grounding.memo
        assert progress.steps < env.horizon
        transition = env.step(state, joint(env, stream) | {agent: grounding.action})
        if transition.terminated or transition.truncated:
            return grounding, None
        state, progress = transition.state, Progress(progress.steps + 1, grounding.memo)


def test_every_checked_action_is_grounded_to_its_end_in_bounded_time(env: Any) -> None:
    """Random actions of every kind: checked first, then grounded until Done or Failed."""
    stream, ends, refused = Stream.named(10, "conformance"), set(), 0
    for episode in range(25):
        state = env.reset(episode)
        agent = env.agents[stream.below(len(env.agents))]
        for _ in range(6):
            action = some_action(env, stream)
            failure = env.check_plan(state, agent, Plan(NO_TASK, (action,)))
            if failure is not None:
                assert failure.phase in ("PRE_CHECK", "PLAN_CHECK")
                assert failure.message
                refused += 1
                continue
            grounding, state = carry_out(env, state, agent, action, stream)
            ends.add(type(grounding))
            if isinstance(grounding, Failed):
                assert grounding.failure.phase == "EXECUTION"
                assert grounding.failure.code.isidentifier()
                json.dumps(grounding.failure.detail)
            if state is None:
                break
    assert {Done, Failed} <= ends
    assert refused


def test_reference_policies_come_by_name(env: Any) -> None:
    assert isinstance(env, HasPolicies), "every world ships its floors and its ceiling: add policies()"
    policies = env.policies()
    assert {"random", "noop"} <= set(policies)
    assert all(callable(factory) for factory in policies.values())


DIGEST = """
import hashlib, sys
sys.path.insert(0, {here!r})
from test_conformance import ENVS, play
env = ENVS.get({name!r})(agents={agents}, level={level!r})
print(hashlib.sha256(b"".join(env.snapshot(t.state) for _, _, t in play(env, 11, 60))).hexdigest())
"""


@pytest.mark.parametrize("name", ENVS.names())
def test_other_processes_with_other_hash_orders_play_the_same(name: str) -> None:
    agents, level = CASES.get(name, [(3, "easy")])[-1]
    code = DIGEST.format(here=os.path.dirname(__file__), name=name, agents=agents, level=level)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for hashing in ("0", "1", "77")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().strip()) == 64
