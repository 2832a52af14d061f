"""RECEIVE and RENEWLEASE as SQL constructs, for both dialects of Spanner.

::

    messages = receive(UserTask, max_batch_size=20, max_duration=timedelta(minutes=20))
    select(messages.c.payload, messages.c.lease_token).select_from(messages).where(messages.c.UserId == 7)

They compile anywhere; Spanner runs RECEIVE only as a strong, single-use, streamed query, which a Session does
not give. ``Receiver`` does, and keeps the leases.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Boolean, ColumnClause, LargeBinary, String, TableValuedAlias, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from .columns import Instant
from .ddl import queue_of
from .definition import DELIVER_TIME, QueueDefinition, definition_of
from .dialects import for_dialect
from .dialects.base import ReceiveArguments


class LeaseColumn(ColumnClause[Any]):
    """A column of the functions whose name follows the dialect."""

    inherit_cache = True


class _Receive(FunctionElement[Any]):
    name = "receive"
    inherit_cache = False

    def __init__(self, queue: QueueDefinition, arguments: ReceiveArguments) -> None:
        super().__init__()
        self.queue = queue
        self.arguments = arguments


class _Renew(FunctionElement[Any]):
    name = "renew_lease"
    inherit_cache = False

    def __init__(self, queue: QueueDefinition, tokens: Sequence[str | bytes]) -> None:
        kind = LargeBinary() if tokens and isinstance(tokens[0], bytes) else String()
        super().__init__(*[bindparam(None, token, type_=kind, unique=True) for token in tokens])
        self.queue = queue


def receive(
    target: Any,
    *,
    max_batch_size: int | None = None,
    max_duration: timedelta | None = None,
    priority: int | str | None = None,
) -> TableValuedAlias:
    """Return the RECEIVE function of a queue as a FROM clause.

    ``target`` is a mapped class or a Queue. ``max_batch_size`` counts messages; the stream ends after
    ``max_duration``; ``priority`` is passed through. Columns: the keys, ``payload``, ``deliver_time``,
    ``lease_expiration`` (a timestamp), ``lease_token`` (opaque), ``last_in_batch`` (true on a batch's last
    row). ::

        messages = receive(UserTask, max_batch_size=20)
        statement = select(messages).where(messages.c.UserId == 7)

    Raises ValueError for a batch size under 1 or a duration under one second; compiling it for a database
    without such a function raises UnsupportedDialect.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    definition = definition_of(queue_of(target))
    function = _Receive(definition, ReceiveArguments(max_batch_size, max_duration, priority))
    return function.table_valued(*_message_columns(definition), *_lease_columns(), name="messages")


def renew_lease(target: Any, tokens: Sequence[str | bytes]) -> TableValuedAlias:
    """Return the RENEWLEASE function of a queue as a FROM clause.

    One row for each token that is known: ``old_lease_token``, ``new_lease_token`` (NULL when the message
    is acknowledged already), ``lease_expiration``. Match the rows by old token. ::

        renewed = renew_lease(UserTask, [token])
        select(renewed.c.new_lease_token)

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """
    columns = (
        LeaseColumn("SpannerOldLeaseToken", String()),
        LeaseColumn("SpannerNewLeaseToken", String()),
        LeaseColumn("SpannerLeaseExpirationTimestamp", Instant()),
    )
    for column, key in zip(columns, ("old_lease_token", "new_lease_token", "lease_expiration"), strict=True):
        column.key = key
    return _Renew(definition_of(queue_of(target)), tokens).table_valued(*columns, name="renewed")


def _message_columns(queue: QueueDefinition) -> list[ColumnClause[Any]]:
    columns = [ColumnClause(column.name, column.type) for column in (*queue.keys, queue.payload)]
    for column, source in zip(columns, (*queue.keys, queue.payload), strict=True):
        column.key = source.key
    deliver_time = LeaseColumn(DELIVER_TIME, Instant())
    deliver_time.key = "deliver_time"
    return [*columns, deliver_time]


def _lease_columns() -> list[ColumnClause[Any]]:
    columns = [
        LeaseColumn("SpannerLeaseExpirationTimestamp", Instant()),
        LeaseColumn("SpannerLeaseToken", String()),
        LeaseColumn("SpannerLastBatchMessage", Boolean()),
    ]
    for column, key in zip(columns, ("lease_expiration", "lease_token", "last_in_batch"), strict=True):
        column.key = key
    return list(columns)


@compiles(_Receive)
def _compile_receive(element: _Receive, compiler: SQLCompiler, **_kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "RECEIVE")
    return seam.receive_sql(element.queue.name, compiler.preparer, element.arguments)


@compiles(_Renew)
def _compile_renew(element: _Renew, compiler: SQLCompiler, **kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "RENEWLEASE")
    binds = [compiler.process(token, **kw) for token in element.clauses]
    return seam.renew_sql(element.queue.name, compiler.preparer, seam.token_array_sql(binds))


@compiles(LeaseColumn)
def _compile_lease_column(element: LeaseColumn, compiler: SQLCompiler, **kw: Any) -> str:
    text = compiler.visit_column(element, **kw)
    if not isinstance(element.table, TableValuedAlias):
        return text  # a subquery's column has the name that SQLAlchemy gave it
    seam = for_dialect(compiler.dialect, "a lease column")
    return seam.lease_column_sql(element.name, text)
