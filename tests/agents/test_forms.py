"""The written form of plans: what models are told and what humans type."""

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from emcoop.agents.forms import FormError, action_models, compact_forms, json_form, parse_compact, plan_form
from emcoop.core.types import NO_TASK


class Move(BaseModel):
    action_type: Literal["move"] = "move"
    direction: Literal["up", "down"]
    steps: int = Field(default=1, ge=1, le=10)


class Go(BaseModel):
    action_type: Literal["go"] = "go"
    cell: tuple[int, int]


class Rest(BaseModel):
    action_type: Literal["rest"] = "rest"


class Answer(BaseModel):
    task: str = Field(pattern="^b[0-9]$")
    actions: list[Annotated[Move | Go | Rest, Field(discriminator="action_type")]] = Field(max_length=4)
    reasoning: str = Field(default="", max_length=9)


class Single(BaseModel):
    actions: list[Rest]


def test_actions_are_found_by_name_in_the_order_of_the_union() -> None:
    assert list(action_models(Answer)) == ["move", "go", "rest"]
    assert list(action_models(Single)) == ["rest"]


def test_plan_form_shows_every_field_with_its_type() -> None:
    assert plan_form(Answer).splitlines() == [
        '{"task": <text matching ^b[0-9]$>, "actions": [action, ... at most 4], '
        '"reasoning": <text of at most 9 characters>}',
        "where each action is one of",
        '- {"action_type": "move", "direction": "up|down", "steps": <1 to 10>}',
        '- {"action_type": "go", "cell": [<integer>, <integer>]}',
        '- {"action_type": "rest"}',
    ]


def test_a_form_of_a_type_that_contains_itself_ends() -> None:
    class Tree(BaseModel):
        children: "list[Tree]"

    Tree.model_rebuild(_types_namespace={"Tree": Tree})
    assert len(json_form(Tree.model_json_schema())) < 1000


def test_compact_forms_name_the_fields_in_order_and_bracket_optional_ones() -> None:
    assert compact_forms(Answer) == [
        'move  <direction: "up|down">  [steps: <1 to 10>]',
        "go  <cell: [<integer>, <integer>]>",
        "rest",
    ]


def test_compact_text_becomes_a_plan_of_typed_actions() -> None:
    plan = parse_compact("for block_2:left; move up 3; move steps=2 down ; go [1,2];rest;", Answer)
    assert plan.task == "block_2:left"
    assert plan.actions == (
        Move(direction="up", steps=3),
        Move(direction="down", steps=2),
        Go(cell=(1, 2)),
        Rest(),
    )
    assert parse_compact("rest", Answer).task == NO_TASK


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "needs at least one action"),
        ("for block_1", "needs at least one action"),
        ("for a b; rest", "one task after 'for'"),
        ("moev up", "no action 'moev'; did you mean 'move'"),
        ("move up 3 4", "'4' is too many"),
        ("move up 30", "steps: Input should be less than or equal to 10"),
        ("move", "direction: Field required"),
        ("move up step=3", "no field 'step'; did you mean 'steps'"),
        ("move up direction=up", "given twice"),
        ("go [1,2", "not a JSON value"),
        ("rest 1", "rest takes 0 values: none"),
    ],
)
def test_wrong_compact_text_says_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(FormError) as caught:
        parse_compact(text, Answer)
    assert complaint in str(caught.value)


@given(st.text())
def test_any_text_is_a_plan_with_actions_or_a_form_error(text: str) -> None:
    try:
        actions = parse_compact(text, Answer).actions
    except FormError:
        return
    assert all(isinstance(action, Move | Go | Rest) for action in actions)
    assert actions
