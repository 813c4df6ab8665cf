"""A real OpenAI-compatible server on loopback that misbehaves on request."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Step = Callable[["Exchange"], None]


def completion(text: str, *, finish: str = "stop", read: int = 100, written: int = 10) -> Body:
    """The body of a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "faulty",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, server: FaultyServer, body: Body) -> None:
        self.handler = handler
        self.server = server
        self.body = body

    def send(self, content: bytes, *, status: int = 200, length: int | None = None, **headers: str) -> None:
        """Answer; `length` may lie about the content's length."""
        self.server.left(self)  # first, since with the answer's last byte its reader may ask again
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", "application/json")
        self.handler.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.write(content)
        self.handler.wfile.flush()

    def json(self, value: Any, *, status: int = 200, **headers: str) -> None:
        """Answer with JSON."""
        self.send(json.dumps(value).encode(), status=status, **headers)


def ok(text: str | None = None) -> Step:
    """A good completion; without a text, what the server's `answer` says to the request."""
    return lambda x: x.json(completion(x.server.answer(x.body) if text is None else text))


def status(code: int, message: str = "as asked for", **headers: str) -> Step:
    """An error status with the usual body; headers with ``_`` for ``-``."""
    return lambda x: x.json({"error": {"message": message, "type": "error"}}, status=code, **headers)


def rate_limited(retry_after: str | None = "0") -> Step:
    """A 429, with Retry-After unless it is None."""
    return status(429, "slow down", **({} if retry_after is None else {"Retry_After": retry_after}))


def hang() -> Step:
    """No answer until the server ends."""
    return lambda x: x.server.ended.wait() and None


def close() -> Step:
    """The connection is closed without an answer."""

    def step(x: Exchange) -> None:
        x.handler.close_connection = True

    return step


def truncated() -> Step:
    """Half of a body, then the connection is closed."""

    def step(x: Exchange) -> None:
        content = json.dumps(completion("{}")).encode()
        x.send(content[: len(content) // 2], length=len(content))
        x.handler.close_connection = True

    return step


def invalid_json() -> Step:
    """A body that is not JSON."""
    return lambda x: x.send(b'{"choices": [oops')


def wrong_shape(body: Any = None) -> Step:
    """A body that is JSON, and no completion."""
    return lambda x: x.json({"result": "fine"} if body is None else body)


def endless() -> Step:
    """A repetition that fills `max_tokens`."""

    def step(x: Exchange) -> None:
        limit = int(x.body.get("max_tokens") or x.body["max_completion_tokens"])
        x.json(completion('{"reasoning": "' + "again " * limit, finish="length", written=limit))

    return step


def slow(seconds: float, text: str | None = None) -> Step:
    """A good completion after a while."""

    def step(x: Exchange) -> None:
        time.sleep(seconds)
        ok(text)(x)

    return step


class FaultyServer:
    """Takes one step of the script per request, then `ok()` for ever. A context manager.

    `answer(body)` gives the text of a good completion; `requests` are the bodies received, in order.
    """

    def __init__(
        self,
        script: Iterable[Step] = (),
        answer: Callable[[Body], str] = lambda body: "{}",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script = list(script)
        self.answer = answer
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.ended = threading.Event()
        self.most_busy = 0
        self._open: set[Exchange] = set()
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), self._handler())
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> FaultyServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def take(self, body: Body, headers: dict[str, str]) -> Step:
        """Note a request and choose the step that answers it."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            return self.script.pop(0) if self.script else ok()

    def came(self, exchange: Exchange) -> None:
        """A request waits for its answer; `most_busy` is how many have done so at once."""
        with self._lock:
            self._open.add(exchange)
            self.most_busy = max(self.most_busy, len(self._open))

    def left(self, exchange: Exchange) -> None:
        """It is being answered, or nobody waits any more."""
        with self._lock:
            self._open.discard(exchange)

    def _handler(server: FaultyServer) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                step = server.take(body, {name.lower(): value for name, value in self.headers.items()})
                exchange = Exchange(self, server, body)
                server.came(exchange)
                try:
                    step(exchange)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # The client has stopped waiting.
                finally:
                    server.left(exchange)

            def log_message(self, format: str, *args: object) -> None:
                """Silence."""

        return Handler


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
