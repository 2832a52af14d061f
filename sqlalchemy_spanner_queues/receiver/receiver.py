"""The receiver: mapped messages as they are delivered, with leases kept while they are worked on."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from ..dialects import for_dialect
from ..dialects.base import ReceiveArguments
from ..exc import ForkedProcess
from ..message import Lease, UndecodablePayload
from ..orm import QueueMessage
from ..outbox import acknowledge
from . import keepers
from .finishing import commit, require_transaction
from .keeper import LeaseKeeper
from .reader import Arrived, Reader
from .rows import MessageFactory
from .transport import ReceivedRow, ReceiveRequest
from .transports import transport_for

MessageT = TypeVar("MessageT", bound=QueueMessage)

RECOMMENDED_DURATION: Final = timedelta(minutes=20)
LONGEST_LEASE: Final = timedelta(hours=1)


class Receiver(Generic[MessageT]):
    """Receive the messages of one queue as mapped instances.

    ::

        with Receiver(engine, WelcomeEmail) as receiver:
            for message in receiver:
                with receiver.processing(message) as session:
                    session.get(User, message.user_id).welcomed = True

    A message is handed over as soon as it arrives: detached, fully loaded, readable before and after its
    acknowledgment, with ``message.lease``. Its lease is renewed in the background until ``processing`` ends,
    the next message is asked for, or ``max_lease`` is over; without an acknowledgment it is delivered again.

    - ``max_batch_size``: how many messages the database sends at once; they are read, and their leases
      kept, while the first of them is worked on. The next batch is read when the last one is taken.
    - ``max_duration``: how long one stream lasts before it is opened anew, 20 minutes as recommended.
    - ``priority``: passed through to RECEIVE.
    - ``where``: a filter over the queue's columns, applied before messages are leased.
    - ``spanner_database``: the full path ``projects/…/databases/…`` where the engine cannot tell it.
    - ``session_factory``: makes the sessions of ``processing``; by default ``Session(engine)``.

    Streams that break are opened again with a jittered pause; a missing permission or queue and other lasting
    errors are raised to the loop. Use one receiver in one thread; ``stop()`` may come from any.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(
        self,
        engine: Engine,
        model: type[MessageT],
        *,
        max_batch_size: int | None = None,
        max_duration: timedelta = RECOMMENDED_DURATION,
        priority: int | str | None = None,
        where: ColumnElement[bool] | None = None,
        max_lease: timedelta = LONGEST_LEASE,
        spanner_database: str | None = None,
        session_factory: Callable[[], Session] | None = None,
    ) -> None:
        ReceiveArguments(max_batch_size, max_duration, priority)
        self._pid = os.getpid()
        self._engine = engine
        self._factory = MessageFactory(model)
        self._request = ReceiveRequest(max_batch_size, max_duration, priority, self._factory.only(where))
        self._max_lease = max_lease.total_seconds()
        self._spanner_database = spanner_database
        self._session_factory = session_factory or (lambda: Session(engine))
        self._seam = for_dialect(engine.dialect, "receiving messages")
        self._reader: Reader[MessageT] | None = None
        self._keeper: LeaseKeeper | None = None
        self._handed: list[Arrived[MessageT]] = []

    def __enter__(self) -> Receiver[MessageT]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __iter__(self) -> Iterator[MessageT]:
        """Yield messages as they arrive, until ``stop()``.

        Asking for the next message ends the renewal of the one before.
        """
        for arrived in self._arrivals():
            self._hand_over([arrived])
            yield arrived.item

    def batches(self) -> Iterator[list[MessageT]]:
        """Yield lists of messages that the database sent together, until ``stop()``.

        A batch ends at the last-in-batch mark and holds at most ``max_batch_size`` messages. Asking for the
        next batch ends the renewal of the one before. ::

            for batch in receiver.batches():
                with Session(engine) as session, session.begin():
                    acknowledge(session, *batch)

        https://docs.cloud.google.com/spanner/docs/queues/queues-using
        """
        batch: list[Arrived[MessageT]] = []
        for arrived in self._arrivals():
            batch.append(arrived)
            if arrived.last:
                usable, batch = [one for one in batch if not one.lease.is_lost], []
                self._hand_over(usable)
                yield [one.item for one in usable]

    @contextmanager
    def processing(self, message: MessageT) -> Generator[Session]:
        """Give a Session whose commit contains the work and the acknowledgment, or neither.

        ::

            with receiver.processing(message) as session:
                session.add(Receipt(order_id=message.order_id))

        Leaving the block acknowledges the message and commits; an error rolls back, ends the renewal of the
        lease and is raised: the message is delivered again. Do not call the outside world in the block.

        Raises LeaseLost when the lease is lost before the commit, PayloadError for a payload that cannot be
        decoded, MessageAlreadyAcknowledged when somebody else was first, CommitOutcomeUnknown when the commit
        got no answer, NotTransactional for sessions that commit statement by statement.

        https://docs.cloud.google.com/spanner/docs/queues/queues-using
        """
        lease = message.lease
        try:
            _require_payload(message, self._factory)
            lease.raise_if_lost()
            with self._session_factory() as session:
                require_transaction(session, self._factory.queue, self._seam)
                yield session
                self._finish(session, message, lease)
        finally:
            if self._keeper is not None:
                self._keeper.release(lease)

    def stop(self) -> None:
        """Stop receiving, from any thread; returns within two seconds.

        Example: ``signal.signal(SIGTERM, lambda *_: receiver.stop())``. The loop over the receiver ends.
        Messages that were not acknowledged are delivered again once their leases run out, 10 seconds at the
        most after the last renewal.
        """
        reader, keeper, self._keeper = self._reader, self._keeper, None
        if reader is not None:
            reader.stop()
        if keeper is not None:
            keepers.release(self._engine.dialect, self._factory.queue.name, keeper)

    def _arrivals(self) -> Iterator[Arrived[MessageT]]:
        reader = self._start()
        while (arrived := reader.take()) is not None:
            if self._keeper is not None and self._keeper.failure is not None:
                raise self._keeper.failure
            yield arrived

    def _start(self) -> Reader[MessageT]:
        if self._pid != os.getpid():
            raise ForkedProcess(f"a Receiver of {self._factory.queue.name!r}")
        if self._reader is None:
            self._keeper = keepers.acquire(self._engine.dialect, self._factory.queue.name, self._new_keeper)
            self._reader = Reader(
                self._transport(), lambda: self._request, self._keeper, self._max_lease, self._make_message
            )
            self._reader.start()
        return self._reader

    def _new_keeper(self) -> LeaseKeeper:
        return LeaseKeeper(self._transport())

    def _transport(self) -> Any:
        return transport_for(self._engine, self._factory.queue, self._spanner_database)

    def _make_message(self, row: ReceivedRow) -> tuple[MessageT, Lease]:
        message: Any = self._factory(row)
        return message, message.lease

    def _hand_over(self, arrived: list[Arrived[MessageT]]) -> None:
        """Note what the caller works on, and let go of what it had before."""
        previous, self._handed = self._handed, arrived
        if self._keeper is not None:
            for one in previous:
                self._keeper.release(one.lease)

    def _finish(self, session: Session, message: MessageT, lease: Lease) -> None:
        lease.raise_if_lost()
        acknowledge(session, message)
        session.flush()
        if self._keeper is not None:
            self._keeper.finishing(lease)
        commit(session, self._seam, lease)


def _require_payload(message: QueueMessage, factory: MessageFactory) -> None:
    payload = message.__dict__.get(factory.payload_name)
    if isinstance(payload, UndecodablePayload):
        raise payload.error
