"""PostgreSQL-dialect databases of Spanner.

https://docs.cloud.google.com/spanner/docs/reference/postgresql/data-definition-language
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import TIMESTAMP, Column, ColumnElement, LargeBinary, Text, func
from sqlalchemy.dialects.postgresql import JSONB, VARCHAR
from sqlalchemy.engine import Connection
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer
from sqlalchemy.types import TypeEngine

from .._wire import Wire
from ..definition import DELIVER_TIME, Interleave, OptionValue, QueueDefinition
from ..exc import UnsupportedDialect
from . import _text
from ._errors import has_type, mentions
from .base import Alteration, Failure, Privilege, ReceiveArguments

ENGINE: Literal["spanner", "sqlite"] = "spanner"
GUARD: str = " ASSERT_ROWS_MODIFIED 1"
RETURNING: str = " RETURNING "
GUARD_BY_ROWCOUNT: bool = False
RENEW_PARAMETER: str = "$1"


def create_queue(queue: QueueDefinition, compiler: DDLCompiler, if_not_exists: bool) -> str:
    preparer = compiler.preparer
    columns = [_key_text(queue, column, compiler) for column in queue.keys]
    payload = _text.type_text(compiler, queue.payload).lower()
    columns.append(f"payload {payload} NOT NULL{' HIDDEN' if 'payload' in queue.hidden else ''}")
    columns.append(f"PRIMARY KEY ({', '.join(preparer.quote(c.name) for c in queue.keys)})")
    head = _text.create_head(queue, preparer.quote, if_not_exists)
    return " ".join([head + "\n  " + ",\n  ".join(columns) + ")", *_trailing(queue, preparer)])


def drop_queue(queue: QueueDefinition, preparer: IdentifierPreparer, if_exists: bool) -> str:
    return _text.drop_text(queue, preparer.quote, if_exists)


def alter_queue(queue: QueueDefinition, preparer: IdentifierPreparer, change: Alteration) -> str:
    if change.options is None:
        raise UnsupportedDialect("postgresql", "ALTER QUEUE with anything but SET OPTIONS")
    if "receive_mode" in change.options:
        raise UnsupportedDialect("postgresql", "altering receive_mode")
    options = _text.option_list(change.options, _literal)
    return f"ALTER QUEUE {preparer.quote(queue.name)} SET OPTIONS ({options})"


def grant(
    queue: QueueDefinition,
    preparer: IdentifierPreparer,
    role: str,
    privileges: Sequence[Privilege],
    revoke: bool,
) -> str:
    functions = [_function(preparer, prefix, queue.name) for prefix in ("receive", "renewlease")]
    named = [f"FUNCTION {name}" for name in functions]
    granted = _text.granted(privileges, preparer.quote(queue.name), named)
    return _text.grant_text(granted, preparer.quote(role), revoke)


def after_create(queue: QueueDefinition, connection: Connection) -> None:
    """Do nothing: Spanner makes the queue complete."""


def after_drop(queue: QueueDefinition, connection: Connection) -> None:
    """Do nothing: Spanner leaves nothing of the queue behind."""


def payload_type(wire: Wire) -> TypeEngine[Any]:
    if wire.kind == "text":
        return Text() if wire.length is None else VARCHAR(wire.length)
    if wire.kind == "json":
        return JSONB()
    return LargeBinary()


def deliver_time_type() -> TypeEngine[Any]:
    return TIMESTAMP(timezone=True)


def deliver_time_sql(bind: str) -> str:
    # Intervals are text here: Spanner's PostgreSQL dialect has no parameters of that type.
    micros = f"CAST({bind} AS text) || ' microseconds'"
    epoch = "CAST('1970-01-01 00:00:00+00' AS timestamptz)"
    return (
        f"CASE WHEN {bind} > 0 THEN spanner.timestamptz_add({epoch}, {micros})"
        f" ELSE spanner.timestamptz_subtract(CURRENT_TIMESTAMP, {micros}) END"
    )


def clock_offset(dialect: object) -> timedelta:
    """Return zero: the database's own clock counts the delay."""
    return timedelta(0)


def system_column_sql(text: str) -> str:
    return text.replace(f'"{DELIVER_TIME}"', "deliver_time")


def lease_column_sql(name: str, text: str) -> str:
    if name == DELIVER_TIME:
        return system_column_sql(text)
    return text.replace(f'"{name}"', _snake_case(name))


def insert_sql(text: str) -> str:
    # The column list is written from the column's name alone. No other identifier can be this one (it is
    # refused as a key), and values are bound.
    return text.replace(f'"{DELIVER_TIME}"', "deliver_time", 1)


