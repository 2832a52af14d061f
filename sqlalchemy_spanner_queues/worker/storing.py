"""Write messages by what is stored of them, whatever their payload types make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Table, bindparam
from sqlalchemy.orm import Session

from ..columns import Delay, DeliverTimeType
from ..definition import definition_of
from ..dialects import for_dialect
from ..receiver.payloads import payload_type_of


def insert_stored(
    session: Session, queue: Table, keys: Mapping[str, object], stored: bytes | str, delay: Delay
) -> None:
    """Send a message of this key, with a payload as it was stored, in the session's transaction."""
    dialect = session.get_bind(clause=queue).dialect
    wire = payload_type_of(definition_of(queue)).wire
    if wire.kind in ("text", "json") and isinstance(stored, bytes):
        stored = stored.decode()
    value, type_ = for_dialect(dialect).stored_payload(wire, stored)
    definition = definition_of(queue)
    computed = {column.key for column in definition.keys if column.computed is not None}
    values: dict[Any, Any] = {queue.c[name]: key for name, key in keys.items() if name not in computed}
    values[definition.payload] = bindparam("stored_payload", value, type_)
    values[definition.deliver_time] = bindparam("new_deliver_time", delay, DeliverTimeType())
    session.execute(queue.insert().values(values))
