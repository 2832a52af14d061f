"""From start to shutdown: wait for signals and failures, then end in good order."""

from __future__ import annotations

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import Final

from . import events
from .crew import Crew
from .events import Events, WorkerEvent

log = logging.getLogger("sqlalchemy_spanner_queues.worker")

# How often a worker looks at its parts, and at what is left while it stops, in seconds.
TICK_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.02
# How long cancelled coroutines have to end, in seconds.
CANCEL_SECONDS: Final = 1.0
# A drain is over when it was quiet for so long: where the database can tell what is due, and where what
# is due may be in somebody else's hands.
QUIET_SECONDS: Final = {"sqlite": 0.0, "spanner": 1.0}
LONGEST_QUIET_SECONDS: Final = 11.0


class ExitCode(IntEnum):
    """How a worker ended: 0 clean, 1 forced; errors are raised, and are 2 in the shell."""

    CLEAN = 0
    FORCED = 1
    ERROR = 2


class _Stop:
    """Asked to stop; a second one forces."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Supervisor:
    """Watch over a crew; ``stop`` and ``failed`` may be called from any thread and from signal handlers."""

    def __init__(self, told: Events, shutdown_timeout: float) -> None:
        self._events = told
        self._timeout = shutdown_timeout
        # Putting is safe in a signal handler.
        self._notes: queue.SimpleQueue[_Stop | BaseException] = queue.SimpleQueue()
        self._overloaded: set[str] = set()
        self.is_stopping = False
        self.error: BaseException | None = None

    def stop(self, reason: str = "stop() was called") -> None:
        self._notes.put(_Stop(reason))

    def failed(self, error: BaseException) -> None:
        self._notes.put(error)

    @contextmanager
    def signals(self) -> Generator[None]:
        """Let SIGTERM and SIGINT stop the worker; in the main thread only, where Python allows it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, _frame: FrameType | None) -> None:
            self.stop(signal.Signals(number).name)

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self, crew: Crew) -> ExitCode:
        """Run a crew until it is told to stop; raises the error that a part of it died of."""
        return self._run(crew, lambda: self._wait(crew))

    def drain(self, crew: Crew, engine_kind: str, timeout: float | None) -> ExitCode:
        """Run a crew until nothing is due any more, or for ``timeout`` seconds."""
        for lane in crew.lanes:
            lane.note_tried()
        return self._run(crew, lambda: self._wait_until_drained(crew, QUIET_SECONDS[engine_kind], timeout))

    def _run(self, crew: Crew, wait: Callable[[], str]) -> ExitCode:
        self._tell(events.WORKER_STARTED, ", ".join(lane.queue for lane in crew.lanes))
        try:
            crew.start()
            reason = wait()
        except BaseException as error:  # noqa: BLE001 - raised again after the shutdown
            self.error = self.error or error
            reason = f"{type(error).__name__}: {error}"
            self._events.tell(WorkerEvent(events.WORKER_FAILED, reason=reason, error=error))
        code = self._shut_down(crew, reason)
        if self.error is not None:
            raise self.error
        return code

    def _wait(self, crew: Crew) -> str:
        while True:
            reason = self._look(TICK_SECONDS)
            if reason is not None:
                return reason
            self._check(crew)

    def _wait_until_drained(self, crew: Crew, quiet: float, timeout: float | None) -> str:
        ends = None if timeout is None else time.monotonic() + timeout
        while ends is None or time.monotonic() < ends:
            reason = self._look(LOOK_SECONDS)
            if reason is not None:
                return reason
            self._check(crew)
            if crew.is_idle(LONGEST_QUIET_SECONDS) or self._is_drained(crew, quiet):
                return "drained"
        return f"the drain's time of {timeout:g} s is over"

    def _is_drained(self, crew: Crew, quiet: float) -> bool:
        # What was leased between the two looks is not due any more, and shows in the third.
        return crew.is_idle(quiet) and not crew.has_due() and crew.is_idle(quiet)

    def _look(self, seconds: float) -> str | None:
        """Wait for a note; return the reason to stop, raise what failed."""
        try:
            note = self._notes.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(note, _Stop):
            return note.reason
        raise note

    def _check(self, crew: Crew) -> None:
        failure = crew.failure()
        if failure is not None:
            raise failure
        for lane in crew.lanes:
            if lane.reader.overloaded and lane.queue not in self._overloaded:
                reason = "Spanner has too many receivers (RESOURCE_EXHAUSTED); trying again with a back-off"
                self._events.tell(WorkerEvent(events.OVERLOADED, lane.queue, reason=reason))
            (self._overloaded.add if lane.reader.overloaded else self._overloaded.discard)(lane.queue)

    def _shut_down(self, crew: Crew, reason: str) -> ExitCode:
        self.is_stopping = True
        self._tell(events.WORKER_STOPPING, reason)
        crew.stop_intake()
        code = ExitCode.CLEAN
        if not self._is_over_in_time(crew, self._timeout):
            code = ExitCode.FORCED
            left = crew.running()
            names = ", ".join(f"{job.handler.name} on {job.keys}" for job in left[:10])
            log.warning("%d messages are given up: %s", len(left), names)
            crew.cancel("the worker was stopped")
            self._is_over_in_time(crew, CANCEL_SECONDS)
        crew.close()
        self._tell(events.WORKER_STOPPED, code.name.lower())
        return code

    def _is_over_in_time(self, crew: Crew, seconds: float) -> bool:
        """Wait until nothing is worked on; a second request to stop ends the wait."""
        ends = time.monotonic() + seconds
        while not crew.is_over():
            if time.monotonic() >= ends:
                return False
            try:
                note = self._notes.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if isinstance(note, _Stop):
                return False
            self.error = self.error or note
        return True

    def _tell(self, name: str, reason: str) -> None:
        self._events.tell(WorkerEvent(name, reason=reason))
