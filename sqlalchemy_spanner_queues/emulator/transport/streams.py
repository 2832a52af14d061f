"""The open streams of a connection, and the one timer that ends them in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .stream import Stream

# A loop's timer may come a little before its time.
_TOLERANCE_SECONDS: Final = 0.001


class Streams:
    """The open streams by their ids; ``ended`` is called when there is one less.

    Nearly every call ends long before its deadline, and a timer for each would cost a good part of it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], object]) -> None:
        self.open: dict[int, Stream] = {}
        self._loop = loop
        self._ended = ended
        self._timer: asyncio.TimerHandle | None = None
        self._next = inf

    def remove(self, stream_id: int) -> None:
        """Forget a stream."""
        if self.open.pop(stream_id, None) is not None:
            self._ended()

    def expire_at(self, deadline: float) -> None:
        """Look at the streams' deadlines at that time of the loop's clock, or before."""
        if deadline >= self._next:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._next = deadline
        self._timer = self._loop.call_at(deadline, self._expire)

    def lose(self) -> None:
        """Tell all streams that the connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
        for stream in list(self.open.values()):
            stream.lose()

    def _expire(self) -> None:
        self._timer, self._next = None, inf
        latest = self._loop.time() + _TOLERANCE_SECONDS
        for stream in list(self.open.values()):
            if stream.deadline <= latest:
                stream.expire()
        self.expire_at(min((stream.deadline for stream in self.open.values()), default=inf))
