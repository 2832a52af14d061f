"""What a worker does with messages, step by step, in one of its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Timer

from sqlalchemy.orm import Session

from ..exc import CommitOutcomeUnknown, LeaseLost, MessageAlreadyAcknowledged
from ..message import mark_lost
from ..receiver.keeper import LeaseKeeper
from . import events
from .calling import Caller, HandlerFailed
from .job import Job
from .outcomes import Ack, Outcome
from .settling import Settling
from .telling import Telling
from .transactions import GivenUp, Transactions
from .verdict import Bury, Drop, Resend, Verdict, describe, judge, trace

Submit = Callable[[Sequence[Job]], None]


class Processing:
    """Work on the messages of one queue; nothing that happens to them is raised."""

    def __init__(
        self,
        transactions: Transactions,
        settling: Settling,
        keeper: LeaseKeeper,
        caller: Caller,
        told: Telling,
    ) -> None:
        self._transactions = transactions
        self._settling = settling
        self._keeper = keeper
        self._caller = caller
        self._told = told

    def __call__(self, jobs: Sequence[Job], acknowledge_later: Submit) -> list[Job]:
        """Work on jobs of one handler; return those that are over.

        The others have been given to ``acknowledge_later``.
        """
        for job in jobs:
            job.start()
            self._told.watch(job)
        later: list[Job] = []
        try:
            later = self._work(jobs)
        except Exception as error:  # noqa: BLE001 - told, with its traceback
            self._told.unsettled(jobs, error)
        over = [job for job in jobs if job not in later]
        self.let_go(over)
        if later:
            acknowledge_later(later)
        return over

    def let_go(self, jobs: Sequence[Job]) -> None:
        """Renew the leases of jobs no more; what was not settled is delivered again."""
        for job in jobs:
            if job.timer is not None:
                job.timer.cancel()
        self._keeper.release(*[job.lease for job in jobs])

    def acknowledge(self, jobs: Sequence[Job]) -> None:
        """Acknowledge finished jobs in one transaction, or one by one where that fails."""
        try:
            self._acknowledge(jobs)
        except Exception as error:  # noqa: BLE001 - told, with its traceback
            if len(jobs) == 1 or isinstance(error, CommitOutcomeUnknown | GivenUp):
                self._told.unsettled(jobs, error)
            else:
                for job in jobs:
                    self.acknowledge([job])

    def _acknowledge(self, jobs: Sequence[Job]) -> None:
        self._raise_if_lost(jobs)

        def finish(session: Session) -> None:
            self._settling.remove(session, jobs)
            self._keeper.finishing(*[job.lease for job in jobs])

        self._transactions.run(jobs, _nothing, finish)
        self._told.succeeded(jobs)

    def _work(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs that are to be acknowledged."""
        ready = [job for job in jobs if self._is_workable(job)]
        if not ready:
            return []
        mode = ready[0].handler.mode
        if mode == "at_most_once":
            return self._at_most_once(ready[0])
        later: list[Job] = []
        for group in self._groups(ready):
            later += self._outside(group) if mode == "outside" else self._in_transaction(group)
        return later

    def _groups(self, jobs: Sequence[Job]) -> Iterator[list[Job]]:
        """Count attempts, and yield what starts together.

        A message that failed before, or ended its process, starts and counts alone: it may not fail the
        others, nor use up their attempts.
        """
        fresh, again = self._counted(jobs)
        if fresh:
            yield fresh
        for job in again:
            try:
                alone, _ = self._counted([job])
            except Exception as error:  # noqa: BLE001 - told, with its traceback
                self._told.unsettled([job], error)
                continue
            if alone and not job.lease.is_lost:
                yield alone

    def _is_workable(self, job: Job) -> bool:
        """Settle what no handler is to see."""
        if job.lease.is_lost:
            return False
        if job.undecodable is not None:
            self._settle(job, Bury(describe(job.undecodable), trace(job.undecodable)), job.undecodable)
            return False
        age = job.handler.max_age
        if age is not None and job.delivered_at - job.deliver_time > age:
            self._settle(job, Bury(f"older than {age}"), None)
            return False
        return True

    def _counted(self, jobs: Sequence[Job]) -> tuple[list[Job], list[Job]]:
        """Count attempts, and bury what had all of them; return what is to start, and what is not counted."""
        policy = jobs[0].handler.retry
        if policy is None:
            return list(jobs), []
        counted: list[Job] = []
        gone: list[Job] = []

        def count(session: Session) -> None:
            counted[:], gone[:] = self._settling.count(session, jobs)

        self._transactions.run(jobs, _nothing, count)
        self._told.unsettled(
            gone, MessageAlreadyAcknowledged(jobs[0].lease.queue, [job.keys for job in gone])
        )
        left = [job for job in jobs if job not in counted and job not in gone]
        return [job for job in counted if not self._is_exhausted(job)], left

    def _is_exhausted(self, job: Job) -> bool:
        policy = job.handler.retry
        if policy is None or job.attempts <= policy.max_attempts:
            return False
        job.attempts = policy.max_attempts
        self._settle(
            job,
            Bury(f"started {job.attempts} times; the last time, the process or the lease ended first"),
            None,
        )
        return True

    def _in_transaction(self, jobs: Sequence[Job]) -> list[Job]:
        def work(session: Session) -> None:
            outcome = self._caller(jobs, session)
            if not isinstance(outcome, Ack):
                raise outcome

        def finish(session: Session) -> None:
            self._raise_if_lost(jobs)
            self._settling.acknowledge(session, jobs)
            self._keeper.finishing(*[job.lease for job in jobs])

        self._told.started(jobs)
        try:
            self._transactions.run(jobs, work, finish)
        except Exception as error:  # noqa: BLE001 - judged, and told
            return self._failed(jobs, error, self._in_transaction)
        self._told.succeeded(jobs)
        return []

    def _outside(self, jobs: Sequence[Job]) -> list[Job]:
        self._told.started(jobs)
        try:
            outcome = self._caller(jobs, None)
            if not isinstance(outcome, Ack):
                raise outcome
        except (HandlerFailed, Outcome) as error:
            return self._failed(jobs, error, self._outside)
        return list(jobs)

    def _at_most_once(self, job: Job) -> list[Job]:
        """Acknowledge the message first, with another one in its place that is due when this run is over."""
        run_time = job.handler.run_time
        assert run_time is not None
        job.timer = Timer(
            run_time.total_seconds(), mark_lost, [job.lease, f"its run time of {run_time} is over"]
        )
        job.timer.daemon = True
        job.timer.name = "spanner-queues-run-time"

        def replace(session: Session) -> None:
            job.due = None
            self._settling.count(session, [job])
            self._settling.resend(session, job, run_time)
            job.due = self._settling.deliver_time(session, job)
            job.lease.raise_if_lost()
            self._keeper.finishing(job.lease)

        # It runs from before the commit, so that it ends before the message in its place is due.
        job.timer.start()
        self._transactions.run([job], _nothing, replace)
        self._keeper.release(job.lease)
        if self._is_exhausted(job):
            return []
        self._told.started([job])
        try:
            outcome = self._caller([job], None)
            if not isinstance(outcome, Ack):
                raise outcome
        except (HandlerFailed, Outcome) as error:
            return self._failed([job], error, lambda _jobs: [])
        return [job]

    def _failed(
        self, jobs: Sequence[Job], error: BaseException, again: Callable[[Sequence[Job]], list[Job]]
    ) -> list[Job]:
        """Settle a failed job; a failed batch is worked on one by one."""
        cause = error.error if isinstance(error, HandlerFailed) else error
        if isinstance(error, CommitOutcomeUnknown | GivenUp):
            self._told.unsettled(jobs, error)
            return []
        if len(jobs) > 1:
            return [done for job in jobs if not job.lease.is_lost for done in again([job])]
        job = jobs[0]
        if job.lease.is_lost or self._is_about(job, cause):
            self._told.unsettled(jobs, cause)
            return []
        self._settle(job, judge(cause, job.handler.retry, job.attempts), cause)
        return []

    def _is_about(self, job: Job, error: BaseException) -> bool:
        """Return whether an error says that this message is somebody else's by now."""
        if isinstance(error, LeaseLost):
            return error.queue == job.lease.queue and error.keys == job.keys
        return (
            isinstance(error, MessageAlreadyAcknowledged)
            and error.queue == job.lease.queue
            and job.keys in [dict(key) for key in error.keys]
        )

    def _settle(self, job: Job, verdict: Verdict, error: BaseException | None) -> None:
        """Carry out a verdict, in a transaction of its own."""
        model = job.handler.dead_letter
        if isinstance(verdict, Resend) and verdict.delay is None:
            self._told.settled(events.RETRIED, job, verdict.reason, error)
            return
        if isinstance(verdict, Bury) and model is None:
            reason = f"{verdict.reason}; the handler has no dead_letter=, so that it stays in the queue"
            self._told.settled(events.LEFT, job, reason, error)
            return

        def finish(session: Session) -> None:
            self._write(session, job, verdict)
            job.lease.raise_if_lost()
            self._keeper.finishing(job.lease)

        try:
            self._transactions.run([job], _nothing, finish)
        except Exception as failure:  # noqa: BLE001 - told, with its traceback
            self._told.unsettled([job], failure)
            return
        self._told.settled(_NAMES[type(verdict)], job, verdict.reason, error)

    def _write(self, session: Session, job: Job, verdict: Verdict) -> None:
        match verdict:
            case Resend(delay=delay) if delay is not None:
                self._settling.resend(session, job, delay)
            case Bury(reason=reason, traceback=traceback) if job.handler.dead_letter is not None:
                self._settling.bury(session, job, job.handler.dead_letter, reason, traceback)
            case _:
                self._settling.remove(session, [job])

    def _raise_if_lost(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.lease.raise_if_lost()


def _nothing(_session: Session) -> None:
    """Work that leaves all to what finishes it."""


_NAMES = {Resend: events.RETRIED, Bury: events.DEAD_LETTERED, Drop: events.DISCARDED}
