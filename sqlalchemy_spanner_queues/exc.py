"""Errors of the package: one root, and the data of each in its attributes.

Every error says what to do next. Errors of SQLAlchemy, of the driver and of Google's client are kept and
chained as the cause. ::

    try:
        session.commit()
    except MessageAlreadyAcknowledged as error:
        log.info("another worker finished %s %s", error.queue, error.keys)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.exc import DontWrapMixin

KeyValues = Mapping[str, object]


class SpannerQueuesError(DontWrapMixin, Exception):
    """Every error that this package raises by itself.

    Example: ``except SpannerQueuesError`` catches all of them and nothing of SQLAlchemy's own. They reach the
    caller as they are, not inside a StatementError, and can be pickled.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__.copy())


def _restore(kind: type[SpannerQueuesError], arguments: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


class QueueDefinitionError(SpannerQueuesError):
    """A queue breaks a rule of CREATE QUEUE; raised where the queue is declared.

    Example: ``Queue("Tasks", metadata, Column("k", String), payload=Json())``, whose column is no key.
    ``queue`` is the queue's name, ``rule`` the rule that it breaks, ``fix`` what to write instead.

    The rules: https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    def __init__(self, queue: str, rule: str, fix: str) -> None:
        super().__init__(f"queue {queue!r}: {rule}; {fix}")
        self.queue = queue
        self.rule = rule
        self.fix = fix


class UnsupportedDialect(SpannerQueuesError):
    """A queue was used with a database that has none.

    Example: ``metadata.create_all(create_engine("mysql://..."))``. ``dialect`` is the name of the SQLAlchemy
    dialect; ``doing`` says what was tried.
    """

    def __init__(self, dialect: str, doing: str) -> None:
        super().__init__(
            f"{doing} is not possible with the SQLAlchemy dialect {dialect!r}; queues work with Spanner"
            " ('spanner+spanner://' and, for PostgreSQL-dialect databases, 'postgresql+psycopg://')"
            " and with 'sqlite://'"
        )
        self.dialect = dialect
        self.doing = doing


class PayloadError(SpannerQueuesError):
    """A payload cannot be encoded for the database, or what the database holds cannot be decoded.

    Example: sending a tuple in ``Json()``, which would come back as a list. ``raw`` is the stored value,
    untouched (bytes, str or plain JSON), or the Python value that could not be encoded; ``codec`` is the
    payload type in words.
    """

    def __init__(self, message: str, *, raw: object, codec: str) -> None:
        super().__init__(message)
        self.raw = raw
        self.codec = codec


class MessageImmutable(SpannerQueuesError):
    """A message that was sent already was about to be changed; nothing was written.

    Example: ``message.payload = b"other"``. Queues do not support UPDATE: use ``reschedule(session, message,
    ...)``, which deletes the message and sends it anew in one transaction. ``queue`` is the queue's name,
    ``attribute`` what was to be changed.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, queue: str, attribute: str) -> None:
        super().__init__(
            f"a message of queue {queue!r} cannot be changed once it is sent (tried: {attribute});"
            " use reschedule(session, message, delay=..., payload=...), which deletes it and sends it anew"
            " in the same transaction"
        )
        self.queue = queue
        self.attribute = attribute


class MessageAlreadyAcknowledged(SpannerQueuesError):
    """The message to acknowledge is not in the queue any more: somebody else finished it.

    Example: two workers finish one message, and one of them is late. The transaction cannot commit after this
    error: roll it back, and drop the message without repeating its work. ``queue`` is the queue's name,
    ``keys`` the keys of the messages of the failed statement (at least one of them is gone).

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, queue: str, keys: Sequence[KeyValues]) -> None:
        which = ", ".join(str(dict(key)) for key in keys) or "a message"
        super().__init__(
            f"{which} of queue {queue!r} was acknowledged already; this transaction cannot commit: roll it"
            " back and do not repeat its work"
        )
        self.queue = queue
        self.keys = list(keys)


class MessageAlreadyExists(SpannerQueuesError):
    """A message with this key waits in the queue already; nothing of this transaction can commit.

    Example: ``session.add(Job(key="a"))`` while the message "a" is pending. ``queue`` is the queue's name,
    ``keys`` the keys of the messages of the failed statement (at least one of them exists). Use
    ``send_many(..., on_conflict="skip")`` where this is expected.
    """

    def __init__(self, queue: str, keys: Sequence[KeyValues]) -> None:
        which = ", ".join(str(dict(key)) for key in keys) or "a message"
        super().__init__(
            f"{which} exists in queue {queue!r} already; roll back, or send with"
            " send_many(session, [...], on_conflict='skip')"
        )
        self.queue = queue
        self.keys = list(keys)


class LeaseLost(SpannerQueuesError):
    """The lease of a message is not ours any more: it may be delivered to somebody else at any time.

    Example: ``message.lease.raise_if_lost()``. Stop working on the message and leave it unacknowledged.
    ``queue`` is the queue's name, ``keys`` the message's key, ``reason`` how the loss was noticed.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, queue: str, keys: KeyValues, reason: str) -> None:
        super().__init__(f"the lease of {dict(keys)} of queue {queue!r} is lost: {reason}")
        self.queue = queue
        self.keys = dict(keys)
        self.reason = reason


