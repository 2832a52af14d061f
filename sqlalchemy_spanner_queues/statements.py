"""The statements of a queue: an INSERT that sends, a DELETE that acknowledges, both failing closed.

``queue.insert()`` and ``queue.delete()`` return them; the unit of work uses the same two. A plain
``sqlalchemy.delete(queue)`` stays what it is: a way to purge messages without saying that they are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import CursorResult, Delete, Insert, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles

from .definition import find_definition
from .dialects import Failure, for_dialect
from .exc import MessageAlreadyAcknowledged, MessageAlreadyExists, SpannerQueuesError

Parameters = Sequence[dict[str, Any]]

ErrorT = TypeVar("ErrorT", bound=Exception)

_failed: WeakKeyDictionary[Connection, Exception] = WeakKeyDictionary()


class QueueInsert(Insert):
    """Send messages; a key that is in the queue already raises MessageAlreadyExists."""

    inherit_cache = True

    def _execute_on_connection(
        self, connection: Connection, distilled_params: Any, execution_options: Any
    ) -> CursorResult[Any]:
        try:
            return super()._execute_on_connection(connection, distilled_params, execution_options)
        except DBAPIError as error:
            if _classify(connection, error) is not Failure.DUPLICATE:
                raise
            keys = _keys(self.table, distilled_params)
            raise _refuse_commit(connection, MessageAlreadyExists(_name(self.table), keys)) from error


class QueueDelete(Delete):
    """Acknowledge one message by its full key; a message that is gone raises MessageAlreadyAcknowledged.

    After that error, or any other of this statement, the connection's transaction cannot commit: it is rolled
    back instead.
    """

    inherit_cache = True

    def _execute_on_connection(
        self, connection: Connection, distilled_params: Any, execution_options: Any
    ) -> CursorResult[Any]:
        try:
            result = super()._execute_on_connection(connection, distilled_params, execution_options)
        except Exception as error:
            if _classify(connection, error) is Failure.GONE:
                raise self._gone(connection, distilled_params) from error
            # Whatever it was, the work around it must not commit without it.
            _refuse_commit(connection, error)
            raise
        if for_dialect(connection.dialect).GUARD_BY_ROWCOUNT and result.rowcount != max(
            len(distilled_params), 1
        ):
            raise self._gone(connection, distilled_params)
        return result

    def _gone(self, connection: Connection, parameters: Parameters) -> SpannerQueuesError:
        keys = _keys(self.table, parameters)
        return _refuse_commit(connection, MessageAlreadyAcknowledged(_name(self.table), keys))


@compiles(QueueDelete)
def _compile_delete(element: QueueDelete, compiler: Any, **kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "acknowledging a message")
    text = str(compiler.visit_delete(element, **kw))
    if not element.returning_column_descriptions:
        return text + seam.GUARD
    head, word, columns = text.rpartition(seam.RETURNING)
    return head + seam.GUARD + word + columns


@compiles(QueueInsert)
def _compile_insert(element: QueueInsert, compiler: Any, **kw: Any) -> str:
    seam = for_dialect(compiler.dialect, "sending a message")
    return seam.insert_sql(str(compiler.visit_insert(element, **kw)))


def _classify(connection: Connection, error: Exception) -> Failure | None:
    return for_dialect(connection.dialect).classify(error)


def _name(table: Any) -> str:
    return str(table.name)


def _keys(table: Any, parameters: Parameters) -> list[dict[str, object]]:
    """Return the keys among a statement's parameters, as far as they are there by name."""
    definition = find_definition(table)
    columns = definition.keys if definition is not None else ()
    return [
        {column.key: row[column.key] for column in columns}
        for row in parameters
        if columns and all(column.key in row for column in columns)
    ]


def _refuse_commit(connection: Connection, error: ErrorT) -> ErrorT:
    """Make the connection's transaction end in a rollback, whatever its user catches."""
    if connection not in _failed and not event.contains(connection, "commit", _roll_back_instead):
        event.listen(connection, "commit", _roll_back_instead)
        event.listen(connection, "rollback", _forget)
    _failed[connection] = error
    return error


def _roll_back_instead(connection: Connection) -> None:
    error = _failed.pop(connection, None)
    if error is not None:
        # SQLAlchemy takes a failed commit for the end of the transaction and would not roll back itself.
        connection.dialect.do_rollback(connection.connection)
        raise error


def _forget(connection: Connection) -> None:
    _failed.pop(connection, None)