def receive_sql(name: str, preparer: IdentifierPreparer, arguments: ReceiveArguments) -> str:
    batch = "NULL" if arguments.max_batch_size is None else str(arguments.max_batch_size)
    duration = "NULL" if arguments.duration_text is None else string_literal(arguments.duration_text)
    return (
        f"{_function(preparer, 'receive', name)}(max_batch_size => {batch},"
        f" priority => {_argument(arguments.priority)}, max_duration => {duration})"
    )


def renew_sql(name: str, preparer: IdentifierPreparer, tokens: str) -> str:
    return f"{_function(preparer, 'renewlease', name)}(lease_tokens => {tokens})"


def token_array_sql(binds: Sequence[str]) -> str:
    return f"ARRAY[{', '.join(binds)}]"


def classify(error: BaseException) -> Failure | None:
    is_misuse = has_type(error, "InvalidArgument", "ProgrammingError")  # may repeat the statement
    if has_type(error, "OutOfRange") or (mentions(error, "assert_rows_modified") and not is_misuse):
        return Failure.GONE
    if has_type(error, "AlreadyExists", "UniqueViolation") or mentions(
        error, "already exists", "previously existing row"
    ):
        return Failure.DUPLICATE
    return None


def outcome_is_unknown(error: BaseException) -> bool:
    return bool(getattr(error, "connection_invalidated", False))


def is_autocommit(connection: Connection) -> bool:
    driver: Any = connection.connection.driver_connection
    return bool(driver.autocommit)


def is_aborted(error: BaseException) -> bool:
    # SQLSTATE 40001; PGAdapter replays by itself first.
    return mentions(error, "aborted") or has_type(error, "SerializationFailure", "TransactionAborted")


def without_replay(connection: Connection) -> AbstractContextManager[None]:
    return nullcontext()


def commit_turn(connection: Connection) -> AbstractContextManager[None]:
    """Do nothing: any number of transactions commit side by side."""
    return nullcontext()


def stored_payload(wire: Wire, stored: bytes | str) -> tuple[object, TypeEngine[Any]]:
    """Return what is stored of a payload as a value to bind, and its type."""
    value = json.loads(stored) if wire.kind == "json" else stored
    return value, payload_type(wire)


def is_due(queue: QueueDefinition, dialect: object) -> ColumnElement[bool]:
    """Return the condition for messages that may be delivered now, as far as a statement can tell."""
    return queue.deliver_time <= func.current_timestamp()


def before_skip(queue: QueueDefinition, connection: Connection) -> None:
    """Do nothing: a read in a read-write transaction holds off the writers of the same keys."""


def string_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _snake_case(name: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _literal(value: OptionValue) -> str:
    return _text.constant(value, string_literal)


def _argument(value: int | str | None) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else string_literal(value)


def _function(preparer: IdentifierPreparer, prefix: str, queue: str) -> str:
    return f"spanner.{preparer.quote(f'{prefix}_{queue}')}"


def _type_text(compiler: DDLCompiler, column: Column[Any]) -> str:
    text = _text.type_text(compiler, column).lower()
    # The only timestamp type of these databases.
    return "timestamptz" if text.startswith("timestamp") else text


def _key_text(queue: QueueDefinition, column: Column[Any], compiler: DDLCompiler) -> str:
    text = f"{compiler.preparer.quote(column.name)} {_type_text(compiler, column)}"
    if not column.nullable:
        text += " NOT NULL"
    if column.computed is not None:
        text += f" GENERATED ALWAYS AS ({_text.generated_sql(compiler, column.computed)}) STORED"
    return text + (" HIDDEN" if column.name in queue.hidden else "")


def _trailing(queue: QueueDefinition, preparer: IdentifierPreparer) -> list[str]:
    clauses: list[str] = []
    if queue.interleave is not None:
        clauses.append(_interleave_text(queue.interleave, preparer))
    if queue.row_deletion is not None:
        column = preparer.quote(queue.row_deletion.column)
        clauses.append(f"TTL INTERVAL '{queue.row_deletion.days} days' ON {column}")
    options = {name: value for name, value in queue.options.items() if name != "receive_mode"}
    if options:
        clauses.append(f"WITH ({_text.option_list(options, _literal)})")
    return clauses


def _interleave_text(interleave: Interleave, preparer: IdentifierPreparer) -> str:
    text = f"INTERLEAVE IN {'PARENT ' if interleave.in_parent else ''}{preparer.quote(interleave.parent)}"
    return text + (f" ON DELETE {interleave.on_delete}" if interleave.on_delete else "")
