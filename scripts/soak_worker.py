"""The worker of scripts/soak.py, its model and the server that answers for one: ``soak_worker.py FOLDER URL SEED ...``.

It plays rounds, every cell of the mix with one seed each, and notes after each round what it holds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from emcoop.episode.loop import Limits
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, play
from emcoop.log.reader import LogReader

REFUSED = 64
"""The server answers about one of so many requests with 429 first."""

ROUNDS_PER_LOG = 4
"""A run folder takes so many rounds. Opening one to go on reads all its episodes, so memory would follow its size."""

STEPS = 15
"""No episode is longer: short ones begin and end often."""

SECOND = 1_000_000
BEGUN = "begun"
"""A worker makes this file when it begins to play."""

Remembering = type(lru_cache(lambda: None))


def answer(turns: Sequence[Any], schema: Any = None, settings: Any = None) -> str:
    """A model that walks, waits, talks and at times writes nonsense, by the content of the prompt alone."""
    texts = [turn["content"] if isinstance(turn, Mapping) else turn.content for turn in turns]
    luck = int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:4], "big")
    request = texts[-1]
    if luck % 13 == 0:
        return "I would rather not say."
    if "# Wanted: a message" in request:
        names = request.rpartition("You may write to: ")[2].partition(".")[0].split(", ")
        silent = luck % 3 == 0
        return json.dumps({"recipients": [] if silent else names[:1], "content": None if silent else f"at {luck % 97}"})
    if "# Wanted: resume" in request and luck % 2:
        return json.dumps({"decision": "resume", "reasoning": "on", "new_plan": None})
    still = "noop" if '"noop"' in texts[0] else "wait"
    direction = ("up", "down", "left", "right")[luck // 16 % 4]
    actions = [
        {"action_type": "move", "direction": direction, "num_steps": 1 + luck // 64 % 4},
        {"action_type": still, "num_steps": 1 + luck // 256 % 3},
    ]
    plan = {"task": "none", "actions": actions, "reasoning": ""}
    if "# Wanted: resume" in request:
        return json.dumps({"decision": "replan", "reasoning": "turn", "new_plan": plan})
    return json.dumps(plan)


class Server(ThreadingHTTPServer):
    """Answers so to OpenAI's chat completions, and refuses about one of REFUSED requests the first time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.refused: set[bytes] = set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed worker leaves its connections open; whatever else goes wrong the worker meets itself."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def reply(self, content: bytes) -> tuple[int, dict[str, Any]]:
        """Status and body for this request."""
        key = hashlib.sha256(content).digest()
        if key[0] % REFUSED == 0 and key not in self.refused:
            self.refused.add(key)
            return 429, {"error": {"message": "slow down", "type": "rate_limit"}}
        messages = json.loads(content)["messages"]
        said = answer(messages)
        read = sum(len(message["content"]) for message in messages) // 4
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        usage = {"prompt_tokens": read, "completion_tokens": len(said) // 4 + 1}
        head = {"id": "soak", "object": "chat.completion", "created": 0, "model": "soak"}
        return 200, {**head, "choices": [choice], "usage": usage}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        """A request for an answer."""
        length = int(self.headers["Content-Length"])
        asked = self.rfile.read(length)
        if len(asked) < length:
            self.close_connection = True  # The worker was killed while it asked.
            return
        status, body = self.server.reply(asked)
        content = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # The worker has been killed.

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


@contextmanager
def serving() -> Iterator[str]:
    """The base URL of such a server."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def cells(url: str) -> list[Setup]:
    """The mix: both worlds, several topologies, scripted teams, teams of models, and mixed ones."""
    scripted, function = SeatConfig(), SeatConfig(agent="llm", model="scripted:soak_worker:answer")
    server = SeatConfig(agent="llm", model=f"openai:soak@{url}")
    mix = (
        ("cube", "hard", "individual", (scripted,)),
        ("cube", "hard", "debate", (scripted,)),
        ("cube", "hard", "centralized", (function,)),
        ("cube", "easy", "decentralized", (server,)),
        ("cube", "hard", "decentralized", (server, scripted, function)),
        ("ma-crafter", "easy", "centralized", (scripted,)),
        ("ma-crafter", "hard", "decentralized", (scripted,)),
        ("ma-crafter", "hard", "debate", (function,)),
        ("ma-crafter", "easy", "individual", (server,)),
    )
    return [
        Setup(env=env, level=level, topology=topology, team=team, limits=Limits(max_steps=STEPS))
        for env, level, topology, team in mix
    ]


def work(folder: Path, url: str, until_s: float, rounds: int | None, seed: int) -> None:
    """Play rounds (every cell with one seed each) until `until_s` of simulated time, or so many rounds, are finished.

    After each round a line with memory, open files and simulated time goes into ``samples.jsonl``.
    """

    mix = cells(url)
    (folder / BEGUN).touch()
    number, simulated = 0, 0.0
    while number < rounds if rounds is not None else simulated < until_s:
        study = Study(cells=tuple(mix), seeds=(seed * 1000 + number,))
        log = folder / f"run{number // ROUNDS_PER_LOG:04}"
        errors = asyncio.run(play(study, log, jobs=4))
        if errors:
            raise SystemExit(f"an episode failed: {errors[0]}")
        number += 1
        simulated += simulated_s(log / "log.db", set(study.seeds))
        empty_caches()
        gc.collect()
        sample = {"pid": os.getpid(), "round": number, "simulated_s": simulated, "at": time.time(), **held()}
        with (folder / "samples.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(sample) + "\n")


def empty_caches() -> None:
    """Forget what functions remember within bounds: filling up is no leak, and would hide one for many rounds."""
    for thing in gc.get_objects():
        if type(thing) is Remembering and thing.__module__.startswith("emcoop."):
            thing.cache_clear()


def held() -> dict[str, float]:
    """What this process holds: resident memory in MB and open files."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"rss_mb": pages * resource.getpagesize() / 1e6, "fds": len(os.listdir("/proc/self/fd"))}


def simulated_s(log: Path, seeds: set[int]) -> float:
    """Simulated seconds in the episodes of these seeds."""

    with LogReader.open(log) as reader:
        ends = [reader.last(row.id) for row in reader.episodes() if row.seed in seeds]
    return sum(end.cog_time for end in ends if end is not None) / SECOND


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("url")
    parser.add_argument("seed", type=int)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args(argv)
    work(given.folder, given.url, given.minutes * 60, given.rounds, given.seed)


if __name__ == "__main__":
    main()
