"""Leases of one queue, in memory: who holds which message, until when, and when it is due again.

::

    lease = leases.grant(identity, now, holder="ipv4:...")
    leases.renew(lease.token, now + 5)      # a new token; the old one is dead at once

A message that was acknowledged leaves nothing behind: once its lease has run out the gateway asks whether
the message is still there, and forgets the lease when it is not.

https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

from __future__ import annotations

import heapq
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from google.protobuf.struct_pb2 import ListValue

from sqlalchemy_spanner_queues._delivery import LEASE_SECONDS, redelivery_delay

from .identity import key_of

RECHECK_SECONDS = 60.0
"""How long an expired lease waits to be asked again whether its message still exists."""


@dataclass(slots=True)
class Lease:
    """A message in somebody's hands; times in seconds of the delivery clock."""

    message_id: bytes
    token: str
    holder: str
    expires: float
    first_delivered: float
    deliveries: int
    available: float
    check_at: float

    @property
    def key(self) -> ListValue:
        """The key of the message."""
        return key_of(self.message_id)


Event = Literal["leased", "renewed", "expired", "gone", "given back"]
Tell = Callable[[Event, Lease], None]


def _tell_nobody(event: Event, lease: Lease) -> None:
    del event, lease


class Leases:
    """The leases of one queue; ``tell`` hears of what happens to them."""

    def __init__(self, tell: Tell = _tell_nobody) -> None:
        self._tell = tell
        self._by_id: dict[bytes, Lease] = {}
        self._by_token: dict[str, Lease] = {}
        self._checks: list[tuple[float, bytes]] = []

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._by_id.values())

    def available(self, message_id: bytes, now: float) -> bool:
        """Tell whether a message may be delivered: never leased, or its lease and back-off are over."""
        lease = self._by_id.get(message_id)
        return lease is None or lease.available <= now

    def grant(self, message_id: bytes, now: float, holder: str) -> Lease:
        """Lease a message to a receiver for 10 seconds."""
        old = self._by_id.get(message_id)
        if old is not None:
            self._by_token.pop(old.token, None)
        first = old.first_delivered if old else now
        deliveries = old.deliveries + 1 if old else 1
        lease = Lease(message_id, "", holder, 0.0, first, deliveries, 0.0, 0.0)
        self._by_id[message_id] = lease
        self._extend(lease, now)
        self._tell("leased", lease)
        return lease

    def renew(self, token: str, now: float) -> Lease | None:
        """Extend a running lease to 10 seconds from now under a new token; None when it is over."""
        lease = self._by_token.get(token)
        if lease is None or lease.expires <= now:
            return None
        del self._by_token[token]
        self._extend(lease, now)
        self._tell("renewed", lease)
        return lease

    def running(self, token: str, now: float) -> Lease | None:
        """Find a lease by its token while it has not run out."""
        lease = self._by_token.get(token)
        return lease if lease is not None and lease.expires > now else None

    def forget(self, message_id: bytes) -> None:
        """Drop everything about a message, because it is gone."""
        lease = self._by_id.get(message_id)
        if lease is not None:
            self._drop(lease)
            self._tell("gone", lease)

    def give_back(self, lease: Lease) -> None:
        """Undo a lease whose message never left the gateway."""
        if self._by_token.get(lease.token) is not lease:
            return
        self._tell("given back", lease)
        if lease.deliveries == 1:
            self._drop(lease)
            return
        lease.deliveries -= 1
        lease.expires = lease.available = lease.first_delivered
        self._check_later(lease, lease.available + RECHECK_SECONDS)

    def clear(self) -> None:
        """Forget all leases."""
        self._by_id.clear()
        self._by_token.clear()
        self._checks.clear()

    def to_check(self, now: float, limit: int) -> list[Lease]:
        """Take leases that ran out, so many at most: their messages may be gone, or are due again."""
        due: list[Lease] = []
        while self._checks and self._checks[0][0] <= now and len(due) < limit:
            when, message_id = heapq.heappop(self._checks)
            lease = self._by_id.get(message_id)
            if lease is not None and lease.check_at == when:
                due.append(lease)
        return due

    def check_again(self, leases: Iterable[Lease], when: float) -> None:
        """Put back what was taken to be checked, and was not."""
        for lease in leases:
            self._check_later(lease, when)

    def checked(self, lease: Lease, now: float) -> bool:
        """Note that an expired lease's message still exists; tell whether it is due again by now."""
        if lease.check_at == lease.expires:
            self._tell("expired", lease)
        due = lease.available <= now
        self._check_later(lease, now + RECHECK_SECONDS if due else lease.available)
        return due

    def next_check(self) -> float | None:
        """Return when the next lease runs out or its message is due again."""
        return self._checks[0][0] if self._checks else None

    def unavailable(self, now: float) -> int:
        """Count the messages that may not be delivered now."""
        return sum(1 for lease in self._by_id.values() if lease.available > now)

    def _drop(self, lease: Lease) -> None:
        del self._by_id[lease.message_id]
        self._by_token.pop(lease.token, None)

    def _extend(self, lease: Lease, now: float) -> None:
        lease.token = secrets.token_urlsafe(24)
        lease.expires = now + LEASE_SECONDS
        since_first = lease.expires - lease.first_delivered
        lease.available = lease.expires + redelivery_delay(lease.deliveries, since_first)
        self._by_token[lease.token] = lease
        self._check_later(lease, lease.expires)

    def _check_later(self, lease: Lease, when: float) -> None:
        lease.check_at = when
        heapq.heappush(self._checks, (when, lease.message_id))
