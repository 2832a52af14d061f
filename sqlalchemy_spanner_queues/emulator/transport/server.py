"""A gRPC server for clients in any language: every call is given to the handler of its method.

::

    async def echo(request: bytes, context: Context) -> bytes:
        return request

    server = Server(lambda method: Unary(echo), "localhost", 0)
    await server.start()
    ...                                     # server.port
    await server.stop(grace=0.2)
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from .connection import Connection
from .context import FindHandler
from .listening import listen, peer_name, port_of
from .protocol import ConnectionFault, ErrorCode
from .server_stream import ServerStream, Serving
from .stream import Stream

_UNWINDING_SECONDS: Final = 5.0


class ServerConnection(Connection):
    """A client's connection; it is in ``connections`` as long as it is open."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, serving: Serving, connections: set[ServerConnection]
    ) -> None:
        super().__init__(loop, server=True)
        self._serving = serving
        self._connections = connections
        self._peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the client."""
        super().connection_made(transport)
        self._peer = peer_name(transport.get_extra_info("peername"))
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel what is served for the client."""
        super().connection_lost(exc)
        self._connections.discard(self)

    def open_stream(self, stream_id: int) -> Stream | None:
        """Begin a call."""
        if not stream_id % 2:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"a client opened stream {stream_id}")
        if stream_id <= self.last_stream_id:
            return None
        self.last_stream_id = self.last_served_id = stream_id
        stream = ServerStream(self.link, self.streams, stream_id, self._serving, self._peer)
        self.streams.open[stream_id] = stream
        return stream

    def receive_goodbye(self, last_stream_id: int) -> None:
        """Go on: the client closes when it has its answers."""

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the handlers that run."""
        streams = [stream for stream in self.streams.open.values() if isinstance(stream, ServerStream)]
        return [stream.task for stream in streams if stream.task is not None]


class Server:
    """A server that listens on all addresses of a host; ``port`` is known once it has started."""

    def __init__(self, find: FindHandler, host: str, port: int = 0) -> None:
        self.host = host
        self.port = port
        self._serving = Serving(find)
        self._connections: set[ServerConnection] = set()
        self._listeners: list[asyncio.Server] = []

    async def start(self) -> None:
        """Listen and serve.

        Raises OSError when the port is not free.
        """
        loop = asyncio.get_running_loop()
        sockets = listen(self.host, self.port)
        self.port = port_of(sockets[0])
        for listening in sockets:
            self._listeners.append(await loop.create_server(self._connection, sock=listening))

    async def stop(self, grace: float = 0.0) -> None:
        """Take no more calls, let those that run go on for ``grace`` seconds, then cancel them."""
        for listener in self._listeners:
            listener.close()
        for connection in self._connections:
            connection.say_goodbye()
        running = [task for connection in self._connections for task in connection.tasks()]
        await _wait(running, grace)
        await self._close_connections(grace)
        await _wait(self._serving.unwinding, _UNWINDING_SECONDS)

    async def _close_connections(self, grace: float) -> None:
        connections = list(self._connections)
        for connection in connections:
            if connection.streams.open:
                connection.link.abort()
            else:
                connection.link.close()
        await _wait([connection.closed for connection in connections], grace)
        for connection in connections:
            connection.link.abort()
        await _wait([connection.closed for connection in connections], None)

    def _connection(self) -> ServerConnection:
        return ServerConnection(asyncio.get_running_loop(), self._serving, self._connections)


async def _wait(futures: Collection[asyncio.Future[None]], seconds: float | None) -> None:
    if futures:
        await asyncio.wait(futures, timeout=seconds)
