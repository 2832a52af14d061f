"""gRPC's calls with bytes in and bytes out, for a thread that waits: its stubs know no such thing."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import grpc

BlockingMethod: TypeAlias = "grpc.UnaryUnaryMultiCallable[bytes, bytes]"

CHANNEL_OPTIONS: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
"""Payloads may be large."""

CONTROL: Final = "/sqlalchemy_spanner_queues.emulator.Control/"
"""The gateway's own service."""


def blocking_method(channel: Any, method: str) -> BlockingMethod:
    """Make the callable of a method that answers once."""
    call: BlockingMethod = channel.unary_unary(method, None, None)
    return call
