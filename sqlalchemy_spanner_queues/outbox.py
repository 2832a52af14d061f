"""Send, acknowledge and reschedule inside a Session's transaction; none of these commits.

::

    with Session(engine) as session, session.begin():
        session.add(Order(order_id=7))
        send_many(session, [ShipOrder(order_id=7, payload=b"..."), BillOrder(order_id=7, payload=b"...")])
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from sqlalchemy import and_, inspect, or_, select
from sqlalchemy.orm import Mapper, Session

from . import _mapping
from .definition import definition_of
from .dialects import for_dialect
from .exc import MessageAlreadyAcknowledged
from .orm import QueueMessage

MessageT = TypeVar("MessageT", bound=QueueMessage)

# Keys looked for in one statement; a Spanner query takes 950 parameters.
_KEYS_A_QUERY = 200


def send_many(
    session: Session, messages: Sequence[MessageT], *, on_conflict: Literal["raise", "skip"] = "raise"
) -> list[MessageT | None]:
    """Send messages in the session's transaction, in one round trip for each queue.

    Returns the messages in their order, with None where ``on_conflict="skip"`` left one out because its key
    is pending already (or stands twice in the list). "raise", the default, lets MessageAlreadyExists end
    the transaction. ::

        sent = send_many(session, [Job(key="a", payload=b""), Job(key="b", payload=b"")], on_conflict="skip")

    The session is flushed. A key is unique only while its message is pending.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    if on_conflict not in ("raise", "skip"):
        raise ValueError(f"on_conflict is 'raise' or 'skip', not {on_conflict!r}")
    chosen: list[MessageT | None] = list(messages)
    if on_conflict == "skip":
        chosen = _without_pending(session, messages)
    session.add_all([message for message in chosen if message is not None])
    session.flush()
    return chosen


def acknowledge(session: Session, *messages: QueueMessage) -> None:
    """Acknowledge messages in the session's transaction: delete each if it is still there.

    The deletes run with the next flush, in one round trip. If one of the messages is gone the flush raises
    MessageAlreadyAcknowledged and the transaction cannot commit, whatever is caught. The given instances
    stay readable. ::

        with Session(engine) as session, session.begin():
            session.get(User, message.user_id).welcomed = True
            acknowledge(session, message)

    ``session.delete(message)`` is the same guarded delete.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    for message in messages:
        session.delete(_deletable(session, message))


def reschedule(
    session: Session,
    message: MessageT,
    *,
    delay: timedelta | None = None,
    deliver_at: datetime | None = None,
    payload: Any = None,
) -> MessageT:
    """Replace a message by one of the same key that is due later, in the session's transaction.

    Deletes it (guarded, like ``acknowledge``) and sends it anew, with another payload if one is given.
    ``delay`` is counted by the database's clock, ``deliver_at`` is an aware datetime. Returns the new
    message. ::

        reschedule(session, message, delay=timedelta(minutes=30))

    Raises MessageAlreadyAcknowledged if the message is gone, DeliverTimeError for a naive ``deliver_at``.
    The session is flushed.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    mapper = inspect(message).mapper
    successor = _copy(mapper, _readable(session, message))
    if payload is not None:
        setattr(successor, _payload_key(mapper), payload)
    successor.delay = delay
    successor.deliver_at = deliver_at
    acknowledge(session, message)
    # Two flushes: the unit of work writes INSERTs before DELETEs, and would make one UPDATE of both.
    session.flush()
    session.add(successor)
    session.flush()
    return successor


def _deletable(session: Session, message: QueueMessage) -> Any:
    """Return what stands for the message in this session, without attaching the given instance to it."""
    state = inspect(message)
    if state.session is session or state.key is None:
        return message
    present = session.identity_map.get(state.key)
    return present if present is not None else _mapping.identity_twin(state.mapper, state.key[1])


def _readable(session: Session, message: MessageT) -> MessageT:
    """Return the message with its values; one that a rollback has emptied is read again."""
    state = inspect(message)
    if not state.detached or not state.expired:
        return message
    present = session.get(type(message), state.key[1])
    if present is None:
        queue = _mapping.queue_table(state.mapper)
        names = (column.key for column in state.mapper.primary_key)
        raise MessageAlreadyAcknowledged(queue.name, [dict(zip(names, state.key[1], strict=True))])
    return present


def _copy(mapper: Mapper[Any], message: MessageT) -> MessageT:
    successor: MessageT = mapper.class_manager.new_instance()
    system = definition_of(_mapping.queue_table(mapper)).deliver_time
    for prop in mapper.column_attrs:
        if prop.columns[0] is not system:
            setattr(successor, prop.key, getattr(message, prop.key))
    return successor


def _payload_key(mapper: Mapper[Any]) -> str:
    return mapper.get_property_by_column(definition_of(_mapping.queue_table(mapper)).payload).key


def _without_pending(session: Session, messages: Sequence[MessageT]) -> list[MessageT | None]:
    taken: set[tuple[Any, ...]] = set()
    for mapper in {inspect(message).mapper for message in messages}:
        keys = [key for message in messages if inspect(message).mapper is mapper and (key := _key(message))]
        taken |= _pending(session, mapper, keys)
    chosen: list[MessageT | None] = []
    for message in messages:
        key = _key(message)
        chosen.append(None if key and key in taken else message)
        taken |= {key} if key else set()
    return chosen


def _key(message: QueueMessage) -> tuple[Any, ...] | None:
    """Return the queue and key of a message; None while Python has yet to make one up, which is new."""
    mapper: Mapper[Any] = inspect(message).mapper
    values = tuple(mapper.primary_key_from_instance(message))
    return None if any(value is None for value in values) else (mapper.local_table, *values)


def _pending(session: Session, mapper: Mapper[Any], keys: list[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """Return which of the keys are in the queue, read in the session's own transaction."""
    connection = session.connection(bind_arguments={"mapper": mapper})
    queue = _mapping.queue_table(mapper)
    for_dialect(connection.dialect).before_skip(definition_of(queue), connection)
    found: set[tuple[Any, ...]] = set()
    for start in range(0, len(keys), _KEYS_A_QUERY):
        wanted = [
            and_(*[column == value for column, value in zip(mapper.primary_key, key[1:], strict=True)])
            for key in keys[start : start + _KEYS_A_QUERY]
        ]
        rows = session.execute(select(*mapper.primary_key).where(or_(*wanted)))
        found |= {(queue, *row) for row in rows}
    return found
