"""Statuses: how a call ended, as an exception and as the fields of a header block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

import grpc

from .metadata import NONE, Field, Metadata, literal
from .protocol import ErrorCode


class RpcError(Exception):
    """A call that ended with another status than OK."""

    def __init__(self, code: grpc.StatusCode, details: str = "", trailing: Metadata = NONE) -> None:
        super().__init__(f"{code.name}: {details}")
        self.code = code
        self.details = details
        self.trailing = trailing


_CODES: Final = {int(code.value[0]): code for code in grpc.StatusCode}
_OF_HTTP: Final = {
    b"400": grpc.StatusCode.INTERNAL,
    b"401": grpc.StatusCode.UNAUTHENTICATED,
    b"403": grpc.StatusCode.PERMISSION_DENIED,
    b"404": grpc.StatusCode.UNIMPLEMENTED,
    b"429": grpc.StatusCode.UNAVAILABLE,
    b"502": grpc.StatusCode.UNAVAILABLE,
    b"503": grpc.StatusCode.UNAVAILABLE,
    b"504": grpc.StatusCode.UNAVAILABLE,
}
_OF_RESET: Final = {
    ErrorCode.REFUSED_STREAM: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.CANCEL: grpc.StatusCode.CANCELLED,
    ErrorCode.ENHANCE_YOUR_CALM: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.INADEQUATE_SECURITY: grpc.StatusCode.PERMISSION_DENIED,
}
# What need not be escaped in grpc-message: printable ASCII without the percent sign.
_PLAIN: Final = "".join(chr(octet) for octet in range(0x20, 0x7F) if octet != 0x25)

OK: Final = literal(b"grpc-status", b"0")


def status_block(error: RpcError) -> bytes:
    """Encode a status other than OK, with its metadata."""
    number = str(error.code.value[0]).encode()
    block = literal(b"grpc-status", number)
    if error.details:
        message = quote_from_bytes(error.details.encode("utf-8", "replace"), _PLAIN)
        block += literal(b"grpc-message", message.encode("ascii"))
    return block + error.trailing.wire


def status_of(fields: Sequence[Field]) -> RpcError | None:
    """Return the error that trailing fields tell of; None is OK."""
    found = {field.name: field.value for field in fields if not field.wire}
    number = found.get(b"grpc-status")
    if number == b"0":
        return None
    if number is None:
        http = found.get(b":status", b"none")
        code = _OF_HTTP.get(http, grpc.StatusCode.UNKNOWN)
        return RpcError(code, f"no grpc-status, HTTP status {http.decode('latin-1')}", Metadata(fields))
    details = unquote_to_bytes(found.get(b"grpc-message", b"")).decode("utf-8", "replace")
    code = _CODES.get(int(number) if number.isdigit() else -1, grpc.StatusCode.UNKNOWN)
    return RpcError(code, details, Metadata(fields))


def status_of_reset(number: int) -> RpcError:
    """Return the error of a stream that the peer broke off."""
    code = _OF_RESET.get(ErrorCode(number), grpc.StatusCode.INTERNAL) if number in _ERRORS else None
    return RpcError(code or grpc.StatusCode.INTERNAL, f"the stream was reset with error code {number}")


_ERRORS: Final = frozenset(int(code) for code in ErrorCode)
