"""Queues as models: declare a class, add instances to a Session, and they are sent by its commit.

::

    class WelcomeEmail(QueueMessage, Base):
        __tablename__ = "WelcomeEmails"
        __queue__ = QueueOptions(interleave_in=User, on_delete="CASCADE")
        user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)
        message_id: Mapped[str] = message_key("MessageId")
        payload: Mapped[Welcome] = payload_column(Json(Welcome))

    session.add(WelcomeEmail(user_id=1, payload=Welcome("hi"), delay=timedelta(minutes=5)))
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from uuid import uuid4

from sqlalchemy import MetaData, String, Table
from sqlalchemy.orm import MappedColumn, mapped_column

from . import _mapping
from .columns import Delay, aware
from .definition import PAYLOAD, OptionValue
from .exc import SpannerQueuesError
from .message import Lease
from .payload import PayloadType
from .schema import Queue

T = TypeVar("T")


@dataclass(frozen=True)
class QueueOptions:
    """What a queue model says beyond its columns; the arguments are those of Queue.

    ::

        __queue__ = QueueOptions(
            interleave_in=User, on_delete="CASCADE",
            row_deletion=("CreatedAt", timedelta(days=7)),
            options={"disable_send": False},
        )

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    interleave_in: Any = None
    in_parent: bool = True
    on_delete: str | None = None
    row_deletion: tuple[str, timedelta] | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict[str, OptionValue])
    descending: Collection[str] = ()
    hidden: Collection[str] = ()
    commit_timestamps: Collection[str] = ()


class QueueMessage:
    """Make a mapped class a queue's message: put it before the declarative base.

    Example: ``class Job(QueueMessage, Base)``. Works with DeclarativeBase, MappedAsDataclass, imperative
    mapping onto a Queue, and single-table inheritance (a type column in the key as ``polymorphic_on``).
    Besides the mapped columns an instance has

    - ``delay`` (timedelta, counted by the database's clock) or ``deliver_at`` (aware datetime): set one of
      them before sending, as an argument of the constructor or as an attribute;
    - ``deliver_time``: when the message is due (aware, UTC), as the database says once it is sent;
    - ``lease``: of a received message.

    A message cannot be changed once it is sent: MessageImmutable names ``reschedule()``.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    __queue__: ClassVar[QueueOptions] = QueueOptions()

    if TYPE_CHECKING:
        deliver_time: Any

    @classmethod
    def __table_cls__(cls, name: str, metadata: MetaData, *args: Any, **kw: Any) -> Table:
        options = cls.__queue__
        return Queue(
            name,
            metadata,
            *args,
            interleave_in=options.interleave_in,
            in_parent=options.in_parent,
            on_delete=options.on_delete,
            row_deletion=options.row_deletion,
            options=options.options,
            descending=options.descending,
            hidden=options.hidden,
            commit_timestamps=options.commit_timestamps,
            **kw,
        )

    def __init_subclass__(cls, **kw: Any) -> None:
        super().__init_subclass__(**kw)
        _mapping.accept_deliver_arguments(cls)

    @property
    def delay(self) -> timedelta | None:
        """Set how long after the commit's INSERT the message is due, by the database's clock.

        Example: ``message.delay = timedelta(minutes=5)``. Raises DeliverTimeError for a negative delay or
        when ``deliver_at`` is set too.
        """
        planned = _mapping.planned(self)
        return planned.by if isinstance(planned, Delay) else None

    @delay.setter
    def delay(self, value: timedelta | None) -> None:
        _mapping.plan(self, None if value is None else Delay(value), Delay)

    @property
    def deliver_at(self) -> datetime | None:
        """Set the instant at which the message is due, as an aware datetime.

        Example: ``message.deliver_at = datetime(2027, 1, 1, tzinfo=timezone.utc)``. Raises DeliverTimeError
        for a naive datetime or when ``delay`` is set too.
        """
        planned = _mapping.planned(self)
        return planned if isinstance(planned, datetime) else None

    @deliver_at.setter
    def deliver_at(self, value: datetime | None) -> None:
        _mapping.plan(self, None if value is None else aware(value), datetime)

    @property
    def lease(self) -> Lease:
        """Return the lease of a received message; raise SpannerQueuesError if it was not received.

        Example: ``message.lease.raise_if_lost()``.
        """
        lease = self.__dict__.get("_queue_lease")
        if not isinstance(lease, Lease):
            raise SpannerQueuesError(f"{self!r} has no lease: only a Receiver gives one")
        return lease


def message_key(name: str = "MessageId", *, length: int = 36, **dataclass_options: Any) -> MappedColumn[str]:
    """Return a key column of random ids: STRING(36), a new uuid4 for each message by default.

    Example: ``message_id: Mapped[str] = message_key("MessageId")``. ``length`` counts characters. Give the
    message a value of its own to make the key a deduplication key. With MappedAsDataclass the options of its
    fields are taken too: ``message_key("MessageId", init=False)``, or ``default_factory=``.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    return mapped_column(
        name, String(length), primary_key=True, insert_default=lambda: str(uuid4()), **dataclass_options
    )


def payload_column(payload: PayloadType[T], **dataclass_options: Any) -> MappedColumn[T]:
    """Return the payload column of a queue model, of a payload type.

    Example: ``payload: Mapped[Welcome] = payload_column(Json(Welcome))``. Payloads under 4 KB are
    recommended. With MappedAsDataclass the options of its fields are taken too.

    https://docs.cloud.google.com/spanner/docs/queues/queues-overview
    """
    return mapped_column(PAYLOAD, payload, nullable=False, **dataclass_options)


_mapping.listen(QueueMessage)
