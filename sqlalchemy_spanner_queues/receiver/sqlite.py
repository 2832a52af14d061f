"""Receive from SQLite: lease what is due in a short transaction, then wait for the next change."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    LargeBinary,
    Row,
    Select,
    String,
    TableClause,
    Text,
    bindparam,
    column,
    literal_column,
    select,
    table,
    update,
)
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.types import TypeEngine

from .._delivery import LEASE_SECONDS, redelivery_delay
from ..columns import Instant
from ..definition import QueueDefinition
from ..dialects.sqlite import EPOCH
from ..sqlite_mode.clock import now_micros
from ..sqlite_mode.turn import turn
from ..sqlite_mode.wake import Bell, bell_of
from .filters import onto
from .payloads import decode_payload, payload_type_of
from .transport import ReceivedRow, ReceiveRequest, Renewal, Token, TransientError

DEFAULT_BATCH: Final = 100
SECOND: Final = 1_000_000
LEASE: Final = int(LEASE_SECONDS * SECOND)
# Looked at after this long even if nothing seems to change, in seconds.
FALLBACK_SECONDS: Final = 10.0
_TOKENS_A_STATEMENT: Final = 500


class _Tables:
    """The queue's table with the columns that no model shows."""

    def __init__(self, queue: QueueDefinition) -> None:
        self.definition = queue
        self.payload = payload_type_of(queue)
        self.table: TableClause = table(
            queue.name,
            *(column(c.name, c.type) for c in queue.keys),
            column(queue.payload.name, _raw_type(queue)),
            column(queue.deliver_time.name, Instant()),
            column("spanner_available_at", BigInteger()),
            column("spanner_lease_token", String()),
            column("spanner_lease_until", BigInteger()),
            column("spanner_first_delivery", BigInteger()),
            column("spanner_deliveries", BigInteger()),
        )
        c = self.table.c
        self.rowid = literal_column("rowid", BigInteger())
        # Changes nothing, and takes the write lock: a transaction that reads first may lose it to another.
        self.lock = update(self.table).where(literal_column("0") == 1).values(spanner_deliveries=0)
        # The text of the index's expression, so that SQLite uses it.
        self.ready = literal_column(f'max("{queue.deliver_time.name}", spanner_available_at)', BigInteger())
        self.columns = [c[k.name] for k in queue.keys] + [c[queue.payload.name], c[queue.deliver_time.name]]


class SqliteTransport:
    """One queue of one SQLite engine."""

    leases_ahead = False

    def __init__(self, engine: Engine, queue: QueueDefinition) -> None:
        # Connections of its own: the application may hold all of its pool.
        self._engine = Engine(engine.pool.recreate(), engine.dialect, engine.url)
        self._bell = bell_of(engine, self._engine)
        self._tables = _Tables(queue)

    def receive(self, request: ReceiveRequest) -> SqliteStream:
        return SqliteStream(self._engine, self._bell, self._tables, request)

    def renew(self, tokens: Sequence[Token]) -> Mapping[Token, Renewal]:
        found: dict[Token, Renewal] = {}
        for start in range(0, len(tokens), _TOKENS_A_STATEMENT):
            found.update(self._renew_some(list(tokens[start : start + _TOKENS_A_STATEMENT])))
        return found

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _renew_some(self, tokens: list[str]) -> dict[Token, Renewal]:
        by_row = {int(token.split(".")[0]): token for token in tokens}
        nonce = secrets.token_hex(8)
        with _transaction(self._engine) as connection:
            connection.execute(self._tables.lock)
            now = now_micros(self._engine.dialect)
            rows = connection.execute(self._renewal(by_row, nonce, now))
            renewed = {int(row[0]) for row in rows}
            present = {int(row[0]) for row in connection.execute(self._present(by_row))}
        answer: dict[Token, Renewal] = {
            by_row[row]: Renewal(f"{row}.{nonce}", stamp(now + LEASE)) for row in renewed
        }
        answer.update({token: Renewal(None, None) for row, token in by_row.items() if row not in present})
        return answer

    def _renewal(self, by_row: Mapping[int, str], nonce: str, now: int) -> Any:
        c, rowid, until = self._tables.table.c, self._tables.rowid, now + LEASE
        ours = (rowid.in_(list(by_row)), c.spanner_lease_token.in_(list(by_row.values())))
        return (
            update(self._tables.table)
            .where(*ours, c.spanner_lease_until > now)
            .values(
                spanner_lease_token=rowid.concat(f".{nonce}"),
                spanner_available_at=c.spanner_available_at - c.spanner_lease_until + until,
                spanner_lease_until=until,
            )
            .returning(rowid)
        )

    def _present(self, rows: Mapping[int, str]) -> Select[Any]:
        return (
            select(self._tables.rowid)
            .select_from(self._tables.table)
            .where(self._tables.rowid.in_(list(rows)))
        )


