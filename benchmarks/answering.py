"""A model server for benchmarks: answers every chat completion with the same text after a fixed time.

As a process it prints its address, serves until its input ends, and then prints the processor's seconds that it took.
It reads requests just so far as it must, so that it takes little of the machine that it is measured on.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

LENGTH = b"content-length:"


@dataclass(slots=True)
class Served:
    """The server's address, and, when it has ended, the processor's seconds that it took."""

    url: str
    cpu_s: float = 0.0


@contextmanager
def answering(text: str, seconds: float) -> Iterator[Served]:
    """A server process that answers with this text after so many seconds."""
    many_sockets()
    command = [sys.executable, "-m", "benchmarks.answering", text, str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    served = Served(process.stdout.readline().strip())
    try:
        yield served
    finally:
        said, _ = process.communicate()
        served.cpu_s = float(said)


def many_sockets() -> None:
    """Let this process hold as many connections as the system lets it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Connection(asyncio.Protocol):
    """One request after the other: each is answered `seconds` after its last byte."""

    def __init__(self, reply: bytes, seconds: float) -> None:
        self._reply = reply
        self._seconds = seconds
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
        if len(body) >= int(length[len(LENGTH) :]):
            self._got.clear()
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._reply)


def _reply(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    body = json.dumps({"id": "a", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve(text: str, seconds: float) -> None:
    many_sockets()
    loop = asyncio.get_running_loop()
    made = partial(_Connection, _reply(text), seconds)
    server = await loop.create_server(made, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    begun = time.process_time()
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()
    print(time.process_time() - begun)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], float(sys.argv[2])))
