"""Paired comparisons against worked values, against scipy, and against data whose truth is known."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from emcoop.analysis.contrasts import adjust, cliff_delta, cohen_d, contrast, holm, paired, sign_flip
from emcoop.analysis.power import detectable, pilot, power, seeds_needed, seeds_to_tell_apart
from emcoop.analysis.stats import Estimate
from emcoop.core.errors import ConfigError

SMALL = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=9)


@given(SMALL)
@settings(max_examples=60, deadline=None)
def test_the_exact_p_value_is_the_share_of_sign_vectors_that_reach_the_observed_sum(differences: list[float]) -> None:
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(value >= abs(sum(differences)) for value in sums) / len(sums)
    assert sign_flip(differences) == pytest.approx(expected)


def test_the_sampled_p_value_agrees_with_scipy() -> None:
    differences = np.random.default_rng(3).normal(0.3, 1.0, 40)
    expected = scipy_stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, random_state=np.random.default_rng(1)
    ).pvalue
    assert sign_flip(list(differences)) == pytest.approx(expected, abs=0.012)


def test_no_difference_has_p_one_and_a_consistent_one_the_least_possible() -> None:
    assert sign_flip([0.0] * 20) == 1.0
    assert sign_flip([1.0] * 8) == 2 / 2**8
    assert sign_flip([1.0] * 40) == 1 / 10_000


def test_a_contrast_uses_the_shared_seeds_and_counts_the_others() -> None:
    found = contrast({0: 1.0, 1: 0.0, 2: 1.0, 9: 0.0}, {0: 0.0, 1: 0.0, 2: 0.5, 3: 1.0})
    assert found.difference.n == 3
    assert found.difference.mean == pytest.approx(0.5)
    assert found.unpaired == 2
    assert found.p == 0.5  # two differences of one sign: 2 of 4 sign vectors
    assert found.d_paired == pytest.approx(1.0)


def test_one_shared_seed_gives_no_p_and_none_no_mean() -> None:
    assert contrast({0: 1.0}, {0: 0.0}).p is None
    assert contrast({0: 1.0}, {1: 0.0}).difference.mean is None


def test_holm_equals_a_worked_example_and_leaves_out_what_is_not_defined() -> None:
    # 0.01 * 4, 0.02 * 3, then 0.03 * 2 and 0.04 * 1 raised to what came before.
    assert holm([0.04, 0.01, None, 0.03, 0.02]) == pytest.approx([0.06, 0.04, None, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert [c.adjusted for c in adjust([contrast({0: 1.0}, {0: 0.0})])] == [None]


def test_effect_sizes_equal_worked_examples() -> None:
    assert cohen_d([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == -1.0
    assert cohen_d([1.0, 1.0], [0.0, 0.0]) is None
    # of nine pairs a > b in one, a < b in six.
    assert cliff_delta([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == pytest.approx(-5 / 9)
    assert cliff_delta([], [1.0]) is None


@given(SMALL, SMALL)
@settings(max_examples=60, deadline=None)
def test_cliffs_delta_is_the_count_over_all_pairs(a: list[float], b: list[float]) -> None:
    count = sum((x > y) - (x < y) for x in a for y in b)
    assert cliff_delta(a, b) == pytest.approx(count / (len(a) * len(b)))


@pytest.mark.parametrize("kind", ["binary", "skewed"])
def test_equal_arms_are_told_apart_no_more_often_than_alpha(kind: str) -> None:
    generator = np.random.default_rng(11)
    trials, n, alarms = 400, 20, 0
    for _ in range(trials):
        if kind == "binary":
            a, b = generator.random(n) < 0.6, generator.random(n) < 0.6
        else:
            a, b = generator.exponential(1, n), generator.exponential(1, n)
        alarms += sign_flip([float(x) - float(y) for x, y in zip(a, b, strict=True)]) <= 0.05
    # 0.05 plus three standard errors of a share of 400.
    assert alarms / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert alarms > 0


def test_holm_keeps_the_chance_of_any_false_alarm_in_a_family() -> None:
    generator = np.random.default_rng(12)
    trials = 300
    families = [[sign_flip(list(generator.normal(0, 1, 12))) for _ in range(6)] for _ in range(trials)]
    raw = sum(min(p) <= 0.05 for p in families) / trials
    held = sum(min(v for v in holm(p) if v is not None) <= 0.05 for p in families) / trials
    assert raw > 0.15
    assert held <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


def test_the_interval_of_a_difference_covers_the_true_one_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(13)
    trials, inside = 300, 0
    for _ in range(trials):
        world = generator.normal(0, 2, 30)
        a, b = world + generator.normal(0.5, 1, 30), world + generator.normal(0, 1, 30)
        found = contrast(dict(enumerate(a)), dict(enumerate(b))).difference
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 0.5 <= found.high
    assert 0.90 <= inside / trials <= 0.98


def test_the_power_of_a_paired_test_equals_published_values() -> None:
    # Cohen (1988): d = 0.5 needs 34 pairs for 80 % at 0.05, d = 0.8 needs 15.
    assert seeds_needed(0.5) == 34
    assert seeds_needed(0.8) == 15
    assert power(0.0, 20) == pytest.approx(0.05)
    assert detectable(34) == pytest.approx(0.5, abs=0.01)
    assert seeds_needed(1e-6) is None
    with pytest.raises(ConfigError, match=r"power 1\.2"):
        seeds_needed(0.5, power_wanted=1.2)


def test_so_many_seeds_as_the_pilot_asks_for_do_find_the_difference_four_times_in_five() -> None:
    generator = np.random.default_rng(14)
    pilot = [0.4 + x for x in scipy_stats.norm.ppf((np.arange(200) + 0.5) / 200)]
    n = seeds_to_tell_apart(pilot)
    assert n is not None
    trials = 300
    found = sum(sign_flip(list(generator.normal(0.4, 1.0, n))) <= 0.05 for _ in range(trials)) / trials
    assert 0.72 <= found <= 0.88


def test_a_pilot_without_difference_or_without_spread_is_answered_plainly() -> None:
    assert seeds_to_tell_apart([1.0, -1.0]) is None
    assert seeds_to_tell_apart([0.5, 0.5, 0.5]) == 6  # 2 / 2^6 is the first below 0.05
    with pytest.raises(ValueError, match="at least 2"):
        seeds_to_tell_apart([1.0])


@pytest.mark.parametrize(("effect", "n"), [(0.0, 12), (0.5, 20), (0.8, 15), (1.2, 8)])
def test_the_power_that_is_computed_is_the_power_that_is_simulated(effect: float, n: int) -> None:
    generator = np.random.default_rng(15)
    trials = 4000
    samples = generator.normal(effect, 1.0, (trials, n))
    p = scipy_stats.ttest_1samp(samples, 0.0, axis=1).pvalue
    simulated = float((p <= 0.05).mean())
    expected = power(effect, n)
    assert simulated == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / trials))


def test_a_pilot_says_how_many_seeds_a_repeat_needs() -> None:
    differences = [0.5 + x for x in scipy_stats.norm.ppf((np.arange(30) + 0.5) / 30)]
    found = pilot(differences)
    assert found.effect == pytest.approx(0.5, abs=0.03)
    assert found.needed == seeds_needed(found.effect)
    assert found.power == power(found.effect, 30)
    assert power(found.smallest, 30) == pytest.approx(0.8, abs=1e-6)
    assert pilot([0.0, 0.0]).needed is None
    assert pilot([1.0, 1.0]).power is None
    with pytest.raises(ConfigError, match="at least 2 seeds that both arms have; there are 1"):
        pilot([1.0])


@given(st.floats(0.0, 50.0), st.integers(2, 200))
@settings(max_examples=200, deadline=None)
def test_power_is_a_probability_and_grows_with_the_effect(effect: float, n: int) -> None:
    found = power(effect, n)
    assert 0.05 - 1e-9 <= found <= 1.0 + 1e-9
    assert power(effect + 0.5, n) >= found - 1e-9


def test_the_rounding_of_sums_is_no_difference() -> None:
    # The same coherence over 30 and over 25 steps: means that differ in the last bit, in every seed alike.
    a = dict.fromkeys(range(8), math.fsum([2 / 3] * 30) / 30)
    b = dict.fromkeys(range(8), math.fsum([2 / 3] * 25) / 25)
    assert a != b
    found = contrast(a, b)
    assert (found.difference.mean, found.p, found.delta) == (0.0, 1.0, 0.0)


def test_equal_differences_have_no_standardised_one_however_they_are_rounded() -> None:
    # 0.3 - 0.2, 0.4 - 0.3 and 0.8 - 0.7 are three floating-point numbers.
    found = contrast({0: 0.3, 1: 0.4, 2: 0.8}, {0: 0.2, 1: 0.3, 2: 0.7})
    assert found.difference == Estimate(0.1, 0.1, 0.1, 3)
    assert found.d_paired is None
    assert cohen_d([0.1] * 3, [0.7] * 3) is None
    assert pilot([0.1] * 3).effect is None


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 7e5, 1e300])
def test_small_and_large_differences_are_kept(size: float) -> None:
    assert paired({0: 3 * size, 1: size}, {0: size, 1: 0.0}) == pytest.approx([2 * size, size], rel=1e-11)


@pytest.mark.parametrize(("power_wanted", "alpha"), [(1.5, 0.05), (0.8, 0.0), (0.8, -1.0), (math.nan, 0.05)])
@pytest.mark.parametrize("differences", [[1.0, -1.0], [1.0, 1.0], [1.0, 2.0]])
def test_an_impossible_power_or_level_is_refused_whatever_the_pilot(
    differences: list[float], power_wanted: float, alpha: float
) -> None:
    with pytest.raises(ConfigError, match="is not between 0 and 1"):
        pilot(differences, power_wanted=power_wanted, alpha=alpha)


@pytest.mark.parametrize(("n", "alpha"), [(2, 0.001), (3, 0.001), (3, 0.0001), (2, 0.05)])
def test_the_power_of_a_huge_effect_in_few_seeds_is_still_the_simulated_one(n: int, alpha: float) -> None:
    generator = np.random.default_rng(16)
    trials, effect = 20_000, 36 / math.sqrt(n)
    p = scipy_stats.ttest_1samp(generator.normal(effect, 1.0, (trials, n)), 0.0, axis=1).pvalue
    assert power(effect, n, alpha) == pytest.approx(float((p <= alpha).mean()), abs=0.015)


@pytest.mark.parametrize(("effect", "alpha"), [(0.5, 1e-4), (1.2, 1e-4), (0.8, 1e-5), (1.0, 1e-9)])
def test_the_seeds_needed_at_a_strict_level_are_the_fewest_with_that_power(effect: float, alpha: float) -> None:
    n = seeds_needed(effect, alpha=alpha)
    assert n is not None
    assert power(effect, n - 1, alpha) < 0.8 <= power(effect, n, alpha)
    assert power(detectable(n, alpha=alpha), n, alpha) == pytest.approx(0.8, abs=1e-6)
