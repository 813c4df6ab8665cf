"""Answers that come late, and changes that come while somebody clicks: nothing is lost, skipped or overwritten."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from viewer_kit import DRAWN_TWICE, PATIENCE_S, Served, opened, until

from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.viewer import pages

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

STEP = r"Number(/step (\d+)/.exec(document.querySelector('output.moment').textContent)[1])"
NOTE_STEPS = f"""() => {{
  window.passed = [];
  new MutationObserver(() => window.passed.push({STEP})).observe(
    document.querySelector("output.moment"), {{ childList: true }});
}}"""


def held(page: Page, address: str) -> list[Route]:
    """What the page asks for next at such addresses, once it does; that answer is held back, later ones are not."""
    asked: list[Route] = []

    def hold(route: Route) -> None:
        if asked:
            route.continue_()
        else:
            asked.append(route)

    page.route(address, hold)
    return asked


def first(page: Page, asked: list[Route]) -> Route:
    """It, waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while not asked:
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)
    return asked[0]


@pytest.mark.parametrize("path", ["episode/1", "compare/1/3"])
def test_a_key_pressed_before_the_page_is_there_does_no_harm(page: Page, served: Served, path: str) -> None:
    asked = held(page, "**/api/episodes/1")
    page.goto(f"{served.url}#/{path}")
    answer = first(page, asked)
    for key in ("ArrowRight", "End", " ", ".", "a", "+", "2", "d"):
        page.keyboard.press(key)
    answer.continue_()
    page.locator("em-lanes svg .stage").first.wait_for()
    assert "step 0 of" in page.locator("output.moment").inner_text()


def test_an_answer_to_a_page_that_was_left_does_not_change_the_address(
    page: Page, run_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_BYTES", 20_000)
    with Served(run_log) as server:
        opened(page, f"{server.url}#/episode/1")
        asked = held(page, "**/events?*")
        page.keyboard.press("End")
        late = first(page, asked)
        page.get_by_role("link", name="All episodes").click()
        page.locator("table.episodes td").first.wait_for()
        with page.expect_response(lambda answer: "/events?" in answer.url and answer.json()["next"] is None) as last:
            late.continue_()
        last.value.finished()
        until(page, DRAWN_TWICE)
        until(page, "new Promise(done => setTimeout(() => done(true), 400))")  # an address is written after 150 ms
        assert page.url == f"{server.url}#/"


def test_playing_on_past_a_stretch_that_comes_slowly_passes_every_step(
    page: Page, run_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = pages.page

    def slow(*args: Any) -> Any:
        time.sleep(0.3)
        return read(*args)

    monkeypatch.setattr(pages, "MAX_BYTES", 20_000)
    monkeypatch.setattr(pages, "page", slow)
    with LogReader.open(run_log) as reader:
        steps = reader.count(1, ("step",))
    with Served(run_log) as server:
        opened(page, f"{server.url}#/episode/1")
        page.evaluate(NOTE_STEPS)
        page.get_by_label("Steps per second").select_option("16")
        page.locator("h1").click()
        page.keyboard.press("Space")
        until(page, f"last => {STEP} === last", steps)
        passed = page.evaluate("window.passed")
    assert list(dict.fromkeys(passed)) == list(range(passed[0], steps + 1))
    assert passed[0] <= 1


def test_a_wish_that_is_overtaken_by_another_is_forgotten(
    page: Page, run_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_BYTES", 20_000)
    with Served(run_log) as server:
        opened(page, f"{server.url}#/episode/1?axis=steps")
        asked = held(page, "**/seek?*")
        page.locator("em-transport input[type=range]").evaluate(
            "range => { range.value = range.max; range.dispatchEvent(new Event('input')); }"
        )
        late = first(page, asked)
        page.keyboard.press("Home")
        with page.expect_response("**/seek?*") as answer:
            late.continue_()
        answer.value.finished()
        page.wait_for_load_state("networkidle")
        until(page, DRAWN_TWICE)
        assert "step 0 of" in page.locator("output.moment").inner_text()


def test_a_click_that_is_under_way_when_the_tables_change_still_counts(
    page: Page, run_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.db"
    with LogReader.open(run_log) as reader:
        row = reader.episode(1)
    with LogStore.open(log) as store, Served(log) as server:
        store.start(cell=row.cell, seed=0, setup=row.setup)
        store.flush()
        page.goto(server.url)
        page.locator("table.episodes").get_by_role("button", name="Seed").hover()
        page.mouse.down()
        with page.expect_response("**/api/run") as answer:
            store.start(cell=row.cell, seed=1, setup=row.setup)
            store.flush()
        answer.value.finished()
        until(page, DRAWN_TWICE)
        page.mouse.up()
        page.locator("table.episodes th[aria-sort=ascending]", has_text="Seed").wait_for()
        page.get_by_text("2 running").wait_for()
