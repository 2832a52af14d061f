"""Receive from Spanner: a strong, single-use stream on the transport's own callable.

Not through the DBAPI cursor, which takes an error in mid-stream for the end of the rows; nor through the
client's stream wrapper, which holds rows back until a resume token comes, and repeats the query at once and
for ever. The transport's callable gives each row as it arrives and can be cancelled from another thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, NoReturn

import grpc
from google.api_core import exceptions as google_exceptions
from google.cloud.spanner_v1 import TypeCode
from google.cloud.spanner_v1.streamed import StreamedResultSet
from sqlalchemy import Table, select
from sqlalchemy.engine import Dialect, Engine
from sqlalchemy.types import TypeEngine

from ..definition import QueueDefinition, definition_of
from ..dialects import for_dialect
from ..dialects._google_types import decode_timestamp
from ..functions import receive
from .filters import onto
from .payloads import decode_wire, payload_type_of
from .spanner_call import Call, SpannerCalls
from .spanner_sql import NativeStatement, native_statement, token_array_type
from .spanner_untyped import from_grpc_error
from .transport import ReceivedRow, ReceiveRequest, Renewal, Token, TransientError

log = logging.getLogger("sqlalchemy_spanner_queues.lease")

RENEW_TIMEOUT_SECONDS: Final = 2.5
# A stream outlives its own duration by this much before the client gives it up.
GRACE_SECONDS: Final = 60.0

_PASSING: Final = (
    google_exceptions.ServiceUnavailable,
    google_exceptions.DeadlineExceeded,
    google_exceptions.InternalServerError,
    google_exceptions.Aborted,
    google_exceptions.Cancelled,
    google_exceptions.ResourceExhausted,
    google_exceptions.Unknown,
)


class SpannerTransport:
    """One queue of one Spanner database."""

    leases_ahead = True

    def __init__(self, engine: Engine, table: Table, spanner_database: str | None) -> None:
        self._engine = engine
        self._table = table
        self._queue = definition_of(table)
        self._calls = SpannerCalls(engine, spanner_database)
        self._decode = RowDecoder(engine, self._queue)
        self._renewal: Call | None = None
        self._prepared: dict[ReceiveRequest, NativeStatement] = {}
        self._closed = threading.Event()

    def receive(self, request: ReceiveRequest) -> SpannerStream:
        if request not in self._prepared:
            self._prepared[request] = self._prepare(request)
        timeout = request.max_duration.total_seconds() + GRACE_SECONDS
        with passing_errors(self._calls):
            call = self._calls.stream(*self._prepared[request], timeout, f"receive {self._queue.name}")
        return SpannerStream(call, self._calls, self._decode)

    def renew(self, tokens: Sequence[Token]) -> Mapping[Token, Renewal]:
        try:
            return self._renew(tokens)
        except google_exceptions.InvalidArgument as error:
            # One token that Spanner does not even read must not take the others with it.
            if len(tokens) < 2:
                log.warning("a lease token was refused: %s", error)
                return {}
        half = len(tokens) // 2
        return {**self.renew(tokens[:half]), **self.renew(tokens[half:])}

    def _prepare(self, request: ReceiveRequest) -> NativeStatement:
        messages = receive(
            self._table,
            max_batch_size=request.max_batch_size,
            max_duration=request.max_duration,
            priority=request.priority,
        )
        statement = select(messages)
        where = onto(request.where, self._queue, messages)
        if where is not None:
            statement = statement.where(where)
        return native_statement(statement, self._engine.dialect)

    def _renew(self, tokens: Sequence[Token]) -> Mapping[Token, Renewal]:
        seam = for_dialect(self._engine.dialect)
        preparer = self._engine.dialect.identifier_preparer
        sql = f"SELECT * FROM {seam.renew_sql(self._queue.name, preparer, seam.RENEW_PARAMETER)}"
        native = (sql, {"p1": list(tokens)}, {"p1": token_array_type(tokens)})
        with passing_errors(self._calls):
            self._renewal = self._calls.stream(*native, RENEW_TIMEOUT_SECONDS, f"renew {self._queue.name}")
            if self._closed.is_set():
                self._renewal.cancel()
            rows: list[Any] = list(StreamedResultSet(self._renewal))
        return {row[0]: Renewal(row[1], decode_timestamp(row[2])) for row in rows}

    def close(self) -> None:
        self._closed.set()
        if self._renewal is not None:
            self._renewal.cancel()
        self._calls.close()


class SpannerStream:
    """Rows of one RECEIVE query as they arrive."""

    # What is on its way cannot be seen from here.
    is_leasing = False

    def __init__(self, call: Call, calls: SpannerCalls, decode: RowDecoder) -> None:
        self._call = call
        self._calls = calls
        self._decode = decode
        self._cancelled = False

    def __iter__(self) -> Iterator[ReceivedRow]:
        rows: Any = StreamedResultSet(self._call, lazy_decode=True)
        try:
            with passing_errors(self._calls):
                for row in rows:
                    yield self._decode(rows, row)
        except TransientError:
            if not self._cancelled:
                raise

    def cancel(self) -> None:
        self._cancelled = True
        self._call.cancel()


class RowDecoder:
    """Decode the values of a row: keys by their column types, the payload by its own type."""

    def __init__(self, engine: Engine, queue: QueueDefinition) -> None:
        self._keys = [_result_processor(column.type, engine.dialect) for column in queue.keys]
        self._payload = payload_type_of(queue)
        self._width = len(queue.keys)

    def __call__(self, rows: Any, row: list[Any]) -> ReceivedRow:
        values: list[Any] = []
        for at, processor in enumerate(self._keys):
            value = rows.decode_column(row, at)
            values.append(value if processor is None else processor(value))
        payload, deliver_time, expires_at, token, last = row[self._width :]
        stored, value = decode_wire(self._payload, payload.string_value)
        values.append(value)
        values.append(timestamp(deliver_time.string_value))
        # A token of either type travels as text, and goes back as what it came as.
        text = token.string_value
        is_bytes = rows.fields[self._width + 3].type_.code == TypeCode.BYTES
        expires = timestamp(expires_at.string_value)
        return ReceivedRow(values, text.encode() if is_bytes else text, expires, last.bool_value, stored)


def timestamp(text: str) -> datetime:
    """Return the instant that Spanner wrote, with 0 to 9 digits of a second; what is finer is cut off."""
    return datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00")


def _result_processor(type_: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    return type_.dialect_impl(dialect).result_processor(dialect, None)


@contextmanager
def passing_errors(calls: SpannerCalls) -> Generator[None]:
    """Raise TransientError for what passes, Google's own error for what stays."""
    try:
        yield
    except grpc.RpcError as error:
        _raise(from_grpc_error(error), calls)
    except google_exceptions.GoogleAPICallError as error:
        _raise(error, calls)


def _raise(error: google_exceptions.GoogleAPICallError, calls: SpannerCalls) -> NoReturn:
    if isinstance(error, google_exceptions.NotFound) and "session" in str(error).lower():
        calls.forget_session()
        raise TransientError(f"the session is gone: {error}") from error
    if isinstance(error, _PASSING):
        overloaded = isinstance(error, google_exceptions.ResourceExhausted)
        raise TransientError(str(error), overloaded) from error
    raise error
