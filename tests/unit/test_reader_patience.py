"""How long the reader of a stream waits for demand before it closes the stream."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy_spanner_queues.message import Lease
from sqlalchemy_spanner_queues.receiver.reader import PATIENCE_SECONDS, QUICK_SECONDS, Reader
from sqlalchemy_spanner_queues.receiver.transport import ReceivedRow, ReceiveRequest

REQUEST = ReceiveRequest(1, timedelta(minutes=1), None, None)


class Rows:
    """A stream of batches of one message each."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.cancelled = False

    def __iter__(self) -> Iterator[ReceivedRow]:
        expires = datetime.now(UTC) + timedelta(seconds=10)
        return (
            ReceivedRow([number], f"t{number}", expires, last=True, stored=b"")
            for number in range(self._number)
        )

    def cancel(self) -> None:
        self.cancelled = True


class Opens:
    """A transport that has this stream."""

    leases_ahead = True

    def __init__(self, stream: Rows) -> None:
        self._stream = stream

    def receive(self, request: ReceiveRequest) -> Rows:
        return self._stream


class HoldsAll:
    """A keeper that loses no lease, and renews none."""

    def hold(self, lease: Lease, max_seconds: float, owner: object) -> None:
        pass


class Rehearsal(Reader[int]):
    """A reader that notes how long it would wait, and whose demand is written down in advance."""

    def __init__(self, stream: Rows, demand: list[bool]) -> None:
        transport: Any = Opens(stream)
        keeper: Any = HoldsAll()
        super().__init__(transport, lambda: REQUEST, keeper, 60.0, _make)
        self._demand = demand
        self.waits: list[float | None] = []

    def _wait_for_demand(self, seconds: float | None) -> bool:
        self.waits.append(seconds)
        return self._demand.pop(0)

    def read(self) -> None:
        self._read_stream()


def _make(row: ReceivedRow) -> tuple[int, Lease]:
    return row.values[0], Lease("q", {"k": row.values[0]}, row.token, row.expires_at)


def test_a_stream_that_is_read_on_is_closed_less_soon() -> None:
    """More is on its way by then, and its leases would be lost for as long as they run."""
    stream = Rows(3)
    reader = Rehearsal(stream, [True, True, False])
    reader.read()
    assert reader.waits == [QUICK_SECONDS, PATIENCE_SECONDS, PATIENCE_SECONDS]
    assert stream.cancelled


def test_a_stream_whose_first_batch_is_slow_is_closed_at_once() -> None:
    stream = Rows(3)
    reader = Rehearsal(stream, [False])
    reader.read()
    assert reader.waits == [QUICK_SECONDS]
    assert stream.cancelled
