"""The client's end of a stream: it waits for messages and for how the call ends."""

from __future__ import annotations

import asyncio
from math import inf
from typing import NamedTuple

import grpc

from .link import Link
from .metadata import NONE, Field, Metadata
from .protocol import ErrorCode
from .statuses import RpcError, status_of, status_of_reset
from .stream import Stream
from .streams import Streams


class Answer(NamedTuple):
    """The whole answer of a call that answers once."""

    message: bytes
    initial: Metadata
    trailing: Metadata


class ClientStream(Stream):
    """A call that has been made.

    ``unsent`` is the request as long as it has not gone out; ``refused`` tells that the server ended the call
    without having looked at it.
    """

    __slots__ = (
        "_begun",
        "_ended",
        "_error",
        "_waiting",
        "initial",
        "refused",
        "trailing",
        "unsent",
    )

    def __init__(self, link: Link, streams: Streams, stream_id: int) -> None:
        super().__init__(link, streams, stream_id)
        self.initial = NONE
        self.trailing = NONE
        self.unsent: bytes | None = None
        self.refused = False
        self._begun = False
        self._ended = False
        self._error: RpcError | None = None
        self._waiting: asyncio.Future[None] | None = None

    def time_left(self) -> float | None:
        """Return how long it is until the call is ended, in seconds."""
        return None if self.deadline == inf else self.deadline - self.link.loop.time()

    async def answer(self) -> Answer:
        """Wait for the one message of the call and its end.

        Raises RpcError when it ends otherwise.
        """
        if self.unsent is not None:
            await self._send(self.unsent)
        while not self._ended and len(self._messages) <= 1:
            await self._wait()
        if self._error is not None:
            raise self._error
        message = self.next_message()
        if message is None or self._messages:
            raise RpcError(
                grpc.StatusCode.INTERNAL, "not one message in the answer of a call that answers once"
            )
        return Answer(message, self.initial, self.trailing)

    async def read(self) -> bytes | None:
        """Wait for the next message; None is the end.

        Raises RpcError when the call ends with another status than OK.
        """
        if self.unsent is not None:
            await self._send(self.unsent)
        while (message := self.next_message()) is None and not self._ended:
            await self._wait()
        if message is None and self._error is not None:
            raise self._error
        return message

    def cancel(self) -> None:
        """Give up; does nothing when the call has ended."""
        if not self._ended:
            self._break_off(RpcError(grpc.StatusCode.CANCELLED, "the call was cancelled here"))

    def receive_headers(self, fields: list[Field], end: bool) -> None:
        """Take the initial metadata, or the status and the trailing metadata."""
        if end and len(fields) == 1 and fields[0].name == b"grpc-status" and fields[0].value == b"0":
            self._finish(None)
        elif end:
            self._finish(status_of(fields), Metadata(fields))
        elif not self._begun and not _is_informational(fields):
            self._begun = True
            self.initial = Metadata(fields)
            for field in fields:
                if field.name == b"grpc-encoding":
                    self._reader.encoding = field.value

    def receive_messages(self) -> None:
        """Wake who waits for messages."""
        if self.remote_ended:
            self._finish(RpcError(grpc.StatusCode.INTERNAL, "the stream ended without a status"))
        self._wake()

    def receive_reset(self, code: int) -> None:
        """End the call."""
        self.refused = code == ErrorCode.REFUSED_STREAM
        self._finish(status_of_reset(code))

    def refuse(self) -> None:
        """End the call: the server has left without serving it."""
        self.refused = True
        self._finish(RpcError(grpc.StatusCode.UNAVAILABLE, "the server takes no more calls"))

    def lose(self) -> None:
        """End the call."""
        self._finish(RpcError(grpc.StatusCode.UNAVAILABLE, "the connection was lost"))

    def fail(self, error: RpcError) -> None:
        """End the call."""
        self._break_off(error)

    async def _send(self, request: bytes) -> None:
        self.unsent = None
        await self.send_in_pieces(request, last=True)

    def expire(self) -> None:
        """End the call."""
        self._break_off(RpcError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"))

    def _break_off(self, error: RpcError) -> None:
        if not self._ended:
            self.reset(ErrorCode.CANCEL)
            self._finish(error)

    def _finish(self, error: RpcError | None, trailing: Metadata = NONE) -> None:
        self._ended = True
        self._error = error
        self.trailing = trailing
        if error is None and self._reader.partial:
            self._error = RpcError(grpc.StatusCode.INTERNAL, "the stream ended within a message")
        self.end()
        self._wake()

    async def _wait(self) -> None:
        self._waiting = self.link.loop.create_future()
        await self._waiting

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def _is_informational(fields: list[Field]) -> bool:
    return bool(fields) and fields[0].name == b":status" and fields[0].value.startswith(b"1")
