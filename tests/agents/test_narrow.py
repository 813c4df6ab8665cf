"""The schema that guides a constrained model names only what exists now."""

import json

import jsonschema
import pytest

from emcoop.agents.narrow import narrowed
from emcoop.envs.cube.actions import CubePlan
from emcoop.envs.cube.env import make


def plan(**action: object) -> dict[str, object]:
    return {"reasoning": "", "task": "block_1:left", "actions": [action]}


def test_only_blocks_that_are_left_and_teammates_can_be_named() -> None:
    env = make(2, "easy")
    state = env.reset(0)
    allowed = {**env.allowed(env.observe(state, "agent_0")), "block_id": [1, 2], "task": ["none", "block_1:left"]}
    schema = narrowed(CubePlan, allowed)
    jsonschema.validate(plan(action_type="push", block_id=1, num_steps=2), schema)
    jsonschema.validate(plan(action_type="wait_for", agent_id="agent_1"), schema)
    for wrong in (
        plan(action_type="push", block_id=0, num_steps=2),
        plan(action_type="wait_for", agent_id="agent_0"),
        {**plan(action_type="wait", num_steps=1), "task": "block_0:left"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_an_action_that_nobody_can_be_named_in_is_no_choice() -> None:
    env = make(1, "easy")
    schema = narrowed(CubePlan, env.allowed(env.observe(env.reset(0), "agent_0")))
    assert "WaitFor" not in json.dumps(schema)
    jsonschema.validate(plan(action_type="wait", num_steps=1), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plan(action_type="wait_for", agent_id="agent_0"), schema)


def test_lists_and_texts_can_be_kept_short() -> None:
    schema = narrowed(CubePlan, {}, {"actions": 1, "reasoning": 5})
    wait = {"action_type": "wait", "num_steps": 1}
    jsonschema.validate({"reasoning": "short", "task": "none", "actions": [wait]}, schema)
    for wrong in ({"actions": [wait, wait]}, {"reasoning": "longer"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"reasoning": "", "task": "none", "actions": [wait], **wrong}, schema)


def test_the_full_schema_is_left_as_it_was() -> None:
    before = CubePlan.model_json_schema()
    narrowed(CubePlan, {"block_id": [7]})
    assert CubePlan.model_json_schema() == before
