"""The messages of one filter that are due, and the receivers that wait for them.

All receivers with the same WHERE clause share a feed: one query finds the messages for all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .. import _protos as pb
from .leases import Lease, Leases

PAGE_SIZE = 250_000
"""How many messages one query finds at most: a scan costs the official emulator more than its rows."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A WHERE clause with the alias, the names of columns, and the parameters that it uses."""

    alias: str
    renamed: tuple[str, ...]
    where: str
    request: bytes

    def apply_parameters(self, target: pb.ExecuteSqlRequest) -> None:
        """Copy the user's parameters into another request."""
        if self.request:
            target.MergeFromString(self.request)


@dataclass(slots=True, eq=False)
class Waiter:
    """A receiver that waits for its next batch, until its time is over (delivery clock, seconds)."""

    want: int
    until: float
    holder: str
    batch: asyncio.Future[list[Lease]]


@dataclass(slots=True, eq=False)
class Feed:
    """What one filter has to give, and to whom; ``ready`` holds identities of messages."""

    filter: Filter
    ready: deque[bytes] = field(default_factory=lambda: deque[bytes]())
    waiters: deque[Waiter] = field(default_factory=lambda: deque[Waiter]())
    dirty: bool = True
    more_after: bytes = b""
    next_due: float | None = None
    receivers: int = 0

    def mark(self) -> None:
        """Note that there may be messages which the last query did not see."""
        self.dirty = True

    @property
    def needs_scan(self) -> bool:
        """Whether a query may find something to deliver."""
        return not self.ready and (self.dirty or bool(self.more_after))

    def end_expired(self, now: float) -> None:
        """End the receivers whose time is over: an empty batch tells them."""
        for waiter in [waiter for waiter in self.waiters if waiter.until <= now]:
            self.waiters.remove(waiter)
            resolve(waiter, [])

    def fail(self, error: BaseException) -> None:
        """Give all waiting receivers an error."""
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.batch.done():
                waiter.batch.set_exception(error)

    def hand_out(self, leases: Leases, clock: Callable[[], float]) -> None:
        """Lease what is ready to the receivers that wait, the longest waiting first, spread evenly."""
        while self.ready and self.waiters:
            waiter = self.waiters.popleft()
            if waiter.batch.done():
                continue
            # Those that do not wait at this moment get their share when they do.
            share = -(-len(self.ready) // max(len(self.waiters) + 1, self.receivers))
            batch = self._lease(min(share, waiter.want), waiter.holder, leases, clock())
            if batch:
                resolve(waiter, batch)
            else:
                self.waiters.appendleft(waiter)

    def _lease(self, count: int, holder: str, leases: Leases, now: float) -> list[Lease]:
        batch: list[Lease] = []
        while self.ready and len(batch) < count:
            message_id = self.ready.popleft()
            if leases.available(message_id, now):
                batch.append(leases.grant(message_id, now, holder))
        return batch


def resolve(waiter: Waiter, batch: list[Lease]) -> None:
    """Answer a receiver unless it is gone."""
    if not waiter.batch.done():
        waiter.batch.set_result(batch)
