"""Whatever a server replies is read within bounds, or ends in a fault."""

import gzip
import json
import socket
import struct
import time
import zlib

import pytest
from tests.models import faulty
from tests.models.asking import PLAIN, complete
from tests.models.faulty import Exchange, FaultyServer, Step

from emcoop.core.errors import ModelUnavailable
from emcoop.models.base import Settings
from emcoop.models.remote import BODY_LIMIT

GOOD = json.dumps(faulty.completion("yes")).encode()


def kind_of(server: FaultyServer, step: Step, settings: Settings = PLAIN) -> str:
    """The kind of fault that a call ends in."""
    server.script = [step]
    with pytest.raises(ModelUnavailable) as caught:
        complete(server.url, settings)
    return str(caught.value.faults[0].kind)


def raw(content: bytes, *, reset: bool = False) -> Step:
    """These bytes in place of a reply, then the connection is closed, or torn down."""

    def step(x: Exchange) -> None:
        if reset:
            x.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        x.handler.wfile.write(content)
        x.handler.close_connection = True

    return step


def head(*lines: str, status: str = "200 OK", body: bytes = GOOD) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    ("encoding", "content"), [("gzip", gzip.compress(GOOD)), ("deflate", zlib.compress(GOOD)), ("identity", GOOD)]
)
def test_a_compressed_reply_is_read(faulty_server: FaultyServer, encoding: str, content: bytes) -> None:
    faulty_server.script = [lambda x: x.send(content, Content_Encoding=encoding)]
    assert complete(faulty_server.url).text == "yes"
    assert "gzip" in faulty_server.headers[0]["accept-encoding"]


def test_a_long_line_in_the_head_of_a_reply_is_read_over(faulty_server: FaultyServer) -> None:
    faulty_server.script = [lambda x: x.send(GOOD, X_Policy="a" * 30_000)]
    assert complete(faulty_server.url).text == "yes"


def test_a_reply_that_is_too_long_is_not_read_to_its_end(faulty_server: FaultyServer) -> None:
    written = 0

    def endless(x: Exchange) -> None:
        nonlocal written
        x.send(b"", length=1 << 40)
        while True:
            written += x.handler.wfile.write(b" " * 65536)

    begun = time.monotonic()
    assert kind_of(faulty_server, endless) == "malformed"
    assert time.monotonic() - begun < PLAIN.timeout_s
    assert written < 16 * BODY_LIMIT


def test_a_reply_that_grows_when_it_is_unpacked_is_bounded_too(faulty_server: FaultyServer) -> None:
    bomb = gzip.compress(b" " * (16 * BODY_LIMIT), compresslevel=9)
    assert len(bomb) < BODY_LIMIT
    assert kind_of(faulty_server, lambda x: x.send(bomb, Content_Encoding="gzip")) == "malformed"


def test_a_reply_that_drips_is_left_after_the_timeout(faulty_server: FaultyServer) -> None:
    def drip(x: Exchange) -> None:
        x.send(b"", length=10**6)
        while not x.server.ended.wait(0.02):
            x.handler.wfile.write(b" ")

    assert kind_of(faulty_server, drip, Settings(timeout_s=0.3)) == "timeout"


HOSTILE = {
    "nothing": (b"", "connection"),
    "no HTTP": (b"\x00\x01\r\n\r\n", "connection"),
    "no status": (b"HTTP/1.1 abc OK\r\n\r\n", "connection"),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Le", "connection"),
    "a length that is none": (head("Content-Length: x"), "connection"),
    "two lengths": (head("Content-Length: 5", "Content-Length: 6"), "connection"),
    "a header that is none": (head("no colon here"), "connection"),
    "endless headers": (head("X: " + "a" * 10**6), "connection"),
    "a chunk that is none": (head("Transfer-Encoding: chunked", body=b"zz\r\nhello"), "connection"),
    "half a chunk": (head("Transfer-Encoding: chunked", body=b"10\r\nhello"), "truncated"),
    "half a body": (head("Content-Length: 9999"), "truncated"),
    "half a packed body": (
        head("Content-Encoding: gzip", "Content-Length: 99", body=gzip.compress(GOOD)[:50]),
        "truncated",
    ),
    "not packed at all": (head("Content-Encoding: gzip", f"Content-Length: {len(GOOD)}"), "malformed"),
    "no content": (head(status="204 None", body=b""), "malformed"),
    "JSON too deep": (head(body=b"[" * 10**6), "malformed"),
    "a number too long": (head(body=b'{"choices": ' + b"1" * 10**5 + b"}"), "malformed"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("reset", [False, True])
def test_whatever_a_server_sends_ends_in_a_fault(faulty_server: FaultyServer, name: str, reset: bool) -> None:
    content, kind = HOSTILE[name]
    kinds = {kind, "connection", "truncated"} if reset else {kind}  # a reset may overtake what was sent
    assert kind_of(faulty_server, raw(content, reset=reset)) in kinds


@pytest.mark.parametrize(
    ("old", "new", "text", "read"),
    [
        ('"yes"', '"\\ud800 yes"', "\ud800 yes", 100),
        ('"index": 0', '"index": NaN, "other": -Infinity', "yes", 100),
        ('"index": 0', '"index": 1' + "0" * 400, "yes", 100),
        ('"prompt_tokens": 100', '"prompt_tokens": 1' + "0" * 30, "yes", 0),
        ('"prompt_tokens": 100', '"prompt_tokens": 1.5', "yes", 0),
        ('{"id"', '\ufeff{"id"', "yes", 100),
        ('"index": 0', '"index": ' + "[" * 300 + "]" * 300, "yes", 100),
    ],
)
def test_odd_json_is_read_as_far_as_it_matters(
    faulty_server: FaultyServer, old: str, new: str, text: str, read: int
) -> None:
    assert old in GOOD.decode()
    faulty_server.script = [lambda x: x.send(GOOD.decode().replace(old, new).encode())]
    done = complete(faulty_server.url)
    assert done.text == text
    assert done.usage.input_tokens == read
