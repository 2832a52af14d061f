"""Let the threads of a process share a ``sqlite://`` database.

SQLAlchemy gives each thread an in-memory database of its own. A queue that only one thread can see is of
little use, so that an engine's memory database moves to SQLite's ``memdb`` as soon as it holds a queue: the
same content, open to every thread, with a transaction for each connection.
"""

from __future__ import annotations

import sqlite3
from typing import cast
from uuid import uuid4

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, Pool, QueuePool, SingletonThreadPool, StaticPool

MINIMUM = (3, 36, 0)


class _SharedMemory:
    """Open connections to one in-memory database, and keep it alive between them."""

    def __init__(self, source: sqlite3.Connection) -> None:
        self._uri = f"file:/queues-{uuid4().hex}?vfs=memdb"
        self._anchor = self.connect()
        source.backup(self._anchor)

    def __call__(self) -> DBAPIConnection:
        return cast(DBAPIConnection, self.connect())

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._uri, uri=True, check_same_thread=False)


def share_between_threads(connection: Connection) -> None:
    """Move the private memory database behind a connection to a shared one when it is returned."""
    engine = connection.engine
    if isinstance(engine.pool, SingletonThreadPool | StaticPool) and _is_memory(connection):
        _Move(engine, engine.pool).wait()


def _is_memory(connection: Connection) -> bool:
    rows = connection.exec_driver_sql("PRAGMA database_list").all()
    return all(not row[2] for row in rows if row[1] == "main")


class _Move:
    def __init__(self, engine: Engine, pool: Pool) -> None:
        self._engine = engine
        self._pool = pool

    def wait(self) -> None:
        """Act when the connection is back in its pool: nothing is half-done in the database then."""
        if sqlite3.sqlite_version_info >= MINIMUM:
            event.listen(self._pool, "checkin", self._checked_in)

    def _checked_in(self, dbapi_connection: DBAPIConnection | None, _record: ConnectionPoolEntry) -> None:
        if dbapi_connection is None or self._engine.pool is not self._pool:
            return
        creator = _SharedMemory(cast(sqlite3.Connection, dbapi_connection))
        # The dispatch carries the engine's "connect" listeners over, SQLAlchemy's own among them. It has no
        # public name; Pool.recreate() passes it in the same way (read in SQLAlchemy 2.1.0 and 2.1.9).
        self._engine.pool = QueuePool(
            creator, dialect=self._engine.dialect, max_overflow=-1, _dispatch=self._pool.dispatch
        )
