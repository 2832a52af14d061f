"""How the gateway says no: a status code and a text, as gRPC sends them."""

from __future__ import annotations

from typing import Final

import grpc

from . import _protos as pb
from .text.reading import Problem, SqlError
from .transport import NONE, Metadata, RpcError

_RETRY_INFO: Final = "google.rpc.retryinfo-bin"
_RETRY_NANOSECONDS: Final = 10_000_000


class Refusal(RpcError):
    """A request that the gateway answers with an error of its own."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(code, details, _retry_soon() if code is grpc.StatusCode.ABORTED else NONE)


def _retry_soon() -> Metadata:
    """Tell the client of an aborted transaction when to run it again; left alone it waits for seconds."""
    soon = pb.RetryInfo()
    soon.retry_delay.nanos = _RETRY_NANOSECONDS
    return Metadata.of([(_RETRY_INFO, soon.SerializeToString())])


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
