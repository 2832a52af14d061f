"""What the gateway says through ``logging``: its requests at INFO, what happens to messages at DEBUG.

A record of a request has ``method``, ``database``, ``milliseconds`` and ``code`` as fields of its own; one of
a message ``event``, ``database``, ``queue``, ``key``, ``holder`` and ``deliveries``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import ListValue, Value

    from .delivery.leases import Event, Lease

LOGGER: Final = logging.getLogger("sqlalchemy_spanner_queues.emulator")


def plain_values(key: ListValue) -> list[object]:
    """Return the values of a key as Spanner sends them: integers are strings."""
    return [_plain(value.WhichOneof("kind"), value) for value in key.values]


def _plain(kind: str | None, value: Value) -> object:
    return None if kind in (None, "null_value") else getattr(value, kind or "")


def log_request(method: str, database: str, milliseconds: float, code: str) -> None:
    """Say that a request has ended; ``code`` is the name of its status."""
    fields = {"method": method, "database": database, "milliseconds": milliseconds, "code": code}
    LOGGER.info("%s %s %.1f ms %s", method, database or "-", milliseconds, code, extra=fields)


def log_lease(database: str, queue: str, event: Event, lease: Lease) -> None:
    """Say what happened to a message."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        return
    key = plain_values(lease.key)
    fields = {"event": event, "database": database, "queue": queue}
    about = {"key": key, "holder": lease.holder, "deliveries": lease.deliveries}
    LOGGER.debug("%s %s of %s, delivery %d", event, key, queue, lease.deliveries, extra=fields | about)
