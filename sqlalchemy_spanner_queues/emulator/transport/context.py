"""What a handler knows of its call, and what it tells the client beside the messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import NoReturn, TypeAlias

import grpc

from .metadata import NONE, Metadata
from .statuses import RpcError
from .stream import Stream


class Context:
    """A call that is served.

    ``metadata`` came with the request; ``initial`` goes out before the first message, ``trailing`` with the
    status OK; ``peer`` is where the client is.
    """

    __slots__ = ("_stream", "initial", "metadata", "method", "peer", "trailing")

    def __init__(self, stream: Stream, method: str, metadata: Metadata, peer: str) -> None:
        self._stream = stream
        self.method = method
        self.metadata = metadata
        self.peer = peer
        self.initial = NONE
        self.trailing = NONE

    def time_remaining(self) -> float | None:
        """Return what is left of the client's deadline in seconds; None when there is none."""
        deadline = self._stream.deadline
        return None if deadline == inf else max(deadline - self._stream.link.loop.time(), 0.0)

    @property
    def is_active(self) -> bool:
        """Whether the client still waits for what the handler has to say."""
        return self._stream.is_open

    def abort(self, code: grpc.StatusCode, details: str = "", trailing: Metadata = NONE) -> NoReturn:
        """End the call with another status than OK.

        Raises RpcError, which a handler may as well raise itself, or let through from a call of its own.
        """
        raise RpcError(code, details, trailing)


@dataclass(frozen=True, slots=True)
class Unary:
    """A handler that answers once."""

    serve: Callable[[bytes, Context], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Streaming:
    """A handler that answers with messages; one that is an async generator is closed when the call ends."""

    serve: Callable[[bytes, Context], AsyncIterator[bytes]]


Handler: TypeAlias = Unary | Streaming
FindHandler: TypeAlias = Callable[[str], Handler | None]
"""Returns the handler of a method, ``/package.Service/Method``; None when there is none."""
