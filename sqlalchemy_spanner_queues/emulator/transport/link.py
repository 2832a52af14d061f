"""The sending half of a connection: what is written when, and what must wait for the peer."""

from __future__ import annotations

import asyncio
from typing import Final

from . import protocol as h2
from .frames import frame, header_frames
from .header_blocks import NO_TABLE
from .protocol import ConnectionFault, ErrorCode

_WRITE_BUFFER: Final = 1 << 18
_WHOLE_AND_LAST: Final = h2.END_HEADERS | h2.END_STREAM


class Link:
    """Writes to a peer, as few times as possible, and knows the limits that the peer has set.

    ``send_window`` is what the connection may still send in bytes, ``stream_window`` what a new stream may.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.send_window = h2.DEFAULT_WINDOW
        self.stream_window = h2.DEFAULT_WINDOW
        self.frame_size = h2.DEFAULT_FRAME_SIZE
        self.corked = False
        self._paused = False
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._preamble = NO_TABLE
        self._flush_soon: asyncio.Handle | None = None
        self._blocked: dict[int, asyncio.Future[None]] = {}

    def open(self, transport: asyncio.Transport) -> None:
        """Begin to write."""
        transport.set_write_buffer_limits(_WRITE_BUFFER)
        self._transport = transport

    @property
    def is_open(self) -> bool:
        """Whether what is written may still arrive."""
        return self._transport is not None and not self._transport.is_closing()

    def peer(self) -> object:
        """Return the peer's address as its socket has it."""
        return self._transport.get_extra_info("peername") if self._transport else None

    def headers(self, stream_id: int, block: bytes, *, end: bool) -> bytes:
        """Return the frames of a header block, which must be written before those of the next."""
        if self._preamble:
            block, self._preamble = self._preamble + block, b""
        if len(block) <= self.frame_size:
            return frame(h2.HEADERS, _WHOLE_AND_LAST if end else h2.END_HEADERS, stream_id, block)
        return header_frames(stream_id, block, end_stream=end, frame_size=self.frame_size)

    def write(self, data: bytes) -> None:
        """Send together with what else there will be in this turn of the loop."""
        self._out.append(data)
        if not self.corked and self._flush_soon is None:
            self._flush_soon = self.loop.call_soon(self.flush)

    def write_now(self, data: bytes) -> None:
        """Send at once."""
        self._out.append(data)
        if not self.corked:
            self.flush()

    def flush(self) -> None:
        """Send what has been written."""
        if self._flush_soon is not None:
            self._flush_soon.cancel()
            self._flush_soon = None
        if self._out:
            if self._transport is not None:
                self._transport.write(b"".join(self._out))
            self._out.clear()

    def close(self) -> None:
        """Close when everything is sent."""
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def lose(self) -> None:
        """Take note that the connection is gone."""
        self._transport = None
        self.unblock_all()

    def pause(self) -> None:
        """Let everything wait: the peer does not read."""
        self._paused = True

    def resume(self) -> None:
        """Go on."""
        self._paused = False
        self.unblock_all()

    def room(self, stream_window: int) -> int:
        """Return how large a data frame may be now."""
        return 0 if self._paused else min(self.send_window, stream_window, self.frame_size)

    def widen(self, increment: int) -> None:
        """Let the connection send more.

        Raises ConnectionFault for an increment that makes no sense.
        """
        self.send_window += increment
        if not increment or self.send_window > h2.LARGEST_WINDOW:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, f"the window grew by {increment}")
        self.unblock_all()

    async def blocked(self, stream_id: int) -> None:
        """Wait until there may be room for a stream."""
        self._blocked[stream_id] = waiting = self.loop.create_future()
        try:
            await waiting
        finally:
            del self._blocked[stream_id]

    def unblock(self, stream_id: int) -> None:
        """Let a stream look again."""
        waiting = self._blocked.get(stream_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def unblock_all(self) -> None:
        """Let all streams look again."""
        for stream_id in self._blocked:
            self.unblock(stream_id)
