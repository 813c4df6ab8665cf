"""Pictures of the viewer for the documentation: ``python scripts/screenshots.py`` writes docs/images/*.png.

Plays a few episodes of every world, serves them, and photographs the page in a browser without a window. Needs
playwright and chromium. With names of worlds as arguments only those are played.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")


@dataclass(frozen=True)
class World:
    """What is played: the options of `emcoop run`, the topologies, and at which share of an episode it is shown.

    `talker` is the topology whose talk is shown; `lost` asks for a lost episode, too, with its point of no return.
    """

    options: tuple[str, ...]
    topologies: tuple[str, ...] = TOPOLOGIES
    moment: float = 0.4
    talker: str = "decentralized"
    lost: bool = False


WORLDS = {
    "cube": World(("--level", "hard", "--agents", "3"), lost=True),
    "ma-crafter": World(("--level", "medium", "--agents", "3"), moment=0.5),
    "maze": World(("--agents", "2"), ("turns",), talker="turns"),
    "exchange": World(("--agents", "2"), ("turns",), moment=0.2, talker="turns"),
}


def play(name: str, run: Path) -> None:
    """A scripted team under each topology, the floors and ceilings, and where a lost episode was lost."""
    world = WORLDS[name]
    axes = [*world.options, "--topology", ",".join(world.topologies), "--agent", "scripted", "--seeds", "0-2"]
    emcoop("run", name, *axes, "--out", run.name, folder=run.parent)


def emcoop(*words: str, folder: Path) -> None:
    """Run a command of emcoop in a folder, silently; so that no picture shows where that folder is."""
    subprocess.run([sys.executable, "-m", "emcoop", *words], check=True, capture_output=True, cwd=folder)


@contextmanager
def served(run: Path) -> Iterator[str]:
    """The address of the run's page."""
    command = [sys.executable, "-m", "emcoop", "view", run.name, "--port", "0", "--no-browser"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=run.parent, **pipes) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def asked(url: str) -> Any:
    """The document at an address of the viewer."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def first_of(index: Mapping[str, Any], topology: str) -> Mapping[str, Any]:
    """The first episode of the scripted team under a topology."""
    cells = {cell["cell"] for cell in index["cells"] if cell["topology"] == topology}
    found: Mapping[str, Any] = next(line for line in index["episodes"] if line["cell"] in cells)
    return found


def moment(url: str, episode: Mapping[str, Any], share: float) -> str:
    """The part of an address that stands at a share of an episode, with the last plan made before that selected."""
    number = episode["id"]
    seq = asked(f"{url}api/episodes/{number}/seek?step={max(1, round(share * episode['steps']))}")["seq"]
    page = asked(f"{url}api/episodes/{number}/events?start={max(0, seq - 300)}&size=301")["events"]
    events = [event for event in page if event[0] <= seq]
    planned = [event[0] for event in events if event[4] == "decision" and event[5]["faculty"] == "plan"]
    return f"{number}?t={events[-1][1]}" + (f"&sel={planned[-1]}" if planned else "")


def lost(index: Mapping[str, Any]) -> int | None:
    """The number of the first lost episode, of a scripted team if there is one, else of a floor."""
    for cells in (index["cells"], index["references"]):
        names = {cell["cell"] for cell in cells}
        lines = [line for line in index["episodes"] if line["cell"] in names and line["status"] == "finished"]
        found = next((int(line["id"]) for line in lines if not line["success"]), None)
        if found is not None:
            return found
    return None


def photograph(browser: Browser, url: str, name: str, run: Path) -> Iterator[Path]:
    """The pictures of one world's run: the run, an episode under each topology, its talk, a comparison, reasons."""
    world, index = WORLDS[name], asked(f"{url}api/run")
    yield shot(browser, url, f"{name}-run", "table.episodes td")
    for topology in world.topologies:
        at = moment(url, first_of(index, topology), world.moment)
        yield shot(browser, f"{url}#/episode/{at}", f"{name}-{topology}", "em-inspector h3")
    at = moment(url, first_of(index, world.talker), world.moment)
    yield shot(browser, f"{url}#/episode/{at}&tab=talk", f"{name}-talk", ".said .words", part=".details")
    yield shot(browser, f"{url}#/episode/{at}", f"{name}-dark", "em-inspector h3", dark=True, width=800)
    if len(world.topologies) > 1:
        one, other = (first_of(index, topology)["id"] for topology in (world.topologies[0], world.topologies[-1]))
        yield shot(browser, f"{url}#/compare/{one}/{other}?k=8", f"{name}-compare", ".verdict button")
    number = lost(index) if world.lost else None
    if number is not None:
        emcoop("fork", run.name, str(number), "--sweep", "oracle", folder=run.parent)
        (found,) = asked(f"{url}api/episodes/{number}/why")["no_return"]
        at = f"{number}?t={found['time'] or 0}&axis=steps"
        yield shot(browser, f"{url}#/episode/{at}", f"{name}-lost", "em-why .why", dark=True)


def shot(
    browser: Browser, address: str, name: str, shown: str, *, dark: bool = False, width: int = 1280, part: str = ""
) -> Path:
    """One picture of the window or a part of the page, once something is shown and the world is drawn."""
    scheme: Any = "dark" if dark else "light"
    page = browser.new_page(viewport={"width": width, "height": 960}, color_scheme=scheme)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(address)
    page.locator(shown).first.wait_for()
    for picture in page.locator("em-frame img").all():
        picture.wait_for()
    page.wait_for_timeout(600)
    target = IMAGES / f"{name}.png"
    if part:
        page.locator(part).screenshot(path=target)
    else:
        page.screenshot(path=target)
    page.close()
    if troubles:
        raise SystemExit(f"{name}: the page failed: {troubles[0]}")
    return target


def main(worlds: list[str]) -> int:
    """Make the pictures of these worlds; returns 1 without a browser, 2 for a world that is not there."""
    from playwright.sync_api import sync_playwright

    unknown = sorted(set(worlds) - set(WORLDS))
    if unknown:
        print(f"no world {unknown[0]!r}; there are {', '.join(WORLDS)}", file=sys.stderr)
        return 2
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
                for target in photograph(browser, url, world, run):
                    print(target.relative_to(IMAGES.parents[1]))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(WORLDS)))
