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
# Whoever asks for more within this time, so many times in a row, is as fast as the network ...
QUICK_SECONDS: Final = 0.005
QUICK_TIMES: Final = 3
# ... and is waited for this long between two batches before the stream is closed; so is everybody once a
# stream is read on, because more is on its way then, whose leases are lost with the stream.
PATIENCE_SECONDS: Final = 0.05
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

    A new batch is read only when somebody waits for it. The database would send it all the same, into the
    network's buffers, where its leases run out; so the stream is closed after a batch that is worked on
    slowly, and opened again when more is asked for.
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
        self._arrived: deque[Arrived[ItemT]] = deque()
        self._taken: deque[Arrived[ItemT]] = deque()
        self._wanted = False
        self._stopping = False
        self._ended = False
        self._error: BaseException | None = None
        self._stream: Stream | None = None
        self._idle_since = 0.0
        self._quick = 0
        self._thread = threading.Thread(target=self._run, name="spanner-queues-receiver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the stream from any thread; what waits is left to be delivered again."""
        with self._changed:
            self._stopping = True
            stream = self._stream
            self._changed.notify_all()
        if stream is not None:
            stream.cancel()
        self._keeper.release_all(self)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)
        self._transport.close()

    def take(self) -> Arrived[ItemT] | None:
        """Wait for a message and return it; None means that the reader was stopped.

        Raises the error that ended the stream for good. To be called in one thread.
        """
        while not self._stopping:
            if not self._taken:
                self._take_all()
            if not self._taken:
                return None
            arrived = self._taken.popleft()
            if not arrived.lease.is_lost:
                return arrived
        return None

    def _take_all(self) -> None:
        with self._changed:
            self._wanted = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._arrived or self._ended or self._stopping)
            self._wanted = False
            self._taken.extend(self._arrived)
            self._arrived.clear()
            if not self._taken and self._error is not None and not self._stopping:
                raise self._error

    def _run(self) -> None:
        try:
            self._read_on()
        except BaseException as error:
            # The loop over the receiver raises it; see take().
            if not self._stopping:
                log.error("receiving ended: %s", error, exc_info=True)
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_on(self) -> None:
        failures = 0
        while self._wait_for_next():
            try:
                self._read_stream()
                failures = 0
            except TransientError as error:
                failures += 1
                self._rest(failures, error)

    def _wait_for_next(self) -> bool:
        """Wait until a stream is needed, and learn from how soon that was; return False when stopped."""
        wanted = self._wait_for_demand(None)
        self._learn()
        return wanted

    def _is_more_wanted(self, *, patient: bool) -> bool:
        """Return whether to read on after a batch; whoever was quick so far is waited for a little longer."""
        self._idle_since = time.monotonic()
        patient = patient or self._quick >= QUICK_TIMES
        if not self._wait_for_demand(PATIENCE_SECONDS if patient else QUICK_SECONDS):
            return False
        self._learn()
        return True

    def _learn(self) -> None:
        is_quick = time.monotonic() - self._idle_since < QUICK_SECONDS
        self._quick = self._quick + 1 if is_quick else 0

    def _rest(self, failures: int, error: TransientError) -> None:
        pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 20), LONGEST_PAUSE_SECONDS)
        pause *= random.uniform(0.5, 1.0)
        with self._changed:
            if self._stopping:
                return
            level = logging.WARNING if error.overloaded or failures > 1 else logging.INFO
            log.log(level, "the stream ended, reading again in %.1f s: %s", pause, error)
            self._changed.wait_for(lambda: self._stopping, timeout=pause)

    def _read_stream(self) -> None:
        """Read one stream until it ends, or until nobody waits for its next batch."""
        stream = self._transport.receive(self._request)
        with self._changed:
            self._stream = stream
            if self._stopping:
                stream.cancel()
        staleness, batches = Staleness(), 0
        for row in stream:
            if not self._arrive(row, staleness):
                stream.cancel()
                return
            if row.last or len(self._arrived) >= MOST_WAITING:
                batches += 1
                if not self._is_more_wanted(patient=batches > 1):
                    stream.cancel()
                    return

    def _arrive(self, row: ReceivedRow, staleness: Staleness) -> bool:
        """Put a row where it can be taken; return False when its lease, like those behind it, ran out."""
        item, lease = self._make(row)
        if staleness.is_doubtful(row.expires_at, time.monotonic()):
            self._keeper.confirm([lease])
            if lease.is_lost:
                log.info("%r ran out before it was read; reading anew", lease)
                return False
        self._keeper.hold(lease, self._max_lease, owner=self)
        if self._stopping:  # stop() may have released all before this one was held
            self._keeper.release(lease)
            return False
        with self._changed:
            self._arrived.append(Arrived(item, lease, row.last))
            if self._wanted:
                self._changed.notify_all()
        return True

    def _wait_for_demand(self, seconds: float | None) -> bool:
        """Wait until somebody waits for more; return False when that did not happen, or when stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._is_wanted(), timeout=seconds)
            return not self._stopping and self._is_wanted()

    def _is_wanted(self) -> bool:
        return self._wanted and not self._arrived
