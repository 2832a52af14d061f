"""What a Receiver needs of an engine: a stream of rows, and renewal of leases in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement

Token = Any


@dataclass(slots=True)
class ReceivedRow:
    """One delivered message: its column values, its lease, and its payload as it is stored.

    ``values`` are those of the queue's columns in order (keys, payload, deliver time), decoded; a payload
    that cannot be decoded is an UndecodablePayload. ``last`` ends a batch.
    """

    values: list[Any]
    token: Token
    expires_at: datetime
    last: bool
    stored: bytes | str


@dataclass(frozen=True)
class ReceiveRequest:
    """What to receive: the arguments of RECEIVE and a filter over the queue's columns."""

    max_batch_size: int | None
    max_duration: timedelta
    priority: int | str | None
    where: ColumnElement[bool] | None


@dataclass(frozen=True)
class Renewal:
    """A renewed lease; ``token`` is None when the message is acknowledged already."""

    token: Token | None
    expires_at: datetime | None


class Stream(Protocol):
    """Rows as they arrive; ``cancel`` ends the iteration from any thread.

    ``is_leasing`` is True while rows are leased that have not all been read, where that can be told.
    """

    @property
    def is_leasing(self) -> bool: ...

    def __iter__(self) -> Iterator[ReceivedRow]: ...

    def cancel(self) -> None: ...


class Transport(Protocol):
    """The way to one queue of one engine.

    ``leases_ahead`` says whether messages are leased when they are sent, read or not, so that an open stream
    is not closed without need.
    """

    leases_ahead: bool

    def receive(self, request: ReceiveRequest) -> Stream: ...

    def renew(self, tokens: Sequence[Token]) -> Mapping[Token, Renewal]:
        """Renew in one request; a token that is missing from the answer is expired."""
        ...

    def close(self) -> None: ...


class TransientError(Exception):
    """The stream or the renewal failed in a way that passes; the cause is chained.

    ``overloaded`` is True when Spanner has too many receivers (RESOURCE_EXHAUSTED).
    """

    def __init__(self, message: str, overloaded: bool = False) -> None:
        super().__init__(message)
        self.overloaded = overloaded
