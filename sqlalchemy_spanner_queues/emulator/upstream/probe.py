"""Ask an address whether somebody listens there, and who."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Final

import grpc

from .._grpc import CONTROL, blocking_method

PING_SECONDS: Final = 2.0
"""How long an answer may take that ought to come at once."""

_POLL_SECONDS: Final = 0.02
# A cheap question that every Spanner answers, if only with an error.
_QUESTION: Final = "/google.spanner.admin.instance.v1.InstanceAdmin/ListInstances"
_SILENT: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def answers(address: str, timeout: float = 1.0) -> bool:
    """Tell whether something listens at ``host:port``."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return False
    try:
        socket.create_connection((host.strip("[]") or "localhost", int(port)), timeout).close()
    except OSError:
        return False
    return True


def is_gateway(address: str) -> bool:
    """Tell whether a gateway of this package listens there: one is enough."""
    return _ask(address, CONTROL + "Ping", b"{}", PING_SECONDS) == ""


def speaks_spanner(address: str, timeout: float = PING_SECONDS) -> bool:
    """Tell whether whoever listens at an address speaks Spanner's gRPC."""
    said = _ask(address, _QUESTION, b"", timeout)
    return said == "" or said not in [code.name for code in (*_SILENT, grpc.StatusCode.UNIMPLEMENTED)]


def speaks_within(address: str, seconds: float, alive: Callable[[], bool]) -> bool:
    """Wait until Spanner's gRPC answers; False when time is over, or nobody is ``alive`` to answer."""
    end = time.monotonic() + seconds
    while alive() and (left := end - time.monotonic()) > 0:
        # A connection is not enough: Docker accepts them before the emulator does.
        if answers(address, left) and speaks_spanner(address, min(left, PING_SECONDS)):
            return alive()
        time.sleep(_POLL_SECONDS)
    return False


def _ask(address: str, method: str, request: bytes, timeout: float) -> str:
    """Return the status code of an answer; empty when there is nothing wrong."""
    with grpc.insecure_channel(address) as channel:
        ask = blocking_method(channel, method)
        try:
            ask(request, timeout=timeout)
        except grpc.RpcError as error:
            return error.code().name
        return ""
