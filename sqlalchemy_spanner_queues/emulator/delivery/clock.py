"""The delivery clock: real time, and how far a test has moved it.

::

    clock = Clock()
    clock.advance(3600)     # everything that is due within the hour is due now
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


class Clock:
    """Real time plus an offset, in seconds since the epoch; never goes back except by ``reset``."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self._listeners: list[Callable[[], None]] = []
        self.offset = 0.0

    def now(self) -> float:
        """Return the moved time in seconds since the epoch."""
        return self._source() + self.offset

    def advance(self, seconds: float) -> None:
        """Move the clock forward.

        Raises ValueError for a negative number of seconds.
        """
        if seconds < 0:
            raise ValueError(f"the clock only moves forward, got {seconds} seconds")
        self.offset += seconds
        self._tell()

    def reset(self) -> None:
        """Return to real time."""
        self.offset = 0.0
        self._tell()

    def on_move(self, listener: Callable[[], None]) -> None:
        """Call a function whenever the clock was moved."""
        self._listeners.append(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def parse_timestamp(text: str) -> float:
    """Read a timestamp such as ``2026-01-31T12:00:00.5Z``, in seconds since the epoch."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)


def format_timestamp(seconds: float) -> str:
    """Write seconds since the epoch as Spanner sends a timestamp, to the microsecond."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
