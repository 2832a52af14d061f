"""One HTTP/2 connection, the same on either side: what each frame that arrives means.

https://www.rfc-editor.org/rfc/rfc9113
"""

from __future__ import annotations

import asyncio
from struct import Struct
from struct import error as StructError
from typing import Final, cast

from . import protocol as h2
from .frames import FrameReader, frame, unpadded, window_update
from .header_blocks import HeaderDecoder
from .link import Link
from .protocol import ConnectionFault, ErrorCode
from .stream import STREAM_WINDOW, Stream
from .streams import Streams
from .windows import ReceiveWindow

# What a stream does not read is held back by the stream's own window, so that no stream stops the others.
_CONNECTION_WINDOW: Final = 1 << 24
_LARGEST_HEADER_BLOCK: Final = 1 << 20
_PRIORITY_SIZE: Final = 5
_NUMBER: Final = Struct(">I")
_GOODBYE: Final = Struct(">II")
_SETTING: Final = Struct(">HI")
_PING_SIZE: Final = 8

_NO_PUSH: Final = _SETTING.pack(h2.ENABLE_PUSH, 0)
_WINDOW: Final = _SETTING.pack(h2.INITIAL_WINDOW_SIZE, STREAM_WINDOW)
_WIDER: Final = window_update(0, _CONNECTION_WINDOW - h2.DEFAULT_WINDOW)
_SERVER_GREETING: Final = frame(h2.SETTINGS, 0, 0, _WINDOW) + _WIDER
_CLIENT_GREETING: Final = h2.PREFACE + frame(h2.SETTINGS, 0, 0, _NO_PUSH + _WINDOW) + _WIDER


