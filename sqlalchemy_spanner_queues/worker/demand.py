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
    """Choose how many messages are asked for at once: one for each free thread, or many for quick ones."""

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
        self._concurrency = concurrency
        self._batch = batch
        self._size = max_batch_size
        self._large = max(concurrency, batch, LARGE_BATCH)
        self._rest = duration, priority, where
        self._requests: dict[int, ReceiveRequest] = {}
        self._is_quick = False

    def __call__(self, mean_seconds: float | None, free: int) -> ReceiveRequest:
        """Return the request for handlers that take so long on the average, with so many threads free.

        ``mean_seconds`` is None while it is not known.
        """
        size = self._size or self._size_for(mean_seconds, max(free, 1))
        if size not in self._requests:
            self._requests[size] = ReceiveRequest(size, *self._rest)
        return self._requests[size]

    def _size_for(self, mean_seconds: float | None, free: int) -> int:
        if mean_seconds is not None:
            waiting = mean_seconds * self._large / self._concurrency
            self._is_quick = waiting < (2 * SOON_SECONDS if self._is_quick else SOON_SECONDS)
        return self._large if self._is_quick else max(free, self._batch)
