"""One call's stream, the same on either side: messages in and out, as fast as the slower end goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Final

from . import protocol as h2
from .frames import PREFIX_SIZE, frame, message_frame, reset, window_update
from .link import Link
from .messages import MessageReader, prefixed
from .metadata import Field
from .protocol import ConnectionFault, ErrorCode
from .statuses import RpcError
from .windows import ReceiveWindow

if TYPE_CHECKING:
    from .streams import Streams

STREAM_WINDOW: Final = 1 << 20
"""How much a peer may send on a stream ahead of what is read, in bytes; a larger message is let through."""


class Stream(ABC):
    """A stream; the side that it is on tells what a header block, the end and a break mean.

    ``deadline`` is a time of the loop's clock, ``send_window`` what may still be sent in bytes.
    """

    __slots__ = (
        "_held",
        "_messages",
        "_reader",
        "_streams",
        "_unread",
        "_window",
        "deadline",
        "id",
        "is_open",
        "link",
        "remote_ended",
        "send_window",
    )

    def __init__(self, link: Link, streams: Streams, stream_id: int) -> None:
        self.id = stream_id
        self.link = link
        self.send_window = link.stream_window
        self.is_open = True
        self.remote_ended = False
        self.deadline = inf
        self._streams = streams
        self._reader = MessageReader()
        self._messages: deque[bytes] = deque()
        self._window = ReceiveWindow(STREAM_WINDOW)
        self._unread = 0
        self._held = 0

    # What the sides differ in.

    @abstractmethod
    def receive_headers(self, fields: list[Field], end: bool) -> None:
        """Take the fields of a header block."""

    @abstractmethod
    def receive_messages(self) -> None:
        """Take note that there may be messages to read, or that there will be no more."""

    @abstractmethod
    def receive_reset(self, code: int) -> None:
        """Take note that the peer broke the stream off."""

    @abstractmethod
    def lose(self) -> None:
        """Take note that the connection is gone."""

    @abstractmethod
    def expire(self) -> None:
        """End the call: its deadline has passed."""

    @abstractmethod
    def fail(self, error: RpcError) -> None:
        """End the call: what arrived cannot be read."""

    def expire_in(self, seconds: float) -> None:
        """Set the deadline."""
        self.deadline = self.link.loop.time() + seconds
        self._streams.expire_at(self.deadline)

    # Receiving.

    def receive_data(self, data: bytes, size: int, end: bool) -> None:
        """Take data; ``size`` is what it counts in the window, padding included."""
        self._window.take(size)
        try:
            arrived = self._reader.feed(data)
        except RpcError as error:
            self.fail(error)
            return
        for message in arrived:
            self._messages.append(message)
            self._unread += len(message)
        self.remote_ended = end
        if not end:
            self._held += size
            self._grant()
        self.receive_messages()

    def next_message(self) -> bytes | None:
        """Take the oldest message that has arrived; None when there is none."""
        if not self._messages:
            return None
        message = self._messages.popleft()
        self._unread -= len(message)
        if self._held:
            self._grant()
        return message

    def _grant(self) -> None:
        # A message that is not complete yet is let in, however large: nobody could read it otherwise.
        if self.remote_ended or self._unread >= STREAM_WINDOW:
            return
        increment, self._held = self._window.give_back(self._held), 0
        if increment and self.is_open:
            self.link.write(window_update(self.id, increment))

    # Sending.

    def widen(self, increment: int) -> None:
        """Let the stream send more."""
        self.send_window += increment
        if self.send_window > h2.LARGEST_WINDOW:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, f"stream {self.id} grew by {increment}")
        self.link.unblock(self.id)

    def whole(self, message: bytes, *, last: bool) -> bytes | None:
        """Return the frame of a message; None when it does not fit into one now."""
        size = len(message) + PREFIX_SIZE
        if size > self.link.room(self.send_window):
            return None
        self.send_window -= size
        self.link.send_window -= size
        return message_frame(message, h2.END_STREAM if last else 0, self.id)

    async def send_in_pieces(self, message: bytes, *, last: bool) -> None:
        """Send a message as fast as the peer reads; stops when the stream ends."""
        rest = memoryview(prefixed(message))
        while rest and self.is_open:
            room = self.link.room(self.send_window)
            if room <= 0:
                await self.link.blocked(self.id)
                continue
            piece, rest = rest[:room], rest[room:]
            self.link.write_now(self._frame(piece, last=last and not rest))

    def _frame(self, data: bytes | memoryview, *, last: bool) -> bytes:
        self.send_window -= len(data)
        self.link.send_window -= len(data)
        return frame(h2.DATA, h2.END_STREAM if last else 0, self.id, data)

    # Ending.

    def end(self) -> None:
        """Forget the stream: nothing more is read or sent."""
        if self.is_open:
            self.is_open = False
            self._streams.remove(self.id)
            self.link.unblock(self.id)

    def reset(self, code: ErrorCode) -> None:
        """Break the stream off."""
        if self.is_open:
            self.end()
            self.link.write_now(reset(self.id, code))
