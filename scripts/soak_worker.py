"""The worker of scripts/soak.py, its model and the server that answers for one.

``soak_worker.py FOLDER URL SEED ROUNDS`` plays rounds, every cell of the mix with one seed each, into one log, and
notes after each round what it holds. Nothing is emptied or begun anew for the measurement: caches fill and the log
grows as in a run of one's own.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from emcoop.episode.loop import Limits
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, play

REFUSED = 64
"""The server answers about one of so many requests with 429 first."""

STEPS = 15
"""No episode is longer: short ones begin and end often."""

SEEDS = 1000
"""There are no more rounds than this: every soak's own seed has so many for its episodes."""

BEGUN = "begun"
"""A worker makes this file when it begins to play."""


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


def seeds_of(seed: int, rounds: int) -> range:
    """The seeds of the episodes of so many rounds, in order."""
    return range(seed * SEEDS, seed * SEEDS + rounds)


def work(folder: Path, url: str, rounds: int, seed: int) -> None:
    """Play so many rounds, every cell with one seed each. After each, a line of what is held goes into
    ``samples.jsonl``."""
    mix = cells(url)
    (folder / BEGUN).touch()
    for number, episode_seed in enumerate(seeds_of(seed, rounds), 1):
        errors = asyncio.run(play(Study(cells=tuple(mix), seeds=(episode_seed,)), folder, jobs=4))
        if errors:
            raise SystemExit(f"an episode failed: {errors[0]}")
        gc.collect()
        sample = {"pid": os.getpid(), "round": number, "at": time.time(), **held()}
        with (folder / "samples.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(sample) + "\n")


MALLINFO = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class Mallinfo(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns, in bytes (see its manual page)."""

    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in MALLINFO]


def held() -> dict[str, float]:
    """What this process holds: resident memory and the part of the C library's that is in use, both in MB, blocks that
    Python has allocated, and open files. Needs Linux with glibc."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo
    native = mallinfo2()
    return {
        "rss_mb": pages * resource.getpagesize() / 1e6,
        "native_mb": (native.uordblks + native.hblkhd) / 1e6,
        "blocks": sys.getallocatedblocks(),
        "fds": len(os.listdir("/proc/self/fd")),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("url")
    parser.add_argument("seed", type=int)
    parser.add_argument("rounds", type=int)
    given = parser.parse_args(argv)
    work(given.folder, given.url, given.rounds, given.seed)


if __name__ == "__main__":
    main()
