"""A JSON object is found in what models write, and nothing is made up."""

import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.models import parsing
from emcoop.models.parsing import TEXT_LIMIT, parse_object, parsed_or_none


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2]}',
        '  \n{"a": [1, 2]}\n ',
        '```json\n{"a": [1, 2]}\n```',
        'Sure! Here is my plan:\n{"a": [1, 2]}\nI hope it helps {smile}.',
        '{"a": [1, 2,],}',
        'I am {agent_0}. My answer: {"a": [1, 2]}',
        '[{"a": [1, 2]}]',
        '<think>Perhaps {"a": [3]}? No.</think>\n{"a": [1, 2]}',
    ],
)
def test_an_object_is_found(text: str) -> None:
    assert parse_object(text) == {"a": [1, 2]}


def test_commas_and_braces_inside_strings_are_kept() -> None:
    assert parse_object('x {"a": ",} \\" {", "b": "[,]",}') == {"a": ',} " {', "b": "[,]"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("I move left.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"a": {"b": 1}, "c": ', "cut off"),
        ('{"a": "unclosed}', "cut off"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "[" * 20_000 + "]" * 20_000 + "}", "nested too deeply"),
    ],
)
def test_what_holds_no_whole_object_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_object(text)
    assert parsed_or_none(text, {}) is None


def test_an_object_beyond_the_limit_is_not_read() -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        parse_object("x" * TEXT_LIMIT + '{"a": 1}')


@pytest.mark.parametrize("unit", ["{", '{"', '"\\"', "{}", '{,"\\', "{x}", ",\n", "[{", '{"a":'])
@pytest.mark.parametrize("frame", ["{}", "{{{}}}"])
def test_hostile_text_takes_linear_work(unit: str, frame: str) -> None:
    short, long = (work(frame.format(unit * (length // len(unit)))) for length in (2_000, 8_000))
    assert long <= 4.5 * short + 200


def work(text: str) -> int:
    """What reading this text takes: lines of the parser that are run, and characters that the JSON decoder is given."""
    done = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal done
        if frame.f_code.co_filename != parsing.__file__:
            return None
        done += 1
        if event == "call" and frame.f_code.co_name == "_loads":
            done += len(frame.f_locals["text"])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        parsed_or_none(text, {})
    finally:
        sys.settrace(before)
    return done


def test_a_guard_against_quadratic_work_would_notice_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_balanced", lambda text: (text[i:] for i in range(len(text)) if text[i] == "{"))
    assert work("{x}" * 200) > 10 * work("{x}" * 50)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)))
def test_any_object_survives_prose_and_fences(value: dict[str, object]) -> None:
    assert parse_object(f"My plan:\n```json\n{json.dumps(value)}\n```\nDone.") == value


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:\\ \n1eNat'))
def test_any_text_gives_an_object_or_none(text: str) -> None:
    value = parsed_or_none(text, {})
    assert value is None or isinstance(value, dict)


def test_nothing_is_parsed_when_no_schema_was_asked_for() -> None:
    assert parsed_or_none('{"a": 1}', None) is None
