"""The delivery clock of a SQLite engine: the host's time, plus what a test moved it by."""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

_offsets: WeakKeyDictionary[object, int] = WeakKeyDictionary()


def now_micros(dialect: object) -> int:
    """Return the delivery clock in microseconds since the epoch, for the engine that owns the dialect."""
    return time.time_ns() // 1000 + offset_micros(dialect)


def offset_micros(dialect: object) -> int:
    return _offsets.get(dialect, 0)


def advance(dialect: object, seconds: float) -> None:
    """Move the delivery clock forward by a number of seconds; for tests, in this process only."""
    if seconds < 0:
        raise ValueError(f"the clock only moves forward, not by {seconds} s")
    _offsets[dialect] = offset_micros(dialect) + round(seconds * 1_000_000)
