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

KeyValues = Mapping[str, object]


class SpannerQueuesError(Exception):
    """Every error that this package raises by itself.

    Example: ``except SpannerQueuesError`` catches all of them and nothing of SQLAlchemy's own.
    """


class QueueDefinitionError(SpannerQueuesError):
    """A queue breaks a rule of CREATE QUEUE; raised where the queue is declared.

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

    ``dialect`` is the name of the SQLAlchemy dialect; ``doing`` says what was tried.
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

    ``raw`` is the stored value, untouched (bytes, str or plain JSON), or the Python value that could not be
    encoded; ``codec`` is the payload type in words.
    """

    def __init__(self, message: str, *, raw: object, codec: str) -> None:
        super().__init__(message)
        self.raw = raw
        self.codec = codec


class MessageImmutable(SpannerQueuesError):
    """A message that was sent already was about to be changed; nothing was written.

    Queues do not support UPDATE: use ``reschedule(session, message, ...)``, which deletes the message and
    sends it anew in one transaction. ``queue`` is the queue's name, ``attribute`` what was to be changed.

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

    The transaction cannot commit after this error: roll it back, and drop the message without repeating its
    work. ``queue`` is the queue's name, ``keys`` the keys of the messages of the failed statement (at least
    one of them is gone).

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

    ``queue`` is the queue's name, ``keys`` the keys of the messages of the failed statement (at least one
    of them exists). Use ``send_many(..., on_conflict="skip")`` where this is expected.
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

    Stop working on the message and leave it unacknowledged. ``queue`` is the queue's name, ``keys`` the
    message's key, ``reason`` how the loss was noticed.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, queue: str, keys: KeyValues, reason: str) -> None:
        super().__init__(f"the lease of {dict(keys)} of queue {queue!r} is lost: {reason}")
        self.queue = queue
        self.keys = dict(keys)
        self.reason = reason


class CommitOutcomeUnknown(SpannerQueuesError):
    """A commit ended without an answer: it may have been applied or not.

    Do not run the work again in place. Because the acknowledgment is part of the transaction, the message
    is gone if it was applied and is delivered again if it was not. ``queue`` and ``keys`` name the message.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def __init__(self, queue: str, keys: KeyValues) -> None:
        super().__init__(
            f"the commit that acknowledges {dict(keys)} of queue {queue!r} may have been applied or not; do"
            " not repeat its work here: Spanner delivers the message again if it was not"
        )
        self.queue = queue
        self.keys = dict(keys)


class EmulatorError(SpannerQueuesError):
    """The local emulator could not be started, or did not answer."""


class EmulatorNotFound(EmulatorError):
    """No official Spanner emulator was found to put the gateway in front of."""


class DeliverTimeError(SpannerQueuesError, ValueError):
    """A deliver time is naive, is given twice, or a delay is negative; nothing was written.

    Give ``deliver_at=`` as a timezone-aware datetime, or ``delay=`` as a timedelta of 0 or more.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
