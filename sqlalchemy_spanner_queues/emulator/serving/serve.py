"""Run the gateway in this process until it is told to stop: what ``spanner-queues emulator`` does."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from dataclasses import dataclass
from types import FrameType

from sqlalchemy_spanner_queues.exc import EmulatorError

from ..transport import run
from ..upstream.find import choose_emulator
from ..upstream.probe import answers
from ..upstream.process import UpstreamProcess
from .admin import AdminServer
from .server import GatewayServer

_LIVENESS_SECONDS = 1.0
# Messages and leases are many and know of no cycles: the garbage collector need not look at them so often.
_GARBAGE_THRESHOLD = 50_000


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the gateway listens; ``rest_port`` None is no HTTP."""

    host: str
    port: int
    rest_port: int | None


def serve(
    *,
    port: int = 0,
    host: str = "localhost",
    rest_port: int | None = None,
    upstream: str | None = None,
    docker: bool = False,
    exit_with_stdin: bool = False,
    start_timeout: float = 30.0,
) -> None:
    """Start the gateway, print ``ready HOST:PORT`` on standard output, and serve until stopped.

    With ``rest_port`` (0 takes a free one) the controls are served over HTTP as well, and a second line says
    where: ``admin http://HOST:PORT``. ``docker`` starts the Docker image even if another emulator is found.
    SIGTERM and SIGINT stop it; with ``exit_with_stdin`` so does the end of standard input, which an owner
    that keeps the other end of a pipe cannot fail to bring about. ::

        serve(port=9010, rest_port=9020, upstream="localhost:9011")

    Raises EmulatorNotFound when there is no official emulator, EmulatorError when it does not start or
    ends, or when a port is taken.

    https://docs.cloud.google.com/spanner/docs/emulator
    """
    if port and answers(f"{host}:{port}"):
        raise EmulatorError(f"port {port} of {host} is taken: choose another one, or 0 for a free one")
    gc.set_threshold(_GARBAGE_THRESHOLD)
    process = UpstreamProcess(choose_emulator(upstream, docker=docker), start_timeout)
    places = _Places(host, port, rest_port)
    try:
        run(_serve(process, places, exit_with_stdin=exit_with_stdin))
    finally:
        process.stop()


async def _serve(process: UpstreamProcess, places: _Places, *, exit_with_stdin: bool) -> None:
    server = GatewayServer(process.address, places.host, places.port)
    stopped = asyncio.Event()
    _stop_on_signals(stopped)
    if exit_with_stdin:
        _stop_with_stdin(stopped)
    admin = _admin(server, places)
    await server.start()
    print(f"ready {places.host}:{server.port}", flush=True)
    if admin is not None:
        admin.start()
        print(f"admin {admin.url}", flush=True)
    alive = await _until_stopped(process, stopped)
    if admin is not None:
        await admin.stop()
    await server.stop()
    if not alive:
        raise EmulatorError("the official emulator has ended; the gateway ends with it")


def _admin(server: GatewayServer, places: _Places) -> AdminServer | None:
    if places.rest_port is None:
        return None
    return AdminServer(server.state, places.host, places.rest_port)


async def _until_stopped(process: UpstreamProcess, stopped: asyncio.Event) -> bool:
    while process.running:
        try:
            await asyncio.wait_for(stopped.wait(), _LIVENESS_SECONDS)
        except TimeoutError:
            continue
        return True
    return False


def _stop_on_signals(stopped: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def stop(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopped.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _stop_with_stdin(stopped: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def read_to_end() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=read_to_end, name="stdin", daemon=True).start()
