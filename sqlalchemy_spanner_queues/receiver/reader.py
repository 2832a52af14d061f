"""Read one queue's stream in a thread: prompt rows, a batch at a time, reconnecting where that helps."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ..message import Lease
from .keeper import LeaseKeeper
from .staleness import Staleness
from .transport import ReceivedRow, ReceiveRequest, Stream, TransientError, Transport

log = logging.getLogger("sqlalchemy_spanner_queues.receiver")

ItemT = TypeVar("ItemT")

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 30.0
# Rows that are read ahead within a batch that does not end; then the reader waits.
MOST_WAITING: Final = 1000
STOP_SECONDS: Final = 1.5


class Arrived(Generic[ItemT]):
    """A message that waits to be taken, with its lease."""

    __slots__ = ("item", "last", "lease")

    def __init__(self, item: ItemT, lease: Lease, last: bool) -> None:
        self.item = item
        self.lease = lease
        self.last = last


class Reader(Generic[ItemT]):
    """Own the stream and its thread; hand over what arrived.

    A new batch is read only while somebody waits for it, so that no message is taken that nobody can start.
    """

    def __init__(
        self,
        transport: Transport,
        request: ReceiveRequest,
        keeper: LeaseKeeper,
        max_lease: float,
        make: Callable[[ReceivedRow], tuple[ItemT, Lease]],
    ) -> None:
        self._transport = transport
        self._request = request
        self._keeper = keeper
        self._max_lease = max_lease
        self._make = make
        self._changed = threading.Condition()
        self._waiting: deque[Arrived[ItemT]] = deque()
        self._wanted = False
        self._stopping = False
        self._ended = False
        self._error: BaseException | None = None
        self._stream: Stream | None = None
        self._thread = threading.Thread(target=self._run, name="spanner-queues-receiver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the stream from any thread; what waits is left to be delivered again."""
        with self._changed:
            self._stopping = True
            stream = self._stream
            abandoned = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        if stream is not None:
            stream.cancel()
        for arrived in abandoned:
            self._keeper.release(arrived.lease)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def take(self) -> list[Arrived[ItemT]]:
        """Wait for messages and return all that wait; nothing means that the reader was stopped.

        Raises the error that ended the stream for good.
        """
        with self._changed:
            self._wanted = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._ended or self._stopping)
            self._wanted = False
            taken = list(self._waiting)
            self._waiting.clear()
            if not taken and self._error is not None and not self._stopping:
                raise self._error
            return taken

    def _run(self) -> None:
        try:
            self._read_on()
        except BaseException as error:
            # The loop over the receiver raises it; see take().
            log.error("receiving ended: %s", error, exc_info=True)
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_on(self) -> None:
        failures = 0
        while not self._stopping:
            try:
                if self._read_stream():
                    failures = 0
            except TransientError as error:
                failures += 1
                pause = self._pause(failures, error)
                if self._stopping:
                    return
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, timeout=pause)

    def _pause(self, failures: int, error: TransientError) -> float:
        pause: float = min(FIRST_PAUSE_SECONDS * 2 ** min(failures, 20), LONGEST_PAUSE_SECONDS)
        pause *= random.uniform(0.5, 1.0)
        if not self._stopping:
            level = logging.WARNING if error.overloaded or failures > 1 else logging.INFO
            log.log(level, "the stream ended, reading again in %.1f s: %s", pause, error)
        return pause

    def _read_stream(self) -> bool:
        """Read one stream to its end; return whether it brought anything or ended in order."""
        stream = self._transport.receive(self._request)
        with self._changed:
            self._stream = stream
            if self._stopping:
                stream.cancel()
        staleness = Staleness()
        for row in stream:
            self._arrive(row, staleness)
            if self._stopping:
                break
        return True

    def _arrive(self, row: ReceivedRow, staleness: Staleness) -> None:
        item, lease = self._make(row)
        if staleness.is_doubtful(row.expires_at, time.monotonic()):
            self._keeper.confirm([lease])
            if lease.lost.is_set():
                log.debug("%r ran out before it was read", lease)
                return
        self._keeper.hold(lease, self._max_lease)
        with self._changed:
            self._waiting.append(Arrived(item, lease, row.last))
            if self._wanted:
                self._changed.notify_all()
            if row.last or len(self._waiting) >= MOST_WAITING:
                self._changed.wait_for(lambda: self._stopping or (self._wanted and not self._waiting))
