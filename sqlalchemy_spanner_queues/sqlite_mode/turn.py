"""One writer at a time, in this process.

SQLite has one writer at a time anyway, and makes the others sleep and look again. Threads that wait for each
other here are woken at once.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

_lock = threading.Lock()
_turns: WeakKeyDictionary[object, threading.Lock] = WeakKeyDictionary()


@contextmanager
def turn(dialect: object) -> Generator[None]:
    """Hold the turn to write to the database of the engine that owns the dialect."""
    with _turn_of(dialect):
        yield


def _turn_of(dialect: object) -> threading.Lock:
    with _lock:
        found = _turns.get(dialect)
        if found is None:
            found = _turns[dialect] = threading.Lock()
        return found
