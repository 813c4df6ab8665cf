"""Strict schemas say as much as strict mode can, and validation does the rest."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from emcoop.models.schemas import BOUNDS, LENGTHS, strict_form


class Move(BaseModel):
    model_config = ConfigDict(extra="forbid")
    action_type: Literal["move"] = "move"
    steps: int = Field(default=1, ge=1, le=9)


class Wait(BaseModel):
    model_config = ConfigDict(extra="forbid")
    action_type: Literal["wait"] = "wait"
    why: str | None = Field(default=None, max_length=10)


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    actions: list[Annotated[Move | Wait, Field(discriminator="action_type")]] = Field(max_length=3)


class Free(BaseModel):
    anything: dict[str, int]


def test_a_discriminated_union_becomes_any_of_with_everything_required() -> None:
    strict = strict_form(Plan.model_json_schema())
    assert strict is not None
    assert strict["required"] == ["title", "actions"]
    assert strict["properties"]["title"] == {"type": "string"}
    items = strict["properties"]["actions"]["items"]
    assert items == {"anyOf": [{"$ref": "#/$defs/Move"}, {"$ref": "#/$defs/Wait"}]}
    move = strict["$defs"]["Move"]
    assert move["required"] == ["action_type", "steps"]
    assert move["additionalProperties"] is False
    assert move["properties"]["action_type"] == {"enum": ["move"], "type": "string"}
    assert move["properties"]["steps"] == {"type": "integer", "minimum": 1, "maximum": 9}


def test_bounds_can_be_left_out_too() -> None:
    strict = strict_form(Plan.model_json_schema(), BOUNDS | LENGTHS)
    assert strict is not None
    assert strict["$defs"]["Move"]["properties"]["steps"] == {"type": "integer"}
    assert "maxItems" not in strict["properties"]["actions"]


def test_a_value_with_every_property_given_validates() -> None:
    value = {"title": "t", "actions": [{"action_type": "move", "steps": 2}, {"action_type": "wait", "why": None}]}
    assert len(Plan.model_validate(value).actions) == 2


def test_free_keys_have_no_strict_form() -> None:
    assert strict_form(Free.model_json_schema()) is None
