"""GoogleSQL databases of Spanner.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import partial
from typing import Any, Final, Literal

from sqlalchemy import Column, ColumnElement, String, func
from sqlalchemy.engine import Connection
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer
from sqlalchemy.types import TypeEngine

from .._wire import Wire
from ..definition import Interleave, OptionValue, QueueDefinition, RowDeletion
from . import _text
from ._errors import has_type, mentions
from ._google_types import GoogleBytes, GoogleJson, GoogleProto, GoogleTimestamp
from ._replay import without_replay as without_replay
from .base import Alteration, Failure, Privilege, ReceiveArguments

ENGINE: Literal["spanner", "sqlite"] = "spanner"
GUARD: str = " ASSERT_ROWS_MODIFIED 1"
RETURNING: str = " THEN RETURN "
GUARD_BY_ROWCOUNT: bool = False
RENEW_PARAMETER: str = "@p1"

_UNKNOWN_OUTCOME: Final = (
    "DeadlineExceeded",
    "ServiceUnavailable",
    "Cancelled",
    "Unknown",
    "InternalServerError",
    "RetryError",
    "ConnectionError",
)


def create_queue(queue: QueueDefinition, compiler: DDLCompiler, if_not_exists: bool) -> str:
    quoted = _quoter(compiler.preparer)
    columns = [_key_text(queue, column, compiler) for column in queue.keys]
    # GoogleSQL ignores the case of names; the documentation writes this one with a capital.
    columns.append(f"Payload {_text.type_text(compiler, queue.payload)} NOT NULL{_hidden(queue, 'payload')}")
    keys = ", ".join(quoted(c.name) + (" DESC" if c.name in queue.descending else "") for c in queue.keys)
    clauses = ", ".join([f"PRIMARY KEY ({keys})", *_trailing(queue, compiler.preparer)])
    return _text.create_head(queue, quoted, if_not_exists) + "\n  " + ",\n  ".join(columns) + f"\n) {clauses}"


def drop_queue(queue: QueueDefinition, preparer: IdentifierPreparer, if_exists: bool) -> str:
    return _text.drop_text(queue, _quoter(preparer), if_exists)


def alter_queue(queue: QueueDefinition, preparer: IdentifierPreparer, change: Alteration) -> str:
    return f"ALTER QUEUE {_text.quote(preparer, queue.name)} {_action(change, preparer)}"


def grant(
    queue: QueueDefinition,
    preparer: IdentifierPreparer,
    role: str,
    privileges: Sequence[Privilege],
    revoke: bool,
) -> str:
    quoted = _quoter(preparer)
    functions = [quoted(f"RECEIVE_{queue.name}"), quoted(f"RENEWLEASE_{queue.name}")]
    granted = _text.granted(privileges, quoted(queue.name), [f"TABLE FUNCTION {name}" for name in functions])
    return _text.grant_text(granted, f"ROLE {quoted(role)}", revoke)


def after_create(queue: QueueDefinition, connection: Connection) -> None:
    """Do nothing: Spanner makes the queue complete."""


def after_drop(queue: QueueDefinition, connection: Connection) -> None:
    """Do nothing: Spanner leaves nothing of the queue behind."""


def payload_type(wire: Wire) -> TypeEngine[Any]:
    if wire.kind == "bytes":
        return GoogleBytes(wire.length)
    if wire.kind == "text":
        return String(wire.length)
    if wire.kind == "json":
        return GoogleJson()
    return GoogleProto(wire.proto_name)


def deliver_time_type() -> TypeEngine[Any]:
    return GoogleTimestamp(timezone=True)


def deliver_time_sql(bind: str) -> str:
    now = "CURRENT_TIMESTAMP()"
    return (
        f"CASE WHEN {bind} > 0 THEN TIMESTAMP_MICROS({bind})"
        f" ELSE TIMESTAMP_SUB({now}, INTERVAL {bind} MICROSECOND) END"
    )


def clock_offset(dialect: object) -> timedelta:
    """Return zero: the database's own clock counts the delay."""
    return timedelta(0)


def system_column_sql(text: str) -> str:
    return text


def lease_column_sql(name: str, text: str) -> str:
    return text


def insert_sql(text: str) -> str:
    return text


