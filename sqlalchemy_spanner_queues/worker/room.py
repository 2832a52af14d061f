"""What a lane has in hand: the messages that wait for a handler, and those that are worked on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from .handler import Handler
from .job import Job

# Messages of one type that may wait for a handler at its limit; more are handed back.
MOST_PARKED: Final = 100

Identity = tuple[object, ...]


class Room:
    """The jobs of one queue, by handler; whoever uses it holds the lane's lock.

    ``tried`` collects what was worked on while somebody wants to know. ``quiet_since`` is when something came
    or ended last, in monotonic seconds.
    """

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self._waiting: dict[Handler, deque[Job]] = {handler: deque() for handler in handlers}
        self._running: dict[Handler, int] = dict.fromkeys(handlers, 0)
        self._jobs: dict[Identity, Job] = {}
        self.has_limits = any(handler.concurrency for handler in handlers)
        self.tried: set[Identity] | None = None
        self.quiet_since = time.monotonic()

    def __contains__(self, identity: Identity) -> bool:
        return identity in self._jobs

    def __getitem__(self, identity: Identity) -> Job:
        return self._jobs[identity]

    def enter(self, job: Job) -> bool:
        """Let a job wait for its handler; return False where too many do already."""
        waiting = self._waiting[job.handler]
        if self._is_at_limit(job.handler) and len(waiting) >= MOST_PARKED:
            return False
        self._jobs[job.identity] = job
        waiting.append(job)
        self.quiet_since = time.monotonic()
        return True

    def choose(self, *, all_came: bool) -> list[Job]:
        """Take out what can be started now, of one handler; ``all_came`` tells that no batch is half here."""
        for handler, waiting in self._waiting.items():
            if not waiting or self._is_at_limit(handler):
                continue
            if len(waiting) < handler.batch_size and not all_came:
                continue
            jobs = [waiting.popleft() for _ in range(min(handler.batch_size, len(waiting)))]
            self._running[handler] += 1
            # So that a type with many messages does not hold up the others.
            self._waiting[handler] = self._waiting.pop(handler)
            return jobs
        return []

    def free(self, handler: Handler) -> None:
        """Note that a thread is done with what it took out for a handler."""
        self._running[handler] -= 1

    def leave(self, jobs: Iterable[Job]) -> None:
        """Forget jobs that are over."""
        for job in jobs:
            if self._jobs.get(job.identity) is job:
                del self._jobs[job.identity]
            self.note_tried(job)
        self.quiet_since = time.monotonic()

    def note_tried(self, job: Job) -> None:
        if self.tried is not None:
            self.tried.add(job.identity)

    def clear_waiting(self) -> list[Job]:
        """Take out all that has not started."""
        waiting = [job for jobs in self._waiting.values() for job in jobs]
        for jobs in self._waiting.values():
            jobs.clear()
        for job in waiting:
            del self._jobs[job.identity]
        return waiting

    def is_gathering(self) -> bool:
        """Return whether a batch waits for the rest of it."""
        return any(jobs and not self._is_at_limit(handler) for handler, jobs in self._waiting.items())

    @property
    def is_empty(self) -> bool:
        return not self._jobs

    def at_work(self) -> int:
        """Return how many threads work on something."""
        return sum(self._running.values())

    def waiting(self) -> int:
        return sum(len(jobs) for jobs in self._waiting.values())

    def started(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.started]

    def _is_at_limit(self, handler: Handler) -> bool:
        return handler.concurrency is not None and self._running[handler] >= handler.concurrency
