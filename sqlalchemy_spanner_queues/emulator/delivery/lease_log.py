"""What the gateway says of messages through ``logging``, at DEBUG.

A record has ``event``, ``database``, ``queue``, ``key``, ``holder`` and ``deliveries`` as fields of its own.
"""

from __future__ import annotations

import logging

from google.protobuf.struct_pb2 import ListValue, Value

from ..log import LOGGER
from .leases import Event, Lease


def plain_values(key: ListValue) -> list[object]:
    """Return the values of a key as Spanner sends them: integers are strings."""
    return [_plain(value.WhichOneof("kind"), value) for value in key.values]


def _plain(kind: str | None, value: Value) -> object:
    return None if kind in (None, "null_value") else getattr(value, kind or "")


def log_lease(database: str, queue: str, event: Event, lease: Lease) -> None:
    """Say what happened to a message."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        return
    key = plain_values(lease.key)
    fields = {"event": event, "database": database, "queue": queue}
    about = {"key": key, "holder": lease.holder, "deliveries": lease.deliveries}
    LOGGER.debug("%s %s of %s, delivery %d", event, key, queue, lease.deliveries, extra=fields | about)