def receive_sql(name: str, preparer: IdentifierPreparer, arguments: ReceiveArguments) -> str:
    given = {
        "max_batch_size": arguments.max_batch_size,
        "priority": arguments.priority,
        "max_duration": arguments.duration_text,
    }
    texts = [f"{key} => {_argument(value)}" for key, value in given.items() if value is not None]
    return f"{_text.quote(preparer, f'RECEIVE_{name}')}({', '.join(texts)})"


def renew_sql(name: str, preparer: IdentifierPreparer, tokens: str) -> str:
    return f"{_text.quote(preparer, f'RENEWLEASE_{name}')}(lease_tokens => {tokens})"


def token_array_sql(binds: Sequence[str]) -> str:
    return f"[{', '.join(binds)}]"


def classify(error: BaseException) -> Failure | None:
    """Read a failed statement; a batch reports its error by text alone."""
    is_misuse = has_type(error, "InvalidArgument", "ProgrammingError")  # may repeat the statement
    if has_type(error, "OutOfRange") or (mentions(error, "assert_rows_modified") and not is_misuse):
        return Failure.GONE
    if has_type(error, "AlreadyExists") or mentions(error, "already exists", "previously existing row"):
        return Failure.DUPLICATE
    return None


def outcome_is_unknown(error: BaseException) -> bool:
    return has_type(error, *_UNKNOWN_OUTCOME)


def is_autocommit(connection: Connection) -> bool:
    driver: Any = connection.connection.driver_connection
    return bool(driver.autocommit)


def is_aborted(error: BaseException) -> bool:
    return has_type(error, "Aborted", "RetryAborted", "TransactionAborted")


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
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _quoter(preparer: IdentifierPreparer) -> Callable[[str], str]:
    return partial(_text.quote, preparer)


def _literal(value: OptionValue) -> str:
    return _text.constant(value, string_literal)


def _argument(value: int | str) -> str:
    return str(value) if isinstance(value, int) else string_literal(value)


def _hidden(queue: QueueDefinition, name: str) -> str:
    return " HIDDEN" if name in queue.hidden else ""


def _key_text(queue: QueueDefinition, column: Column[Any], compiler: DDLCompiler) -> str:
    text = f"{_text.quote(compiler.preparer, column.name)} {_text.type_text(compiler, column)}"
    if not column.nullable:
        text += " NOT NULL"
    if column.computed is not None:
        text += f" AS ({_text.generated_sql(compiler, column.computed, string_literal)}) STORED"
    text += _hidden(queue, column.name)
    if column.name in queue.commit_timestamps:
        text += " OPTIONS (allow_commit_timestamp = true)"
    return text


def _trailing(queue: QueueDefinition, preparer: IdentifierPreparer) -> list[str]:
    clauses: list[str] = []
    if queue.interleave is not None:
        clauses.append(_interleave_text(queue.interleave, preparer))
    if queue.row_deletion is not None:
        clauses.append(_policy_text(queue.row_deletion, preparer))
    if queue.options:
        clauses.append(f"OPTIONS ({_text.option_list(dict(queue.options), _literal)})")
    return clauses


def _interleave_text(interleave: Interleave, preparer: IdentifierPreparer) -> str:
    parent = _text.quote(preparer, interleave.parent)
    text = f"INTERLEAVE IN {'PARENT ' if interleave.in_parent else ''}{parent}"
    return text + (f" ON DELETE {interleave.on_delete}" if interleave.on_delete else "")


def _policy_text(policy: RowDeletion, preparer: IdentifierPreparer) -> str:
    column = _text.quote(preparer, policy.column)
    return f"ROW DELETION POLICY (OLDER_THAN({column}, INTERVAL {policy.days} DAY))"


def _action(change: Alteration, preparer: IdentifierPreparer) -> str:
    if change.options is not None:
        return f"SET OPTIONS ({_text.option_list(change.options, _literal)})"
    if change.interleave is not None:
        return f"SET {_interleave_text(change.interleave, preparer)}"
    if change.on_delete is not None:
        return f"SET ON DELETE {change.on_delete}"
    if change.add_row_deletion is not None:
        return f"ADD {_policy_text(change.add_row_deletion, preparer)}"
    if change.replace_row_deletion is not None:
        return f"REPLACE {_policy_text(change.replace_row_deletion, preparer)}"
    return "DROP ROW DELETION POLICY"
