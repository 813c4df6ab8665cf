"""How the adapter for OpenAI-compatible servers speaks HTTP: addresses, accounts, proxies, connections."""

import asyncio
import base64
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.models import faulty
from tests.models.asking import ONCE, PLAIN, TURNS, complete
from tests.models.faulty import Exchange, FaultyServer, Step

from emcoop import __version__
from emcoop.core.errors import ConfigError, MissingDependency, ModelRefused, ModelUnavailable
from emcoop.models.base import Settings
from emcoop.models.build import build
from emcoop.models.openai import ACCOUNT, KEY
from emcoop.models.retry import Patience

PASSWORD = "hunter2 & more"


def where(paths: list[str]) -> Step:
    """A good completion; notes the path that was asked for."""

    def step(x: Exchange) -> None:
        paths.append(x.handler.path)
        faulty.ok("yes")(x)

    return step


@pytest.mark.parametrize(
    ("end", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/a%20b/", "/v1/a%20b/chat/completions"),
        ("?api-version=7&x=a%26b", "/v1/chat/completions?api-version=7&x=a%26b"),
    ],
)
def test_the_address_keeps_its_path_and_its_query(faulty_server: FaultyServer, end: str, path: str) -> None:
    paths: list[str] = []
    faulty_server.script = [where(paths)]
    assert complete(faulty_server.url + end).text == "yes"
    assert paths == [path]


def test_the_account_and_the_program_are_told(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, " sk-one\n")
    for variable in ACCOUNT.values():
        monkeypatch.setenv(variable, f"my {variable}")
    complete(faulty_server.url)
    sent = faulty_server.headers[0]
    assert sent["authorization"] == "Bearer sk-one"
    assert (sent["openai-organization"], sent["openai-project"]) == ("my OPENAI_ORG_ID", "my OPENAI_PROJECT_ID")
    assert sent["user-agent"] == f"emcoop/{__version__}"
    assert sent["content-type"] == "application/json"


