"""How fast the viewer opens an episode of 300,000 events, and whether scrubbing in it keeps up with the screen.

The episode is a real one of CUBE, repeated with its clocks moved on. Without a browser or playwright only the server's
part is measured. Run as ``python -m benchmarks.viewer_open``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import record, script, told
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVENTS = 300_000
SCRUB = """async (reach) => {
  const range = document.querySelector("em-transport input[type=range]");
  const gaps = [];
  let last = performance.now();
  for (let frame = 0; frame < 180; frame += 1) {
    range.value = Number(range.max) * (reach === null ? frame / 180 : 0.5 + frame * reach);
    range.dispatchEvent(new Event("input"));
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  gaps.sort((a, b) => a - b);
  return { median: gaps[90], slow: gaps[171] };
}"""
"""Drags the scrubber for 180 frames, from the middle by `reach` of its length per frame, or (null) from end to end."""

STAND = """share => {
  const range = document.querySelector("em-transport input[type=range]");
  range.value = Number(range.max) * share;
  range.dispatchEvent(new Event("input"));
}"""
NEAR = 4e-5
PLACES = 40


def long_log(folder: Path) -> Path:
    """A log with one episode of `EVENTS` events."""
    axes = ["--level", "hard", "--agents", "3", "--topology", "centralized", "--seeds", "0", "--no-references"]
    short = folder / "short"
    command = [sys.executable, "-m", "emcoop", "run", "cube", *axes, "--out", str(short)]
    subprocess.run(command, check=True, capture_output=True)
    path = folder / "log.db"
    with LogReader.open(short / "log.db") as reader, LogStore.open(path) as store:
        row, events = reader.episode(1), list(reader.events(1))
        writer = store.start(cell=row.cell, seed=row.seed, setup=row.setup)
        for event in events:
            for key in ("snapshot", "view"):
                if event.payload.get(key):
                    writer.blob(reader.blob(event.payload[key]))
        body, time_span, steps = events[1:-1], events[-1].cog_time, events[-1].env_step
        writer.append("episode_start", events[0].payload, cog_time=0, env_step=0)
        for turn in range(EVENTS // len(body)):
            for event in body:
                at, step = event.cog_time + turn * time_span, event.env_step + turn * steps
                writer.append(event.kind, event.payload, cog_time=at, env_step=step, agent=event.agent)
            store.flush()
        writer.finish("finished", {"limit": "success", "score": {"success": True, "progress": 1.0}, "steps": step})
    return path


@contextmanager
def served(log: Path) -> Iterator[tuple[str, int]]:
    """The address of the page and the process that serves it."""
    command = [sys.executable, "-m", "emcoop", "view", str(log), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def timed(url: str) -> float:
    """Seconds until the whole answer is there."""
    begun = time.perf_counter()
    with urllib.request.urlopen(url, timeout=60) as answer:
        answer.read()
    return time.perf_counter() - begun


def browse(url: str) -> dict[str, float]:
    """Seconds to open the middle of the episode, and the gaps between frames while scrubbing."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        chromium = None
    if chromium is None:
        print("viewer: no browser or no playwright here; only the server is measured")
        return {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.locator("table.episodes tbody tr").first.wait_for()
        seconds = [opened(page, url, seq) for seq in (EVENTS // 2, EVENTS // 3, EVENTS - 500)]
        page.goto("about:blank")
        page.goto(f"{url}#/episode/1?t=1")
        page.locator("em-lanes svg .stage").first.wait_for()
        near: dict[str, Any] = page.evaluate(SCRUB, NEAR)
        far: dict[str, Any] = page.evaluate(SCRUB, None)
        heaps = [heap_mb(page, url, range(PLACES // 4)), heap_mb(page, url, range(PLACES))]
        browser.close()
    return {
        "browser_open_s": sorted(seconds)[1],
        "frame_ms": near["median"],
        "slow_frame_ms": near["slow"],
        "far_frame_ms": far["median"],
        "far_slow_frame_ms": far["slow"],
        "page_heap_mb": heaps[1],
        "page_heap_growth_mb": heaps[1] - heaps[0],
    }


def opened(page: Page, url: str, seq: int) -> float:
    """Seconds from asking for an event of the episode to its being shown, on a fresh page."""
    page.goto("about:blank")
    begun = time.perf_counter()
    page.goto(f"{url}#/episode/1?sel={seq}")
    page.locator("em-lanes svg .stage").first.wait_for()
    page.locator("em-inspector h3").wait_for()
    return time.perf_counter() - begun


def heap_mb(page: Page, url: str, places: range) -> float:
    """What the page holds after it has stood at so many places of the episode, one stretch of events each."""
    page.goto("about:blank")
    page.goto(f"{url}#/episode/1?t=1")
    page.locator("em-lanes svg .stage").first.wait_for()
    for place in places:
        page.evaluate(STAND, (place + 0.5) / len(places))
        page.wait_for_timeout(150)
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def peak_mb(pid: int) -> float:
    """The most memory that a process has held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))


FIGURES: dict[str, tuple[str, str, float | None]] = {
    "run_s": ("the list of episodes", "s", 0.3),
    "page_s": ("a page of events in the middle", "s", 0.3),
    "seek_s": ("seeking a time", "s", 0.3),
    "browser_open_s": ("opening an event in the browser, until it is drawn (median of 3)", "s", 1.0),
    "frame_ms": ("scrubbing within a few stretches: the median frame", "ms", 17.0),
    "slow_frame_ms": ("scrubbing within a few stretches: the frame that 5 % are slower than", "ms", 34.0),
    "far_frame_ms": ("dragging from end to end in 3 s: the median frame", "ms", 17.0),
    "far_slow_frame_ms": ("dragging from end to end in 3 s: the frame that 5 % are slower than", "ms", None),
    "page_heap_mb": (f"the page's heap after {PLACES} places of the episode", "MB", 100.0),
    "page_heap_growth_mb": (f"the heap after {PLACES} places less that after {PLACES // 4}", "MB", 10.0),
    "server_mb": ("the most memory that the server held", "MB", 300.0),
}
"""What each figure is, its unit and its target (None: only shown)."""


def main() -> dict[str, float]:
    """Measure, print and return the figures."""
    with tempfile.TemporaryDirectory() as name, served(long_log(Path(name))) as (url, pid):
        figures = {
            "run_s": timed(f"{url}api/run"),
            "page_s": timed(f"{url}api/episodes/1/events?start={EVENTS // 2}"),
            "seek_s": timed(f"{url}api/episodes/1/seek?time=9000000000"),
            **browse(url),
            "server_mb": peak_mb(pid),
        }
    for name, value in figures.items():
        what, unit, target = FIGURES[name]
        print(told(record(name, value, unit, target, what=what, script="viewer_open")))
    return figures


if __name__ == "__main__":
    sys.exit(script(main))
