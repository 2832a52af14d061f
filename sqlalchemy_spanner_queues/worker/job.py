"""A message in the worker's hands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from .. import _mapping
from .._delivery import LEASE_SECONDS
from ..message import UndecodablePayload
from ..orm import QueueMessage
from ..receiver.reader import Arrived
from .handler import Handler


class Job:
    """A delivered message, the handler it is for, and how far it has come.

    ``keys`` are its key values by attribute, ``stored`` its payload as it is stored (bytes, or text where the
    database holds text or JSON). ``due`` is set where another message has taken its place: its deliver time.
    ``waited`` is how long it has waited for its turn to write, in seconds.
    """

    __slots__ = (
        "attempts",
        "cancel",
        "deliver_time",
        "due",
        "first_attempt_at",
        "handler",
        "is_called",
        "lease",
        "lost_told",
        "message",
        "started",
        "stored",
        "timer",
        "undecodable",
        "waited",
    )

    def __init__(self, arrived: Arrived[QueueMessage], handler: Handler) -> None:
        payload, deliver_time = _mapping.received_values(arrived.item)
        self.handler = handler
        self.message = arrived.item
        self.lease = arrived.lease
        self.stored = arrived.stored
        self.undecodable = payload.error if isinstance(payload, UndecodablePayload) else None
        self.deliver_time: datetime = deliver_time
        self.attempts = 0
        self.first_attempt_at = self.delivered_at
        self.due: datetime | None = None
        self.started = 0.0
        self.waited = 0.0
        self.is_called = False
        self.cancel: Callable[[], None] | None = None
        self.timer: threading.Timer | None = None
        self.lost_told = threading.Lock()

    @property
    def keys(self) -> dict[str, object]:
        return self.lease.keys

    @property
    def identity(self) -> tuple[Any, ...]:
        return tuple(self.lease.keys.values())

    @property
    def delivered_at(self) -> datetime:
        """Return when the lease was given or last renewed, by the database's clock."""
        return self.lease.expires_at - timedelta(seconds=LEASE_SECONDS)

    def start(self) -> None:
        self.started = time.monotonic()

    def seconds(self) -> float:
        """Return how long it has been worked on."""
        return time.monotonic() - self.started

    def tell_lost_once(self) -> bool:
        """Return True to the first who asks."""
        return self.lost_told.acquire(blocking=False)
