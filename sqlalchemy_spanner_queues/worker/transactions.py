"""Transactions of the worker: one layer that runs an aborted one again, a bounded number of times."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from sqlalchemy.orm import Session

from ..dialects.base import QueueDialect
from ..orm import QueueMessage
from ..receiver.finishing import commit
from .events import ABORTED, Events, WorkerEvent
from .job import Job
from .outcomes import Outcome

T = TypeVar("T")

# How often a transaction is run in all, and the longest pauses in between, in seconds: 3 seconds together.
MOST_TRIES: Final = 5
FIRST_PAUSE_SECONDS: Final = 0.2


class GivenUp(Exception):
    """A transaction was aborted as often as it is tried; the database's error is chained."""


class Transactions:
    """Run transactions for one queue's messages, each in a session of its own."""

    def __init__(
        self,
        factory: Callable[[], Session],
        model: type[QueueMessage],
        seam: QueueDialect,
        events: Events,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._factory = factory
        self._bind = {"mapper": model}
        self._seam = seam
        self._events = events
        self._pause = pause or threading.Event().wait

    def run(
        self,
        jobs: Sequence[Job],
        work: Callable[[Session], T],
        finish: Callable[[Session], object] = lambda _session: None,
    ) -> T:
        """Run ``work``, then ``finish`` and the commit; once more in a fresh session if it is aborted.

        ``finish`` is what writes without the help of the application: in an engine with one writer it waits
        for its turn. Raises CommitOutcomeUnknown, GivenUp, and what the functions raise, after a rollback.
        """
        for tried in range(1, MOST_TRIES + 1):
            try:
                return self._run_once(jobs, work, finish)
            except Exception as error:
                # What a handler says about an aborted transaction of its own is an answer.
                if isinstance(error, Outcome) or not self._seam.is_aborted(error):
                    raise
                self._tell(jobs[0], tried, error)
                if tried == MOST_TRIES:
                    raise GivenUp(f"the transaction was aborted {tried} times") from error
            self._pause(FIRST_PAUSE_SECONDS * 2.0 ** (tried - 1) * random.uniform(0.5, 1.0))
        raise AssertionError("unreachable")

    def _run_once(
        self, jobs: Sequence[Job], work: Callable[[Session], T], finish: Callable[[Session], object]
    ) -> T:
        with self._factory() as session:
            connection = session.connection(bind_arguments=self._bind)
            with self._seam.without_replay(connection):
                result = work(session)
                asked = time.monotonic()
                with self._seam.commit_turn(connection):
                    jobs[0].waited += time.monotonic() - asked
                    finish(session)
                    commit(session, self._seam, jobs[0].lease)
        return result

    def _tell(self, job: Job, tried: int, error: Exception) -> None:
        reason = f"aborted, {tried} of {MOST_TRIES} tries"
        self._events.tell(WorkerEvent(ABORTED, job.lease.queue, job.keys, reason=reason, error=error))
