"""Keep leases alive: one thread for each queue of an engine renews all of them in one request a beat."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from ..message import Lease, mark_lost, mark_renewed
from .transport import Renewal, Token, TransientError

log = logging.getLogger("sqlalchemy_spanner_queues.lease")

BEAT_SECONDS: Final = 5.0
# After a renewal that failed, the next one comes sooner: a lease runs for 10 seconds.
RETRY_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 2.0


class Renewer(Protocol):
    """What the keeper needs of a transport."""

    def renew(self, tokens: Sequence[Token]) -> Mapping[Token, Renewal]: ...

    def close(self) -> None: ...


class _Held:
    """A lease in the keeper's hands, since when, and for how long at most (seconds)."""

    __slots__ = ("finishing", "lease", "max_seconds", "owner", "since")

    def __init__(self, lease: Lease, max_seconds: float, since: float, owner: object) -> None:
        self.lease = lease
        self.owner = owner
        self.max_seconds = max_seconds
        self.since = since
        self.finishing = False


class LeaseKeeper:
    """Renew every lease it holds, about every 5 seconds, until it is let go.

    Only the database's answer says that a lease is lost: a late or failed renewal is tried again.
    ``monotonic`` gives seconds.
    """

    def __init__(self, transport: Renewer, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._transport = transport
        self._monotonic = monotonic
        self._held: dict[int, _Held] = {}
        self._changed = threading.Condition()
        # A token dies with its renewal: two at a time would take each other's for lost.
        self._renewing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.failure: BaseException | None = None

    def hold(self, lease: Lease, max_seconds: float, owner: object = None) -> None:
        """Renew a lease from now on, for at most ``max_seconds`` seconds."""
        held = _Held(lease, max_seconds, self._monotonic(), owner)
        with self._changed:
            was_idle = not self._held
            self._held[id(lease)] = held
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="spanner-queues-leases", daemon=True)
                self._thread.start()
            if was_idle:
                self._changed.notify_all()

    def hand_over(self, limits: Iterable[tuple[Lease, float]], owner: object) -> None:
        """Give leases that are held another owner, and each the seconds that it is held at most."""
        with self._changed:
            for lease, max_seconds in limits:
                held = self._held.get(id(lease))
                if held is not None:
                    held.owner, held.max_seconds = owner, max_seconds

    def replace(self, lease: Lease, newer: Lease) -> bool:
        """Go on with the token of a newer lease of the same message; return False when it is too late."""
        with self._changed:
            self._held.pop(id(newer), None)
            if lease.is_lost or id(lease) not in self._held:
                return False
            mark_renewed(lease, newer.token, newer.expires_at)
            return True

    def finishing(self, *leases: Lease) -> None:
        """Note that messages are being acknowledged: not to find them any more is no loss from now on."""
        with self._changed:
            for lease in leases:
                held = self._held.get(id(lease))
                if held is not None:
                    held.finishing = True

    def release(self, *leases: Lease) -> None:
        """Renew leases no more; what is not acknowledged is delivered again when they run out."""
        with self._changed:
            for lease in leases:
                self._held.pop(id(lease), None)

    def release_all(self, owner: object) -> None:
        """Renew none of an owner's leases any more."""
        with self._changed:
            self._held = {key: held for key, held in self._held.items() if held.owner is not owner}

    def close(self) -> None:
        """End the thread and the renewal under way; returns within 2 seconds."""
        with self._changed:
            self._closed = True
            self._held.clear()
            self._changed.notify_all()
            thread = self._thread
        self._transport.close()
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS)

    def confirm(self, leases: Sequence[Lease]) -> None:
        """Renew these leases now, and mark those that are lost."""
        with self._renewing:
            answer = self._renew({lease.token: lease for lease in leases})
            for lease in leases:
                _apply(lease, answer, finishing=False)

    def beat(self) -> bool:
        """Renew all leases that are held; return False when it has to be tried again soon."""
        with self._renewing:
            return self._beat()

    def _beat(self) -> bool:
        with self._changed:
            self._drop_overdue()
            held = {item.lease.token: item for item in self._held.values()}
        if not held:
            return True
        try:
            answer = self._renew({token: item.lease for token, item in held.items()})
        except TransientError as error:
            log.warning("renewal of %d leases failed, trying again: %s", len(held), error)
            return False
        with self._changed:
            for token, item in held.items():
                if self._is_current(item, token) and not _apply(item.lease, answer, item.finishing, token):
                    del self._held[id(item.lease)]
        return True

    def _is_current(self, item: _Held, token: Token) -> bool:
        """Return whether a lease is still held, with the token that was renewed."""
        return self._held.get(id(item.lease)) is item and item.lease.token == token

    def _renew(self, leases: Mapping[Token, Lease]) -> Mapping[Token, Renewal]:
        return self._transport.renew(list(leases))

    def _drop_overdue(self) -> None:
        now = self._monotonic()
        for key, item in list(self._held.items()):
            if now - item.since > item.max_seconds:
                mark_lost(item.lease, f"it was held for the longest time allowed, {item.max_seconds:g} s")
                log.warning("%r is not renewed any more", item.lease)
                del self._held[key]

    def _run(self) -> None:
        pause = BEAT_SECONDS
        try:
            while self._wait(pause):
                pause = BEAT_SECONDS if self.beat() else RETRY_SECONDS
        except BaseException as error:
            # Whoever receives next raises it: leases that nobody renews must not go unnoticed.
            self.failure = error
            log.exception("the lease keeper stopped")

    def _wait(self, seconds: float) -> bool:
        """Wait while nothing is held, then for the beat; return False when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._held))
            self._changed.wait_for(lambda: self._closed, timeout=seconds)
            return not self._closed


def _apply(
    lease: Lease, answer: Mapping[Token, Renewal], finishing: bool, token: Token | None = None
) -> bool:
    """Take the database's answer for one lease; return False when there is nothing more to renew."""
    renewal = answer.get(lease.token if token is None else token)
    if renewal is not None and renewal.token is not None and renewal.expires_at is not None:
        mark_renewed(lease, renewal.token, renewal.expires_at)
        return True
    if not finishing:
        mark_lost(lease, "it ran out" if renewal is None else "the message is acknowledged already")
    return False
