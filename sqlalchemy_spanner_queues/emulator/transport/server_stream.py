"""The server's end of a stream: it reads the request, runs the handler, and sends what it says."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Final

import grpc

from .context import Context, FindHandler, Streaming, Unary
from .frames import reset
from .link import Link
from .metadata import Field, Metadata, literal
from .protocol import ErrorCode
from .statuses import OK, RpcError, status_block
from .stream import Stream
from .streams import Streams
from .timeouts import parse_timeout

logger = logging.getLogger(__name__)

# :status 200, by its place in HPACK's static table.
_HEAD: Final = b"\x88" + literal(b"content-type", b"application/grpc")


@dataclass(slots=True)
class Serving:
    """What all calls of a server share; ``unwinding`` are handlers that are cancelled and not through."""

    find: FindHandler
    unwinding: set[asyncio.Task[None]] = field(default_factory=lambda: set[asyncio.Task[None]]())


class ServerStream(Stream):
    """A call that a client makes; ``task`` runs its handler."""

    __slots__ = ("_context", "_head_sent", "_peer", "_serving", "task")

    def __init__(self, link: Link, streams: Streams, stream_id: int, serving: Serving, peer: str) -> None:
        super().__init__(link, streams, stream_id)
        self.task: asyncio.Task[None] | None = None
        self._serving = serving
        self._peer = peer
        self._context: Context | None = None
        self._head_sent = False

    # Receiving.

    def receive_headers(self, fields: list[Field], end: bool) -> None:
        """Take what the call is; header fields after the request only end it."""
        if self._context is None:
            self._context = self._begin(fields)
        if end:
            self.remote_ended = True
            self.receive_messages()

    def receive_messages(self) -> None:
        """Serve the call when its request is complete."""
        if not self.remote_ended or self._context is None:
            return
        request = self.next_message()
        if request is None or self._messages or self._reader.partial:
            self.fail(RpcError(grpc.StatusCode.INTERNAL, "not one message in a request"))
        else:
            self.task = _start(self.link.loop, self._serve(request, self._context))

    def receive_reset(self, code: int) -> None:
        """Cancel the handler: the client does not want the answer."""
        self._stop()

    def lose(self) -> None:
        """Cancel the handler: the client is gone."""
        self._stop()

    def fail(self, error: RpcError) -> None:
        """End the call with another status than OK."""
        if not self.is_open:
            return
        before = b""
        block = status_block(error)
        if self._context is not None and self._context.initial.wire and not self._head_sent:
            before = self._head(self._context)
        elif not self._head_sent:
            block = _HEAD + block
        self._finish(before, block)

    def _begin(self, fields: list[Field]) -> Context:
        method = timeout = b""
        for other in fields:
            if other.wire:
                continue
            if other.name == b":path":
                method = other.value
            elif other.name == b"grpc-timeout":
                timeout = other.value
            elif other.name == b"grpc-encoding":
                self._reader.encoding = other.value
        seconds = parse_timeout(timeout) if timeout else None
        if seconds is not None:
            self.expire_in(seconds)
        return Context(self, method.decode("latin-1"), Metadata(fields), self._peer)

    def expire(self) -> None:
        """End the call, and cancel the handler."""
        self.fail(RpcError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"))
        self._stop()

    def _stop(self) -> None:
        self.end()
        if self.task is not None and not self.task.done():
            self._serving.unwinding.add(self.task)
            self.task.add_done_callback(self._serving.unwinding.discard)
            self.task.cancel()

    def end(self) -> None:
        """Forget the stream: nothing more is read or sent."""
        super().end()
        # The two know each other, and would have to wait for the garbage collector.
        self._context = None

    # Sending.

    async def _serve(self, request: bytes, context: Context) -> None:
        try:
            match self._serving.find(context.method):
                case Unary(serve):
                    await self._answer(context, await serve(request, context))
                case Streaming(serve):
                    await self._answer_all(context, serve(request, context))
                case None:
                    context.abort(grpc.StatusCode.UNIMPLEMENTED, f"no method {context.method}")
        except RpcError as error:
            self.fail(error)
        except asyncio.CancelledError:
            self.fail(RpcError(grpc.StatusCode.CANCELLED, "the call was cancelled"))
            raise
        except Exception as error:
            logger.exception("the handler of %s failed", context.method)
            self.fail(RpcError(grpc.StatusCode.UNKNOWN, f"Unexpected {type(error)}: {error}"))

    async def _answer(self, context: Context, message: bytes) -> None:
        before = self._head(context)
        body = self.whole(message, last=False)
        if body is None:
            self.link.write(before)
            await self.send_in_pieces(message, last=False)
            before = body = b""
        self._finish(before + body, OK + context.trailing.wire)

    async def _answer_all(self, context: Context, messages: AsyncIterator[bytes]) -> None:
        try:
            async for message in messages:
                await self._answer_one(context, message)
        finally:
            if isinstance(messages, AsyncGenerator):
                await messages.aclose()
        self._finish(self._head(context), OK + context.trailing.wire)

    async def _answer_one(self, context: Context, message: bytes) -> None:
        before = self._head(context)
        body = self.whole(message, last=False) if self.is_open else b""
        if body is not None:
            self.link.write(before + body)
        else:
            self.link.write(before)
            await self.send_in_pieces(message, last=False)

    def _head(self, context: Context) -> bytes:
        if self._head_sent or not self.is_open:
            return b""
        self._head_sent = True
        return self.link.headers(self.id, _HEAD + context.initial.wire, end=False)

    def _finish(self, before: bytes, block: bytes) -> None:
        if not self.is_open:
            return
        after = b"" if self.remote_ended else reset(self.id, ErrorCode.NO_ERROR)
        self.link.write_now(before + self.link.headers(self.id, block, end=True) + after)
        self.end()


def _start(loop: asyncio.AbstractEventLoop, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)
