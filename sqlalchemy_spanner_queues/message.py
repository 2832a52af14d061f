"""A received message's lease, and what stands in for a payload that cannot be decoded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn

from .exc import LeaseLost, PayloadError

# An Event costs more than all the rest of a lease, and few are ever waited for.
_making_events = threading.Lock()


class Lease:
    """The right to work on a delivered message, for 10 seconds at a time.

    A Receiver renews it in the background about every 5 seconds. ``token`` is the current token (opaque, it
    changes with each renewal), ``expires_at`` the database's stamp (aware, UTC): compare it with nothing but
    other stamps of the database. ``lost`` is an Event that is set once the database has said that the lease
    is not ours any more. ::

        for part in parts:
            message.lease.raise_if_lost()
            work_on(part)

    https://docs.cloud.google.com/spanner/docs/queues/queues-overview
    """

    def __init__(self, queue: str, keys: Mapping[str, object], token: Any, expires_at: datetime) -> None:
        self.queue = queue
        self.keys = dict(keys)
        self.token = token
        self.expires_at = expires_at
        self.reason = ""
        self._event: threading.Event | None = None
        self.watcher: Callable[[], None] | None = None

    @property
    def lost(self) -> threading.Event:
        """Return the event that is set once the lease is lost.

        Example: ``message.lease.lost.wait(timeout=1.0)`` between two parts of work.
        """
        with _making_events:
            if self._event is None:
                self._event = threading.Event()
            return self._event

    @property
    def is_lost(self) -> bool:
        """Return whether the lease is lost, as far as it is known here.

        Example: ``if message.lease.is_lost: return``.
        """
        return self._event is not None and self._event.is_set()

    def raise_if_lost(self) -> None:
        """Raise LeaseLost if the message may be delivered to somebody else; else return at once.

        Example: ``message.lease.raise_if_lost()`` before each part of long work.

        https://docs.cloud.google.com/spanner/docs/queues/queues-overview
        """
        if self.is_lost:
            raise LeaseLost(self.queue, self.keys, self.reason)

    def __getstate__(self) -> dict[str, Any]:
        # An Event cannot be pickled, and nobody keeps the lease of a copy.
        return {**self.__dict__, "_event": self.is_lost, "watcher": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _event=None)
        if state["_event"]:
            self.lost.set()

    def __repr__(self) -> str:
        state = f"lost: {self.reason}" if self.is_lost else f"until {self.expires_at.isoformat()}"
        return f"<Lease of {self.keys} of {self.queue}, {state}>"


def mark_renewed(lease: Lease, token: Any, expires_at: datetime) -> None:
    """Give a lease the token of its renewal."""
    lease.token = token
    lease.expires_at = expires_at


def mark_lost(lease: Lease, reason: str) -> None:
    """Note that a lease is lost, and why; the first reason stays."""
    if not lease.is_lost:
        lease.reason = reason
        lease.lost.set()
        if lease.watcher is not None:
            lease.watcher()


def watch(lease: Lease, when_lost: Callable[[], None]) -> None:
    """Call a function once a lease is lost: perhaps twice, by any thread; it must return at once."""
    lease.watcher = when_lost
    if lease.is_lost:
        when_lost()


class UndecodablePayload:
    """Stand in for a payload that the payload type could not decode.

    ``raw`` is what the database holds and ``error`` the PayloadError; using it as the payload raises that
    error, so that it cannot be taken for one.
    """

    def __init__(self, error: PayloadError) -> None:
        self.error = error
        self.raw = error.raw

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.error

    def __getitem__(self, key: object) -> NoReturn:
        raise self.error

    def __iter__(self) -> NoReturn:
        raise self.error

    def __len__(self) -> NoReturn:
        raise self.error

    def __bool__(self) -> NoReturn:
        raise self.error

    def __contains__(self, item: object) -> NoReturn:
        raise self.error

    def __eq__(self, other: object) -> NoReturn:
        raise self.error

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return UndecodablePayload, (self.error,)

    def __repr__(self) -> str:
        return f"<undecodable payload: {self.error}>"
