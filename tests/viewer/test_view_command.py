"""`emcoop view` as a user calls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from viewer_kit import PATIENCE_S

from emcoop.viewer.server import listen


def emcoop(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "emcoop", "view", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def failure(*args: str) -> str:
    process = emcoop(*args)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, out + err
    assert "Traceback" not in err
    return err


def test_the_page_is_served_until_the_user_interrupts(run_log: Path) -> None:
    process = emcoop(str(run_log.parent), "--port", "0", "--no-browser")
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        assert b"<em-app>" in answer.read()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in err) == (0, False)


def test_beyond_this_machine_the_address_has_a_random_token(run_log: Path) -> None:
    process = emcoop(str(run_log), "--host", "0.0.0.0", "--port", "0", "--no-browser")
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert len(address.rstrip("/").rsplit("/", 1)[1]) >= 20


def test_a_port_in_use_is_named(run_log: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port}" in failure(str(run_log), "--port", port, "--no-browser")


def test_what_cannot_be_viewed_or_written_is_named(run_log: Path, tmp_path: Path) -> None:
    assert "no such log" in failure(str(tmp_path), "--no-browser")
    (tmp_path / "log.db").write_text("not a database")
    assert "not an emcoop log" in failure(str(tmp_path), "--no-browser")
    assert "cannot be written" in failure(str(run_log), "--export", str(tmp_path / "nowhere" / "a.html"))
    assert "no episode 77" in failure(str(run_log), "--export", str(tmp_path / "a.html"), "--episodes", "77")
    assert not (tmp_path / "a.html").exists()
    assert "--export" in failure(str(run_log), "--episodes", "1")


def test_an_export_is_written_whole_and_the_same_each_time(run_log: Path, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        process = emcoop(str(run_log.parent), "--export", str(tmp_path / name), "--episodes", "1-2")
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert "2 episodes" in err
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_the_browser_is_opened_at_the_pages_address(run_log: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    stand_in = tmp_path / "browser"
    stand_in.write_text(f'#!/bin/sh\necho "$1" > {opened}.new && mv {opened}.new {opened}\n')
    stand_in.chmod(0o755)
    command = [sys.executable, "-m", "emcoop", "view", str(run_log), "--port", "0"]
    environment = {**os.environ, "BROWSER": str(stand_in)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as viewer:
        assert viewer.stdout is not None
        address = viewer.stdout.readline().strip()
        deadline = time.monotonic() + PATIENCE_S
        while not opened.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        viewer.send_signal(signal.SIGINT)
        viewer.communicate(timeout=PATIENCE_S)
    assert opened.read_text().strip() == address
