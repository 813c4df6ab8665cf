"""The page in a real browser, as a person uses it."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from viewer_kit import Served, opened, remade, settled, until

from emcoop.core.canonical import canonical_json
from emcoop.log.events import Event
from emcoop.log.lines import event_line, kind_bits
from emcoop.log.reader import LogReader
from emcoop.viewer.export import export

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>&lt;b&gt;"


def moment(page: Page) -> str:
    return page.locator("output.moment").inner_text()


def test_a_run_opens_with_its_teams_and_episodes(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.get_by_role("heading", name="team-run").wait_for()
    assert page.locator("table.cells tbody tr:not(.group)").count() >= 4
    assert page.locator("table.cells .tag.floor").count() >= 1
    rows = page.locator("table.episodes tbody tr")
    everything = rows.count()
    page.locator("#search").fill("decentralized seed 1")
    assert 0 < rows.count() < everything
    until(page, "location.hash.includes('q=decentralized')")


def test_columns_sort_and_say_so(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.get_by_role("button", name="Steps").click()
    page.get_by_role("button", name="Steps").click()
    steps = [int(text) for text in page.locator("table.episodes tbody td:last-child").all_inner_texts()]
    assert steps == sorted(steps, reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Steps")


def test_scrubbing_moves_the_world_the_cursor_and_the_address(page: Page, served: Served, run_log: Path) -> None:
    with LogReader.open(run_log) as reader:
        second = next(e for e in reader.events(1, kinds=("step",)) if e.env_step == 2)
    opened(page, f"{served.url}#/episode/1")
    assert "step 0 of" in moment(page)
    first = page.locator("em-frame img").get_attribute("src")
    assert first is not None
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('output.moment').textContent.includes('step 2 of')")
    until(page, "past => document.querySelector('em-frame img').src !== past", arg=first)
    assert "translateX" in (page.locator(".cursor").get_attribute("style") or "")
    until(page, "time => location.hash.endsWith(`?t=${time}`)", second.cog_time)
    shared = page.url
    page.locator("em-transport input[type=range]").evaluate(
        "range => { range.value = range.max; range.dispatchEvent(new Event('input')); }"
    )
    until(page, "!document.querySelector('output.moment').textContent.includes('step 2 of')")
    opened(page, shared)
    assert "step 2 of" in moment(page)


def test_a_click_in_the_lanes_goes_to_that_time_on_either_axis(page: Page, served: Served) -> None:
    for axis in ("time", "steps"):
        opened(page, f"{served.url}#/episode/1?axis={axis}")
        box = page.locator("em-lanes .inner").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 36)
        until(page, "!document.querySelector('output.moment').textContent.startsWith('0.00 s')")


def test_playing_goes_on_until_it_is_paused(page: Page, served: Served) -> None:
    opened(page, f"{served.url}#/episode/1")
    page.get_by_label("Steps per second").select_option("2")
    page.locator("h1").click()
    page.keyboard.press("Space")
    until(page, "/step ([3-9]|[1-9][0-9]) of/.test(document.querySelector('output.moment').textContent)")
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Play", exact=True).count() == 1


def test_a_decision_opens_with_its_observation(page: Page, served: Served) -> None:
    opened(page, f"{served.url}#/episode/1")
    page.locator(".decision").first.click()
    inspector = page.locator("em-inspector")
    inspector.get_by_role("heading", name="agent_0 · decision").wait_for()
    inspector.get_by_text("Observation").click()
    until(page, "document.querySelector('em-inspector pre')?.textContent.includes('\"agent\": \"agent_0\"')")
    assert "simulated latency" in inspector.inner_text()


def test_a_message_is_followed_to_the_decision_of_its_reader(page: Page, served: Served, run_log: Path) -> None:
    with LogReader.open(run_log) as reader:
        sent = next(reader.events(1, kinds=("message_sent",)))
    opened(page, f"{served.url}#/episode/1")
    page.locator(f".message[data-seq='{sent.seq}']").first.click(force=True)
    inspector = page.locator("em-inspector")
    inspector.get_by_role("heading", name=f"{sent.agent} · message sent").wait_for()
    assert sent.payload["content"] in inspector.inner_text()
    receiver = sent.payload["to"][0]
    inspector.get_by_role("button", name=f"{receiver}'s decision after reading it").click()
    until(page, "who => document.querySelector('em-inspector h3')?.textContent === who", arg=f"{receiver} · decision")


def test_the_conversation_reads_as_text_and_dims_what_comes_later(page: Page, served: Served, run_log: Path) -> None:
    with LogReader.open(run_log) as reader:
        sent = list(reader.events(1, kinds=("message_sent",)))
    opened(page, f"{served.url}#/episode/1?tab=talk&t={sent[1].cog_time}")
    lines = page.locator(".said .words").all_inner_texts()
    assert lines == [event.payload["content"] for event in sent]
    early = sum(event.cog_time <= sent[1].cog_time for event in sent)
    assert page.locator(".said .later").count() == len(sent) - early
    assert f"{sent[0].agent} to {sent[0].payload['to'][0]} 1" in (
        page.locator(".graph svg").get_attribute("aria-label") or ""
    )


def test_search_by_key_finds_and_opens_an_event(page: Page, served: Served) -> None:
    opened(page, f"{served.url}#/episode/1")
    page.keyboard.press("/")
    page.keyboard.type("ASSIGN")
    page.keyboard.press("Enter")
    page.locator(".found li button").first.click()
    page.locator("em-inspector h3").wait_for()
    until(page, "location.hash.includes('sel=')")


def test_the_keys_are_listed_and_events_can_be_walked(page: Page, served: Served) -> None:
    opened(page, f"{served.url}#/episode/1")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    page.locator("em-inspector h3").wait_for()
    first = moment(page)
    page.keyboard.press("3")
    events = page.get_by_role("tab", name="Events")
    assert events.get_attribute("aria-selected") == "true"
    events.focus()
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("tab", name="Talk").get_attribute("aria-selected") == "true"
    assert "step 0 of" in first
    assert moment(page) == first


def test_two_episodes_are_compared_on_one_scrubber_with_their_first_difference(
    page: Page, served: Served, run_log: Path
) -> None:
    with LogReader.open(run_log) as reader:
        one, other = ([e.payload["state"] for e in reader.events(n, kinds=("step",))] for n in (1, 3))
    parting = next(k for k, (a, b) in enumerate(zip(one, other, strict=False), start=1) if a != b)
    page.goto(served.url)
    page.get_by_label("Pick episode 1 to compare").check()
    page.get_by_label("Pick episode 3 to compare").check()
    page.get_by_role("link", name="Compare #1 and #3").click()
    page.get_by_role("button", name="Go there").click()
    assert f"differ from step {parting} on" in page.locator(".verdict").inner_text()
    until(
        page,
        "step => document.querySelector('output.moment').textContent.startsWith('step ' + step + ' ')",
        arg=str(parting),
    )
    assert page.locator("em-frame img").count() == 2
    page.goto(f"{served.url}#/compare/1/1")
    page.get_by_text("Their worlds are the same at every step.").wait_for()


def test_the_exported_file_works_from_disk_without_a_server(page: Page, run_log: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.html"
    assert "episodes" in export(run_log, target)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(target.as_uri())
    page.locator("table.episodes tbody tr").first.wait_for()
    opened(page, f"{target.as_uri()}#/episode/1")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('output.moment').textContent.includes('step 1 of')")
    until(page, "document.querySelector('em-frame img').naturalWidth > 0")
    page.locator(".decision").first.click()
    page.locator("em-inspector").get_by_text("Observation").click()
    until(page, "document.querySelector('em-inspector pre')?.textContent.includes('agent_0')")
    page.locator("#search").fill("assign")
    page.locator("#search").press("Enter")
    page.locator(".found li").first.wait_for()
    page.goto(f"{target.as_uri()}#/compare/1/3")
    page.get_by_role("button", name="Go there").wait_for()
    assert {url.split(":")[0] for url in asked} <= {"file", "blob", "data"}


def test_an_export_of_some_episodes_has_only_those(run_log: Path, tmp_path: Path) -> None:
    export(run_log, tmp_path / "all.html")
    export(run_log, tmp_path / "one.html", [3])
    text = (tmp_path / "one.html").read_text("ascii")
    assert 'id="block-e3"' in text
    assert 'id="block-e1"' not in text
    assert len(text) < (tmp_path / "all.html").stat().st_size / 2


def hostile(event: Event) -> list[tuple[str, dict[str, Any]]]:
    """Every text of a model made into an attack, and a kind of event that nobody knows."""
    payload = json.loads(json.dumps(event.payload))
    if event.kind == "message_sent":
        payload["content"] = HOSTILE
    if event.kind == "plan_committed":
        payload["plan"] = {"task": HOSTILE, "actions": [{"action_type": HOSTILE, "x": HOSTILE}], "reasoning": HOSTILE}
    if event.kind == "step":
        moves = {agent: {"primitive": move, "said": [HOSTILE]} for agent, move in payload["actions"].items()}
        tasks = {f"{HOSTILE}{name}": task for name, task in payload["tasks"].items()}
        payload.update(actions=moves, tasks=tasks, gains={"agent_0": [HOSTILE]} if event.env_step == 2 else {})
    if event.kind == "plan_ended":
        payload["failure"] = {"category": HOSTILE, "code": HOSTILE, "message": HOSTILE}
    found = [(event.kind, payload)]
    if event.kind == "message_sent":
        found.append(("telepathy", {"thought": HOSTILE}))
    return found


@pytest.mark.parametrize("exported", [False, True])
def test_hostile_text_of_a_model_stays_text(page: Page, run_log: Path, tmp_path: Path, exported: bool) -> None:
    log = remade(run_log, tmp_path / "log.db", hostile)
    with LogReader.open(log) as reader:
        events = list(reader.events(1))
    with Served(log) as server:
        address = server.url
        if exported:
            export(log, tmp_path / "hostile.html")
            address = (tmp_path / "hostile.html").as_uri()
        for kind in ("message_sent", "telepathy", "plan_committed", "plan_ended", "step"):
            seq = next(event.seq for event in events if event.kind == kind)
            opened(page, f"{address}#/episode/1?sel={seq}")
            page.locator("em-inspector h3").wait_for()
            assert HOSTILE[:20] in page.locator("em-inspector").inner_text()
        page.locator(".gain").dispatch_event("pointermove", {"bubbles": True})
        assert HOSTILE in page.locator(".tip").inner_text()
        page.keyboard.press("End")
        until(page, "document.querySelector('.tasks-now th[scope=row]') !== null")
        assert HOSTILE[:20] in page.locator(".tasks-now").inner_text()
        assert HOSTILE[:20] in page.locator(".card .move").first.inner_text()
        page.keyboard.press("2")
        assert page.locator(".said .words").first.inner_text() == HOSTILE
        page.keyboard.press("3")
        page.locator(".events li").first.wait_for()
        assert page.title() != "owned"
        assert page.locator("img[src=x]").count() == 0


def test_an_unknown_kind_of_event_is_shown_raw_and_said_to_be_unknown(
    page: Page, run_log: Path, tmp_path: Path
) -> None:
    log = remade(
        run_log,
        tmp_path / "log.db",
        lambda e: [(e.kind, dict(e.payload)), ("aura", {"hue": "mauve"})][: 1 + (e.seq == 4)],
    )
    with Served(log) as server:
        opened(page, f"{server.url}#/episode/1?sel=5")
        text = page.locator("em-inspector").inner_text()
        assert "does not know this kind" in text
        assert '"hue": "mauve"' in text


def test_a_missing_blob_is_named_where_it_would_be(page: Page, run_log: Path, tmp_path: Path) -> None:
    log = remade(run_log, tmp_path / "log.db", blobs=False)
    with Served(log) as server:
        opened(page, f"{server.url}#/episode/1")
        page.locator("em-frame .problem:not([hidden])").wait_for()
        assert "does not keep the blob" in page.locator("em-frame .problem").inner_text()
        page.locator(".decision").first.click()
        page.locator("em-inspector").get_by_text("Observation").click()
        page.locator("em-inspector .problem").wait_for()


def test_a_log_being_written_is_followed(page: Page, run_log: Path, tmp_path: Path) -> None:
    log = remade(run_log, tmp_path / "log.db", events=50)
    with sqlite3.connect(log) as db:
        db.execute("UPDATE episodes SET status = 'running'")
    (tmp_path / "log.db.lock").write_text(f"{os.getpid()}\n")
    with Served(log) as server:
        opened(page, f"{server.url}#/episode/1")
        assert page.locator(".sign.going").inner_text() == "running"
        before = page.locator("em-lanes svg .stage").count()
        with LogReader.open(run_log) as reader, sqlite3.connect(log) as db:
            events = list(reader.events(1, start_seq=50))[:60]
            lines = b"".join(
                event_line(e.seq, e.cog_time, e.env_step, e.agent, e.kind, canonical_json(e.payload)) for e in events
            )
            kinds = kind_bits(event.kind for event in events)
            db.execute("INSERT INTO chunks VALUES (1, 50, ?, ?, 0, 0, ?)", (len(events), kinds, lines))
        until(page, "past => document.querySelectorAll('em-lanes svg .stage').length > past", arg=before)
        (tmp_path / "log.db.lock").unlink()
        page.get_by_text("cut off", exact=True).wait_for()


def test_an_episode_that_is_not_there_is_said_to_be_so(page: Page, served: Served) -> None:
    page.goto(f"{served.url}#/episode/4000")
    assert "no episode 4000" in page.get_by_role("alert").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(800, "light"), (1280, "dark")])
def test_nothing_is_wider_than_the_window(page: Page, served: Served, width: int, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    for path, shown in (
        ("", "table.episodes td"),
        ("#/episode/1?sel=40", "em-inspector h3"),
        ("#/episode/1?tab=talk", ".said .words"),
        ("#/episode/1?tab=events", ".events li"),
        ("#/compare/1/3", ".verdict button"),
    ):
        page.goto("about:blank")
        page.goto(served.url + path)
        page.locator(shown).first.wait_for()
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_focus_stays_where_it_was_when_a_table_is_drawn_anew(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.get_by_label("Pick episode 2 to compare").focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Pick episode 2 to compare"
    assert page.get_by_label("Pick episode 2 to compare").is_checked()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "#2"


def test_an_episode_without_events_yet_opens_empty(page: Page, run_log: Path, tmp_path: Path) -> None:
    log = remade(run_log, tmp_path / "log.db", events=0)
    with Served(log) as server:
        page.goto(f"{server.url}#/episode/1")
        until(page, "document.querySelector('output.moment')?.textContent.includes('step 0 of 0')")
        page.locator("em-frame .problem:not([hidden])").wait_for()
        page.keyboard.press("ArrowRight")
        assert "step 0 of 0" in moment(page)


def test_long_events_shorten_a_stretch_and_every_step_is_still_reached(
    page: Page, run_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emcoop.viewer.pages.MAX_BYTES", 20_000)
    with LogReader.open(run_log) as reader:
        steps = reader.count(1, ("step",))
    with Served(run_log) as server:
        opened(page, f"{server.url}#/episode/1")
        for step in range(1, steps + 1):
            page.keyboard.press("ArrowRight")
            until(
                page,
                "wanted => document.querySelector('output.moment').textContent.includes(wanted)",
                f"step {step} of",
            )
        page.keyboard.press("Home")
        until(page, "document.querySelector('output.moment').textContent.includes('step 0 of')")
