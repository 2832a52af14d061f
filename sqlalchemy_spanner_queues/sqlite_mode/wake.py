"""Wake receivers of a SQLite database when somebody may have sent a message.

Commits of the same engine are seen through its events; commits of other processes through the size and the
time stamp of the database's files, looked at every 40 milliseconds while somebody waits. No statement runs
while nothing changes.
"""

from __future__ import annotations

import os
import threading
import time
from weakref import WeakKeyDictionary

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

LOOK_SECONDS = 0.04
# How long after the start of a commit its end is looked for, and how often at first, in seconds.
SETTLE_SECONDS = 0.25
FIRST_LOOK_SECONDS = 0.001

Stamp = tuple[tuple[int, int], ...]

_lock = threading.Lock()
_bells: WeakKeyDictionary[object, Bell] = WeakKeyDictionary()


class Bell:
    """Count what happens to an engine's database, and let receivers wait for the next change."""

    def __init__(self, files: tuple[str, ...]) -> None:
        self._files = files
        self._changed = threading.Condition()
        self._count = 0
        self._committing: set[int] = set()
        self._commit_started = -SETTLE_SECONDS
        self._look_seconds = LOOK_SECONDS if files else threading.TIMEOUT_MAX

    def ring(self) -> None:
        """Wake all that wait."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def look(self) -> tuple[int, Stamp]:
        """Return the state of the database as it is seen from outside, to be given to ``wait``."""
        with self._changed:
            return self._count, self._stamp()

    def wait(self, seen: tuple[int, Stamp], timeout: float) -> None:
        """Return after ``timeout`` seconds, or sooner if anything may have changed since ``seen``."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._count == seen[0] and (remaining := deadline - time.monotonic()) > 0:
                pause = self._settling_pause()
                self._changed.wait(min(remaining, pause or self._look_seconds))
                if self._stamp() != seen[1]:
                    # The file changes a little before the commit in it can be seen: look again, for a while.
                    self._commit_started = time.monotonic()
                    return
                if pause is not None:
                    return

    def _settling_pause(self) -> float | None:
        """Return how long to wait before the next look at a commit under way; None: there is none."""
        elapsed = time.monotonic() - self._commit_started
        return max(elapsed, FIRST_LOOK_SECONDS) if elapsed < SETTLE_SECONDS else None

    def committing(self, connection: Connection) -> None:
        # The event comes before the commit itself; a connection that is kept open gives no later sign.
        with self._changed:
            self._commit_started = time.monotonic()
            self._committing.add(id(connection.connection.dbapi_connection))
        self.ring()

    def returned(self, dbapi_connection: DBAPIConnection | None, _record: ConnectionPoolEntry) -> None:
        with self._changed:
            if id(dbapi_connection) not in self._committing:
                return
            self._committing.discard(id(dbapi_connection))
            self._commit_started = -SETTLE_SECONDS
        self.ring()

    def _stamp(self) -> Stamp:
        return tuple(_file_stamp(path) for path in self._files)


def bell_of(engine: Engine, own: Engine) -> Bell:
    """Return the engine's bell; the first call starts to listen to this one engine.

    ``own`` is an engine on the same database whose connections nobody else takes.
    """
    with _lock:
        bell = _bells.get(engine.dialect)
        if bell is None:
            bell = _bells[engine.dialect] = Bell(_files_of(own))
            event.listen(engine, "commit", bell.committing)
            event.listen(engine.pool, "checkin", bell.returned)
        return bell


def _files_of(engine: Engine) -> tuple[str, ...]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("PRAGMA database_list").all()
    path = next((str(row[2]) for row in rows if row[1] == "main" and row[2]), "")
    return (path, f"{path}-wal") if os.path.isabs(path) and os.path.exists(path) else ()


def _file_stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