class Connection(asyncio.Protocol):
    """A connection; the side that it is on tells what a new stream is, and what a goodbye means.

    ``closed`` is done when it is gone, whoever closed it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, server: bool) -> None:
        self.link = Link(loop)
        self.streams = Streams(loop, self.stream_ended)
        self.last_stream_id = 0
        self.last_served_id = 0
        self.most_streams = h2.LARGEST_STREAM_ID
        self.closed: asyncio.Future[None] = loop.create_future()
        self._greeting = _SERVER_GREETING if server else _CLIENT_GREETING
        self._frames = FrameReader(preface=server)
        self._headers = HeaderDecoder()
        self._window = ReceiveWindow(_CONNECTION_WINDOW)
        self._block: tuple[int, int, bytearray] | None = None

    def open_stream(self, stream_id: int) -> Stream | None:
        """Make a stream that the peer opens; None when the block is of one that has ended."""
        raise NotImplementedError

    def stream_ended(self) -> None:
        """Take note that there is one stream less."""

    def receive_goodbye(self, last_stream_id: int) -> None:
        """Take note that the peer serves no stream above the last."""
        raise NotImplementedError

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the peer."""
        # Those of uvloop have the methods, not the class.
        self.link.open(cast(asyncio.Transport, transport))
        self.link.write_now(self._greeting)

    def data_received(self, data: bytes) -> None:
        """Serve what has arrived, and answer all of it in one go."""
        self.link.corked = True
        try:
            for kind, flags, stream_id, payload in self._frames.feed(data):
                if self._block is not None or kind == h2.CONTINUATION:
                    self._receive_continuation(kind, flags, stream_id, payload)
                elif kind == h2.DATA:
                    self._receive_data(flags, stream_id, payload)
                elif kind == h2.HEADERS:
                    self._receive_headers(flags, stream_id, payload)
                else:
                    self._receive_control(kind, flags, stream_id, payload)
        except ConnectionFault as fault:
            self.close(fault.code, str(fault))
        finally:
            self.link.corked = False
            self.link.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all streams."""
        self.link.lose()
        self.streams.lose()
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """Let everything wait: the peer does not read."""
        self.link.pause()

    def resume_writing(self) -> None:
        """Go on."""
        self.link.resume()

    # Ending.

    def say_goodbye(self, code: ErrorCode = ErrorCode.NO_ERROR, text: str = "") -> None:
        """Ask the peer to open no more streams."""
        self.link.write_now(frame(h2.GOAWAY, 0, 0, _GOODBYE.pack(self.last_served_id, code) + text.encode()))

    def close(self, code: ErrorCode = ErrorCode.NO_ERROR, text: str = "") -> None:
        """Say goodbye and close."""
        self.say_goodbye(code, text)
        self.link.close()

    # What arrives.

    def _receive_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._window.take(size)
        if increment := self._window.give_back(size):
            self.link.write(window_update(0, increment))
        stream = self._stream(stream_id)
        if stream is not None:
            data = unpadded(payload) if flags & h2.PADDED else payload
            stream.receive_data(data, size, bool(flags & h2.END_STREAM))

    def _receive_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        block = unpadded(payload) if flags & h2.PADDED else payload
        if flags & h2.WITH_PRIORITY:
            block = block[_PRIORITY_SIZE:]
        if flags & h2.END_HEADERS:
            self._receive_block(flags, stream_id, block)
        else:
            self._block = (stream_id, flags, bytearray(block))

    def _receive_continuation(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if self._block is None or self._block[0] != stream_id or kind != h2.CONTINUATION:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a header block was cut")
        _, first_flags, block = self._block
        block += payload
        if len(block) > _LARGEST_HEADER_BLOCK:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "a header block that does not end")
        if flags & h2.END_HEADERS:
            self._block = None
            self._receive_block(first_flags, stream_id, bytes(block))

    def _receive_block(self, flags: int, stream_id: int, block: bytes) -> None:
        fields = self._headers.decode(block)
        stream = self.streams.open.get(stream_id) or self.open_stream(stream_id)
        if stream is not None:
            stream.receive_headers(fields, bool(flags & h2.END_STREAM))

    def _receive_control(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        try:
            if kind == h2.WINDOW_UPDATE:
                (increment,) = _NUMBER.unpack(payload)
                self._receive_window_update(stream_id, increment & h2.LARGEST_WINDOW)
            elif kind == h2.RST_STREAM:
                (code,) = _NUMBER.unpack(payload)
                self._receive_reset(stream_id, code)
            elif kind == h2.SETTINGS and not flags & h2.ACK:
                self._receive_settings(payload)
            elif kind == h2.PING and not flags & h2.ACK:
                self._receive_ping(payload)
            elif kind == h2.GOAWAY:
                last, _ = _GOODBYE.unpack_from(payload)
                self.receive_goodbye(last & h2.LARGEST_STREAM_ID)
            elif kind == h2.PUSH_PROMISE:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a push that nobody allowed")
        except StructError as error:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, f"frame type {kind}: {error}") from error

    def _receive_window_update(self, stream_id: int, increment: int) -> None:
        if not stream_id:
            self.link.widen(increment)
        elif (stream := self._stream(stream_id)) is not None:
            stream.widen(increment)

    def _receive_reset(self, stream_id: int, code: int) -> None:
        stream = self._stream(stream_id)
        if stream is not None:
            stream.receive_reset(code)

    def _receive_ping(self, payload: bytes) -> None:
        if len(payload) != _PING_SIZE:
            raise StructError(f"{len(payload)} bytes")
        self.link.write(frame(h2.PING, h2.ACK, 0, payload))

    def _receive_settings(self, payload: bytes) -> None:
        for name, value in _SETTING.iter_unpack(payload):
            if name == h2.INITIAL_WINDOW_SIZE:
                self._resize_windows(value)
            elif name == h2.MAX_FRAME_SIZE:
                if not h2.DEFAULT_FRAME_SIZE <= value <= h2.LARGEST_FRAME_SIZE:
                    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"frames of {value} bytes")
                self.link.frame_size = value
            elif name == h2.MAX_CONCURRENT_STREAMS:
                self.most_streams = value
        self.link.write(frame(h2.SETTINGS, h2.ACK, 0))

    def _resize_windows(self, size: int) -> None:
        if size > h2.LARGEST_WINDOW:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {size} bytes")
        change, self.link.stream_window = size - self.link.stream_window, size
        for stream in self.streams.open.values():
            stream.widen(change)

    def _stream(self, stream_id: int) -> Stream | None:
        stream = self.streams.open.get(stream_id)
        if stream is None and not 0 < stream_id <= self.last_stream_id:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"stream {stream_id} is not open")
        return stream
