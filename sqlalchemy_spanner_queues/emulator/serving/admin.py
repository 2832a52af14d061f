"""The controls over plain HTTP, for a shell and for tests in any language.

::

    curl -X POST localhost:9020/advance -d '{"seconds": 3600}'
    curl localhost:9020/leases

Answers are JSON; an error is 400, 404 or 405 with ``{"error": "what to do"}``, and 500 when the official
emulator fails.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy_spanner_queues.exc import EmulatorError

from ..errors import Refusal, invalid
from ..log import LOGGER
from ..state import State
from ..transport import RpcError
from .control import CONTROLS, answer
from .fields import read_object

_LARGEST_BODY_BYTES: Final = 64 * 1024
_DISCARDED_BYTES: Final = 16 * 1024 * 1024
_ANSWER_SECONDS: Final = 60.0
_CLIENT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.1
# The second is what curl says of -d when it is not told otherwise, the third what browsers say of a string.
_TYPES: Final = ("application/json", "application/x-www-form-urlencoded", "text/plain")
_PATHS: Final = {f"/{name.lower()}": name for name in CONTROLS}

Json: TypeAlias = "Mapping[str, object]"
Answer: TypeAlias = Callable[[str, Json], object]


class AdminServer:
    """Serves the controls at ``url`` until it is stopped; made and stopped in the gateway's event loop.

    Raises EmulatorError when the port is taken.
    """

    def __init__(self, state: State, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()

        def serve(name: str, values: Json) -> object:
            work = asyncio.run_coroutine_threadsafe(answer(state, name, values), loop)
            return work.result(_ANSWER_SECONDS)

        self._server = _listen(host.strip("[]"), port, serve)
        self.url = f"http://{host}:{self._server.server_address[1]}"
        poll = (_POLL_SECONDS,)
        self._thread = Thread(target=self._server.serve_forever, args=poll, name="admin", daemon=True)

    def start(self) -> None:
        """Start to serve."""
        self._thread.start()

    async def stop(self) -> None:
        """Stop to serve; the port is free then."""
        await asyncio.to_thread(self._server.shutdown)
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, family: int, address: tuple[str, int], serve: Answer) -> None:
        self.address_family = family
        super().__init__(address, partial(_Handler, serve))


def _listen(host: str, port: int, serve: Answer) -> _Server:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # Of the two addresses that localhost may have, clients come to IPv4 first or last, but they come.
        return _Server(min(entry[0] for entry in found), (host, port), serve)
    except OSError as error:
        raise EmulatorError(f"cannot serve HTTP on port {port} of {host}: {error}") from error


class _Handler(BaseHTTPRequestHandler):
    """One request; its connection ends with it."""

    timeout = _CLIENT_SECONDS

    def __init__(self, serve: Answer, *connection: Any) -> None:
        self._control = serve
        super().__init__(*connection)

    def do_GET(self) -> None:
        """Answer GET."""
        self._serve("GET")

    def do_POST(self) -> None:
        """Answer POST."""
        self._serve("POST")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say in JSON what is wrong with a request that has no method of its own here."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._serve(self.command)
        else:
            self._say(code, {"error": message or HTTPStatus(code).phrase})

    def log_message(self, format: str, *args: Any) -> None:
        """Log a request where the others are logged."""
        LOGGER.info("HTTP " + format, *args)

    def _serve(self, verb: str) -> None:
        url = urlsplit(self.path)
        path = url.path.rstrip("/") or "/"
        if path not in _PATHS and path != "/":
            known = ", ".join(("/", *_PATHS))
            self._say(HTTPStatus.NOT_FOUND, {"error": f"there is no {path}: use one of {known}"})
        elif verb not in (allowed := CONTROLS[_PATHS[path]].verbs if path != "/" else ("GET",)):
            text = f"{path} does not answer {verb}: use {' or '.join(allowed)}"
            self._say(HTTPStatus.METHOD_NOT_ALLOWED, {"error": text}, Allow=", ".join(allowed))
        elif path == "/":
            self._say(HTTPStatus.OK, _listing())
        else:
            self._call(_PATHS[path], verb, url.query)

    def _call(self, name: str, verb: str, query: str) -> None:
        try:
            values = dict(parse_qsl(query)) if verb == "GET" else read_object(self._body())
            self._say(HTTPStatus.OK, self._control(name, values))
        except Refusal as refusal:
            self._say(HTTPStatus.BAD_REQUEST, {"error": refusal.details})
        except RpcError as error:
            self._say(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"upstream: {error.details}"})

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or "Transfer-Encoding" in self.headers:
            raise invalid("send the JSON object with its Content-Length")
        if int(length) > _LARGEST_BODY_BYTES:
            # Who still sends does not listen; what is much too large is cut off instead.
            self.rfile.read(min(int(length), _DISCARDED_BYTES))
            raise invalid(f"the body has {length} bytes: {_LARGEST_BODY_BYTES} are enough for every control")
        raw = self.rfile.read(int(length))
        if raw and self.headers.get_content_type() not in _TYPES:
            raise invalid(f"Content-Type is {self.headers.get_content_type()}: send application/json")
        return raw

    def _say(self, status: int, content: object, **headers: str) -> None:
        body = json.dumps(content, indent=2).encode() + b"\n"
        self.send_response(status)
        for name, value in (*headers.items(), ("Content-Type", "application/json")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _listing() -> dict[str, str]:
    return {
        f"{' or '.join(control.verbs)} /{name.lower()}": control.help for name, control in CONTROLS.items()
    }
