"""What happens in a worker, told once: to the log, to the counters, and to whoever listens."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..exc import UnknownMessageType
from .outcomes import Outcome

log = logging.getLogger("sqlalchemy_spanner_queues.worker")

STARTED: Final = "message.started"
SUCCEEDED: Final = "message.succeeded"
RETRIED: Final = "message.retried"
DISCARDED: Final = "message.discarded"
DEAD_LETTERED: Final = "message.dead_lettered"
LEFT: Final = "message.left"
HANDED_BACK: Final = "message.handed_back"
REDELIVERED: Final = "message.redelivered"
ALREADY_ACKNOWLEDGED: Final = "message.already_acknowledged"
UNKNOWN_TYPE: Final = "message.unknown_type"
LEASE_LOST: Final = "lease.lost"
OUTCOME_UNKNOWN: Final = "commit.outcome_unknown"
ABORTED: Final = "transaction.aborted"
OVERLOADED: Final = "receiver.overloaded"
WORKER_STARTED: Final = "worker.started"
WORKER_STOPPING: Final = "worker.stopping"
WORKER_STOPPED: Final = "worker.stopped"
WORKER_FAILED: Final = "worker.failed"

_LEVELS: Final = {
    STARTED: logging.DEBUG,
    SUCCEEDED: logging.DEBUG,
    REDELIVERED: logging.INFO,
    HANDED_BACK: logging.INFO,
    WORKER_STARTED: logging.INFO,
    WORKER_STOPPING: logging.INFO,
    WORKER_STOPPED: logging.INFO,
    DISCARDED: logging.INFO,
    DEAD_LETTERED: logging.ERROR,
    OUTCOME_UNKNOWN: logging.ERROR,
    UNKNOWN_TYPE: logging.ERROR,
    WORKER_FAILED: logging.CRITICAL,
}


@dataclass(frozen=True)
class WorkerEvent:
    """One thing that happened: a name, the message that it is about, and what is known besides.

    ``name`` is one of the constants of this module. ``queue``, ``keys`` and ``handler`` name the message and
    who works on it, ``attempts`` counts its starts where a RetryPolicy has them counted, ``seconds`` is how
    long the handler took, ``reason`` says why in a line, ``error`` is the exception.
    """

    name: str
    queue: str = ""
    keys: Mapping[str, object] = field(default_factory=dict[str, object])
    handler: str = ""
    attempts: int = 0
    seconds: float | None = None
    reason: str = ""
    error: BaseException | None = None

    def fields(self) -> dict[str, Any]:
        """Return what is set, for structured logs: ``event`` is the name.

        Example: ``json.dumps(event.fields(), default=str)``.
        """
        values = {
            "event": self.name,
            "queue": self.queue,
            "keys": dict(self.keys),
            "handler": self.handler,
            "attempts": self.attempts,
            "seconds": self.seconds,
            "reason": self.reason,
        }
        return {name: value for name, value in values.items() if value not in ("", 0, None, {})}


def _traced(error: BaseException | None) -> BaseException | None:
    """Return an error whose traceback says more than its text."""
    return None if isinstance(error, Outcome | UnknownMessageType) else error


Listener = Callable[[WorkerEvent], object]


class Events:
    """Tell the log, the counters and the listeners."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def tell(self, event: WorkerEvent) -> None:
        self._count(event.name)
        level = _LEVELS.get(event.name, logging.WARNING)
        if log.isEnabledFor(level):
            fields = event.fields()
            shown = " ".join(f"{name}={value!r}" for name, value in fields.items() if name != "event")
            log.log(
                level,
                "%s %s",
                event.name,
                shown,
                extra={"spanner_queues": fields},
                exc_info=_traced(event.error),
            )
        for listener in self._listeners:
            self._call(listener, event)

    def tell_quietly(self, name: str, make: Callable[[], WorkerEvent]) -> None:
        """Tell what happens so often that it is not put into words unless somebody wants to know."""
        if self._listeners or log.isEnabledFor(_LEVELS.get(name, logging.WARNING)):
            self.tell(make())
        else:
            self._count(name)

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1

    def _call(self, listener: Listener, event: WorkerEvent) -> None:
        try:
            listener(event)
        except Exception:
            # It watches; what it gets wrong must not touch the messages.
            log.exception("a listener failed on %s", event.name)
