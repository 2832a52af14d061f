"""Messages: the length and the flag before each, and what is compressed."""

from __future__ import annotations

import zlib
from struct import Struct
from typing import Final

import grpc

from .statuses import RpcError

_HEAD: Final = Struct(">BI")
_HEAD_SIZE: Final = 5
_ENCODINGS: Final = (b"gzip", b"deflate")
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


def prefixed(message: bytes) -> bytes:
    """Return a message as it goes on the wire, uncompressed."""
    return _HEAD.pack(0, len(message)) + message


class MessageReader:
    """Puts the messages of one stream together; ``encoding`` is how those that say so are compressed."""

    __slots__ = ("_buffer", "encoding")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.encoding = b"identity"

    @property
    def partial(self) -> bool:
        """Whether a message has begun and is not complete."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that are complete now.

        Raises RpcError when one cannot be decompressed.
        """
        if not self._buffer and len(data) >= _HEAD_SIZE:
            compressed, size = _HEAD.unpack_from(data)
            if len(data) == _HEAD_SIZE + size:
                return [self._plain(data[_HEAD_SIZE:]) if compressed else data[_HEAD_SIZE:]]
        self._buffer += data
        messages: list[bytes] = []
        while (message := self._next()) is not None:
            messages.append(message)
        return messages

    def _next(self) -> bytes | None:
        if len(self._buffer) < _HEAD_SIZE:
            return None
        compressed, size = _HEAD.unpack_from(self._buffer)
        end = _HEAD_SIZE + size
        if len(self._buffer) < end:
            return None
        with memoryview(self._buffer) as view:
            message = bytes(view[_HEAD_SIZE:end])
        del self._buffer[:end]
        return self._plain(message) if compressed else message

    def _plain(self, message: bytes) -> bytes:
        if self.encoding not in _ENCODINGS:
            encoding = self.encoding.decode("latin-1")
            raise RpcError(
                grpc.StatusCode.UNIMPLEMENTED, f"messages compressed with {encoding!r} are not read"
            )
        try:
            return zlib.decompress(message, _GZIP_OR_ZLIB)
        except zlib.error as error:
            raise RpcError(grpc.StatusCode.INTERNAL, f"a compressed message is broken: {error}") from error