def test_a_server_that_needs_no_key_is_sent_a_placeholder(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (KEY, *ACCOUNT.values()):
        monkeypatch.delenv(variable, raising=False)
    complete(faulty_server.url)
    assert faulty_server.headers[0]["authorization"] == "Bearer none"
    assert "openai-project" not in faulty_server.headers[0]


def test_the_server_may_come_from_the_environment(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", faulty_server.url)

    async def go() -> str:
        model = build("openai:faulty", patience=ONCE)
        done = await model.complete(TURNS, schema=None, settings=PLAIN)
        await model.aclose()
        return f"{done.text} {model.describe()['base_url']}"

    assert asyncio.run(go()) == f"{{}} {faulty_server.url}"


def test_a_user_and_password_in_the_address_are_used_and_never_shown(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-another")
    basic = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    faulty_server.script = [faulty.status(401, f"not {PASSWORD}, nor {basic}")]
    with pytest.raises(ModelRefused) as caught:
        complete(faulty_server.url.replace("://", "://me:hunter2%20%26%20more@"))
    assert faulty_server.headers[0]["authorization"] == f"Basic {basic}"
    shown = str(caught.value) + repr(caught.value.faults)
    assert "not [key], nor [key]" in shown
    assert "hunter2" not in shown
    assert basic not in shown


@pytest.mark.parametrize("end", ["", "/x", ":99999", "@", "@[::1", "@host:hunter2", "@:80", "@host:0"])
def test_an_address_that_cannot_be_used_is_refused_without_showing_it(end: str) -> None:
    with pytest.raises(ConfigError, match="the server's address cannot be used") as caught:
        build(f"openai:x@http://me:hunter2{end}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("variable", [KEY, *ACCOUNT.values()])
def test_a_variable_that_no_header_can_hold_is_named(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "sk-1\r\nX-Other: 1")
    with pytest.raises(ConfigError, match=f"^{variable} holds characters") as caught:
        build("openai:x@http://127.0.0.1:1/v1")
    assert "sk-1" not in str(caught.value)


def test_a_missing_package_is_named_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingDependency, match="pip install 'emcoop\\[openai\\]'"):
        build("openai:x@http://127.0.0.1:1/v1")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    paths: list[str] = []
    faulty_server.script = [where(paths)]
    no_proxies(monkeypatch)
    monkeypatch.setenv(variable, faulty_server.url.removesuffix("/v1").replace("://", "://me:secret@"))
    assert complete("http://nowhere.invalid/v1").text == "yes"
    assert paths == ["http://nowhere.invalid/v1/chat/completions"]
    assert faulty_server.headers[0]["proxy-authorization"] == f"Basic {base64.b64encode(b'me:secret').decode()}"


def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_no_proxy_is_used_for_a_host_that_is_excepted(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_proxies(monkeypatch)
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@nowhere.invalid:3128")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert complete(faulty_server.url).faults == ()
    monkeypatch.delenv("NO_PROXY")
    with pytest.raises(ModelUnavailable, match="connection") as caught:
        complete(faulty_server.url)
    assert "secret" not in str(caught.value) + repr(caught.value.faults)


def test_a_proxy_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    no_proxies(monkeypatch)
    monkeypatch.setenv("ALL_PROXY", "socks5://me:secret@127.0.0.1:1")
    with pytest.raises(ConfigError, match="no HTTP proxy; NO_PROXY=host goes without it") as caught:
        build("openai:x@http://host/v1")
    assert "secret" not in str(caught.value)


def test_a_redirection_is_followed_with_the_request_and_the_key_stays_with_its_server(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-mine")
    with FaultyServer() as other:
        faulty_server.script = [
            faulty.status(307, Location="/v2/chat"),
            faulty.status(308, Location=f"{other.url}/chat"),
        ]
        assert complete(faulty_server.url).text == "{}"
        assert faulty_server.requests[0] == faulty_server.requests[1] == other.requests[0]
        assert [sent.get("authorization") for sent in faulty_server.headers] == ["Bearer sk-mine"] * 2
        assert "authorization" not in other.headers[0]


@pytest.mark.parametrize("to", ["{url}/x", "{credentials}/x", "http://[bad", "file:///etc/passwd", "http://h:99999/"])
def test_a_redirection_that_leads_nowhere_is_a_fault(faulty_server: FaultyServer, to: str) -> None:
    to = to.format(url=faulty_server.url, credentials=faulty_server.url.replace("://", "://me:you@"))
    faulty_server.script = [faulty.status(307, Location=to)] * 30
    with pytest.raises(ModelUnavailable, match="connection"):
        complete(faulty_server.url)
    assert len(faulty_server.requests) <= 20


def test_numbers_beyond_sixty_four_bits_are_sent(faulty_server: FaultyServer) -> None:
    complete(faulty_server.url, Settings(seed=2**80))
    assert faulty_server.requests[0]["seed"] == 2**80


def test_a_refusal_that_comes_late_in_a_long_message_is_understood(faulty_server: FaultyServer) -> None:
    faulty_server.script = [
        faulty.status(400, "x" * 1000 + " seed is unknown"),
        faulty.invalid_json(),
        faulty.ok("yes"),
    ]
    done = complete(faulty_server.url, Settings(seed=1), Patience(first_wait_s=0.01))
    assert [(fault.kind, fault.attempt) for fault in done.faults] == [("unsupported", 1), ("malformed", 1)]
    assert ["seed" in sent for sent in faulty_server.requests] == [True, False, False]


def test_connections_are_kept_and_used_again(faulty_server: FaultyServer) -> None:
    clients: set[Any] = set()

    def step(x: Exchange) -> None:
        clients.add(x.handler.client_address)
        faulty.ok("yes")(x)

    faulty_server.script = [step] * 9

    async def go() -> None:
        model = build(f"openai:faulty@{faulty_server.url}", patience=ONCE)
        for _ in range(3):
            await asyncio.gather(*(model.complete(TURNS, schema=None, settings=PLAIN) for _ in range(3)))
        await model.aclose()

    asyncio.run(go())
    assert len(clients) == 3


def test_a_cancelled_call_hangs_up(faulty_server: FaultyServer) -> None:
    asked, left = threading.Event(), threading.Event()

    def step(x: Exchange) -> None:
        asked.set()
        if x.handler.rfile.read(1) == b"":
            left.set()

    faulty_server.script = [step]

    async def go() -> bool:
        model = build(f"openai:faulty@{faulty_server.url}", patience=ONCE)
        call = asyncio.create_task(model.complete(TURNS, schema=None, settings=PLAIN))
        await asyncio.to_thread(asked.wait, 20)
        call.cancel()
        gone = await asyncio.to_thread(left.wait, 20)
        assert (await asyncio.gather(call, return_exceptions=True))[0].__class__ is asyncio.CancelledError
        await model.aclose()
        return gone

    assert asyncio.run(go())


def test_a_model_serves_one_event_loop_after_the_other_and_after_it_was_closed(faulty_server: FaultyServer) -> None:
    model = build(f"openai:faulty@{faulty_server.url}", patience=ONCE)

    async def twice(close: bool) -> list[str]:
        calls = [model.complete(TURNS, schema=None, settings=PLAIN) for _ in range(2)]
        texts = [done.text for done in await asyncio.gather(*calls)]
        if close:
            await model.aclose()
        return texts

    assert [asyncio.run(twice(close)) for close in (False, True, True)] == [["{}", "{}"]] * 3


SCRIPT = """
import asyncio, sys
import emcoop.models.openai
assert "aiohttp" not in sys.modules, "imported before it is needed"
from emcoop.core.errors import ModelUnavailable
from emcoop.models.base import Settings, Turn
from emcoop.models.build import build
from emcoop.models.retry import Patience

async def main(url):
    build("openai:never-asked@" + url)
    model = build("openai:faulty@" + url, patience=Patience(attempts=1))
    calls = [model.complete((Turn("user", str(i)),), schema=None, settings=Settings(timeout_s=1)) for i in range(6)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    await model.aclose()
    print(sorted(getattr(one, "text", "") or one.faults[0].kind for one in done))

asyncio.run(main(sys.argv[1]))
"""


def outside(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script in a process of its own that tells of everything left open."""
    command = [sys.executable, "-W", "always", "-c", SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment or None, check=False)


def test_nothing_is_left_open_after_answers_and_faults(faulty_server: FaultyServer) -> None:
    faulty_server.script = [faulty.hang(), faulty.close(), faulty.truncated(), faulty.invalid_json()]
    done = outside(faulty_server.url)
    assert done.stdout == "['connection', 'malformed', 'timeout', 'truncated', '{}', '{}']\n"
    assert done.stderr == ""


def test_a_certificate_is_checked_against_those_of_the_system(tmp_path: Path) -> None:
    pair = str(tmp_path / "pair.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=here"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pair, "-out", pair + ".crt"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl, to make a certificate")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair + ".crt", pair)
    with FaultyServer(tls=tls) as server:
        known = outside(server.url, SSL_CERT_FILE=pair + ".crt")
        unknown = outside(server.url, SSL_CERT_FILE="/dev/null")
    assert known.stdout == str(["{}"] * 6) + "\n"
    assert unknown.stdout == str(["connection"] * 6) + "\n"
    assert known.stderr == unknown.stderr == ""
