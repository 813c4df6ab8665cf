"""Pictures of the viewer for the documentation: ``python scripts/screenshots.py`` writes docs/images/*.png.

Plays a few episodes, serves them, and photographs the page in a browser without a window. Needs playwright and
chromium. With names of worlds as arguments only those are played.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")
WORLDS = {"cube": ["--level", "hard", "--agents", "3"], "ma-crafter": ["--agents", "3"]}
SIZE = {"width": 1280, "height": 960}


def play(world: str, run: Path) -> None:
    """A scripted team under each topology, and the floors and ceilings."""
    axes = [*WORLDS[world], "--topology", ",".join(TOPOLOGIES), "--seeds", "0-2"]
    command = [sys.executable, "-m", "emcoop", "run", world, *axes, "--out", str(run)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def served(run: Path) -> Iterator[str]:
    """The address of the run's page."""
    command = [sys.executable, "-m", "emcoop", "view", str(run), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def photograph(page: Page, url: str, world: str) -> Iterator[Path]:
    """The pictures of one world's run: the run, an episode under each topology, its talk, a comparison."""
    yield shot(page, url, f"{world}-run", "table.episodes td")
    rows = page.locator("table.episodes tbody tr").all_inner_texts()
    first = {row.split("\t")[3]: row.split("\t")[1].strip("#") for row in reversed(rows) if "scripted" in row}
    for topology in TOPOLOGIES:
        middle = f"{url}#/episode/{first[topology]}?axis=steps"
        yield shot(page, middle, f"{world}-{topology}", "em-lanes svg .stage", keys=["ArrowRight"] * 8)
    talking = f"{url}#/episode/{first['centralized']}?tab=talk"
    yield shot(page, talking, f"{world}-talk", ".said .words", keys=["ArrowRight"] * 8)
    pair = f"{url}#/compare/{first['centralized']}/{first['decentralized']}"
    yield shot(page, pair, f"{world}-compare", ".verdict button", keys=["ArrowRight"] * 8)
    page.emulate_media(color_scheme="dark")
    deciding = f"{url}#/episode/{first['decentralized']}"
    yield shot(page, deciding, f"{world}-dark", "em-lanes svg .stage", keys=["."] * 12)
    page.emulate_media(color_scheme="light")


def shot(page: Page, address: str, name: str, shown: str, *, keys: list[str] | None = None) -> Path:
    """One picture, once something is shown and these keys were pressed."""
    page.goto("about:blank")
    page.goto(address)
    page.locator(shown).first.wait_for()
    for key in keys or ():
        page.keyboard.press(key)
        page.wait_for_timeout(60)
    page.wait_for_timeout(400)
    target = IMAGES / f"{name}.png"
    page.screenshot(path=target)
    return target


def main(worlds: list[str]) -> int:
    """Make the pictures of these worlds; returns 1 without a browser."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no chromium here: apt-get install chromium", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for world in worlds:
            run = Path(folder) / world
            play(world, run)
            with served(run) as url:
                for target in photograph(browser.new_page(viewport=SIZE), url, world):
                    print(target.relative_to(IMAGES.parents[1]))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["cube"]))
