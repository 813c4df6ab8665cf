"""Walking around without a mouse, with a screen reader, by address; tables that narrow and sort; worlds of turns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewer_kit import Served, opened, remade, settled, until

from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

if TYPE_CHECKING:
    from playwright.sync_api import Page

UNNAMED = """() => [
  ...document.querySelectorAll("button, a[href], input, select, summary, img, [role=img], [role=button]"),
  ]
  .filter(element => !element.closest("[hidden], [aria-hidden=true]"))
  .filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.alt || e.title))
  .map(element => element.outerHTML.slice(0, 120))"""


def test_teams_are_narrowed_by_words_and_by_outcome_and_sorted(page: Page, served: Served) -> None:
    page.goto(served.url)
    teams = page.locator("table.cells tbody tr:not(.group)")
    teams.first.wait_for()
    everything = teams.count()
    page.get_by_label("Outcome").select_option("won")
    assert 0 < teams.count() < everything
    page.get_by_label("Outcome").select_option("")
    page.get_by_label("Filter teams and episodes").fill("decentralized")
    assert teams.count() == 1
    page.get_by_label("Filter teams and episodes").fill("")
    heads = page.locator("table.cells thead")
    heads.get_by_role("button", name="Progress").click()
    shares = teams.locator("td:nth-child(5) .number").all_inner_texts()
    assert [int(share.split()[0]) for share in shares] == sorted(int(share.split()[0]) for share in shares)
    assert heads.locator("[aria-sort=ascending]").count() == 1
    for _ in range(2):
        heads.get_by_role("button", name="Progress").click()
    assert heads.locator("[aria-sort]").count() == 0
    page.get_by_label("Filter teams and episodes").fill("nobody like this")
    page.get_by_text("No team fits.").wait_for()


def test_every_selection_of_the_runs_page_comes_back_with_its_address(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.get_by_label("Filter teams and episodes").fill("cube")
    page.get_by_label("Outcome").select_option("won")
    page.locator("table.cells").get_by_role("button", name="n", exact=True).click()
    page.locator("table.episodes").get_by_role("button", name="Steps").click()
    page.locator("table.cells").get_by_role("button", name="episodes").first.click()
    page.get_by_label("Pick episode 1 to compare").check()
    until(page, "location.hash.includes('pick=1')")
    address = page.url
    assert set(re.findall(r"(\w+)=", address.split("?")[1])) == {"q", "end", "csort", "sort", "cell", "pick"}
    shown = page.locator("main").inner_text()
    page.goto("about:blank")
    page.goto(address)
    page.locator("table.episodes tbody tr").first.wait_for()
    assert page.locator("main").inner_text() == shown
    assert page.get_by_label("Outcome").input_value() == "won"
    assert page.get_by_label("Pick episode 1 to compare").is_checked()


def test_every_selection_of_an_episode_comes_back_with_its_address(page: Page, served: Served) -> None:
    opened(page, f"{served.url}#/episode/1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("a")
    page.keyboard.press("+")
    page.keyboard.press(".")
    page.keyboard.press("2")
    until(page, "location.hash.includes('tab=talk')")
    address = page.url
    assert set(re.findall(r"(\w+)=", address.split("?")[1])) == {"t", "sel", "axis", "zoom", "tab"}
    moment = page.locator("output.moment").inner_text()
    opened(page, address)
    assert page.locator("output.moment").inner_text() == moment
    assert page.get_by_label("Axis").input_value() == "steps"
    assert page.get_by_role("tab", name="Talk").get_attribute("aria-selected") == "true"
    width, visible = page.locator("em-lanes .inner").evaluate("e => [e.clientWidth, e.parentElement.clientWidth]")
    assert width == 2 * visible
    page.goto("about:blank")
    page.goto(f"{served.url}#/compare/1/3?k=4")
    until(page, "document.querySelector('output.moment')?.textContent.startsWith('step 4 of')")
    page.keyboard.press("ArrowRight")
    until(page, "location.hash.endsWith('k=5')")


def test_both_clocks_stand_over_the_lanes_on_either_axis(page: Page, served: Served) -> None:
    for axis in ("time", "steps"):
        opened(page, f"{served.url}#/episode/1?axis={axis}")
        marks = page.locator("em-lanes .rulers text").all_text_contents()
        assert len([mark for mark in marks if mark.endswith(" s")]) >= 2
        assert len([mark for mark in marks if mark.isdigit()]) >= 2
        until(page, "w => document.querySelector('.ruler-label').textContent === w", "timesteps")


def test_a_comparison_is_walked_by_keys_and_its_difference_stands_in_both_lanes(page: Page, served: Served) -> None:
    page.goto(f"{served.url}#/compare/1/3")
    page.locator(".verdict button").wait_for()
    marks = page.locator("em-lanes .sign-line.parting")
    assert marks.count() == 2
    step = re.search(r"step (\d+)", marks.first.get_attribute("aria-label") or "")
    assert step is not None
    page.keyboard.press("End")
    page.keyboard.press("d")
    until(page, "w => document.querySelector('output.moment').textContent.startsWith(w)", f"step {step[1]} of")
    assert " or " in page.locator(".verdict").inner_text()
    assert page.locator(".beside [role=listitem]").count() == 6


def test_a_run_is_walked_with_the_keyboard_alone(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.locator("table.episodes a").first.wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href') ?? ''").startswith("#/episode/"):
            break
    page.keyboard.press("Enter")
    page.locator("em-lanes svg .stage").first.wait_for()
    settled(page)
    assert "step 0 of" in page.locator("output.moment").inner_text()
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('output.moment').textContent.includes('step 1 of')")
    page.keyboard.press("End")
    until(
        page, "document.querySelector('em-transport input').value === document.querySelector('em-transport input').max"
    )
    page.keyboard.press("Home")
    until(page, "document.querySelector('output.moment').textContent.includes('step 0 of')")
    page.keyboard.press(".")
    page.locator("em-inspector summary").first.wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Observation":
            break
    page.keyboard.press("Enter")
    until(page, "document.querySelector('em-inspector details[open] pre')?.textContent.includes('agent_')")


def test_a_screen_reader_is_told_the_moment_the_selection_and_what_everything_is(page: Page, served: Served) -> None:
    opened(page, f"{served.url}#/episode/1?tab=talk")
    assert page.evaluate(UNNAMED) == []
    landmarks = page.locator("main section[aria-label], main [role=region]").evaluate_all(
        "found => found.map(e => e.getAttribute('aria-label'))"
    )
    assert {"World", "Course of the episode", "Details"} <= set(landmarks)
    page.keyboard.press(".")
    said = "document.querySelector('em-episode .hidden[role=status]').textContent"
    until(page, f"/^agent_\\d: [a-z ]+, [\\d.]+ s, after step 0/.test({said})")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('em-transport input').getAttribute('aria-valuetext').includes('step 1 of')")
    assert page.locator("output.moment").get_attribute("aria-live") in (None, "polite")
    page.keyboard.press("Space")
    assert page.locator("output.moment").get_attribute("aria-live") == "off"
    page.keyboard.press("Space")
    assert re.match(r"The world after step \d+ of episode 1$", page.locator("em-frame img").get_attribute("alt") or "")
    assert page.locator("table.tasks-now caption").inner_text().startswith("Tasks at hand in step")
    tabs = page.get_by_role("tab").evaluate_all("tabs => tabs.map(tab => tab.tabIndex)")
    assert sorted(tabs) == [-1, -1, -1, 0]
    page.goto(served.url)
    page.locator("table.episodes td").first.wait_for()
    assert page.evaluate(UNNAMED) == []
    page.goto(f"{served.url}#/compare/1/3")
    page.locator(".verdict button").wait_for()
    assert page.evaluate(UNNAMED) == []


def test_pointing_at_a_message_shows_its_text_and_leaving_it_hides_that(
    page: Page, served: Served, run_log: Path
) -> None:
    with LogReader.open(run_log) as reader:
        sent = next(reader.events(1, kinds=("message_sent",)))
    opened(page, f"{served.url}#/episode/1")
    page.locator(f".message[data-seq='{sent.seq}']").first.dispatch_event("pointermove", {"bubbles": True})
    tip = page.locator(".tip")
    assert sent.payload["content"] in tip.inner_text()
    page.keyboard.press("ArrowRight")
    assert tip.is_hidden()


def test_the_usual_size_keeps_decisions_apart_and_fit_shows_all(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 480, "height": 900})
    opened(page, f"{served.url}#/episode/5")
    box = "e => [e.querySelector('.inner').clientWidth, e.querySelector('.scroller').clientWidth]"
    wide, seen = page.locator("em-lanes").evaluate(box)
    assert wide == 2 * seen
    page.keyboard.press("0")
    wide, seen = page.locator("em-lanes").evaluate(box)
    assert wide == seen
    page.keyboard.press("+")
    assert page.locator("em-lanes").evaluate(box)[0] == 2 * seen


def said(event: Event) -> list[tuple[str, dict[str, Any]]]:
    """Moves as a world of turns has them, and an ability gained at the second step."""
    payload = json.loads(json.dumps(event.payload))
    if event.kind == "step":
        payload["actions"] = {
            agent: {"primitive": move, "said": ["good day <b>"] if event.env_step % 2 else []}
            for agent, move in payload["actions"].items()
        }
        payload["gains"] = {"agent_1": ["ladder"]} if event.env_step == 2 else {}
    return [(event.kind, payload)]


def test_moves_that_carry_words_read_as_words_everywhere(page: Page, run_log: Path, tmp_path: Path) -> None:
    log = remade(run_log, tmp_path / "log.db", said)
    with LogReader.open(log) as reader, LogStore.open(log) as store:
        row, events = reader.episode(1), list(reader.events(1))
        writer = store.start(cell="again", seed=row.seed, setup=row.setup)
        for event in events:
            writer.append(
                event.kind, event.payload, cog_time=event.cog_time, env_step=event.env_step, agent=event.agent
            )
        writer.finish("finished", row.outcome or {})
    step = next(e for e in events if e.kind == "step")
    primitives = events[0].payload["env"]["primitives"]
    word = primitives[step.payload["actions"]["agent_0"]["primitive"]]
    with Served(log) as server:
        opened(page, f"{server.url}#/episode/1?sel={step.seq}")
        table = page.locator("em-inspector table.moves")
        assert f"{word}, said: “good day <b>”" in table.inner_text()
        assert f"last move: {word}, said: “good day <b>”" in page.locator(".card .move").first.inner_text()
        assert page.locator(".gain").get_attribute("aria-label") == "agent_1 gains ladder"
        assert "ladder" in page.locator(".gains").text_content()
        page.goto(f"{server.url}#/compare/1/2")
        page.get_by_text("Their worlds are the same at every step.").wait_for()
