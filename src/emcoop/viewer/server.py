"""The page over HTTP: routes, headers, and the socket it listens on.

On loopback only requests that name this machine as host are answered, so that no foreign page can reach the log
through a name of its own. Elsewhere every path begins with a random token, which is part of the address that is
printed.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emcoop.core.errors import ConfigError, CorruptLog, EmcoopError, ReplayMismatch
from emcoop.viewer import frames, pages
from emcoop.viewer.why import why

STATIC = Path(__file__).with_name("static")
PORT = 7700
PULSE_S = 1.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def make_app(log: Path, *, token: str = "") -> Starlette:
    """The application that shows this log; with a token, every path begins with it."""
    api = _Api(log)
    routes: list[Route | Mount] = [
        Route("/", _page),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/api/run", api.answer(lambda request: pages.index(log))),
        Route("/api/live", api.live),
        Route("/api/blob/{name}", api.blob),
        Route("/api/episodes/{number:int}", api.answer(lambda request: pages.episode(log, _number(request)))),
        Route("/api/episodes/{number:int}/why", api.answer(lambda request: why(log, _number(request)))),
        Route("/api/episodes/{number:int}/events", api.answer(api.events)),
        Route("/api/episodes/{number:int}/before", api.answer(api.before)),
        Route("/api/episodes/{number:int}/seek", api.answer(api.seek)),
        Route("/api/episodes/{number:int}/search", api.answer(api.search)),
        Route("/api/episodes/{number:int}/frames/{step:int}", api.frame),
    ]
    guard = Middleware(_Guard, any_host=bool(token))
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)] if token else routes,
        middleware=[guard],
        exception_handlers={EmcoopError: _problem, ValueError: _problem},
    )


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _problem(request: Request, error: Exception) -> Response:
    """What went wrong, as text for the person; 409 where the log is there but cannot be shown."""
    if isinstance(error, ValueError):
        return JSONResponse({"error": f"{request.url.path}: {error}"}, 400)
    status = 409 if isinstance(error, CorruptLog | ReplayMismatch) else 404
    return JSONResponse({"error": str(error)}, status)


def _number(request: Request) -> int:
    return int(request.path_params["number"])


def _whole(request: Request, name: str, default: int = 0) -> int:
    """A parameter that is a whole number from 0 to 2^53. Raises ValueError."""
    value = int(request.query_params.get(name, default))
    if not 0 <= value <= 1 << 53:
        raise ValueError(f"{name}={value} is out of range")
    return value


class _Api:
    """The routes that read the log, each in a thread of its own."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def answer(self, read: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            value = await run_sync(read, request)
            return Response(json.dumps(value, ensure_ascii=True), media_type="application/json")

        return endpoint

    def events(self, request: Request) -> Any:
        kinds = [kind for kind in request.query_params.get("kinds", "").split(",") if kind]
        size = _whole(request, "size", pages.MAX_EVENTS)
        return pages.page(self._log, _number(request), _whole(request, "start"), size, kinds)

    def before(self, request: Request) -> Any:
        return pages.before(self._log, _number(request), _whole(request, "start"))

    def seek(self, request: Request) -> Any:
        step = _whole(request, "step") if "step" in request.query_params else None
        return {"seq": pages.seek(self._log, _number(request), time=_whole(request, "time"), step=step)}

    def search(self, request: Request) -> Any:
        text = request.query_params.get("text", "")
        if not text:
            return {"hits": [], "next": None}
        return pages.search(self._log, _number(request), text, _whole(request, "start"))

    async def blob(self, request: Request) -> Response:
        content = await run_sync(pages.blob, self._log, request.path_params["name"])
        return Response(content, media_type="text/plain; charset=utf-8")

    async def frame(self, request: Request) -> Response:
        picture = await run_sync(frames.frame, self._log, _number(request), int(request.path_params["step"]))
        return Response(picture, media_type="image/svg+xml")

    async def live(self, request: Request) -> Response:
        return StreamingResponse(self._pulses(), media_type="text/event-stream")

    async def _pulses(self) -> AsyncIterator[str]:
        """One server-sent event whenever something has changed; a comment now and then, which finds dead ends."""
        seen: object = None
        quiet = 0
        while True:
            now = await run_sync(pages.fingerprint, self._log)
            if now != seen:
                seen, quiet = now, 0
                try:
                    yield f"data: {json.dumps(await run_sync(pages.pulse, self._log))}\n\n"
                except EmcoopError as error:
                    yield f"event: problem\ndata: {json.dumps(str(error))}\n\n"
                    return
            elif quiet == 15:
                quiet = 0
                yield ": still here\n\n"
            quiet += 1
            await anyio.sleep(PULSE_S)


class _Guard:
    """Refuses foreign host names on loopback, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, any_host: bool) -> None:
        self._app = app
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if not self._any_host and not all(is_loopback(_without_port(host)) for host in hosts):
            refusal = PlainTextResponse("this page is only for the machine it runs on\n", 403)
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1 : host.find("]")]
    return host.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Whether this name or address is this machine's own and no other's."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int | None) -> socket.socket:
    """A socket bound to this address; without a port the usual one, or a free one where that is in use.

    Raises ConfigError, which names the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for attempt in (port,) if port is not None else (PORT, 0):
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, attempt))
            found.listen(128)
            return found
        except OSError as error:
            found.close()
            problem = error
    raise ConfigError(
        f"cannot listen on {host} port {PORT if port is None else port}: {problem.strerror or problem}; "
        "choose another with --port, or leave it out"
    )


def address(bound: socket.socket, token: str) -> str:
    """The address of the page for a browser."""
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/{token + '/' if token else ''}"


def serve(log: Path, *, host: str, port: int | None, ready: Callable[[str], None]) -> None:
    """Show the log until interrupted; `ready` is called with the address once it can be opened.

    Raises LogError for a log that cannot be read and ConfigError for an address that cannot be used.
    """
    import uvicorn

    pages.require_log(log)
    token = "" if is_loopback(host) else secrets.token_urlsafe(16)
    bound = listen(host, port)
    config = uvicorn.Config(
        make_app(log, token=token), log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    with bound, contextlib.suppress(KeyboardInterrupt):
        ready(address(bound, token))
        uvicorn.Server(config).run(sockets=[bound])
