import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emcoop.core.canonical import canonical_json, content_hash
from emcoop.core.types import Category, Constraint, Failure, Phase, TaskConstraints

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(values | st.floats(allow_nan=False, allow_infinity=False) | st.floats(1e-6, 1e-3) | st.floats(1e15, 1e17))
def test_canonical_bytes_are_those_of_the_standard_library(value: object) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert canonical_json(value) == text.encode("utf-8", errors="backslashreplace")


@pytest.mark.parametrize(
    "value",
    [
        [1e16, 9999999999999998.0, 1e-4, 9.9e-5, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2],
        [2**63, 2**64, -(2**63) - 1, 10**40],
        "".join(map(chr, range(0xD800))) + "\ue000\uffff\U0001f600\u2028",
        {"é": 1, "z": 2, "\U0001f600": 3, "\uffff": 4, "Z": 5, "": 6},
    ],
)
def test_rare_numbers_and_characters_are_written_as_the_standard_library_does(value: object) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical_json({"v": value}) == b'{"v":' + text.encode() + b"}"


def test_keys_that_are_no_strings_are_sorted_as_the_strings_they_become() -> None:
    assert canonical_json({10: 1, 9: {Constraint.SPATIAL: 2}, True: 3}) == b'{"10":1,"9":{"spatial":2},"True":3}'


def test_values_nested_deeper_than_a_fast_encoder_takes_are_written() -> None:
    value: object = "x"
    for _ in range(400):
        value = [value]
    assert canonical_json(value) == b"[" * 400 + b'"x"' + b"]" * 400


@given(values)
def test_canonical_bytes_do_not_depend_on_key_order(value: object) -> None:
    def reverse(v: object) -> object:
        if isinstance(v, dict):
            return {k: reverse(v[k]) for k in reversed(list(v))}
        return [reverse(x) for x in v] if isinstance(v, list) else v

    assert canonical_json(value) == canonical_json(reverse(value))


def test_sets_become_sorted_lists_and_values_become_mappings() -> None:
    value = TaskConstraints(2, {Constraint.SPATIAL: frozenset({"agent_1", "agent_0"})})
    assert json.loads(canonical_json(value)) == {
        "required": 2,
        "satisfied": {"spatial": ["agent_0", "agent_1"]},
        "attempting": [],
    }


def test_equal_values_have_equal_hashes() -> None:
    make = lambda: Failure(Phase.EXECUTION, Category.CAPABILITY, "c", "m", {"need": np.int64(2)})  # noqa: E731
    assert content_hash(make()) == content_hash(make())


def test_nan_and_unknown_types_are_refused_by_name() -> None:
    for number in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError):
            canonical_json({"a": [number]})
    with pytest.raises(TypeError, match="object"):
        canonical_json(object())


def test_lone_surrogates_survive_as_escapes() -> None:
    assert canonical_json("a\ud800") == b'"a\\ud800"'
