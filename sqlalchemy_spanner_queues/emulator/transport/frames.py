"""Frames: cut out of the bytes that arrive, and put together.

https://www.rfc-editor.org/rfc/rfc9113#section-4
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, TypeAlias

from .protocol import (
    CONTINUATION,
    DATA,
    DEFAULT_FRAME_SIZE,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    RST_STREAM,
    WINDOW_UPDATE,
    ConnectionFault,
    ErrorCode,
)

PREFIX_SIZE: Final = 5
"""How much stands before a message: whether it is compressed, and its length."""

Frame: TypeAlias = tuple[int, int, int, bytes]
"""Type, flags, stream and payload."""

_HEAD: Final = Struct(">HBBBI")
_MESSAGE_HEAD: Final = Struct(">HBBBIBI")
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


def message_frame(message: bytes, flags: int, stream_id: int) -> bytes:
    """Put a whole message, uncompressed, into a data frame."""
    length = len(message)
    size = length + PREFIX_SIZE
    return _MESSAGE_HEAD.pack(size >> 8, size & 0xFF, DATA, flags, stream_id, 0, length) + message


def header_frames(stream_id: int, block: bytes, *, end_stream: bool, frame_size: int) -> bytes:
    """Cut a header block that is too large for one frame into several."""
    flags = END_STREAM if end_stream else 0
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


def unpadded(payload: bytes) -> bytes:
    """Return the payload of a padded frame without its padding.

    Raises ConnectionFault when there is more padding than payload.
    """
    if not payload or payload[0] >= len(payload):
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "more padding than payload")
    return payload[1 : len(payload) - payload[0]]
