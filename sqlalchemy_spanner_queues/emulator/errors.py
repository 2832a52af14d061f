"""How the gateway says no: a status code and a text, as gRPC sends them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import grpc

from . import _protos as pb
from .text.reading import Problem, SqlError
from .transport import Metadata, RpcError

_DETAILS: Final = "grpc-status-details-bin"
_RETRY_INFO: Final = "google.rpc.retryinfo-bin"
_RETRY_NANOSECONDS: Final = 10_000_000


class Refusal(RpcError):
    """A request that the gateway answers with an error of its own."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(code, details, Metadata.of(_trailing(code, details)))


def _trailing(code: grpc.StatusCode, details: str) -> Iterator[tuple[str, bytes]]:
    status = pb.Status()
    status.code, status.message = code_number(code), details
    yield _DETAILS, status.SerializeToString()
    if code is grpc.StatusCode.ABORTED:
        # The client of an aborted transaction that is left alone waits for seconds.
        soon = pb.RetryInfo()
        soon.retry_delay.nanos = _RETRY_NANOSECONDS
        yield _RETRY_INFO, soon.SerializeToString()


def code_number(code: grpc.StatusCode) -> int:
    """Return the number of a status code, as google.rpc.Status carries it."""
    number: int = code.value[0]
    return number


def invalid(details: str) -> Refusal:
    """Make an INVALID_ARGUMENT."""
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, details)


def not_found(details: str) -> Refusal:
    """Make a NOT_FOUND."""
    return Refusal(grpc.StatusCode.NOT_FOUND, details)


def in_use(details: str) -> Refusal:
    """Make a FAILED_PRECONDITION."""
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, details)


def aborted(details: str) -> Refusal:
    """Make an ABORTED: the client runs the transaction again."""
    return Refusal(grpc.StatusCode.ABORTED, details)


_CODES: Final[dict[Problem, grpc.StatusCode]] = {
    "invalid": grpc.StatusCode.INVALID_ARGUMENT,
    "not found": grpc.StatusCode.NOT_FOUND,
    "exists": grpc.StatusCode.ALREADY_EXISTS,
    "in use": grpc.StatusCode.FAILED_PRECONDITION,
}


def refusal_of(error: SqlError) -> Refusal:
    """Make the refusal of a statement that cannot be understood or done."""
    return Refusal(_CODES[error.problem], str(error))
