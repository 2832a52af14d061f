"""One queue of a worker: threads that take its messages and work on them.

One idle thread at a time waits for the stream; when messages come it hands them to the others and works as
they do. So messages are asked for only while somebody is free to start on them. Quick messages are left to
those who are at it, while one thread stands by and steps in as soon as they do not get on.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from sqlalchemy import Table

from ..exc import UnknownMessageType
from ..orm import QueueMessage
from ..receiver.keeper import LeaseKeeper
from ..receiver.reader import Arrived, Reader
from . import events
from .acknowledging import Acknowledger
from .events import Events, WorkerEvent
from .handler import Handler
from .job import Job
from .pace import Pace
from .routing import Routes

# How long a batch that is not full is waited for, in seconds.
BATCH_PATIENCE_SECONDS: Final = 0.05
# Messages of one type that may wait for a handler at its limit; more are handed back.
MOST_PARKED: Final = 100
# How long quick messages are left to those who are at it when nothing is started meanwhile, in seconds.
STANDBY_SECONDS: Final = 0.005


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
        self._has_standby = False
        self._pace = Pace()
        self._starts = 0
        self._waiting: dict[Handler, deque[Job]] = {handler: deque() for handler in routes.handlers}
        self._running: dict[Handler, int] = dict.fromkeys(routes.handlers, 0)
        self._jobs: dict[tuple[object, ...], Job] = {}
        self._acknowledger = Acknowledger(work.acknowledge, self._acknowledged)
        self._threads = 0
        self._idle = 0
        self._is_led = False
        self._stopping = False
        self._batch_ended = True
        self.tried: set[tuple[object, ...]] | None = None
        self.quiet_since = time.monotonic()

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
            waiting = [job for jobs in self._waiting.values() for job in jobs]
            for jobs in self._waiting.values():
                jobs.clear()
            self._forget(waiting)
            self._changed.notify_all()
            self._standby.notify_all()
        self._hand_back(waiting, "the worker stops")
        self._reader.stop()

    def wait_until_over(self, timeout: float) -> bool:
        """Wait until nothing is worked on, for ``timeout`` seconds at most."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._jobs, timeout)

    def close(self) -> None:
        self._acknowledger.close()

    def running(self) -> list[Job]:
        """Return what has been started and is not over."""
        with self._changed:
            return [job for job in self._jobs.values() if job.started]

    def waiting(self) -> int:
        with self._changed:
            return sum(len(jobs) for jobs in self._waiting.values())

    def is_idle(self, seconds: float) -> bool:
        """Return whether nothing came, and nothing was done, for that long."""
        if not self._reader.is_waited_for():
            return False
        with self._changed:
            return not self._jobs and time.monotonic() - self.quiet_since >= seconds

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
                if jobs := self._choose():
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
        return self._pace.is_quick and not self._stopping and any(self._running.values())

    def _lead(self) -> None:
        """Wait for messages in the name of all idle threads."""
        try:
            arrived = self._reader.take_all(BATCH_PATIENCE_SECONDS if self._is_gathering() else None)
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
        too_many: list[Job] = []
        with self._changed:
            self._batch_ended = not arrived or arrived[-1].last
            for job in jobs:
                self._enqueue(job, too_many)
            self.quiet_since = time.monotonic() if jobs else self.quiet_since
            if self._stopping:
                too_many += jobs
            self._forget(too_many)
        self._hand_back(too_many, "its handler is at its limit")

    def _job(self, arrived: Arrived[QueueMessage]) -> Job | None:
        """Return the job of a message, or None for one that is not to be started."""
        job = Job(arrived, self._routes.handlers[0])
        if job.undecodable is not None:
            job.handler = self._routes.for_undecodable()
            return job
        try:
            job.handler = self._routes(arrived.item)
        except Exception as error:  # noqa: BLE001 - told, with its traceback
            reason = "" if isinstance(error, UnknownMessageType) else "its type cannot be told"
            self._events.tell(
                WorkerEvent(
                    events.UNKNOWN_TYPE, self.queue, job.keys, reason=reason or str(error), error=error
                )
            )
            self._keeper.release(job.lease)
            self._note_tried([job])
            return None
        return job

    def _enqueue(self, job: Job, too_many: list[Job]) -> None:
        present = self._jobs.get(job.identity)
        if present is not None:
            self._again(present, job)
            return
        waiting = self._waiting[job.handler]
        if self._is_at_limit(job.handler) and len(waiting) >= MOST_PARKED:
            too_many.append(job)
            return
        self._jobs[job.identity] = job
        waiting.append(job)

    def _again(self, present: Job, job: Job) -> None:
        """Do not start a message twice that is here already; go on with the newer lease."""
        is_kept = self._keeper.replace(present.lease, job.lease)
        reason = "it is worked on here; its newer lease is kept" if is_kept else "its handler still runs here"
        self._events.tell(
            WorkerEvent(events.REDELIVERED, self.queue, job.keys, job.handler.name, reason=reason)
        )

    def _choose(self) -> list[Job]:
        """Take from what waits what can be started now."""
        for handler, waiting in self._waiting.items():
            if not waiting or self._is_at_limit(handler):
                continue
            if len(waiting) < handler.batch_size and not self._batch_ended:
                continue
            jobs = [waiting.popleft() for _ in range(min(handler.batch_size, len(waiting)))]
            self._running[handler] += 1
            self._starts += 1
            self._rotate(handler)
            self._keep_one_free()
            return jobs
        return []

    def _is_gathering(self) -> bool:
        """Return whether a batch waits for the rest of it."""
        with self._changed:
            return any(jobs and not self._is_at_limit(handler) for handler, jobs in self._waiting.items())

    def _rotate(self, handler: Handler) -> None:
        # So that a type with many messages does not hold up the others.
        self._waiting[handler] = self._waiting.pop(handler)

    def _keep_one_free(self) -> None:
        """See to it that somebody else takes the next message."""
        if self._has_standby:
            return
        if self._idle:
            self._changed.notify()
        elif not self._is_led and self._threads < self._concurrency:
            self._add_thread()

    def _is_at_limit(self, handler: Handler) -> bool:
        return handler.concurrency is not None and self._running[handler] >= handler.concurrency

    def _finish(self, jobs: Sequence[Job], over: Sequence[Job], computed: float) -> None:
        with self._changed:
            self._running[jobs[0].handler] -= 1
            self._pace.note(len(jobs), jobs[0].seconds(), jobs[0].waited, computed)
            self._end(over)

    def _acknowledged(self, jobs: Sequence[Job]) -> None:
        self._work.let_go(jobs)
        with self._changed:
            self._end(jobs)

    def _end(self, jobs: Sequence[Job]) -> None:
        self._forget(jobs)
        self._note_tried(jobs)
        self.quiet_since = time.monotonic()
        if not self._jobs or any(handler.concurrency for handler in self._waiting):
            self._changed.notify_all()

    def _note_tried(self, jobs: Sequence[Job]) -> None:
        if self.tried is not None:
            self.tried.update(job.identity for job in jobs)

    def _forget(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._jobs.get(job.identity) is job:
                del self._jobs[job.identity]

    def _hand_back(self, jobs: Sequence[Job], reason: str) -> None:
        self._keeper.release(*[job.lease for job in jobs])
        for job in jobs:
            self._events.tell(
                WorkerEvent(events.HANDED_BACK, self.queue, job.keys, job.handler.name, reason=reason)
            )
