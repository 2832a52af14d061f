"""A channel to a gRPC server: bytes in and bytes out, over one connection that is made anew when it is lost.

::

    channel = Channel("localhost:9010")
    answer = await channel.unary("/google.spanner.v1.Spanner/Commit", request, timeout=10)
    call = channel.stream("/google.spanner.v1.Spanner/ExecuteStreamingSql", request)
    async for message in call:
        ...
    await channel.close()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Final

import grpc

from .client_connection import ClientConnection
from .client_stream import Answer, ClientStream
from .metadata import NONE, Metadata
from .statuses import RpcError

# How often a call is made that the server refuses without having looked at it.
_TRIES: Final = 5


class StreamingCall(AsyncIterator[bytes]):
    """A call that answers with messages; it is made when the first one is asked for.

    ``cancel`` it when it is not read to its end. Asking for a message raises RpcError when the call ends with
    another status than OK.
    """

    def __init__(
        self, start: Callable[[float | None], Awaitable[ClientStream]], timeout: float | None
    ) -> None:
        self._start = start
        self._timeout = timeout
        self._stream: ClientStream | None = None
        self._cancelled = False

    def __aiter__(self) -> StreamingCall:
        return self

    async def __anext__(self) -> bytes:
        message = await (self._read_first() if self._stream is None else self._stream.read())
        if message is None:
            raise StopAsyncIteration
        return message

    async def _read_first(self) -> bytes | None:
        for _ in range(_TRIES):
            stream = await self._start(self._timeout)
            self._stream = stream
            if self._cancelled:
                stream.cancel()
            try:
                return await stream.read()
            except RpcError:
                if not stream.refused:
                    raise
            self._timeout = stream.time_left()
        raise _refused()

    @property
    def initial(self) -> Metadata:
        """The metadata that came before the first message."""
        return self._stream.initial if self._stream else NONE

    @property
    def trailing(self) -> Metadata:
        """The metadata that came with the end."""
        return self._stream.trailing if self._stream else NONE

    def cancel(self) -> None:
        """Give up; does nothing when the call has ended."""
        self._cancelled = True
        if self._stream is not None:
            self._stream.cancel()


class Channel:
    """A channel to an address, ``host:port``; it connects with the first call, and again when it has to."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._connection: ClientConnection | None = None
        self._connections: set[ClientConnection] = set()
        self._connecting: asyncio.Task[None] | None = None
        self._closed = False

    async def unary(
        self, method: str, request: bytes, *, timeout: float | None = None, metadata: Metadata = NONE
    ) -> Answer:
        """Make a call that answers once; ``timeout`` is in seconds.

        Raises RpcError when it ends with another status than OK. It is cancelled with the task that waits.
        """
        for _ in range(_TRIES):
            stream = await self._start(method, request, timeout, metadata=metadata)
            try:
                return await stream.answer()
            except RpcError:
                if not stream.refused:
                    raise
            finally:
                stream.cancel()
            timeout = stream.time_left()
        raise _refused()

    def stream(
        self, method: str, request: bytes, *, timeout: float | None = None, metadata: Metadata = NONE
    ) -> StreamingCall:
        """Make a call that answers with messages; ``timeout`` is in seconds."""
        return StreamingCall(partial(self._start, method, request, metadata=metadata), timeout)

    async def close(self) -> None:
        """Break off what runs, and close."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        for connection in list(self._connections):
            connection.link.abort()
            await connection.closed

    async def _start(
        self, method: str, request: bytes, timeout: float | None, *, metadata: Metadata
    ) -> ClientStream:
        connection = self._connection
        if connection is None or not connection.takes_streams:
            connection, timeout = await self._in_time(timeout)
        return connection.start(method, request, timeout, metadata)

    async def _in_time(self, timeout: float | None) -> tuple[ClientConnection, float | None]:
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        try:
            async with asyncio.timeout_at(deadline):
                connection = await self._usable()
        except TimeoutError as error:
            raise RpcError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded") from error
        return connection, None if deadline is None else deadline - loop.time()

    async def _usable(self) -> ClientConnection:
        while (connection := self._connection) is None or not connection.takes_streams:
            if self._closed:
                raise RpcError(grpc.StatusCode.CANCELLED, "the channel is closed")
            if connection is not None and connection.is_usable:
                await connection.freed()
            else:
                await self._reconnect()
        return connection

    async def _reconnect(self) -> None:
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect(), name=f"connect to {self.address}")
            self._connecting.add_done_callback(self._connected)
        connecting = self._connecting
        # Who waits here may be cancelled; the others still want the connection.
        await asyncio.wait((connecting,))
        error = None if connecting.cancelled() else connecting.exception()
        if isinstance(error, OSError):
            text = f"failed to connect to {self.address}: {error}"
            raise RpcError(grpc.StatusCode.UNAVAILABLE, text) from error
        if error is not None:
            raise error

    def _connected(self, connecting: asyncio.Task[None]) -> None:
        self._connecting = None
        if not connecting.cancelled():
            # Marks it as seen, for nobody may be waiting any more.
            connecting.exception()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        host, _, port = self.address.rpartition(":")
        _, connection = await loop.create_connection(
            lambda: ClientConnection(loop, self.address), host.strip("[]"), int(port)
        )
        self._connection = connection
        self._connections.add(connection)
        connection.closed.add_done_callback(lambda _: self._connections.discard(connection))


def _refused() -> RpcError:
    return RpcError(grpc.StatusCode.UNAVAILABLE, "the server refused the call again and again")
