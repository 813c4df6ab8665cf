"""Posting JSON to one address of a server over connections that are kept, through the `aiohttp` package."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import orjson

from emcoop import __version__
from emcoop.core.errors import ConfigError
from emcoop.models.attempt import AttemptFailed, public
from emcoop.models.remote import BODY_LIMIT, Reply

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from yarl import URL

KEPT_S = 4.0
"""Seconds for which an idle connection is kept: less than the 5 s after which common servers hang up."""

JSON = {"Content-Type": "application/json", "Accept": "application/json"}

REDIRECTS = 20

HEAD_LIMIT = 64 * 1024
"""Bytes of one line of a reply's head."""


class Poster:
    """Posts to ``base_url/path``; for one event loop after the other.

    A user and password in the address are sent as its basic authorization, in place of the `headers`' own; its query
    is kept. The proxies that the environment names are used (``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY``,
    ``NO_PROXY``). `secrets` are what no message may show. Raises ImportError without the package, and ConfigError
    for an address or a proxy that cannot be used.
    """

    def __init__(self, base_url: str, path: str, headers: Mapping[str, str], secrets: tuple[str, ...] = ()) -> None:
        import aiohttp

        self._http = aiohttp
        address = _address(base_url)
        self._url = address.with_user(None).joinpath(path).with_query(address.query)
        self._headers = {"User-Agent": f"emcoop/{__version__}", **JSON, **headers}
        self.secrets = secrets
        if address.user or address.password:
            pair = f"{address.user or ''}:{address.password or ''}".encode()
            basic = base64.b64encode(pair).decode()
            self._headers["Authorization"] = f"Basic {basic}"
            self.secrets += (basic, address.password or address.user or "")
        self._proxy = _proxy(self._url)
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, value: Mapping[str, Any], timeout_s: float) -> Reply:
        """The server's answer, of which no more than `BODY_LIMIT` bytes and one more are read.

        Raises AttemptFailed (``timeout``, ``connection``, ``truncated``, ``malformed``).
        """
        http, content, session = self._http, _encoded(value), await self._here()
        ask = session.post(self._url, data=content, proxy=self._proxy, max_redirects=REDIRECTS)
        try:
            async with asyncio.timeout(timeout_s), ask as got:
                body = bytearray()
                while len(body) <= BODY_LIMIT and not got.content.at_eof():
                    body += await got.content.readany()
                return Reply(got.status, got.headers, bytes(body))
        except TimeoutError as error:
            raise AttemptFailed("timeout", "the server did not answer in time") from error
        except http.ClientPayloadError as error:
            undecodable = isinstance(error.__cause__, http.http_exceptions.ContentEncodingError)
            raise self._failed("malformed" if undecodable else "truncated", str(error)) from error
        except http.ClientResponseError as error:  # as text it would hold the whole address
            raise self._failed("connection", error.message or type(error).__name__) from error
        except http.ServerDisconnectedError as error:  # as text it may hold the whole head of a reply
            raise self._failed("connection", "the server hung up without an answer") from error
        except (http.ClientError, ValueError) as error:  # ValueError: redirected to an address with a password
            raise self._failed("connection", str(error) or type(error).__name__) from error

    def _failed(self, kind: str, said: str) -> AttemptFailed:
        return AttemptFailed(kind, public(said, *self.secrets))

    async def _here(self) -> ClientSession:
        """The session of the running event loop, which is made when it is first needed."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            before, self._loop = self._session, loop
            self._session = self._http.ClientSession(
                connector=self._http.TCPConnector(limit=0, keepalive_timeout=KEPT_S),
                headers=self._headers,
                cookie_jar=self._http.DummyCookieJar(),
                timeout=self._http.ClientTimeout(total=None),  # its own timers cost more than the one in `post`
                max_line_size=HEAD_LIMIT,
                max_field_size=HEAD_LIMIT,
            )
            if before is not None:
                await before.close()
        return self._session

    async def aclose(self) -> None:
        """Close the connections; a further post opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _address(base_url: str) -> URL:
    from yarl import URL

    try:
        address = URL(base_url)
        usable = address.scheme in ("http", "https") and bool(address.host) and address.port != 0
    except ValueError:
        usable = False
    if not usable:  # it is not quoted: nobody knows which part of it may be a password
        raise ConfigError("the server's address cannot be used: write http://HOST:PORT/PATH or https://HOST/PATH")
    return address


def _proxy(url: URL) -> str | None:
    """Looked up here and once: the package would look it up for each call, in a thread."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.host or ""):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise ConfigError(f"the environment names a proxy that is no HTTP proxy; NO_PROXY={url.host} goes without it")
    return proxy


def _encoded(value: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a huge number, or half of a surrogate pair
        return json.dumps(value).encode()
