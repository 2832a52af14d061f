"""Read one queue's stream in a thread: prompt rows, a batch at a time, reconnecting where that helps."""

from __future__ import annotations

import logging
import math
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
# What is read ahead within a batch that does not end, in rows and bytes of payload; then the reader waits.
MOST_WAITING: Final = 1000
MOST_WAITING_BYTES: Final = 64 * 2**20
# Whoever asks for more within this time, so many times in a row, is as fast as the network ...
QUICK_SECONDS: Final = 0.005
QUICK_TIMES: Final = 3
# ... and is waited for this long between two batches before the stream is closed; so is everybody once a
# stream is read on, because more is on its way then, whose leases are lost with the stream.
PATIENCE_SECONDS: Final = 0.05
STOP_SECONDS: Final = 1.5
# A stream that has not failed by then is a good one, whether anything came or not.
SETTLED_SECONDS: Final = 5.0


class Arrived(Generic[ItemT]):
    """A message that waits to be taken, with its lease, and its payload as it is stored."""

    __slots__ = ("item", "last", "lease", "stored")

    def __init__(self, item: ItemT, lease: Lease, last: bool, stored: bytes | str) -> None:
        self.item = item
        self.lease = lease
        self.last = last
        self.stored = stored


class Reader(Generic[ItemT]):
    """Own the stream and its thread; hand over what arrived.

    A new batch is read only when somebody waits for it. The database would send it all the same, into the
    network's buffers, where its leases run out; so the stream is closed after a batch that is worked on
    slowly, and opened again when more is asked for.
    """

    def __init__(
        self,
        transport: Transport,
        request: Callable[[], ReceiveRequest],
        keeper: LeaseKeeper,
        max_lease: float,
        make: Callable[[ReceivedRow], tuple[ItemT, Lease]],
        *,
        most_bytes: int = MOST_WAITING_BYTES,
    ) -> None:
        self._transport = transport
        self._request = request
        self._most_bytes = most_bytes
        self._keeper = keeper
        self._max_lease = max_lease
        self._make = make
        self._changed = threading.Condition()
        self._arrived: deque[Arrived[ItemT]] = deque()
        self._arrived_bytes = 0
        self._taken: deque[Arrived[ItemT]] = deque()
        self._wanted = False
        self._stopping = False
        self._ended = False
        self._error: BaseException | None = None
        self._stream: Stream | None = None
        self._idle_since = 0.0
        self._opened_at = time.monotonic()
        self.failures = 0
        self._overloaded = False
        self._quick = 0
        self._thread = threading.Thread(target=self._run, name="spanner-queues-receiver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> list[Arrived[ItemT]]:
        """End the stream from any thread; what waits is left to be delivered again, and returned."""
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
        with self._changed:
            left = list(self._arrived)
            self._arrived.clear()
            return left

    def take(self) -> Arrived[ItemT] | None:
        """Wait for a message and return it; None means that the reader was stopped.

        Raises the error that ended the stream for good. To be called in one thread.
        """
        while not self._stopping:
            if not self._taken:
                self._taken.extend(self.take_all() or ())
            if not self._taken:
                return None
            arrived = self._taken.popleft()
            if not arrived.lease.is_lost:
                return arrived
        return None

    @property
    def is_failing(self) -> bool:
        """Return whether the last stream broke, and no other one has lived for a while since."""
        return self.failures > 0 and not self._is_settled()

    @property
    def overloaded(self) -> bool:
        """Return whether it fails because Spanner has too many receivers."""
        return self._overloaded and self.is_failing

    @property
    def waiting(self) -> int:
        """Return how many messages have arrived and are not taken."""
        with self._changed:
            return len(self._arrived)

    def is_waited_for(self) -> bool:
        """Return whether somebody waits for messages and none is on its way, as far as that can be told."""
        # In the order in which they come: none may slip by between the two looks.
        stream = self._stream
        if stream is not None and stream.is_leasing:
            return False
        with self._changed:
            return self._is_wanted()

    def take_all(self, timeout: float | None = None) -> list[Arrived[ItemT]] | None:
        """Wait for messages and return all that came; None means that the reader was stopped.

        Returns an empty list when nothing came within ``timeout`` seconds. Raises the error that ended the
        stream for good.
        """
        with self._changed:
            self._wanted = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._arrived or self._ended or self._stopping, timeout)
            self._wanted = False
            if self._stopping:
                return None
            taken = list(self._arrived)
            self._arrived.clear()
            self._arrived_bytes = 0
            if not taken and self._error is not None:
                raise self._error
            return taken

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
        while self._wait_for_next():
            try:
                self._read_stream()
                self.failures = 0
            except TransientError as error:
                self.failures = 1 if self._is_settled() else self.failures + 1
                self._overloaded = error.overloaded
                self._opened_at = math.inf  # no stream is open, however long the rest is
                self._rest(self.failures, error)

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
        request = self._request()
        stream = self._transport.receive(request)
        with self._changed:
            self._stream, self._opened_at = stream, time.monotonic()
            if self._stopping:
                stream.cancel()
        staleness, batches = Staleness(), 0
        for row in stream:
            if not self._arrive(row, staleness):
                stream.cancel()
                return
            self.failures = 0
            if row.last or self._is_full():
                batches += 1
                if not self._is_more_wanted(patient=batches > 1) or self._is_outdated(request):
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
            self._arrived.append(Arrived(item, lease, row.last, row.stored))
            self._arrived_bytes += len(row.stored)
            if self._wanted:
                self._changed.notify_all()
        return True

    def _is_settled(self) -> bool:
        return time.monotonic() - self._opened_at >= SETTLED_SECONDS

    def _is_outdated(self, request: ReceiveRequest) -> bool:
        """Return whether another stream would be better, and costs nothing."""
        return not self._transport.leases_ahead and self._request() != request

    def _is_full(self) -> bool:
        return len(self._arrived) >= MOST_WAITING or self._arrived_bytes >= self._most_bytes

    def _wait_for_demand(self, seconds: float | None) -> bool:
        """Wait until somebody waits for more; return False when that did not happen, or when stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._is_wanted(), timeout=seconds)
            return not self._stopping and self._is_wanted()

    def _is_wanted(self) -> bool:
        return self._wanted and not self._arrived
