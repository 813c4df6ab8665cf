"""The report of a real log, and of hostile content."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.test_compare import episodes, study

from emcoop.analysis.answers import Answers, sections
from emcoop.analysis.cells import read_records, summarise
from emcoop.analysis.compare import pairwise
from emcoop.analysis.report import choose_episode, page, write_report
from emcoop.analysis.stats import Estimate
from emcoop.analysis.svg import Point, dot_chart, timeline
from emcoop.core.errors import ConfigError
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.metrics import METRICS, Trace, load_metric

A, B = "agent_0", "agent_1"
HOSTILE = "<script>alert('x')</script>\"><img src=http://evil.example/x onerror=alert(1)>"
VOID = {"meta", "img", "br", "line", "circle", "rect", "path"}


class Page(HTMLParser):
    """Collects tags, and fails on an end tag that closes something else than what is open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def play(
    store: LogStore, agent: str, seed: int, *, limit: str = "success", talk: int = 0, error: str | None = None
) -> None:
    """One short episode in the form in which the loop writes it."""
    setup: dict[str, Any] = {
        "env": "cube",
        "level": "easy",
        "agents": 2,
        "topology": "debate",
        "team": [{"agent": agent, "model": None}],
    }
    writer = store.start(cell=f"cell-{agent}", seed=seed, setup=setup)

    def add(kind: str, payload: dict[str, Any], agent: str | None = None, time: int = 0) -> None:
        writer.append(kind, payload, cog_time=time, env_step=0, agent=agent)

    add("episode_start", {"team": [{"agent": A}, {"agent": B}], "impossible": None})
    for name in (A, B):
        add("stage", {"from": None, "to": "R"}, name)
    for number in range(talk):
        add("message_sent", {"id": number, "to": [B], "content": "push", "price": 0.0}, A, 100_000)
    for name in (A, B):
        add("stage", {"from": "R", "to": "X"}, name, 1_000_000)
    add("step", {"actions": {A: 1, B: 1}, "named": {A: "g", B: "g"}, "tasks": {}, "gains": {}}, None, 1_100_000)
    if error is not None:
        writer.finish("failed", {"error": error})
        return
    score = {"success": limit == "success", "progress": 1.0 if limit == "success" else 0.5, "detail": {}}
    add("episode_end", {"limit": limit, "score": score}, None, 1_100_000)
    writer.finish("finished", {"limit": limit, "score": score, "steps": 1})


def report(reader: LogReader, path: Path, **parts: Any) -> None:
    """The report of a whole log, its liveliest episode drawn."""
    records = read_records(reader)
    chosen = choose_episode(records)
    episode = None if chosen is None else (chosen, Trace.build(reader.events(chosen.id)))
    write_report(summarise(records), path, episode=episode, **parts)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[LogReader]:
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        for seed in range(3):
            play(store, "scripted", seed, talk=seed, limit="success" if seed else "horizon")
            play(store, "random", seed, limit="horizon")
        play(store, "scripted", 3, error=f"Stall: {HOSTILE}")
    with LogReader.open(path) as opened:
        yield opened


def test_a_real_log_is_read_into_records_and_rows(reader: LogReader) -> None:
    rows = summarise(read_records(reader))
    assert [(row.agent, row.n, row.failed) for row in rows] == [("scripted", 3, 1), ("random", 3, 0)]
    # Messages: 0, 1 and 2; two entries into R in one step; both agents on one task.
    assert (rows[0].metrics["M6"].mean, rows[0].metrics["M1"].mean, rows[0].metrics["M13"].mean) == (1.0, 2.0, 1.0)
    assert rows[0].success.mean == pytest.approx(2 / 3)
    assert rows[1].limits == {"horizon": 3}


