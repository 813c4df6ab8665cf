"""Worlds in which a step is a turn: their pictures, their lanes, and moves that are more than a number."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from viewer_kit import Served, opened, settled, until

from emcoop.log.reader import LogReader

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module", params=["maze", "exchange"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Served]]:
    """One episode of two scripted agents by turns, and its server."""
    folder = tmp_path_factory.mktemp(request.param)
    axes = ["--agents", "2", "--topology", "turns", "--agent", "scripted", "--seeds", "0", "--no-references"]
    rest = ["--set", "limits.max_steps=8", "--out", str(folder)]
    command = [sys.executable, "-m", "emcoop", "run", request.param, *axes, *rest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with Served(folder / "log.db") as server:
        yield folder / "log.db", server


@pytest.mark.parametrize("width", [1280, 800])
def test_every_step_has_its_picture_and_the_lanes_take_turns(
    page: Page, world: tuple[Path, Served], width: int
) -> None:
    log, server = world
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, f"{server.url}#/episode/1")
    for step in range(1, 4):
        page.keyboard.press("ArrowRight")
        until(page, "n => document.querySelector('em-frame img')?.alt.includes(`after step ${n} `)", step)
        settled(page)
    assert page.locator("em-frame .problem").is_hidden()
    image = page.locator("em-frame img")
    ratio = image.evaluate("image => image.naturalWidth / image.naturalHeight")
    classes = page.locator("main.episode").get_attribute("class") or ""
    assert ("wide" in classes) == (ratio > 3)
    if ratio > 3:
        assert image.evaluate("image => image.clientWidth") > 0.9 * (width - 60)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with LogReader.open(log) as reader:
        talkers = {event.agent for event in reader.events(1, kinds=("decision",))}
    assert talkers == {"agent_0", "agent_1"}
    assert page.locator("em-lanes .decision").count() >= 4


def test_moves_are_told_in_words(page: Page, world: tuple[Path, Served]) -> None:
    log, server = world
    with LogReader.open(log) as reader:
        primitives = next(reader.events(1)).payload["env"]["primitives"]
        steps = list(reader.events(1, kinds=("step",)))
    for event in steps[:3]:
        page.goto("about:blank")
        page.goto(f"{server.url}#/episode/1?sel={event.seq}")
        table = page.locator("em-inspector table.moves")
        table.wait_for()
        words = table.inner_text()
        for move in event.payload["actions"].values():
            assert primitives[move["primitive"] if isinstance(move, dict) else move] in words
            for text in move.get("said", []) if isinstance(move, dict) else []:
                assert text in words
        assert "[object" not in page.locator("main").inner_text()
        assert '{"' not in words
