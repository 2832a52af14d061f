"""One request on its way: forwarded with its metadata and deadline, the answers passed back."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..transport import Context
from ..upstream.api import UpstreamApi


class Call:
    """A request that a client made."""

    def __init__(self, method: str, context: Context, api: UpstreamApi) -> None:
        self.method = method
        self.name = method.rsplit("/", 1)[1]
        self._context = context
        self._api = api

    def to(self, method: str) -> Call:
        """Return a call for the same client to another method."""
        return Call(method, self._context, self._api)

    @property
    def peer(self) -> str:
        """Where the client is."""
        return self._context.peer

    async def forward(self, request: bytes, *, to_the_end: bool = False) -> bytes:
        """Send a request upstream and return the answer; metadata goes both ways.

        With ``to_the_end`` the client's deadline does not count.

        Raises RpcError with what upstream said.
        """
        context = self._context
        timeout = None if to_the_end else context.time_remaining()
        answer = await self._api.channel.unary(
            self.method, request, timeout=timeout, metadata=context.metadata
        )
        context.initial, context.trailing = answer.initial, answer.trailing
        return answer.message

    async def forward_stream(self, request: bytes) -> AsyncIterator[bytes]:
        """Send a request upstream and yield the answers as they come.

        Raises RpcError with what upstream said.
        """
        context = self._context
        timeout = context.time_remaining()
        call = self._api.channel.stream(self.method, request, timeout=timeout, metadata=context.metadata)
        try:
            async for chunk in call:
                context.initial = call.initial
                yield chunk
            context.trailing = call.trailing
        finally:
            call.cancel()
