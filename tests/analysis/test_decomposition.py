"""Effects and Shapley values against games whose solution is known, and culprits in data whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.analysis.decomposition import Coalition, culprit, decompose, fewest_seeds, outcomes, single_effects
from emcoop.core.errors import ConfigError

FACTORS = ("plan", "speak", "act")


def all_coalitions(factors: tuple[str, ...]) -> list[Coalition]:
    return [frozenset(c) for size in range(len(factors) + 1) for c in combinations(factors, size)]


def game(value: Callable[[Coalition, int], float], seeds: int = 5) -> dict[Coalition, dict[int, float]]:
    return {c: {seed: value(c, seed) for seed in range(seeds)} for c in all_coalitions(FACTORS)}


def test_an_additive_game_gives_each_factor_its_worth_and_no_interaction() -> None:
    worth = {"plan": 0.5, "speak": 0.25, "act": 0.0}
    found = decompose(FACTORS, game(lambda c, seed: seed + sum(worth[f] for f in c)))
    assert [e.estimate.mean for e in found.shapley] == pytest.approx([0.5, 0.25, 0.0])
    assert [e.estimate.mean for e in found.main] == pytest.approx([0.5, 0.25, 0.0])
    assert [e.estimate.mean for e in found.interactions] == pytest.approx([0.0, 0.0, 0.0])
    assert [e.p for e in found.shapley] == [2 / 2**5, 2 / 2**5, 1.0]


def test_what_only_two_can_do_together_is_shared_and_seen_as_their_interaction() -> None:
    found = decompose(FACTORS, game(lambda c, seed: float({"plan", "speak"} <= c)))
    assert [e.estimate.mean for e in found.shapley] == pytest.approx([0.5, 0.5, 0.0])
    effects = {e.factors: e.estimate.mean for e in found.interactions}
    assert effects == pytest.approx({("plan", "speak"): 1.0, ("plan", "act"): 0.0, ("speak", "act"): 0.0})


@given(st.lists(st.floats(-1, 1, width=32), min_size=16, max_size=16))
@settings(max_examples=40, deadline=None)
def test_shapley_values_are_the_mean_over_all_orders_and_sum_to_the_whole_gain(numbers: list[float]) -> None:
    factors = ("a", "b", "c", "d")
    values = {c: {0: v, 1: v + 1} for c, v in zip(all_coalitions(factors), numbers, strict=True)}
    found = decompose(factors, values)
    orders = list(permutations(factors))
    for effect in found.shapley:
        (factor,) = effect.factors
        gains = [
            values[frozenset(order[: order.index(factor) + 1])][0] - values[frozenset(order[: order.index(factor)])][0]
            for order in orders
        ]
        assert effect.estimate.mean == pytest.approx(math.fsum(gains) / len(orders), abs=1e-9)
    total = math.fsum(e.estimate.mean or 0.0 for e in found.shapley)
    assert total == pytest.approx(values[frozenset(factors)][0] - values[frozenset()][0], abs=1e-9)


def test_a_fraction_gives_the_mean_of_being_first_and_last() -> None:
    four = ("a", "b", "c", "d")
    sizes = {0, 1, 3, 4}
    additive = {c: {0: float(len(c)), 1: 2.0} for c in all_coalitions(four) if len(c) in sizes}
    found = decompose(four, additive)
    assert found.interactions == ()
    assert [e.estimate.mean for e in found.shapley] == pytest.approx([0.5] * 4)


def test_missing_coalitions_and_unshared_seeds_are_refused() -> None:
    values = game(lambda c, seed: 0.0)
    with pytest.raises(ConfigError, match="missing: plan"):
        decompose(FACTORS, {c: v for c, v in values.items() if c != frozenset({"plan"})})
    with pytest.raises(ConfigError, match="no seed has been played in every"):
        decompose(FACTORS, {**values, frozenset({"plan"}): {77: 0.0}})
    with pytest.raises(ConfigError, match="untouched team"):
        single_effects({frozenset({"plan"}): {0: 1.0}})


def test_outcomes_are_read_by_cell_and_turned_so_that_more_is_better() -> None:
    from tests.analysis.test_cells import record

    records = [record("x", seed=s, metrics={"steps": 10.0 + s}) for s in range(2)]
    records += [record("y", seed=0, metrics={"steps": None}), record("y", seed=1, status="failed", metrics={})]
    cells = {frozenset[str](): "x", frozenset({"plan"}): "y"}
    found = outcomes(records, cells, "steps", lower_is_better=True)
    assert found == {frozenset(): {0: -10.0, 1: -11.0}, frozenset({"plan"}): {}}


def test_a_factor_that_helps_is_named_and_healthy_teams_are_accused_no_more_often_than_alpha() -> None:
    generator = np.random.default_rng(21)
    names = [f"agent_{i}.{f}" for i in range(3) for f in ("plan", "speak", "interrupt", "act")]
    trials, n = 200, 16

    def found(planted: str | None) -> str | None:
        base = generator.normal(0, 1, n)
        values = {frozenset[str](): dict(enumerate(base))}
        for name in names:
            help_ = 1.5 if name == planted else 0.0
            values[frozenset({name})] = dict(enumerate(base + help_ + generator.normal(0, 1, n)))
        effect = culprit(single_effects(values))
        return effect.factors[0] if effect else None

    alarms = sum(found(None) is not None for _ in range(trials)) / trials
    named = sum(found("agent_1.speak") == "agent_1.speak" for _ in range(40)) / 40
    assert alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert named >= 0.9


def test_so_few_seeds_as_the_least_can_name_a_factor_and_one_fewer_cannot() -> None:
    for factors in (3, 4, 12):
        n = fewest_seeds(factors)
        for seeds, said in ((n, True), (n - 1, False)):
            values = {frozenset({f"f{i}"}): dict.fromkeys(range(seeds), float(i == 0)) for i in range(factors)}
            values[frozenset()] = dict.fromkeys(range(seeds), 0.0)
            assert (culprit(single_effects(values)) is not None) is said