def test_the_report_has_every_metric_its_definition_and_the_floors(reader: LogReader, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    report(reader, path)
    html = path.read_text(encoding="utf-8")
    shown = Page(html)
    words = " ".join(shown.words)
    for name in METRICS.builtin:
        assert load_metric(name).title in words
    assert "Paper, equation 17" in words
    assert "floor: debate random" in words
    assert "[0.21, 0.94]" in words  # Wilson for 2 of 3
    assert "1 failed and left out" in words
    assert "seeds 0-3 (dev)" in words
    assert "seed 2" in words  # the episode with most messages is drawn
    assert sum(tag == "svg" for tag, _ in shown.tags) == 5


def test_the_report_asks_for_nothing_from_outside(reader: LogReader, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report(reader, path, frames=[("the end", "<svg xmlns='http://www.w3.org/2000/svg'/>")])
    shown = Page(path.read_text(encoding="utf-8"))
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in shown.tags}
    sources = [values["src"] or "" for _, values in shown.tags if "src" in values]
    assert len(sources) == 1
    assert sources[0].startswith("data:image/svg+xml;base64,")
    policies = [v["content"] for t, v in shown.tags if t == "meta" and "http-equiv" in v]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert not [name for _, values in shown.tags for name in values if name.startswith("on")]


def test_hostile_text_stays_text_wherever_it_comes_from(tmp_path: Path) -> None:
    log, path = tmp_path / "log.db", tmp_path / "report.html"
    with LogStore.open(log) as store:
        play(store, HOSTILE, 0, talk=1)
        play(store, HOSTILE, 1, error=HOSTILE)
    with LogReader.open(log) as reader:
        report(reader, path, title=HOSTILE, frames=[(HOSTILE, "<svg onload='alert(1)'/>")])
    html = path.read_text(encoding="utf-8")
    shown = Page(html)
    assert "<script" not in html
    assert "<svg onload" not in html
    assert HOSTILE in "".join(shown.words)
    assert not [values for tag, values in shown.tags if tag == "img" and not str(values["src"]).startswith("data:")]


def test_a_frame_is_embedded_unchanged() -> None:
    svg = "<svg xmlns='http://www.w3.org/2000/svg'><text>é</text></svg>"
    found = re.search(r"base64,([^\"]+)", page([], frames=[("world", svg)]))
    assert found is not None
    assert base64.b64decode(found[1]).decode() == svg


def test_the_same_rows_give_the_same_bytes(reader: LogReader, tmp_path: Path) -> None:
    report(reader, tmp_path / "a.html")
    report(reader, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_an_empty_run_has_a_report_that_says_so() -> None:
    assert "no episodes" in page([])


def test_a_report_that_cannot_be_written_leaves_the_old_one_and_no_scraps(tmp_path: Path, reader: LogReader) -> None:
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"report\.html: the report cannot be written"):
        report(reader, tmp_path / "out" / "report.html")
    assert os.listdir(tmp_path / "out") == ["report.html"]


def test_the_drawn_episode_is_the_liveliest_finished_one(reader: LogReader) -> None:
    records = read_records(reader)
    chosen = choose_episode(records)
    assert chosen is not None
    assert (chosen.seed, chosen.metrics["M6"]) == (2, 2.0)
    assert choose_episode([r for r in records if r.status == "failed"]) is None


def test_the_timeline_has_a_bar_for_every_stay_and_a_mark_for_every_message(reader: LogReader) -> None:
    chosen = choose_episode(read_records(reader))
    assert chosen is not None
    shown = Page(timeline(Trace.build(reader.events(chosen.id))))
    # Two agents, R and X each; two messages.
    assert sum(tag == "rect" for tag, _ in shown.tags) == 4
    assert sum(tag == "path" for tag, _ in shown.tags) == 2
    assert "agent_0: reason, 0.00 to 1.00 s" in shown.words
    *_, last = [values for tag, values in shown.tags if tag == "text"]
    assert last["text-anchor"] == "end"  # the last time ends where the picture does


def test_a_dot_stands_at_its_mean_and_its_bar_spans_the_interval() -> None:
    points = [Point("team", Estimate(0.5, 0.25, 1.0, 4)), Point("alone", Estimate(0.0, None, None, 1), "floor")]
    shown = Page(dot_chart("success", points, unit_interval=True))
    # The axis runs from 210 to 490 for 0 to 1.
    dots = [float(values["cx"] or "") for tag, values in shown.tags if tag == "circle"]
    bars = [values for tag, values in shown.tags if tag == "line" and values["class"] == "bar"]
    assert dots == [350.0, 210.0]
    assert [(bar["x1"], bar["x2"]) for bar in bars] == [("280.0", "490.0")]


def test_long_names_in_a_chart_are_told_apart_and_have_the_room_they_take() -> None:
    names = [f"individual scripted+null +solo:matched (for {team} scripted)" for team in ("debate", "centralized")]
    shown = Page(dot_chart("success", [Point(name, Estimate(0.5, 0.5, 0.5, 4)) for name in names]))
    assert set(names) <= set(shown.words)
    right_ends = [float(v["x"] or "") for tag, v in shown.tags if tag == "text" and v.get("text-anchor") == "end"]
    assert right_ends[0] >= 7 * max(map(len, names))  # a letter of 12 pixels takes about 7


def test_a_chart_of_undefined_or_zero_values_still_draws() -> None:
    shown = Page(
        dot_chart("nothing", [Point("a", Estimate(None, None, None, 0)), Point("b", Estimate(0.0, 0.0, 0.0, 3))])
    )
    assert sum(tag == "circle" for tag, _ in shown.tags) == 1


def test_the_report_says_how_many_clear_contrasts_chance_alone_would_give_over_its_metrics() -> None:
    """Holm holds one metric's family: of 150 simulated reports on 7 unrelated metrics of equal arms 42 showed some."""
    rows = [
        *episodes("h1", [1.0, 1.0, 0.5, 1.0] * 2, topology="individual", level="hard"),
        *episodes("h2", [0.5, 0.5, 0.0, 0.5] * 2, topology="debate", level="hard"),
    ]
    one, two = (Answers(tuple(pairwise(rows, "topology", names))) for names in (["progress"], ["progress", "success"]))
    assert "would show some" not in "".join(sections(summarise(rows), one))
    told = "".join(sections(summarise(rows), two))
    assert "Holm over the conditions of a metric, 0.05" in told
    assert "10% of reports on 2 unrelated metrics would show some" in told


def test_the_report_says_when_seeds_are_too_few_for_any_contrast_to_be_clear() -> None:
    rows = study()  # 4 seeds, 2 conditions
    told = "".join(sections(summarise(rows), Answers(tuple(pairwise(rows, "topology", ["progress", "success"])))))
    assert "With 4 seeds none could, whatever its size; it takes at least 7." in told
    assert "would show some" not in told
