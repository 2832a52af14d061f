"""One queue of a worker: threads that take its messages and work on them.

One idle thread at a time waits for the stream; when messages come it hands them to the others and works as
they do. So messages are asked for only while somebody is free to start on them. Quick messages are left to
those who are at it, while one thread stands by and steps in as soon as they do not get on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from sqlalchemy import Table

from ..exc import UnknownMessageType
from ..message import Lease
from ..orm import QueueMessage
from ..receiver.keeper import LeaseKeeper
from ..receiver.reader import Arrived, Reader
from . import events
from .acknowledging import Acknowledger
from .events import Events, WorkerEvent
from .job import Job
from .pace import Pace
from .room import Identity, Room
from .routing import Routes

# How long a batch that is not full is waited for, in seconds.
BATCH_PATIENCE_SECONDS: Final = 0.05
# How long quick messages are left to those who are at it when nothing is started meanwhile, in seconds.
STANDBY_SECONDS: Final = 0.005

STOPS: Final = "the worker stops"
AT_LIMIT: Final = "its handler is at its limit"


class Work(Protocol):
    """What a lane does with messages; see Processing."""

    def __call__(
        self, jobs: Sequence[Job], acknowledge_later: Callable[[Sequence[Job]], None]
    ) -> list[Job]: ...

    def acknowledge(self, jobs: Sequence[Job]) -> None: ...

    def let_go(self, jobs: Sequence[Job]) -> None: ...


class Lane:
    """Run the handlers of one queue, at most ``concurrency`` messages or batches at once."""

    def __init__(
        self,
        routes: Routes,
        reader: Reader[QueueMessage],
        keeper: LeaseKeeper,
        work: Work,
        told: Events,
        concurrency: int,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._routes = routes
        self._reader = reader
        self._keeper = keeper
        self._work = work
        self._events = told
        self._concurrency = concurrency
        self._failed = failed
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._standby = threading.Condition(lock)
        self._room = Room(routes.handlers)
        self._pace = Pace()
        self._acknowledger = Acknowledger(work.acknowledge, self._acknowledged)
        self._threads = 0
        self._idle = 0
        self._starts = 0
        self._has_standby = False
        self._is_led = False
        self._stopping = False
        self._batch_ended = True

    @property
    def queue(self) -> str:
        return str(self._routes.queue.name)

    @property
    def reader(self) -> Reader[QueueMessage]:
        return self._reader

    @property
    def table(self) -> Table:
        return self._routes.queue

    @property
    def mean_seconds(self) -> float | None:
        return self._pace.mean_seconds

    def start(self) -> None:
        self._reader.start()
        with self._changed:
            self._add_thread()

    def stop_intake(self) -> None:
        """Take nothing more, and hand back what has not started: it is delivered again within 10 seconds."""
        with self._changed:
            self._stopping = True
            waiting = self._room.clear_waiting()
            self._changed.notify_all()
            self._standby.notify_all()
        self._hand_back([job.lease for job in waiting], STOPS)
        self._hand_back([one.lease for one in self._reader.stop()], STOPS)

    def close(self) -> None:
        self._acknowledger.close()

    def is_over(self) -> bool:
        """Return whether nothing is worked on."""
        with self._changed:
            return self._room.is_empty

    def is_idle(self, seconds: float) -> bool:
        """Return whether nothing came, and nothing was done, for that long."""
        if not self._reader.is_waited_for():
            return False
        with self._changed:
            return self._room.is_empty and time.monotonic() - self._room.quiet_since >= seconds

    def running(self) -> list[Job]:
        """Return what has been started and is not over."""
        with self._changed:
            return self._room.started()

    def free(self) -> int:
        """Return how many more messages or batches can be worked on now."""
        with self._changed:
            return self._concurrency - self._room.at_work()

    def waiting(self) -> int:
        """Return how many messages are here and not started."""
        with self._changed:
            return self._room.waiting() + self._reader.waiting

    def note_tried(self) -> None:
        """Collect from now on what is tried."""
        with self._changed:
            self._room.tried = set()

    def tried(self) -> set[Identity]:
        """Return the keys of the messages that were tried."""
        with self._changed:
            return set(self._room.tried or ())

    def _add_thread(self) -> None:
        self._threads += 1
        threading.Thread(target=self._run, name=f"spanner-queues-worker-{self.queue}", daemon=True).start()

    def _run(self) -> None:
        try:
            stands_by = True
            while jobs := self._next(stands_by):
                stands_by = False
                computed = time.thread_time()
                over = self._work(jobs, self._acknowledger)
                self._finish(jobs, over, time.thread_time() - computed)
        except BaseException as error:  # noqa: BLE001 - the worker raises it
            self._failed(error)

    def _next(self, stands_by: bool) -> list[Job]:
        """Wait for something to work on; an empty list ends the thread."""
        while True:
            with self._changed:
                if stands_by:
                    self._stand_by()
                if self._stopping:
                    return []
                if jobs := self._room.choose(all_came=self._batch_ended):
                    self._starts += 1
                    self._keep_one_free()
                    return jobs
                if self._is_led:
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                    stands_by = True
                    continue
                self._is_led = True
            self._lead()
            stands_by = False

    def _stand_by(self) -> None:
        """Wait until those who are at it do not get on, or are over."""
        self._has_standby, seen = True, -1
        while self._is_in_good_hands() and seen != self._starts:
            seen = self._starts
            self._standby.wait(STANDBY_SECONDS)
        self._has_standby = False

    def _is_in_good_hands(self) -> bool:
        return self._pace.is_quick and not self._stopping and self._room.at_work() > 0

    def _keep_one_free(self) -> None:
        """See to it that somebody else takes the next message."""
        if self._has_standby:
            return
        if self._idle:
            self._changed.notify()
        elif not self._is_led and self._threads < self._concurrency:
            self._add_thread()

    def _lead(self) -> None:
        """Wait for messages in the name of all idle threads."""
        try:
            with self._changed:
                patience = BATCH_PATIENCE_SECONDS if self._room.is_gathering() else None
            arrived = self._reader.take_all(patience)
            if self._keeper.failure is not None:
                raise self._keeper.failure
            if arrived is not None:
                self._admit(arrived)
            else:
                self._end_threads()
        finally:
            with self._changed:
                self._is_led = False

    def _end_threads(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def _admit(self, arrived: Sequence[Arrived[QueueMessage]]) -> None:
        jobs = [job for one in arrived if not one.lease.is_lost and (job := self._job(one)) is not None]
        self._keeper.hand_over([(job.lease, job.handler.max_lease.total_seconds()) for job in jobs], self)
        with self._changed:
            self._batch_ended = not arrived or arrived[-1].last
            again = [job for job in jobs if job.identity in self._room]
            new = [job for job in jobs if job.identity not in self._room]
            refused = [job for job in new if self._stopping or not self._room.enter(job)]
            present = [self._room[job.identity] for job in again]
        for job, before in zip(again, present, strict=True):
            self._go_on(before, job)
        self._hand_back([job.lease for job in refused], STOPS if self._stopping else AT_LIMIT)

    def _job(self, arrived: Arrived[QueueMessage]) -> Job | None:
        """Return the job of a message, or None for one that is not to be started."""
        job = Job(arrived, self._routes.handlers[0])
        if job.undecodable is not None:
            job.handler = self._routes.for_undecodable()
            return job
        try:
            job.handler = self._routes(arrived.item)
        except Exception as error:  # noqa: BLE001 - told, with its traceback
            self._refuse(job, error)
            return None
        return job

    def _refuse(self, job: Job, error: Exception) -> None:
        """Leave a message in the queue for which there is no handler here."""
        reason = str(error) if isinstance(error, UnknownMessageType) else f"its type cannot be told: {error}"
        self._events.tell(WorkerEvent(events.UNKNOWN_TYPE, self.queue, job.keys, reason=reason, error=error))
        self._keeper.release(job.lease)
        with self._changed:
            self._room.note_tried(job)

    def _go_on(self, present: Job, job: Job) -> None:
        """Do not start a message twice that is here already; go on with the newer lease."""
        is_kept = self._keeper.replace(present.lease, job.lease)
        reason = "it is worked on here; its newer lease is kept" if is_kept else "its handler still runs here"
        name = job.handler.name
        self._events.tell(WorkerEvent(events.REDELIVERED, self.queue, job.keys, name, reason=reason))

    def _finish(self, jobs: Sequence[Job], over: Sequence[Job], computed: float) -> None:
        with self._changed:
            self._room.free(jobs[0].handler)
            self._pace.note(len(jobs), jobs[0].seconds(), jobs[0].waited, computed)
            self._end(over)

    def _acknowledged(self, jobs: Sequence[Job]) -> None:
        self._work.let_go(jobs)
        with self._changed:
            self._end(jobs)

    def _end(self, jobs: Sequence[Job]) -> None:
        self._room.leave(jobs)
        if self._room.has_limits:
            self._changed.notify_all()

    def _hand_back(self, leases: Sequence[Lease], reason: str) -> None:
        self._keeper.release(*leases)
        for lease in leases:
            self._events.tell(WorkerEvent(events.HANDED_BACK, self.queue, lease.keys, reason=reason))
