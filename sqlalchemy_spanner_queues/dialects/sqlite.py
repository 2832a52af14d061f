"""SQLite, the embedded mode: a table with lease columns that no model shows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from sqlalchemy import BigInteger, ColumnElement, LargeBinary, Text, literal_column
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer
from sqlalchemy.types import TypeEngine

from .._wire import JsonText, Wire
from ..definition import QueueDefinition
from ..exc import UnsupportedDialect
from ..sqlite_mode.clock import now_micros, offset_micros
from ..sqlite_mode.memory import share_between_threads
from ..sqlite_mode.turn import turn
from ._errors import has_type, mentions
from ._sqlite_ddl import NOW_MICROS, READY, extra_texts, parent_triggers, table_text
from .base import Alteration, Failure, Privilege, ReceiveArguments

ENGINE: Literal["spanner", "sqlite"] = "sqlite"
GUARD: str = ""
RETURNING: str = " RETURNING "
GUARD_BY_ROWCOUNT: bool = True
RENEW_PARAMETER: str = ""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SqliteTimestamp(BigInteger):
    """An instant as microseconds since the epoch: exact, and compared as a number."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return from_micros

    def bind_processor(self, dialect: Dialect) -> Any:
        return to_micros


class SqliteJson(Text):
    """JSON as text; a column of SQLite's type JSON would turn the text 1.0 into the number 1."""

    def bind_processor(self, dialect: Dialect) -> Any:
        return _to_json

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return _from_json


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _from_json(text: str | None) -> JsonText | None:
    # The payload type parses it, and tells what is wrong with it.
    return None if text is None else JsonText(text)


def from_micros(value: int | None) -> datetime | None:
    return None if value is None else EPOCH + timedelta(microseconds=value)


def to_micros(value: datetime | int | None) -> int | None:
    return (value - EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else value


def create_queue(queue: QueueDefinition, compiler: DDLCompiler, if_not_exists: bool) -> str:
    return table_text(queue, compiler, if_not_exists)


def drop_queue(queue: QueueDefinition, preparer: IdentifierPreparer, if_exists: bool) -> str:
    return f"DROP TABLE {'IF EXISTS ' if if_exists else ''}{preparer.quote_identifier(queue.name)}"


def alter_queue(queue: QueueDefinition, preparer: IdentifierPreparer, change: Alteration) -> str:
    raise UnsupportedDialect("sqlite", "ALTER QUEUE")


def grant(
    queue: QueueDefinition,
    preparer: IdentifierPreparer,
    role: str,
    privileges: Sequence[Privilege],
    revoke: bool,
) -> str:
    raise UnsupportedDialect("sqlite", "GRANT and REVOKE")


def after_create(queue: QueueDefinition, connection: Connection) -> None:
    """Add the index and triggers, then let other threads and processes at the database."""
    for text in extra_texts(queue, connection.dialect.identifier_preparer.quote_identifier):
        connection.exec_driver_sql(text)
    _write_ahead(connection)
    share_between_threads(connection)


def after_drop(queue: QueueDefinition, connection: Connection) -> None:
    """Drop the triggers that stand on the parent's table; the others go with the queue's own."""
    quoted = connection.dialect.identifier_preparer.quote_identifier
    for name in parent_triggers(queue):
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {quoted(name)}")


def _write_ahead(connection: Connection) -> None:
    # SQLite cannot change it within a transaction; all works without, only more slowly.
    driver = cast(sqlite3.Connection, connection.connection.driver_connection)
    if not driver.in_transaction:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")


def payload_type(wire: Wire) -> TypeEngine[Any]:
    if wire.kind == "text":
        return Text()
    if wire.kind == "json":
        return SqliteJson()
    return LargeBinary()


def deliver_time_type() -> TypeEngine[Any]:
    return SqliteTimestamp()


def deliver_time_sql(bind: str) -> str:
    return f"CASE WHEN {bind} > 0 THEN {bind} ELSE {NOW_MICROS} - {bind} END"


def clock_offset(dialect: object) -> timedelta:
    """Return what a test moved the clock by: SQLite's own clock knows nothing of it."""
    return timedelta(microseconds=offset_micros(dialect))


def system_column_sql(text: str) -> str:
    return text


def lease_column_sql(name: str, text: str) -> str:
    raise UnsupportedDialect("sqlite", "a lease column in a statement (Receiver gives message.lease)")


def insert_sql(text: str) -> str:
    return text


def receive_sql(name: str, preparer: IdentifierPreparer, arguments: ReceiveArguments) -> str:
    raise UnsupportedDialect("sqlite", "receive() as a statement (use Receiver, which works in every engine)")


def renew_sql(name: str, preparer: IdentifierPreparer, tokens: str) -> str:
    raise UnsupportedDialect("sqlite", "renew_lease() as a statement (Receiver renews by itself)")


def token_array_sql(binds: Sequence[str]) -> str:
    raise UnsupportedDialect("sqlite", "renew_lease() as a statement (Receiver renews by itself)")


def classify(error: BaseException) -> Failure | None:
    return Failure.DUPLICATE if mentions(error, "unique constraint failed") else None


def outcome_is_unknown(error: BaseException) -> bool:
    """Return False: a commit on the local disk answers."""
    return False


def is_autocommit(connection: Connection) -> bool:
    driver: Any = connection.connection.driver_connection
    by_itself = driver.isolation_level is None or getattr(driver, "autocommit", None) is True
    # Some applications begin their transactions themselves.
    return by_itself and not driver.in_transaction


def is_aborted(error: BaseException) -> bool:
    """Return whether somebody else held the database for too long; nothing was written then."""
    return has_type(error, "TransactionAborted") or mentions(
        error, "database is locked", "database table is locked"
    )


def without_replay(connection: Connection) -> AbstractContextManager[None]:
    return nullcontext()


def commit_turn(connection: Connection) -> AbstractContextManager[None]:
    """Wait for this process's turn to write; a transaction that writes already has it."""
    driver = cast(sqlite3.Connection, connection.connection.driver_connection)
    return nullcontext() if driver.in_transaction else turn(connection.dialect)


def stored_payload(wire: Wire, stored: bytes | str) -> tuple[object, TypeEngine[Any]]:
    """Return what is stored of a payload as a value to bind, and its type."""
    return stored, Text() if wire.kind in ("text", "json") else LargeBinary()


def is_due(queue: QueueDefinition, dialect: object) -> ColumnElement[bool]:
    """Return the condition for messages that may be delivered now, as far as a statement can tell."""
    ready = literal_column(READY, BigInteger())
    return ready <= now_micros(dialect)


def before_skip(queue: QueueDefinition, connection: Connection) -> None:
    """Take the write lock, so that nobody sends between the look at the keys and the insert."""
    name = connection.dialect.identifier_preparer.quote_identifier(queue.name)
    connection.exec_driver_sql(f"DELETE FROM {name} WHERE 0")
