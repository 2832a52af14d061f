"""How many messages a worker asks for at once: as many as can start soon."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sqlalchemy import ColumnElement

from ..receiver.receiver import RECOMMENDED_DURATION
from ..receiver.transport import ReceiveRequest

LARGE_BATCH: Final = 100
# What is taken is to start within this time, in seconds; it may double before fewer are asked for.
SOON_SECONDS: Final = 0.5


class Demand:
    """Choose between a message for each handler at a time, and large batches for quick handlers."""

    def __init__(
        self,
        concurrency: int,
        batch: int,
        *,
        max_batch_size: int | None = None,
        priority: int | str | None = None,
        where: ColumnElement[bool] | None = None,
        duration: timedelta = RECOMMENDED_DURATION,
    ) -> None:
        small = max_batch_size or max(concurrency, batch)
        large = max_batch_size or max(small, LARGE_BATCH)
        self._concurrency = concurrency
        self._small = ReceiveRequest(small, duration, priority, where)
        self._large = ReceiveRequest(large, duration, priority, where)
        self._current = self._small

    def __call__(self, mean_seconds: float | None) -> ReceiveRequest:
        """Return the request for handlers that take so long on the average; None is not known yet."""
        if mean_seconds is None or self._small == self._large:
            return self._small
        waiting = mean_seconds * (self._large.max_batch_size or 1) / self._concurrency
        if waiting < SOON_SECONDS:
            self._current = self._large
        elif waiting > 2 * SOON_SECONDS:
            self._current = self._small
        return self._current
