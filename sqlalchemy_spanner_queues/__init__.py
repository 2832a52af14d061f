"""Google Cloud Spanner queues as a natural part of SQLAlchemy.

Declare a queue as a model, send by ``session.add()``, receive mapped messages, acknowledge in the transaction
of the work. Official documentation: https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

import typing

from ._version import __version__
from .ddl import AlterQueue, CreateQueue, DropQueue, GrantQueue, RevokeQueue
from .exc import (
    CommitOutcomeUnknown,
    DeliverTimeError,
    HandlerError,
    LeaseLost,
    MessageAlreadyAcknowledged,
    MessageAlreadyExists,
    MessageImmutable,
    PayloadError,
    QueueDefinitionError,
    SpannerQueuesError,
    UnsupportedDialect,
)
from .functions import receive, renew_lease
from .message import Lease
from .orm import QueueMessage, QueueOptions, message_key, payload_column
from .outbox import acknowledge, reschedule, send_many
from .payload import Bytes, Json, Proto, Text
from .receiver import Receiver
from .schema import Queue

if typing.TYPE_CHECKING:
    from .worker import Ack, DeadLetter, Discard, Retry, RetryPolicy, Worker

__all__ = [
    "Ack",
    "AlterQueue",
    "Bytes",
    "CommitOutcomeUnknown",
    "CreateQueue",
    "DeadLetter",
    "DeliverTimeError",
    "Discard",
    "DropQueue",
    "GrantQueue",
    "HandlerError",
    "Json",
    "Lease",
    "LeaseLost",
    "MessageAlreadyAcknowledged",
    "MessageAlreadyExists",
    "MessageImmutable",
    "PayloadError",
    "Proto",
    "Queue",
    "QueueDefinitionError",
    "QueueMessage",
    "QueueOptions",
    "Receiver",
    "Retry",
    "RetryPolicy",
    "RevokeQueue",
    "SpannerQueuesError",
    "Text",
    "UnsupportedDialect",
    "Worker",
    "__version__",
    "acknowledge",
    "message_key",
    "payload_column",
    "receive",
    "renew_lease",
    "reschedule",
    "send_many",
]


def __getattr__(name: str) -> object:
    # Who only sends does not load the worker.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import worker

    return getattr(worker, name)
