"""Run the gateway in this process until it is told to stop: what ``spanner-queues emulator`` does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from types import FrameType

from sqlalchemy_spanner_queues.exc import EmulatorError, EmulatorNotFound

from ..upstream.find import NOT_FOUND, Upstream, answers, find_emulator
from ..upstream.process import UpstreamProcess
from .server import GatewayServer

_LIVENESS_SECONDS = 1.0


def serve(
    *,
    port: int = 0,
    host: str = "localhost",
    upstream: str | None = None,
    exit_with_stdin: bool = False,
    start_timeout: float = 30.0,
) -> None:
    """Start the gateway, print ``ready HOST:PORT`` on standard output, and serve until stopped.

    SIGTERM and SIGINT stop it; with ``exit_with_stdin`` so does the end of standard input, which an owner
    that keeps the other end of a pipe cannot fail to bring about. ::

        serve(port=9010, upstream="localhost:9020")

    Raises EmulatorNotFound when there is no official emulator, EmulatorError when it does not start or
    ends, or when the port is taken.

    https://docs.cloud.google.com/spanner/docs/emulator
    """
    if port and answers(f"{host}:{port}"):
        raise EmulatorError(f"port {port} of {host} is taken: choose another one, or 0 for a free one")
    found = Upstream("address", upstream) if upstream else find_emulator()
    if found is None:
        raise EmulatorNotFound(NOT_FOUND)
    process = UpstreamProcess(found, start_timeout)
    try:
        asyncio.run(_serve(process, host, port, exit_with_stdin=exit_with_stdin))
    finally:
        process.stop()


async def _serve(process: UpstreamProcess, host: str, port: int, *, exit_with_stdin: bool) -> None:
    server = GatewayServer(process.address, host, port)
    stopped = asyncio.Event()
    _stop_on_signals(stopped)
    if exit_with_stdin:
        _stop_with_stdin(stopped)
    await server.start()
    print(f"ready {host}:{server.port}", flush=True)
    alive = await _until_stopped(process, stopped)
    await server.stop()
    if not alive:
        raise EmulatorError("the official emulator has ended; the gateway ends with it")


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
