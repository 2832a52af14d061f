"""Dead letters: where a message goes that is given up, how to look at them, and how to send them anew.

A table for any number of queues::

    class FailedMessage(DeadLetters, Base):
        __tablename__ = "FailedMessages"

or a queue, whose own receiver works on what failed::

    class FailedEmail(QueueMessage, Base):
        __tablename__ = "FailedEmails"
        message_id: Mapped[str] = message_key()
        payload: Mapped[DeadMessage] = payload_column(Json(DeadMessage))

    @worker.handler(WelcomeEmail, retry=RetryPolicy(max_attempts=5), dead_letter=FailedMessage)
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from sqlalchemy import BigInteger, MetaData, String, Table, delete, inspect, select
from sqlalchemy.orm import Mapped, Mapper, Session, mapped_column
from sqlalchemy.types import TypeDecorator, TypeEngine

from ..columns import Delay, Instant
from ..definition import QueueDefinition, definition_of, find_definition
from ..exc import HandlerError, MessageAlreadyAcknowledged, SpannerQueuesError
from ..orm import QueueMessage
from ..outbox import acknowledge
from ..payload import Bytes, Json, Text
from .storing import insert_stored

DeadLetterT = TypeVar("DeadLetterT")


@dataclass(frozen=True)
class DeadMessage:
    """A message that was given up, with all that is needed to understand it and to send it anew.

    ``queue`` and ``key`` name it (``key`` is the JSON of its key values in order), ``payload`` is what the
    database held, untouched (text and JSON in UTF-8), ``reason`` says why in a line, ``traceback`` is the end
    of it, ``attempts`` counts the starts that were counted. ``deliver_time`` is when it was due,
    ``first_attempt_at`` and ``last_attempt_at`` when it was worked on, by the database's clock (UTC).
    """

    queue: str
    key: str
    payload: bytes
    reason: str
    traceback: str
    attempts: int
    deliver_time: datetime
    first_attempt_at: datetime
    last_attempt_at: datetime


class DeadLetters:
    """Make a mapped class a table of dead letters: put it before the declarative base.

    Example: ``class FailedMessage(DeadLetters, Base): __tablename__ = "FailedMessages"``. Its columns are
    those of DeadMessage, with a random id as the key.
    """

    dead_letter_id: Mapped[str] = mapped_column(
        "DeadLetterId", String(36), primary_key=True, insert_default=lambda: str(uuid4())
    )
    queue: Mapped[str] = mapped_column("QueueName", String(128))
    key: Mapped[str] = mapped_column("MessageKey", Text())
    payload: Mapped[bytes] = mapped_column("MessagePayload", Bytes())
    reason: Mapped[str] = mapped_column("Reason", Text())
    traceback: Mapped[str] = mapped_column("Traceback", Text())
    attempts: Mapped[int] = mapped_column("Attempts", BigInteger)
    deliver_time: Mapped[datetime] = mapped_column("DeliverTime", Instant())
    first_attempt_at: Mapped[datetime] = mapped_column("FirstAttemptAt", Instant())
    last_attempt_at: Mapped[datetime] = mapped_column("LastAttemptAt", Instant())


def check_target(handler: str, model: type[Any]) -> None:
    """Raise HandlerError for a class that cannot take dead letters."""
    if issubclass(model, DeadLetters):
        return
    table = inspect(model).local_table if issubclass(model, QueueMessage) else None
    definition = None if table is None else find_definition(table)
    if definition is not None and _takes_dead_messages(definition):
        return
    raise HandlerError(
        handler,
        f"dead_letter={model.__name__} cannot take dead letters",
        "use a class with the mixin DeadLetters, or a queue with payload_column(Json(DeadMessage)) whose keys"
        " make themselves up, as message_key() does",
    )


def _takes_dead_messages(definition: QueueDefinition) -> bool:
    payload = definition.payload.type
    has_keys = all(key.default is not None or key.computed is not None for key in definition.keys)
    return isinstance(payload, Json) and payload.model is DeadMessage and has_keys


def bury(session: Session, model: type[Any], dead: DeadMessage) -> None:
    """Write a dead letter in the session's transaction."""
    if issubclass(model, DeadLetters):
        fields = {field.name: getattr(dead, field.name) for field in dataclasses.fields(dead)}
        session.add(model(**fields))
    else:
        session.add(model(payload=dead))


