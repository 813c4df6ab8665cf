"""One small run and one browser for the viewer's tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from viewer_kit import PATIENCE_S, Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def run_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes 1 and 2: centralized, seeds 0 and 1; 3 and 4: decentralized; 5 and 6: the floor."""
    folder = tmp_path_factory.mktemp("view") / "team-run"
    axes = ["--level", "hard", "--agents", "3", "--topology", "centralized,decentralized", "--seeds", "0-1"]
    command = [
        sys.executable,
        "-m",
        "emcoop",
        "run",
        "cube",
        *axes,
        "--set",
        "limits.max_steps=40",
        "--out",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "log.db"


@pytest.fixture(scope="module")
def served(run_log: Path) -> Iterator[Served]:
    with Served(run_log) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium, without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the browser tests need playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("the browser tests need chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of 1280 x 900; the test fails when its script does, or when something breaks its policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_S * 1000)
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("console", lambda said: troubles.append(said.text) if "Security Policy" in said.text else None)
    yield opened
    context.close()
    assert troubles == []
