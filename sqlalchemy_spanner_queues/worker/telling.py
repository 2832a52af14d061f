"""Tell what happens to the messages of a queue, and to their leases."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from ..exc import CommitOutcomeUnknown, LeaseLost, MessageAlreadyAcknowledged
from ..message import watch
from . import events
from .events import Events, WorkerEvent, log
from .job import Job
from .verdict import describe


class Telling:
    """Put what happens to jobs into events."""

    def __init__(self, told: Events) -> None:
        self._events = told

    def started(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.is_called = True
            self._events.tell_quietly(events.STARTED, partial(_event, events.STARTED, job))

    def succeeded(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._events.tell_quietly(events.SUCCEEDED, partial(_event, events.SUCCEEDED, job))

    def settled(self, name: str, job: Job, reason: str, error: BaseException | None) -> None:
        self._events.tell(_event(name, job, reason, error))

    def unsettled(self, jobs: Sequence[Job], error: BaseException) -> None:
        """Say why jobs were not settled: Spanner delivers them again, unless they are gone."""
        for job in jobs:
            if isinstance(error, CommitOutcomeUnknown):
                reason = "the commit got no answer; not repeated here"
                self.settled(events.OUTCOME_UNKNOWN, job, reason, error)
            elif isinstance(error, MessageAlreadyAcknowledged):
                self.settled(events.ALREADY_ACKNOWLEDGED, job, "somebody else finished it", None)
            elif job.lease.is_lost or isinstance(error, LeaseLost):
                self._lost(job)
            else:
                self.settled(events.LEFT, job, f"left to be delivered again: {describe(error)}", error)

    def watch(self, job: Job) -> None:
        """Cancel a job's handler once its lease is lost, and tell so."""
        watch(job.lease, partial(self._lost_meanwhile, job))

    def _lost_meanwhile(self, job: Job) -> None:
        # In the keeper's thread, which must not wait.
        if (cancel := job.cancel) is not None:
            cancel()
        threading.Thread(target=self._lost, args=[job], name="spanner-queues-lease-lost", daemon=True).start()

    def _lost(self, job: Job) -> None:
        """Tell once that a lease is lost."""
        if not job.tell_lost_once():
            return
        self.settled(events.LEASE_LOST, job, job.lease.reason, None)
        if job.is_called and job.handler.on_lease_lost is not None:
            try:
                job.handler.on_lease_lost(job.message)
            except BaseException:  # noqa: BLE001 - the application's own, and logged
                log.exception("on_lease_lost of %s failed", job.handler.name)


def _event(name: str, job: Job, reason: str = "", error: BaseException | None = None) -> WorkerEvent:
    return WorkerEvent(
        name, job.lease.queue, job.keys, job.handler.name, job.attempts, job.seconds(), reason, error
    )
