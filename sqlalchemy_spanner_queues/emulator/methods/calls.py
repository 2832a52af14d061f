"""One request on its way: forwarded with its metadata and deadline, the answers passed back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

import grpc.aio

from .._grpc import Context
from ..upstream.api import UpstreamApi

Pairs = list[tuple[str, str | bytes]]

_HOP_BY_HOP: Final = ("user-agent", "te", "content-type", "host", "accept-encoding")
_LONGEST_TIMEOUT_SECONDS: Final = 365 * 86400.0


class Call:
    """A request that a client made."""

    def __init__(self, method: str, context: Context, api: UpstreamApi) -> None:
        self.method = method
        self.name = method.rsplit("/", 1)[1]
        self.context = context
        self._api = api
        self._metadata = tuple(_end_to_end(context.invocation_metadata() or ()))

    def to(self, method: str) -> Call:
        """Return a call for the same client to another method."""
        return Call(method, self.context, self._api)

    @property
    def peer(self) -> str:
        """Where the client is."""
        return self.context.peer()

    def timeout(self) -> float | None:
        """Return what is left of the client's deadline in seconds; None when there is none."""
        left = self.context.time_remaining()
        return left if left and left < _LONGEST_TIMEOUT_SECONDS else None

    async def forward(self, request: bytes, *, to_the_end: bool = False) -> bytes:
        """Send a request upstream and return the answer; metadata goes both ways.

        With ``to_the_end`` the client's deadline does not count.

        Raises grpc.aio.AioRpcError with what upstream said.
        """
        timeout = None if to_the_end else self.timeout()
        call = self._api.unary_method(self.method)(request, timeout=timeout, metadata=self._metadata)
        answer = await call
        await self._pass_back(await call.initial_metadata(), await call.trailing_metadata())
        return answer

    async def forward_stream(self, request: bytes) -> AsyncIterator[bytes]:
        """Send a request upstream and yield the answers as they come.

        Raises grpc.aio.AioRpcError with what upstream said.
        """
        streaming = self._api.streaming_method(self.method)
        call = streaming(request, timeout=self.timeout(), metadata=self._metadata)
        try:
            async for chunk in aiter(call):
                yield chunk
            await self._pass_back((), await call.trailing_metadata())
        finally:
            call.cancel()

    async def _pass_back(self, initial: Iterable[object], trailing: Iterable[object]) -> None:
        first = tuple(_end_to_end(initial))
        if first and not self.context.done():
            await self.context.send_initial_metadata(first)
        last = tuple(_end_to_end(trailing))
        if last:
            self.context.set_trailing_metadata(last)


def _pairs(metadata: Iterable[object]) -> Iterator[tuple[str, str | bytes]]:
    for item in metadata:
        match item:
            case (str() as key, (str() | bytes()) as value):
                yield key, value
            case _:
                raise TypeError(f"unexpected metadata {item!r}")


def _end_to_end(metadata: Iterable[object]) -> Pairs:
    return [
        (key, value)
        for key, value in _pairs(metadata)
        if not key.startswith((":", "grpc-")) and key.lower() not in _HOP_BY_HOP
    ]


def trailing_of(error: grpc.aio.AioRpcError) -> tuple[tuple[str, str | bytes], ...]:
    """Return the trailing metadata of an upstream error, the status details included."""
    return tuple(
        (key, value)
        for key, value in _pairs(error.trailing_metadata() or ())
        if key == "grpc-status-details-bin" or not key.startswith((":", "grpc-"))
    )
