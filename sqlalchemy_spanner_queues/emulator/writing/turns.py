"""Who may write: one read-write transaction at a time in a database, in the order in which they came.

The official emulator aborts the others; here they wait. A transaction whose client went silent while others
wait loses its turn after a few seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

IDLE_SECONDS: Final = 4.0
"""How long a transaction may be silent while others wait."""

FAILED_IDLE_SECONDS: Final = 0.5
"""The same after one of its requests has failed."""

HELD_SECONDS: Final = 60.0
"""How long a transaction may last in all while others wait, unless a request of it is running."""


class Holder(Protocol):
    """Somebody whose turn it is."""

    @property
    def running(self) -> int:
        """How many requests are being served for it right now."""
        ...

    @property
    def last_active(self) -> float:
        """When its last request ended (loop time, seconds)."""
        ...

    @property
    def idle_seconds(self) -> float:
        """How long it may be silent while others wait."""
        ...

    @property
    def since(self) -> float:
        """When it was its turn (loop time, seconds)."""
        ...


Evict = Callable[[Holder], Awaitable[None]]


class Turns:
    """A fair lock that takes the turn from a silent holder."""

    def __init__(self, evict: Evict) -> None:
        self._evict = evict
        self._waiting: deque[tuple[Holder, asyncio.Future[None]]] = deque()
        self._watch: asyncio.Task[None] | None = None
        self.holder: Holder | None = None

    async def acquire(self, holder: Holder) -> None:
        """Wait for the turn."""
        if self.holder is None and not self._waiting:
            self.holder = holder
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (holder, turn)
        self._waiting.append(entry)
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_holder(), name="turns")
        try:
            await turn
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
            self.release(holder)
            raise

    def release(self, holder: Holder) -> None:
        """Pass the turn on; does nothing when it is somebody else's."""
        if self.holder is not holder:
            return
        self.holder = None
        while self._waiting and self.holder is None:
            following, turn = self._waiting.popleft()
            if not turn.done():
                self.holder = following
                turn.set_result(None)

    async def _watch_holder(self) -> None:
        try:
            while self._waiting:
                holder = self.holder
                pause = self._patience(holder) if holder is not None else 0.0
                if pause > 0:
                    await asyncio.sleep(pause)
                elif holder is not None and holder is self.holder:
                    await self._evict(holder)
                    self.release(holder)
                else:
                    await asyncio.sleep(0)
        finally:
            self._watch = None

    @staticmethod
    def _patience(holder: Holder) -> float:
        now = asyncio.get_running_loop().time()
        if holder.running:
            return FAILED_IDLE_SECONDS
        left = min(holder.last_active + holder.idle_seconds, holder.since + HELD_SECONDS) - now
        return min(left, FAILED_IDLE_SECONDS)
