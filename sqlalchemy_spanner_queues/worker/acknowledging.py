"""Acknowledge what handlers of the mode "outside" have finished: all that waits, in one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from .job import Job

MOST_AT_ONCE: Final = 200


class Acknowledger:
    """Take finished jobs of a queue, and acknowledge them in a thread of its own.

    While one transaction is under way the next ones gather; the fewer requests, the more there is to do.
    """

    def __init__(
        self, acknowledge: Callable[[Sequence[Job]], None], over: Callable[[Sequence[Job]], None]
    ) -> None:
        self._acknowledge = acknowledge
        self._over = over
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._closed = False
        self._thread: threading.Thread | None = None

    def __call__(self, jobs: Sequence[Job]) -> None:
        with self._changed:
            self._waiting += jobs
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="spanner-queues-acknowledge", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """End the thread once all is acknowledged; does not wait for it."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while jobs := self._next():
            # Nothing is raised: what cannot be acknowledged is told, and delivered again.
            self._acknowledge(jobs)
            self._over(jobs)

    def _next(self) -> list[Job]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            jobs, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            return jobs
