"""Intervals against worked values, against scipy, and at the edges."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from emcoop.analysis.stats import Estimate, mean, rate

FINITE = st.floats(-1e6, 1e6, allow_nan=False, width=32)


def test_wilson_equals_a_worked_example() -> None:
    # 8 of 10, z = 1.959964: centre (0.8 + 0.192073) / 1.384146 = 0.716740,
    # half sqrt(0.016 + 0.00960365) * 1.959964 / 1.384146 = 0.226577.
    found = rate(8, 10)
    assert found.mean == 0.8
    assert found.low == pytest.approx(0.490163, abs=1e-5)
    assert found.high == pytest.approx(0.943318, abs=1e-5)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 10), (10, 10), (3, 7), (99, 100), (500, 1000)])
def test_wilson_agrees_with_scipy(successes: int, n: int) -> None:
    found = rate(successes, n)
    expected = scipy_stats.binomtest(successes, n).proportion_ci(0.95, "wilson")
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)


def test_wilson_ends_are_exact_when_nothing_or_everything_succeeded() -> None:
    assert rate(0, 10).low == 0.0
    assert rate(10, 10).high == 1.0


def test_a_rate_of_nothing_is_undefined_and_an_impossible_one_refused() -> None:
    assert rate(0, 0) == Estimate(None, None, None, 0)
    with pytest.raises(ValueError, match="3 successes in 2"):
        rate(3, 2)


def test_bootstrap_agrees_with_scipy_on_a_skewed_sample() -> None:
    sample = [math.exp(x / 4) for x in range(20)]
    expected = scipy_stats.bootstrap(
        (np.array(sample),), np.mean, n_resamples=20_000, method="BCa", random_state=np.random.default_rng(1)
    ).confidence_interval
    found = mean(sample)
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.03 * width)
    assert found.high == pytest.approx(expected.high, abs=0.03 * width)
    # The sample is skewed to the right, and so is its interval.
    assert found.high - found.mean > found.mean - found.low


def test_bootstrap_covers_the_true_mean_about_as_often_as_it_says() -> None:
    # Exponential samples of 30, whose intervals are known to cover a little less than 95 %.
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        found = mean(list(generator.exponential(size=30)))
        covered += found.low <= 1.0 <= found.high
    assert 0.88 <= covered / 200 <= 0.98


def test_an_interval_does_not_depend_on_the_order_of_the_sample() -> None:
    sample = [0.1, 0.7, 0.2, 0.9, 0.4]
    assert mean(sample) == mean(sample[::-1]) == mean(sorted(sample))


def test_the_interval_of_a_fixed_sample_never_changes() -> None:
    found = mean([1.0, 2.0, 3.0, 4.0, 10.0])
    assert (found.mean, found.low, found.high) == (4.0, 2.0, pytest.approx(7.814332264383483))


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert mean([0.1] * 3) == Estimate(0.1, 0.1, 0.1, 3)


def test_one_or_two_values_have_no_interval_and_none_has_no_mean() -> None:
    assert mean([3.0]) == Estimate(3.0, None, None, 1)
    assert mean([3.0, 4.0]) == Estimate(3.5, None, None, 2)  # from 3 to 4 it would cover every other time
    assert mean([3.0, 3.0]) == Estimate(3.0, None, None, 2)
    assert mean([]) == Estimate(None, None, None, 0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean([1.0, value])


@settings(max_examples=60, deadline=None)
@given(st.lists(FINITE, min_size=3, max_size=12))
def test_an_interval_holds_the_mean_and_lies_inside_the_sample(sample: list[float]) -> None:
    found = mean(sample)
    assert found.mean == pytest.approx(statistics.fmean(sample), abs=1e-6)
    assert found.low <= found.mean <= found.high
    slack = 1e-9 * max(map(abs, sample))
    assert min(sample) - slack <= found.low
    assert found.high <= max(sample) + slack


def test_a_large_sample_is_resampled_too() -> None:
    # Two values, 500 each: standard error 0.5 / sqrt(1000) = 0.0158; the interval is about 1.96 of it to both sides.
    found = mean([0.0, 1.0] * 500)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(1000), rel=0.05)


@pytest.mark.parametrize(("n", "share"), [(10, 0.3), (10, 0.5), (20, 0.1), (20, 0.9), (50, 0.02), (100, 0.5)])
def test_wilson_covers_the_true_share_about_as_often_as_it_says(n: int, share: float) -> None:
    # Exactly, over all outcomes of n trials: no chance in the test.
    chances = scipy_stats.binom.pmf(np.arange(n + 1), n, share)
    found = [rate(k, n) for k in range(n + 1)]
    covered = sum(p for p, r in zip(chances, found, strict=True) if r.low <= share <= r.high)
    assert 0.90 <= covered <= 1.0


def test_wilsons_coverage_over_all_shares_is_on_average_what_it_says() -> None:
    covered = []
    for share in (np.arange(200) + 0.5) / 200:
        chances = scipy_stats.binom.pmf(np.arange(21), 20, share)
        inside = [r.low <= share <= r.high for r in (rate(k, 20) for k in range(21))]
        covered.append(float(chances[np.array(inside)].sum()))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("kind", "least"), [("normal", 0.91), ("uniform", 0.91), ("rates", 0.90)])
def test_bootstrap_covers_the_mean_of_other_laws_too(kind: str, least: float) -> None:
    generator = np.random.default_rng(6)
    draw, truth = {
        "normal": (lambda: generator.normal(3.0, 2.0, 25), 3.0),
        "uniform": (lambda: generator.random(25), 0.5),
        "rates": (lambda: generator.integers(0, 4, 25) / 3, 0.5),  # few values, as progress has
    }[kind]
    covered = 0
    for _ in range(300):
        found = mean([float(x) for x in draw()])
        covered += found.low <= truth <= found.high
    assert least <= covered / 300 <= 0.99


@pytest.mark.parametrize(("n", "least", "most"), [(3, 0.63, 0.80), (5, 0.76, 0.90), (10, 0.84, 0.94)])
def test_bootstrap_of_few_covers_less_often_than_it_says_and_as_often_as_the_page_says(
    n: int, least: float, most: float
) -> None:
    generator = np.random.default_rng(17)
    covered = 0
    for _ in range(400):
        found = mean([float(x) for x in generator.normal(3.0, 2.0, n)])
        covered += found.low <= 3.0 <= found.high
    assert least <= covered / 400 <= most
