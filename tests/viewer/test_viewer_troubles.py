"""Runs that go on, that were killed, that two people look at: real processes and a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from viewer_kit import PATIENCE_S, Served, until

from emcoop.core.errors import ConfigError, LogError
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.viewer import pages
from emcoop.viewer.server import PORT, listen

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_running_run_fills_its_tables_by_itself(page: Page, run_log: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    with LogReader.open(run_log) as reader:
        row, events = reader.episode(1), list(reader.events(1))
    with LogStore.open(log) as store, Served(log) as server:
        writer = store.start(cell=row.cell, seed=row.seed, setup=row.setup)
        for event in events[: len(events) // 2]:
            writer.append(
                event.kind, event.payload, cog_time=event.cog_time, env_step=event.env_step, agent=event.agent
            )
        store.flush()
        page.goto(server.url)
        page.locator(".lead .live").wait_for()
        assert page.locator(".lead .live").inner_text() == "1 running"
        assert page.locator(".sign.going").inner_text() == "running"
        steps = page.locator("table.episodes tbody td:last-child")
        before = int(steps.inner_text())
        for event in events[len(events) // 2 : -1]:
            writer.append(
                event.kind, event.payload, cog_time=event.cog_time, env_step=event.env_step, agent=event.agent
            )
        store.flush()
        until(page, "n => Number(document.querySelector('table.episodes tbody td:last-child').textContent) > n", before)
        writer.finish("finished", row.outcome or {})
        page.locator(".sign.good").wait_for()
        assert page.locator(".lead .live").count() == 0
        assert "100 %" in page.locator("table.cells tbody tr:not(.group) td:nth-child(4)").inner_text()


def test_an_episode_that_is_lost_while_it_is_watched_says_why(page: Page, run_log: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    with LogReader.open(run_log) as reader:
        row, events = reader.episode(5), list(reader.events(5))
    with LogStore.open(log) as store, Served(log) as server:
        writer = store.start(cell=row.cell, seed=row.seed, setup=row.setup)
        for event in events[:-1]:
            writer.append(
                event.kind, event.payload, cog_time=event.cog_time, env_step=event.env_step, agent=event.agent
            )
        store.flush()
        page.goto(f"{server.url}#/episode/1")
        page.locator(".sign.going").wait_for()
        assert page.locator(".why").count() == 0
        last = events[-1]
        writer.append(last.kind, last.payload, cog_time=last.cog_time, env_step=last.env_step)
        writer.finish("finished", row.outcome or {})
        page.get_by_role("region", name="Why it ended so").wait_for()
        assert page.locator("header .sign.bad").inner_text() == "✗ horizon"


def test_a_run_that_was_killed_shows_what_it_had_committed(page: Page, tmp_path: Path) -> None:
    axes = ["--level", "hard", "--agents", "3", "--seeds", "0-400", "--no-references"]
    command = [sys.executable, "-m", "emcoop", "run", "cube", *axes, "--out", str(tmp_path)]
    log = tmp_path / "log.db"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not _stopped_in_the_midst(process, log):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_S)
    with Served(log) as server:
        page.goto(server.url)
        broken = page.locator("table.episodes tbody tr", has=page.locator(".sign.broken"))
        broken.first.wait_for()
        assert broken.first.locator(".sign").inner_text() == "cut off"
        assert page.locator(".lead .live").count() == 0
        page.locator("table.episodes a").first.click()
        page.locator("em-lanes svg .stage").first.wait_for()
        page.keyboard.press("End")
        until(page, "!document.querySelector('output.moment').textContent.startsWith('0.00 s')")


def _stopped_in_the_midst(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Stop a run; whether that met it with episodes behind it and one going on. If not, it goes on."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        states = [episode["status"] for episode in pages.index(log)["episodes"]]
    except LogError:  # no file yet, or one that is only being made
        states = []
    if len(states) > 2 and "running" in states:
        return True
    process.send_signal(signal.SIGCONT)
    return False


def test_two_viewers_of_one_run_serve_side_by_side_on_ports_of_their_own(page: Page, run_log: Path) -> None:
    command = [sys.executable, "-m", "emcoop", "view", str(run_log), "--no-browser"]
    viewers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        addresses = [viewer.stdout.readline().strip() for viewer in viewers if viewer.stdout is not None]
        assert len(set(addresses)) == 2
        for address in addresses:
            page.goto(f"{address}#/episode/1")
            page.locator("em-lanes svg .stage").first.wait_for()
            page.keyboard.press("ArrowRight")
            until(page, "document.querySelector('output.moment').textContent.includes('step 1 of')")
    finally:
        for viewer in viewers:
            viewer.send_signal(signal.SIGINT)
            viewer.communicate(timeout=PATIENCE_S)
    assert [viewer.returncode for viewer in viewers] == [0, 0]


def test_the_usual_port_in_use_by_another_program_is_left_to_it(run_log: Path) -> None:
    with _held_by_another(PORT):
        command = [sys.executable, "-m", "emcoop", "view", str(run_log), "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as viewer:
            assert viewer.stdout is not None
            address = viewer.stdout.readline().strip()
            with urllib.request.urlopen(f"{address}api/run", timeout=PATIENCE_S) as answer:
                assert json.loads(answer.read())["episodes"]
            viewer.send_signal(signal.SIGINT)
            viewer.communicate(timeout=PATIENCE_S)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    assert f":{PORT}/" not in address


def _held_by_another(port: int) -> AbstractContextManager[object]:
    """A listener on a port; another test's viewer may hold it for a while, and one of the user's for good."""
    for _ in range(100):
        try:
            return listen("127.0.0.1", port)
        except ConfigError:
            time.sleep(0.1)
    return nullcontext()


def test_a_server_that_is_gone_is_said_to_be_so(page: Page, run_log: Path) -> None:
    with Served(run_log) as server:
        page.goto(server.url)
        page.locator("table.episodes a").first.wait_for()
    page.locator("table.episodes a").first.click()
    assert "The server does not answer" in page.get_by_role("alert").inner_text()
