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
    with pytest.raises(ValueError):
        canonical_json(float("nan"))
    with pytest.raises(TypeError, match="object"):
        canonical_json(object())


def test_lone_surrogates_survive_as_escapes() -> None:
    assert canonical_json("a\ud800") == b'"a\\ud800"'
