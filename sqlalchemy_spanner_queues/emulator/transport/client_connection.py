"""The client's end of a connection: it opens streams, as many at a time as the server allows."""

from __future__ import annotations

import asyncio
from typing import Final

from . import protocol as h2
from .client_stream import ClientStream
from .connection import Connection
from .metadata import Metadata, literal
from .protocol import ConnectionFault, ErrorCode
from .stream import Stream
from .timeouts import format_timeout

# :method POST and :scheme http, by their places in HPACK's static table.
_POST_HTTP: Final = b"\x83\x86"
_GRPC: Final = (
    literal(b"te", b"trailers")
    + literal(b"content-type", b"application/grpc")
    + literal(b"user-agent", b"sqlalchemy-spanner-queues")
)


class ClientConnection(Connection):
    """A connection to a server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, authority: str) -> None:
        super().__init__(loop, server=False)
        self._authority = literal(b":authority", authority.encode("latin-1"))
        self._methods: dict[str, bytes] = {}
        self._leaving = False
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def is_usable(self) -> bool:
        """Whether streams may be opened, now or when others have ended."""
        return not self._leaving

    @property
    def takes_streams(self) -> bool:
        """Whether a stream may be opened now."""
        return not self._leaving and len(self.streams.open) < self.most_streams

    async def freed(self) -> None:
        """Wait until a stream has ended, or the connection is no longer usable."""
        waiting = self.link.loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def start(self, method: str, request: bytes, timeout: float | None, metadata: Metadata) -> ClientStream:
        """Open a stream and send the request, or its beginning."""
        self.last_stream_id = stream_id = self.last_stream_id + 2 if self.last_stream_id else 1
        self._leaving |= stream_id + 2 > h2.LARGEST_STREAM_ID
        stream = ClientStream(self.link, self.streams, stream_id)
        self.streams.open[stream_id] = stream
        block = self._block_of(method, timeout) + metadata.wire
        head = self.link.headers(stream_id, block, end=False)
        body = stream.whole(request, last=True)
        if body is None:
            stream.unsent = request
        self.link.write_now(head + (body or b""))
        if timeout is not None:
            stream.expire_in(timeout)
        return stream

    def stream_ended(self) -> None:
        """Let another stream have the place of one that has ended."""
        if self._waiting:
            self._wake()
        if self._leaving and not self.streams.open:
            self.link.close()

    def open_stream(self, stream_id: int) -> Stream | None:
        """Refuse: a server opens no streams."""
        if not 0 < stream_id <= self.last_stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"the server opened stream {stream_id}")
        return None

    def receive_goodbye(self, last_stream_id: int) -> None:
        """Open no more streams; those that the server will not serve have ended."""
        self._leaving = True
        for stream in list(self.streams.open.values()):
            if stream.id > last_stream_id and isinstance(stream, ClientStream):
                stream.refuse()
        self._wake()
        if not self.streams.open:
            self.link.close()

    def close(self, code: ErrorCode = ErrorCode.NO_ERROR, text: str = "") -> None:
        """Say goodbye and close."""
        self._leaving = True
        super().close(code, text)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all streams, and those who wait for one."""
        self._leaving = True
        super().connection_lost(exc)
        self._wake()

    def _block_of(self, method: str, timeout: float | None) -> bytes:
        block = self._methods.get(method)
        if block is None:
            path = literal(b":path", method.encode("latin-1"))
            block = self._methods[method] = _POST_HTTP + path + self._authority + _GRPC
        return block if timeout is None else block + literal(b"grpc-timeout", format_timeout(timeout))

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