class CommitOutcomeUnknown(SpannerQueuesError):
    """A commit ended without an answer: it may have been applied or not.

    Example: the connection broke while ``receiver.processing(message)`` committed. Do not run the work again
    in place. Because the acknowledgment is part of the transaction, the message is gone if it was applied and
    is delivered again if it was not. ``queue`` and ``keys`` name the message.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, queue: str, keys: KeyValues) -> None:
        super().__init__(
            f"the commit that acknowledges {dict(keys)} of queue {queue!r} may have been applied or not; do"
            " not repeat its work here: Spanner delivers the message again if it was not"
        )
        self.queue = queue
        self.keys = dict(keys)


class NotTransactional(SpannerQueuesError):
    """The sessions commit each statement by itself: work and acknowledgment cannot commit together.

    Example: ``create_engine(url, isolation_level="AUTOCOMMIT")``. Give the receiver or worker an engine, or a
    ``session_factory``, with transactions. ``queue`` is the queue's name.
    """

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"the engine works in AUTOCOMMIT: the work on a message of {queue!r} and its acknowledgment would"
            " not commit together; use one with transactions, or session_factory="
        )
        self.queue = queue


class TransactionAborted(SpannerQueuesError):
    """Spanner aborted a transaction, and nothing of it was applied; run it again as a whole.

    Example: two transactions wrote the same rows. The worker does so by itself, a bounded number of times.

    https://docs.cloud.google.com/spanner/docs/transactions
    """

    def __init__(self) -> None:
        super().__init__("the transaction was aborted; nothing of it was applied: run it again as a whole")


class HandlerError(SpannerQueuesError):
    """A handler was declared in a way that cannot work; raised where it is declared.

    Example: ``retry=RetryPolicy()`` without ``dead_letter=``, which says where a message goes in the end.
    ``handler`` is the function's name, ``problem`` what is wrong and ``fix`` what to write instead.
    """

    def __init__(self, handler: str, problem: str, fix: str) -> None:
        super().__init__(f"handler {handler!r}: {problem}; {fix}")
        self.handler = handler
        self.problem = problem
        self.fix = fix


class UnknownMessageType(SpannerQueuesError):
    """A message arrived for whose type the worker has no handler; it stays in the queue.

    Example: a queue with handlers for "resize" and "crop" delivers a "rotate". ``queue`` and ``keys`` name
    the message, ``type`` is what it has, ``known`` what there are handlers for.
    """

    def __init__(self, queue: str, keys: KeyValues, type: object, known: Sequence[object]) -> None:
        super().__init__(
            f"{dict(keys)} of queue {queue!r} is of the type {type!r}, for which this worker has no handler"
            f" (has: {', '.join(map(repr, known)) or 'none'}); it stays in the queue and is delivered"
            " again: add a handler, or one without type= that takes the rest"
        )
        self.queue = queue
        self.keys = dict(keys)
        self.type = type
        self.known = list(known)


class ForkedProcess(SpannerQueuesError):
    """Something was started before the process forked, and is used in the child, where its threads are gone.

    Example: a Worker that runs when its process forks. ``what`` names it. Fork first, and make the engine,
    the receivers and the workers in the child.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} was started before this process forked, and cannot be used in the child: fork first,"
            " then make the engine and start receivers and workers"
        )
        self.what = what


class EmulatorError(SpannerQueuesError):
    """The local emulator could not be started, or did not answer."""


class EmulatorNotFound(EmulatorError):
    """No official Spanner emulator was found to put the gateway in front of."""


class DeliverTimeError(SpannerQueuesError, ValueError):
    """A deliver time is naive, is given twice, or a delay is negative; nothing was written.

    Example: ``Job(deliver_at=datetime(2027, 1, 1))``. Give ``deliver_at=`` as a timezone-aware datetime, or
    ``delay=`` as a timedelta of 0 or more.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
