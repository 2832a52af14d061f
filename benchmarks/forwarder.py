"""A process that copies bytes between a port of its own and another one, and does nothing else."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from typing import Any

import uvloop


class Forwarder:
    """A running forwarder to an address, ``host:port``; clients come to ``host``."""

    def __init__(self, target: str) -> None:
        command = [sys.executable, "-m", "benchmarks.forwarder", target.rpartition(":")[2]]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.host = f"localhost:{self._process.stdout.readline().strip()}"

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()


class Side(asyncio.Protocol):
    """One end; what comes before the other end is there waits."""

    def __init__(self) -> None:
        self.other: Side | None = None
        self.transport: asyncio.Transport | None = None
        self.waiting = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        if self.other is None or self.other.transport is None:
            self.waiting += data
        else:
            self.other.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


async def forward(port: int) -> None:
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def connect(front: Side) -> None:
        _, back = await loop.create_connection(Side, "localhost", port)
        back.other, front.other = front, back
        if back.transport is not None:
            back.transport.write(front.waiting)

    def accept() -> Side:
        side = Side()
        tasks.add(loop.create_task(connect(side)))
        return side

    server = await loop.create_server(accept, "localhost", 0, family=socket.AF_INET)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(forward(int(sys.argv[1])))