class SqliteStream:
    """Deliver what is due, in order of deliver time, until it is cancelled or its time is over."""

    def __init__(self, engine: Engine, bell: Bell, tables: _Tables, request: ReceiveRequest) -> None:
        self._engine = engine
        self._tables = tables
        self._where = onto(request.where, tables.definition, tables.table)
        self._size = request.max_batch_size or DEFAULT_BATCH
        self._ends = time.monotonic() + request.max_duration.total_seconds()
        self._bell = bell
        self._cancelled = threading.Event()
        self.is_leasing = False

    def __iter__(self) -> Iterator[ReceivedRow]:
        while not self._cancelled.is_set() and (left := self._ends - time.monotonic()) > 0:
            seen = self._bell.look()
            pause = self._until_ready()
            if pause > 0:
                self._bell.wait(seen, min(pause, left))
                continue
            self.is_leasing = True
            try:
                yield from self._lease_batch()
            finally:
                self.is_leasing = False

    def cancel(self) -> None:
        self._cancelled.set()
        self._bell.ring()

    def _until_ready(self) -> float:
        """Return the seconds until a message is due, 0 when one is, the fallback when there is none."""
        if self._tables.definition.options.get("disable_delivery"):
            return FALLBACK_SECONDS
        statement = select(self._tables.ready).select_from(self._tables.table)
        if self._where is not None:
            statement = statement.where(self._where)
        with _locked_is_transient(), self._engine.connect() as connection:
            ready = connection.scalar(statement.order_by(self._tables.ready).limit(1))
        if ready is None:
            return FALLBACK_SECONDS
        return min(max(ready - now_micros(self._engine.dialect), 0) / SECOND, FALLBACK_SECONDS)

    def _lease_batch(self) -> list[ReceivedRow]:
        nonce = secrets.token_hex(8)
        with _transaction(self._engine) as connection:
            # The write lock comes first, so that what is read is what is leased, from now on.
            connection.execute(self._tables.lock)
            now = now_micros(self._engine.dialect)
            until = now + LEASE
            rows = connection.execute(self._due(now)).all()
            if rows:
                connection.execute(self._take(), [_leased(row, now, until, nonce) for row in rows])
        last = len(rows) - 1
        return [self._received(row, f"{row[0]}.{nonce}", until, at == last) for at, row in enumerate(rows)]

    def _received(self, row: Row[Any], token: str, until: int, last: bool) -> ReceivedRow:
        values: list[Any] = list(row)[3:]
        stored = values[-2]
        values[-2] = decode_payload(self._tables.payload, stored)
        return ReceivedRow(values, token, stamp(until), last, stored)

    def _due(self, now: int) -> Select[Any]:
        t = self._tables
        statement = (
            select(t.rowid, t.table.c.spanner_deliveries, t.table.c.spanner_first_delivery, *t.columns)
            .select_from(t.table)
            .where(t.ready <= now)
        )
        if self._where is not None:
            statement = statement.where(self._where)
        return statement.order_by(t.ready).limit(self._size)

    def _take(self) -> Any:
        return (
            update(self._tables.table)
            .where(self._tables.rowid == bindparam("row"))
            .values(
                spanner_lease_token=bindparam("token"),
                spanner_lease_until=bindparam("until"),
                spanner_available_at=bindparam("available"),
                spanner_first_delivery=bindparam("first"),
                spanner_deliveries=bindparam("deliveries"),
            )
        )


def _leased(row: Row[Any], now: int, until: int, nonce: str) -> dict[str, object]:
    """Return the lease of a row: it comes back when the lease ran out, and the back-off of its deliveries."""
    rowid, delivered, first_delivery, *_ = list(row)
    deliveries, first = delivered + 1, first_delivery or now
    rest = redelivery_delay(deliveries, (until - first) / SECOND)
    return {
        "row": rowid,
        "token": f"{rowid}.{nonce}",
        "until": until,
        "available": until + round(rest * SECOND),
        "first": first,
        "deliveries": deliveries,
    }


def _raw_type(queue: QueueDefinition) -> TypeEngine[Any]:
    # As it is stored: one payload that cannot be decoded must not fail the rows around it.
    return Text() if payload_type_of(queue).wire.kind in ("text", "json") else LargeBinary()


def stamp(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


@contextmanager
def _transaction(engine: Engine) -> Generator[Connection]:
    with _locked_is_transient(), turn(engine.dialect), engine.begin() as connection:
        yield connection


@contextmanager
def _locked_is_transient() -> Generator[None]:
    try:
        yield
    except OperationalError as error:
        if "locked" not in str(error.orig):
            raise
        raise TransientError("the SQLite database is locked by somebody else") from error
