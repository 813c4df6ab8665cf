"""Serving a log from a thread, and logs made from another one with something changed."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import uvicorn

from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.viewer.server import address, listen, make_app

if TYPE_CHECKING:
    from playwright.sync_api import Page

Change = Callable[[Event], list[tuple[str, dict[str, Any]]]]
"""What is written in place of an event: kinds and payloads."""


PATIENCE_S = 60
"""How long something that must come may take on a machine that is busy with other things."""

PICTURED = """() => [...document.querySelectorAll("em-frame")].every(
  frame => frame.querySelector(".problem:not([hidden])") || (image => image?.complete && image.naturalWidth > 0)(
    frame.querySelector("img:not([hidden])")))"""
DRAWN_TWICE = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def until(page: Page, condition: str, arg: Any = None) -> None:
    """Wait until a condition holds on the page; from outside, since its policy forbids evaluation inside."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if page.evaluate(condition, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true on the page: {condition}")


def settled(page: Page) -> None:
    """Wait until every picture has come, or its problem, and what its size moves has been drawn where it stays."""
    until(page, PICTURED)
    until(page, DRAWN_TWICE)


def opened(page: Page, address: str) -> None:
    """Enter an episode's page afresh and wait until nothing on it moves by itself any more."""
    page.goto("about:blank")
    page.goto(address)
    page.locator("em-lanes svg .stage").first.wait_for()
    settled(page)


class Served:
    """A context manager: the page of a log on a free port of this machine."""

    def __init__(self, log: Path, token: str = "") -> None:
        self._socket = listen("127.0.0.1", 0)
        self.url = address(self._socket, token)
        config = uvicorn.Config(make_app(log, token=token), log_level="error", lifespan="off")
        config.timeout_graceful_shutdown = 0
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def __enter__(self) -> Served:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        self._socket.close()
        assert not self._thread.is_alive()

    def fetch(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer."""
        request = urllib.request.Request(self.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def json(self, path: str) -> Any:
        """The document of an answer that must be 200."""
        status, _, body = self.fetch(path)
        assert status == 200, body
        return json.loads(body)


def same(event: Event) -> list[tuple[str, dict[str, Any]]]:
    """No change."""
    return [(event.kind, dict(event.payload))]


def remade(
    source: Path, target: Path, change: Change = same, *, number: int = 1, events: int | None = None, blobs: bool = True
) -> Path:
    """A log with one episode of another, changed, of its first `events` events; ended if the other is and all are."""
    with LogReader.open(source) as reader, LogStore.open(target) as store:
        row = reader.episode(number)
        writer = store.start(cell=row.cell, seed=row.seed, setup=row.setup)
        for event in reader.events(number):
            if event.seq == events:
                break
            for kind, payload in change(event):
                writer.append(kind, payload, cog_time=event.cog_time, env_step=event.env_step, agent=event.agent)
            if blobs:
                for name in _names(event.payload):
                    writer.blob(reader.blob(name))
        else:
            writer.finish("finished", row.outcome or {})
    return target


def _names(payload: Any) -> list[str]:
    if isinstance(payload, dict):
        return [name for value in payload.values() for name in _names(value)]
    if isinstance(payload, list):
        return [name for value in payload for name in _names(value)]
    return [payload] if isinstance(payload, str) and len(payload) == 64 and " " not in payload else []
