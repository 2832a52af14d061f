"""A worker that runs in this process beside the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy_spanner_queues.receiver.keeper import LeaseKeeper
from sqlalchemy_spanner_queues.receiver.reader import Reader
from sqlalchemy_spanner_queues.worker import Worker, WorkerEvent
from sqlalchemy_spanner_queues.worker.crew import Crew
from tests.conformance.helpers import Running

CLEAN, FORCED, ERROR = 0, 1, 2
# Shorter than what the clock of the emulator needs by itself to bring back a lease twice.
TIMEOUT_SECONDS = 15.0


class RunningWorker:
    """A worker in a thread of its own, and all that it told so far."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.events: list[WorkerEvent] = []
        self._changed = threading.Condition()
        worker.listen(self._hear)
        self._running = Running(worker.run)

    def wait_for(self, name: str, id: int | None = None, times: int = 1) -> WorkerEvent:
        """Wait until an event has been told so often, of one task or of any; return the last."""
        with self._changed:
            told = self._changed.wait_for(lambda: len(self.told(name, id)) >= times, TIMEOUT_SECONDS)
            assert told, f"{name} of {id} is not among {[(e.name, e.keys, e.reason) for e in self.events]}"
            return self.told(name, id)[times - 1]

    def told(self, name: str, id: int | None = None) -> list[WorkerEvent]:
        """Return the events of a name, of one task or of all."""
        return [e for e in self.events if e.name == name and id in (None, e.keys.get("Id"))]

    def ids(self, name: str) -> list[int]:
        """Return the ids of the tasks for which an event was told, one for each time."""
        return sorted(int(str(event.keys["Id"])) for event in self.told(name))

    @property
    def keeper(self) -> LeaseKeeper:
        """What renews the leases of the worker's only queue."""
        return self._crew._keepers[0][1]

    @property
    def reader(self) -> Reader[Any]:
        """What reads the worker's only queue."""
        return self._crew.lanes[0].reader

    @property
    def held(self) -> list[int]:
        """The ids of the tasks whose leases are renewed."""
        return sorted(int(str(held.lease.keys["Id"])) for held in list(self.keeper._held.values()))

    def wait_until_the_stream_is_closed(self) -> None:
        """Wait until nothing more is sent to the worker while all its threads are busy."""
        until(lambda: getattr(self.reader._stream, "_cancelled", False))

    def stop(self) -> None:
        self.worker.stop()

    def result(self, timeout: float = TIMEOUT_SECONDS) -> int:
        """Wait for the end and return the code, or raise what the worker died of."""
        return int(self._running.result(timeout))

    def ended(self, timeout: float) -> bool:
        return self._running.ended(timeout)

    @property
    def _crew(self) -> Crew:
        assert self.worker._crew is not None
        return self.worker._crew

    def _hear(self, event: WorkerEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()


@contextmanager
def running(worker: Worker, *, ends_with: int = CLEAN) -> Iterator[RunningWorker]:
    """Run a worker for the length of a block, stop it, and compare its exit code."""
    run = RunningWorker(worker)
    try:
        run.wait_for("worker.started")
        yield run
    except BaseException:
        for _ in range(2):
            run.stop()
        run.ended(TIMEOUT_SECONDS)
        raise
    run.stop()
    assert run.result() == ends_with


def until(condition: Callable[[], bool], timeout: float = TIMEOUT_SECONDS) -> None:
    """Wait for what only shows when it is asked for."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.01)