def dead_letters(
    session: Session, model: type[DeadLetterT], *, queue: str | None = None, limit: int = 100
) -> list[DeadLetterT]:
    """Return dead letters of a model, at most ``limit`` of them; ``queue`` is a queue's name.

    Example: ``[letter.reason for letter in dead_letters(session, FailedMessage, queue="WelcomeEmails")]``.
    What was a message of a dead-letter queue has it all in ``letter.payload``, a DeadMessage.
    """
    statement = select(model)
    if issubclass(model, DeadLetters):
        if queue is not None:
            statement = statement.where(model.queue == queue)
        return list(session.scalars(statement.order_by(model.last_attempt_at).limit(limit)))
    found = session.scalars(statement.execution_options(yield_per=limit))
    return list(islice((one for one in found if queue in (None, dead_message(one).queue)), limit))


def dead_message(letter: Any) -> DeadMessage:
    """Return what a dead letter of either kind holds.

    Example: ``dead_message(letter).traceback``.
    """
    if not isinstance(letter, DeadLetters):
        found: DeadMessage = letter.payload
        return found
    return DeadMessage(
        **{field.name: getattr(letter, field.name) for field in dataclasses.fields(DeadMessage)}
    )


def redrive(
    session: Session, *letters: Any, delay: timedelta = timedelta(0), metadata: MetaData | None = None
) -> None:
    """Send the messages of dead letters anew and delete the letters, in the session's transaction.

    Each message has the key and the payload that it had, whatever the payload type makes of it today; its
    attempts are counted from the beginning. ::

        with Session(engine) as session, session.begin():
            redrive(session, *dead_letters(session, FailedMessage, queue="WelcomeEmails"))

    ``metadata`` is where the queue is declared, by default that of the letter's own model. Raises
    MessageAlreadyExists where a message of that key is in the queue, MessageAlreadyAcknowledged where
    somebody else was first, SpannerQueuesError for a queue that is not declared. The session is flushed.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    for letter in letters:
        dead = dead_message(letter)
        table = _queue_named(dead.queue, metadata or _metadata_of(letter))
        values = _key_values(table, dead.key)
        _remove(session, letter)
        insert_stored(session, table, values, dead.payload, Delay(delay))


def _remove(session: Session, letter: Any) -> None:
    """Delete a letter; raise MessageAlreadyAcknowledged where somebody else did."""
    if isinstance(letter, QueueMessage):
        acknowledge(session, letter)
        session.flush()
        return
    model: Any = inspect(letter).mapper.class_
    key = {"dead_letter_id": letter.dead_letter_id}
    deleted: Any = session.execute(delete(model).where(model.dead_letter_id == letter.dead_letter_id))
    if deleted.rowcount != 1:
        raise MessageAlreadyAcknowledged(model.__table__.name, [key])


def _metadata_of(letter: Any) -> MetaData:
    mapper: Mapper[Any] = inspect(letter).mapper
    table: Any = mapper.local_table
    found: MetaData = table.metadata
    return found


def _queue_named(name: str, metadata: MetaData) -> Table:
    table = metadata.tables.get(name)
    if table is None or find_definition(table) is None:
        raise SpannerQueuesError(
            f"there is no queue {name!r} in the metadata of the dead letter: import its model, or pass it"
        )
    return table


def _key_values(table: Table, key: str) -> dict[str, object]:
    """Return the key values that stand in a dead letter as JSON, in the types of the queue's columns."""
    columns = definition_of(table).keys
    values = msgspec.json.decode(key)
    typed = [
        msgspec.convert(value, _python_type(column.type), strict=False)
        for value, column in zip(values, columns, strict=True)
    ]
    return {column.key: value for column, value in zip(columns, typed, strict=True)}


def _python_type(kind: TypeEngine[Any]) -> type[Any]:
    # A TypeDecorator does not say.
    return (kind.impl_instance if isinstance(kind, TypeDecorator) else kind).python_type
