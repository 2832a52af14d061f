"""What each dialect's module offers: the words that the rest of the package uses for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from enum import Enum
from typing import Any, Final, Literal, Protocol

from sqlalchemy import ColumnElement
from sqlalchemy.engine import Connection
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer
from sqlalchemy.types import TypeEngine

from .._wire import Wire
from ..definition import Interleave, QueueDefinition, RowDeletion

Privilege = Literal["send", "acknowledge", "inspect", "receive"]

LEGAL_IDENTIFIER: Final = r"[A-Za-z_][A-Za-z0-9_]*"


class Failure(Enum):
    """Say what a database error means for a queue's statement."""

    DUPLICATE = "a message with this key exists"
    GONE = "a message to acknowledge is not there"


class QueueDialect(Protocol):
    """The names that every module of this package has."""

    ENGINE: Literal["spanner", "sqlite"]
    # Appended to a DELETE that acknowledges, so that the database refuses it when a message is gone.
    GUARD: str
    # The words before what a DELETE returns.
    RETURNING: str
    # Where GUARD is empty, the number of deleted rows tells.
    GUARD_BY_ROWCOUNT: bool
    # The parameter named p1, as the database writes it.
    RENEW_PARAMETER: str

    def create_queue(self, queue: QueueDefinition, compiler: DDLCompiler, if_not_exists: bool) -> str: ...

    def drop_queue(self, queue: QueueDefinition, preparer: IdentifierPreparer, if_exists: bool) -> str: ...

    def alter_queue(
        self, queue: QueueDefinition, preparer: IdentifierPreparer, change: Alteration
    ) -> str: ...

    def grant(
        self,
        queue: QueueDefinition,
        preparer: IdentifierPreparer,
        role: str,
        privileges: Sequence[Privilege],
        revoke: bool,
    ) -> str: ...

    def after_create(self, queue: QueueDefinition, connection: Connection) -> None: ...

    def after_drop(self, queue: QueueDefinition, connection: Connection) -> None: ...

    def payload_type(self, wire: Wire) -> TypeEngine[Any]: ...

    def deliver_time_type(self) -> TypeEngine[Any]: ...

    def deliver_time_sql(self, bind: str) -> str: ...

    def clock_offset(self, dialect: object) -> timedelta: ...

    def system_column_sql(self, text: str) -> str: ...

    def lease_column_sql(self, name: str, text: str) -> str: ...

    def insert_sql(self, text: str) -> str: ...

    def receive_sql(self, name: str, preparer: IdentifierPreparer, arguments: ReceiveArguments) -> str: ...

    def renew_sql(self, name: str, preparer: IdentifierPreparer, tokens: str) -> str: ...

    def token_array_sql(self, binds: Sequence[str]) -> str: ...

    def classify(self, error: BaseException) -> Failure | None: ...

    def outcome_is_unknown(self, error: BaseException) -> bool: ...

    def is_autocommit(self, connection: Connection) -> bool: ...

    def is_aborted(self, error: BaseException) -> bool: ...

    def without_replay(self, connection: Connection) -> AbstractContextManager[None]: ...

    def commit_turn(self, connection: Connection) -> AbstractContextManager[None]: ...

    def stored_payload(self, wire: Wire, stored: bytes | str) -> tuple[object, TypeEngine[Any]]: ...

    def is_due(self, queue: QueueDefinition, dialect: object) -> ColumnElement[bool]: ...

    def before_skip(self, queue: QueueDefinition, connection: Connection) -> None: ...


class Alteration:
    """One change of ALTER QUEUE; exactly one of the attributes is set.

    ``options`` for SET OPTIONS; ``on_delete`` for SET ON DELETE; ``interleave`` for SET INTERLEAVE IN;
    ``add_row_deletion`` / ``replace_row_deletion`` / ``drop_row_deletion`` for the row deletion policy.
    """

    def __init__(
        self,
        *,
        options: dict[str, str | bool | None] | None = None,
        on_delete: str | None = None,
        interleave: Interleave | None = None,
        add_row_deletion: RowDeletion | None = None,
        replace_row_deletion: RowDeletion | None = None,
        drop_row_deletion: bool = False,
    ) -> None:
        self.options = options
        self.on_delete = on_delete
        self.interleave = interleave
        self.add_row_deletion = add_row_deletion
        self.replace_row_deletion = replace_row_deletion
        self.drop_row_deletion = drop_row_deletion


class ReceiveArguments:
    """The arguments of RECEIVE, checked: counts, seconds, and the priority as it is."""

    def __init__(
        self,
        max_batch_size: int | None = None,
        max_duration: timedelta | None = None,
        priority: int | str | None = None,
    ) -> None:
        if max_batch_size is not None and max_batch_size < 1:
            raise ValueError(f"max_batch_size counts messages and is 1 or more, not {max_batch_size}")
        if max_duration is not None and max_duration < timedelta(seconds=1):
            raise ValueError(f"max_duration is at least one second, not {max_duration}")
        self.max_batch_size = max_batch_size
        self.max_duration = max_duration
        self.priority = priority

    @property
    def duration_text(self) -> str | None:
        """Return the duration as Spanner writes it: ``20m``, or seconds where minutes do not fit."""
        if self.max_duration is None:
            return None
        seconds = int(self.max_duration.total_seconds())
        return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"
