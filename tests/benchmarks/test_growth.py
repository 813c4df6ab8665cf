"""Fitted power laws and their charts."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from benchmarks.charts import panels
from benchmarks.common import Timing
from benchmarks.growth import Scale, fitted, steepness


def curve(costs: list[float], sizes: tuple[int, ...] = (1, 2, 4, 8, 16)) -> object:
    scale = Scale("x", "a & b", "agents", "us", sizes, lambda size: lambda: 0.0)
    return fitted(scale, tuple(Timing((0.9 * cost, cost, 1.1 * cost)) for cost in costs))


@pytest.mark.parametrize("exponent", [-0.5, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found(exponent: float) -> None:
    found = curve([3 * size**exponent for size in (1, 2, 4, 8, 16)])
    assert math.isclose(found.exponent, exponent, abs_tol=1e-9)
    assert math.isclose(found.factor, 3.0)
    assert found.interval == pytest.approx((exponent, exponent), abs=1e-6)


def test_the_interval_widens_with_noise_and_holds_the_truth() -> None:
    noisy = curve([1.0, 2.3, 3.6, 9.0, 14.0])
    low, high = noisy.interval
    assert low < 1.0 < high
    assert high - low > 0.1


def test_a_fixed_cost_shows_in_the_exponent_between_the_largest_sizes() -> None:
    found = curve([10 + size for size in (1, 2, 4, 8, 16)])
    assert found.exponent < steepness(found) < 1


def test_a_chart_is_well_formed_and_has_a_dot_for_every_size() -> None:
    drawn = ElementTree.fromstring(panels([curve([1, 2, 4, 8, 16]), curve([5, 5, 5, 5, 5])], "Costs <now>"))
    space = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f".//{space}circle")) == 10
    assert drawn.findtext(f"{space}title") == "Costs <now>"
    texts = [element.text for element in drawn.iter(f"{space}text")]
    assert texts.count("a & b") == 2
    assert any(text and "size^1.00" in text for text in texts)
