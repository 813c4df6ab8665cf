"""A model server for benchmarks: answers every chat completion after a fixed time, always alike or as a team would.

As a process it prints its address, serves until its input ends, and then prints what it has served and the processor's
seconds that it took. It reads requests just so far as it must, so that it takes little of the machine that it is
measured on.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial

LENGTH = b"content-length:"
WANTED = "# Wanted: "
"""With this our agents' prompts introduce what they ask for."""

TEAM = "team"
"""Instead of a text: answer as an agent of a team does that plans, says something and is not put off."""

WAIT_STEPS = 6
PLAN = json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": WAIT_STEPS}]})
SAID = "I wait six steps. Say at which block you need me."


@lru_cache(maxsize=1024)
def answer_to(wanted: str) -> str:
    """What an agent of a team answers to the end of a prompt, after `WANTED`: a plan to wait, a message, or resume."""
    if wanted.startswith("a plan"):
        return PLAN
    if wanted.startswith("a message"):
        names = wanted.partition("write to: ")[2].partition(".")[0].split(", ")
        return json.dumps({"recipients": names, "content": SAID, "reasoning": ""})
    return json.dumps({"decision": "resume", "reasoning": ""})


@dataclass(slots=True)
class Served:
    """The server's address, and, when it has ended, the processor's seconds that it took and its answers' times."""

    url: str
    cpu_s: float = 0.0
    times: Sequence[float] = ()
    """Real seconds from the first request to each answer."""


@contextmanager
def answering(text: str, seconds: float) -> Iterator[Served]:
    """A server process that answers with this text, or as `TEAM`, after so many seconds."""
    many_sockets()
    command = [sys.executable, "-m", "benchmarks.answering", text, str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    served = Served(process.stdout.readline().strip())
    try:
        yield served
    finally:
        said, _ = process.communicate()
        told = json.loads(said)
        served.cpu_s, served.times = told["cpu_s"], told["times"]


def many_sockets() -> None:
    """Let this process hold as many connections as the system lets it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Times:
    """When the first request came, and when each was answered."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.answers = array("d")


class _Connection(asyncio.Protocol):
    """One request after the other: each is answered `seconds` after its last byte."""

    def __init__(self, text: str, seconds: float, times: _Times) -> None:
        self._text = text
        self._seconds = seconds
        self._times = times
        self._got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, blank, body = self._got.partition(b"\r\n\r\n")
        if not blank:
            return
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(LENGTH))
        if len(body) < int(length[len(LENGTH) :]):
            return
        text = self._text if self._text != TEAM else answer_to(_wanted(body))
        self._got.clear()
        loop = asyncio.get_running_loop()
        if self._times.first is None:
            self._times.first = loop.time()
        loop.call_later(self._seconds, self._answer, _reply(text))

    def _answer(self, reply: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(reply)
            self._times.answers.append(asyncio.get_running_loop().time())


def _wanted(body: bytearray) -> str:
    """The end of the prompt in a request: up to the next quotation mark of the JSON."""
    return body.rpartition(WANTED.encode())[2].partition(b'"')[0].decode()


@lru_cache(maxsize=1024)
def _reply(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    body = json.dumps({"id": "a", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve(text: str, seconds: float) -> None:
    many_sockets()
    loop = asyncio.get_running_loop()
    times = _Times()
    server = await loop.create_server(partial(_Connection, text, seconds, times), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    begun = time.process_time()
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()
    spent = time.process_time() - begun
    first = times.first or 0.0
    print(json.dumps({"cpu_s": spent, "times": [round(moment - first, 6) for moment in times.answers]}))


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], float(sys.argv[2])))
