"""Frames: cut out of the bytes that arrive, and put together.

https://www.rfc-editor.org/rfc/rfc9113#section-4
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, TypeAlias

from .protocol import (
    CONTINUATION,
    DEFAULT_FRAME_SIZE,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PREFACE,
    RST_STREAM,
    WINDOW_UPDATE,
    ConnectionFault,
    ErrorCode,
)

Frame: TypeAlias = tuple[int, int, int, bytes]
"""Type, flags, stream and payload."""

_HEAD: Final = Struct(">HBBBI")
_HEAD_SIZE: Final = 9
_RESERVED_BIT: Final = 0x7FFFFFFF


class FrameReader:
    """Cuts what arrives into frames; with ``preface``, a client's preface must come first."""

    def __init__(self, *, preface: bool) -> None:
        self._preface = PREFACE if preface else b""
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete now.

        Raises ConnectionFault for what is no HTTP/2, and for a frame that is too large.
        """
        data = self._rest + data if self._rest else data
        self._rest = b""
        if self._preface:
            data = self._without_preface(data)
        at, end = 0, len(data)
        while end - at >= _HEAD_SIZE:
            high, low, kind, flags, stream_id = _HEAD.unpack_from(data, at)
            size = high << 8 | low
            if size > DEFAULT_FRAME_SIZE:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            following = at + _HEAD_SIZE + size
            if following > end:
                break
            yield kind, flags, stream_id & _RESERVED_BIT, data[at + _HEAD_SIZE : following]
            at = following
        self._rest = data[at:]

    def _without_preface(self, data: bytes) -> bytes:
        expected, got = self._preface, data[: len(self._preface)]
        if not expected.startswith(got):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "no HTTP/2 preface")
        self._preface = expected[len(got) :]
        return data[len(got) :]


def frame(kind: int, flags: int, stream_id: int, payload: bytes | memoryview = b"") -> bytes:
    """Put a frame together."""
    size = len(payload)
    return _HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + payload


def header_frames(stream_id: int, block: bytes, *, end_stream: bool, frame_size: int) -> bytes:
    """Put a header block into as many frames as it needs."""
    flags = END_STREAM if end_stream else 0
    if len(block) <= frame_size:
        return frame(HEADERS, flags | END_HEADERS, stream_id, block)
    frames = [frame(HEADERS, flags, stream_id, block[:frame_size])]
    for at in range(frame_size, len(block), frame_size):
        last = at + frame_size >= len(block)
        part = block[at : at + frame_size]
        frames.append(frame(CONTINUATION, END_HEADERS if last else 0, stream_id, part))
    return b"".join(frames)


def window_update(stream_id: int, increment: int) -> bytes:
    """Grant a peer that many bytes more; stream 0 is the connection."""
    return frame(WINDOW_UPDATE, 0, stream_id, increment.to_bytes(4, "big"))


def reset(stream_id: int, code: ErrorCode) -> bytes:
    """Break a stream off."""
    return frame(RST_STREAM, 0, stream_id, code.to_bytes(4, "big"))


def unpadded(flags: int, payload: bytes) -> bytes:
    """Return the payload without its padding.

    Raises ConnectionFault when there is more padding than payload.
    """
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "more padding than payload")
    return payload[1 : len(payload) - payload[0]]
