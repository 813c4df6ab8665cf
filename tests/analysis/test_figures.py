"""Radars and bars: what stands in them, that they need nothing from outside, and that they escape what they show."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest
from tests.analysis.test_cells import record

from emcoop.analysis.cells import Row, summarise
from emcoop.analysis.figures import AXES, figures, radar_values, series_of
from emcoop.analysis.report import page
from emcoop.core.errors import MissingDependency

TOPOLOGIES = ("individual", "centralized")


def rows(*topologies: str, agent: str = "scripted", changed: tuple[str, ...] = (), **more: float) -> list[Row]:
    """One cell for each topology, of three episodes in which every metric is a half."""
    found = []
    for topology in topologies:
        setup = {"env": "cube", "level": "hard", "agents": 3, "topology": topology, "team": [{"agent": agent}]}
        setup["interventions"] = list(changed)
        metrics = {**dict.fromkeys((*AXES, "M1", "M6"), 0.5), "M9": 8.0, "M10": 2.0, "success": 1.0, **more}
        cell = "+".join((topology, agent, *changed))
        found += [record(cell, seed, setup=setup, metrics=metrics) for seed in range(3)]
    return summarise(found)


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def test_every_condition_has_a_radar_with_all_axes_and_a_bar_for_each_team() -> None:
    pytest.importorskip("vl_convert")
    radar, bars = figures(rows(*TOPOLOGIES))
    assert {"hard, 3 agents", *TOPOLOGIES, *AXES.values()} <= set(texts(radar.svg))
    assert {"decision overhead per step", "messages", *TOPOLOGIES} <= set(texts(bars.svg))
    assert len(re.findall(r'aria-roledescription="bar"', bars.svg)) == 4
    assert "Means over 3 seeds" in radar.caption


def test_values_of_a_radar_are_shares_of_one() -> None:
    (row,) = rows("debate", M14=0.02)
    values = radar_values(row, largest_gain=0.04)
    assert values["stability"] == 0.75
    assert values["M14"] == 0.5
    assert values["success"] == 1.0
    assert radar_values(row, largest_gain=0.0)["M14"] is None


def test_one_team_alone_has_no_figure_and_teams_are_called_by_what_sets_them_apart() -> None:
    assert figures(rows("debate")) == []
    assert list(series_of(rows(*TOPOLOGIES)).values()) == list(TOPOLOGIES)
    two = [*rows("debate"), *rows("debate", agent="llm")]
    assert list(series_of(two).values()) == ["scripted", "llm"]


def test_arms_beside_the_teams_do_not_take_the_picture_of_the_topologies_away() -> None:
    pytest.importorskip("vl_convert")
    arms = [row for k in range(1, 5) for row in rows(*TOPOLOGIES, changed=(f"loss:0.{k}",))]
    radar, bars = figures([*rows(*TOPOLOGIES), *arms])
    for figure in (radar, bars):
        assert set(TOPOLOGIES) <= set(texts(figure.svg))
        assert "loss" not in figure.svg
        assert "an intervention has changed are left out" in figure.caption
    few = figures([*rows(*TOPOLOGIES), *rows(*TOPOLOGIES, changed=("silence",))])
    assert "individual silence" in texts(few[0].svg)
    assert "left out" not in few[0].caption


def test_too_many_teams_for_one_picture_are_told_instead_of_drawn() -> None:
    many = rows(*(f"graph-{k}" for k in range(9)))
    (figure,) = figures(many)
    assert figure.svg == ""
    assert "Not drawn: more than 8 teams" in figure.caption
    assert "Not drawn: more than 8 teams" in page(many)


def test_a_name_from_a_log_is_text_in_a_figure_and_nothing_comes_from_outside() -> None:
    pytest.importorskip("vl_convert")
    shown = page(rows("<script>alert(1)</script>", "debate"))
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    outside = set(re.findall(r'(?:src|href|xlink:href)="(?!data:|#)([^"]*)"', shown))
    assert outside == set()
    assert "url(http" not in shown


def test_without_altair_the_report_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingDependency, match=r"pip install 'emcoop\[plot\]'"):
        figures(rows(*TOPOLOGIES))
    assert "need Altair: pip install" in page(rows(*TOPOLOGIES))
