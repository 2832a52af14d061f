"""The controls over plain HTTP, as a shell uses them."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.api_core.exceptions import InternalServerError

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.serving.admin import AdminServer
from sqlalchemy_spanner_queues.emulator.state import State
from sqlalchemy_spanner_queues.emulator.upstream.api import UpstreamApi
from sqlalchemy_spanner_queues.exc import EmulatorError
from tests.emulator.conftest import SCHEMA
from tests.emulator.helpers import ID, TIMEOUT_SECONDS, Session


@pytest.fixture(scope="module")
def served(emulator: Emulator) -> Iterator[Emulator]:
    """A gateway with HTTP in front of the official emulator that runs already."""
    with Emulator(upstream=emulator.upstream, rest_port=0) as served:
        yield served


@pytest.fixture
def own(served: Emulator) -> Session:
    served.reset()
    return Session(served, served.create_database(statements=SCHEMA))


def ask(
    emulator: Emulator, verb: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], Any]:
    """Return the status, the headers and the JSON of an answer."""
    connection = HTTPConnection(urlsplit(emulator.admin_url).netloc, timeout=TIMEOUT_SECONDS)
    try:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(verb, path, body, fields)
        response = connection.getresponse()
        raw = response.read()
        return response.status, dict(response.getheaders()), json.loads(raw) if raw else None
    finally:
        connection.close()


def test_the_clock_is_moved(own: Session) -> None:
    own.send(1, delay=600)
    with own.receive() as received:
        status, headers, said = ask(own.emulator, "POST", "/advance", b'{"seconds": 600}')
        assert (status, headers["Content-Type"], said) == (200, "application/json", {"offset": 600})
        assert received.next()[ID] == 1


def test_faults_are_injected_and_forgotten(own: Session) -> None:
    fault = b'{"method": "Commit", "code": "INTERNAL", "times": 5}'
    assert ask(own.emulator, "POST", "/inject", fault)[::2] == (200, {})
    with pytest.raises(InternalServerError):
        own.send(1)
    assert ask(own.emulator, "POST", "/reset")[::2] == (200, {})
    own.send(1)


def test_a_fault_is_unavailable_when_nothing_is_said_about_its_code(own: Session) -> None:
    ask(own.emulator, "POST", "/inject", b'{"method": "Commit"}')
    own.emulator.requests(reset=True)
    own.send(1)
    assert own.emulator.requests()["Commit"] == 2


def test_leases_and_requests_are_listed(own: Session) -> None:
    own.emulator.requests(reset=True)
    own.send(1)
    with own.receive() as received:
        received.next()
        assert [lease["key"] for lease in ask(own.emulator, "GET", "/leases")[2]] == [["1"]]
        assert len(ask(own.emulator, "GET", f"/leases?database={own.path}")[2]) == 1
        assert ask(own.emulator, "GET", "/leases?database=another")[2] == []
    assert ask(own.emulator, "GET", "/requests")[2]["Commit"] == 1
    assert ask(own.emulator, "POST", "/requests", b'{"reset": true}')[2]["Commit"] == 1
    assert ask(own.emulator, "GET", "/requests/")[2] == {}


def test_the_root_lists_what_there_is(served: Emulator) -> None:
    status, _, listed = ask(served, "GET", "/")
    assert status == 200
    assert {"POST /advance", "POST /inject", "POST /reset", "GET /leases"} <= set(listed)
    assert ask(served, "GET", "/ping")[2] == {"upstream": served.upstream}


JSON = "application/json"


@pytest.mark.parametrize(
    ("verb", "path", "body", "headers", "status", "said"),
    [
        ("GET", "/nothing", None, {}, 404, "there is no /nothing: use one of /, /advance"),
        ("PUT", "/nothing", b"{}", {}, 404, "there is no /nothing"),
        ("GET", "/advance", None, {}, 405, "/advance does not answer GET: use POST"),
        ("PUT", "/advance", b"{}", {}, 405, "/advance does not answer PUT: use POST"),
        ("POST", "/leases", b"{}", {}, 405, "/leases does not answer POST: use GET"),
        ("DELETE", "/", None, {}, 405, "/ does not answer DELETE: use GET"),
        ("POST", "/advance", None, {}, 400, "seconds is missing"),
        ("POST", "/advance", b'{"seconds": ', {}, 400, "not a JSON object"),
        ("POST", "/advance", b"[60]", {}, 400, "not a JSON object"),
        ("POST", "/advance", b"\xff\xfe", {}, 400, "not a JSON object"),
        ("POST", "/advance", b'{"seconds": NaN}', {}, 400, "not a JSON object"),
        ("POST", "/advance", b'{"seconds":' + b"[" * 50_000, {}, 400, "not a JSON object"),
        ("POST", "/advance", b'{"seconds": -1}', {}, 400, "only moves forward"),
        ("POST", "/advance", b'{"minutes": 1}', {}, 400, "unknown field 'minutes': use seconds"),
        ("POST", "/inject", b'{"method": "Comit"}', {}, 400, "unknown method 'Comit': use Commit"),
        ("GET", "/leases?db=x", None, {}, 400, "unknown field 'db': use database"),
        ("POST", "/advance", b" " * 100_000, {}, 400, "the body has 100000 bytes"),
        ("POST", "/advance", b"<a/>", {"Content_Type": "text/xml"}, 400, "send application/json"),
        ("POST", "/advance", b"x", {"Content_Length": "-1"}, 400, "Content-Length"),
        ("POST", "/advance", b"x", {"Content_Length": "many"}, 400, "Content-Length"),
        ("POST", "/advance", b"", {"Transfer_Encoding": "chunked"}, 400, "Content-Length"),
    ],
)
def test_wrong_requests_are_told_what_to_do(
    served: Emulator, verb: str, path: str, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    got, _, answer = ask(served, verb, path, body, **headers)
    assert got == status
    assert said in answer["error"]


def test_the_allowed_verbs_are_named(served: Emulator) -> None:
    assert ask(served, "PATCH", "/requests")[1]["Allow"] == "GET, POST"
    assert ask(served, "HEAD", "/advance")[::2] == (405, None)


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", None])
def test_json_may_be_named_or_not(served: Emulator, kind: str | None) -> None:
    headers = {"Content_Type": kind} if kind else {}
    assert ask(served, "POST", "/advance", b'{"seconds": 0}', **headers)[0] == 200


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"])
def test_what_is_no_http_is_answered_in_json(served: Emulator, sent: bytes) -> None:
    host, port = urlsplit(served.admin_url).netloc.split(":")
    with socket.create_connection((host, int(port)), TIMEOUT_SECONDS) as connection:
        connection.sendall(sent)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert b'"error"' in answer


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_needs_to_be_told_nothing(served: Emulator) -> None:
    def curl(*arguments: str) -> Any:
        command = ["curl", "--silent", "--fail-with-body", *arguments]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, check=True)
        return json.loads(done.stdout)

    assert curl("-X", "POST", f"{served.admin_url}/advance", "-d", '{"seconds": 0.5}')["offset"] >= 0.5
    assert curl("-X", "POST", f"{served.admin_url}/reset") == {}
    assert curl(f"{served.admin_url}/leases") == []


def test_without_a_port_there_is_no_http(emulator: Emulator) -> None:
    with pytest.raises(EmulatorError, match="rest_port=0"):
        assert emulator.admin_url
    with pytest.raises(EmulatorError, match="not running"):
        assert Emulator(rest_port=0).admin_url


def test_a_taken_port_is_an_error_with_its_reason(emulator: Emulator) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmulatorError, match=f"cannot serve HTTP on port {port} of localhost"):
            Emulator(upstream=emulator.upstream, rest_port=port).start()


def test_nothing_is_left_after_the_end() -> None:
    async def run() -> None:
        state = State(UpstreamApi("localhost:1"))
        admin = AdminServer(state, "localhost", 0)
        admin.start()
        await admin.stop()
        await state.api.close()
        host, port = urlsplit(admin.url).netloc.split(":")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), TIMEOUT_SECONDS)

    asyncio.run(run())
    assert "admin" not in [thread.name for thread in threading.enumerate()]
