"""What the tests of the emulator do again and again, with the unmodified official client."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.api_core.exceptions import GoogleAPICallError, from_grpc_error
from google.cloud import spanner
from google.cloud.spanner_v1 import ExecuteSqlRequest
from google.cloud.spanner_v1.streamed import StreamedResultSet
from google.protobuf.struct_pb2 import Struct
from grpc import RpcError

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.words import GOOGLESQL, Words

TIMEOUT_SECONDS = 10.0
STRINGS = spanner.param_types.Array(spanner.param_types.STRING)


class Opened:
    """The chunks of a call, and whether the first one has come."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.event = threading.Event()

    def __iter__(self) -> Opened:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._call)
        finally:
            self.event.set()


class Received:
    """A RECEIVE stream that a thread reads; rows and the end arrive in a queue."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._opened = Opened(call)
        self._arrived: queue.Queue[object] = queue.Queue()
        self.result = StreamedResultSet(self._opened)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        assert self._opened.event.wait(TIMEOUT_SECONDS)

    def _read(self) -> None:
        try:
            for row in self.result:
                self._arrived.put(row)
            self._arrived.put(None)
        except RpcError as error:
            self._arrived.put(from_grpc_error(error))

    def next(self) -> list[Any]:
        """Wait for the next row; the end of the stream or an error fails the test."""
        arrived = self._arrived.get(timeout=TIMEOUT_SECONDS)
        assert isinstance(arrived, list), arrived
        return arrived

    @property
    def waiting(self) -> int:
        """How many rows have come that nobody took yet."""
        return self._arrived.qsize()

    def take(self, count: int) -> list[list[Any]]:
        return [self.next() for _ in range(count)]

    def end(self) -> GoogleAPICallError | None:
        """Wait for the end of the stream: None, or the error that ended it; more rows fail the test."""
        arrived = self._arrived.get(timeout=TIMEOUT_SECONDS)
        assert arrived is None or isinstance(arrived, GoogleAPICallError), arrived
        return arrived

    def cancel(self) -> None:
        self._call.cancel()
        self._thread.join(TIMEOUT_SECONDS)
        assert not self._thread.is_alive()


class Session:
    """A database through the official client."""

    def __init__(self, emulator: Emulator, path: str, client: Any = None, words: Words = GOOGLESQL) -> None:
        self.emulator = emulator
        self.path = path
        self.words = words
        instance = (client or emulator.client).instance(path.split("/")[3])
        self.db = instance.database(path.rsplit("/", 1)[1])

    @contextmanager
    def receive(
        self, sql: str | None = None, params: dict[str, Any] | None = None, **more: Any
    ) -> Iterator[Received]:
        """Open a RECEIVE stream on the transport, as a receiver does; all of q unless told otherwise."""
        request = self.request(sql or f"SELECT * FROM {self.words.receive()}", params, **more)
        received = Received(self.db.spanner_api.transport.execute_streaming_sql(request, timeout=60))
        try:
            yield received
        finally:
            received.cancel()

    def request(self, sql: str, params: dict[str, Any] | None = None, **more: Any) -> ExecuteSqlRequest:
        session = self.db.sessions_manager.get_session(_TRANSACTION_TYPE)
        bound = Struct()
        bound.update(params or {})
        return ExecuteSqlRequest(session=session.name, sql=sql, params=bound, **more)

    def write(self, *statements: str, **more: Any) -> list[int]:
        """Run DML statements in one transaction and return the row counts."""
        return self.db.run_in_transaction(lambda t: [t.execute_update(sql, **more) for sql in statements])

    def query(self, sql: str, **more: Any) -> list[list[Any]]:
        with self.db.snapshot() as snapshot:
            return list(snapshot.execute_sql(sql, **more))

    def ddl(self, *statements: str) -> None:
        self.db.update_ddl(list(statements)).result()

    def shown(self) -> list[str]:
        """Return the statements of the schema."""
        self.db.reload()
        return list(self.db.ddl_statements)

    def send(self, *ids: int, delay: float | None = None) -> None:
        """Send messages to q in one transaction; ``delay`` in seconds, by the database's clock."""
        if delay is None:
            self.write(*(f"INSERT INTO q (Id, Payload) VALUES ({id}, 'p{id}')" for id in ids))
            return
        columns = f"Id, Payload, {self.words.deliver_time}"
        due = self.words.later(delay)
        self.write(*(f"INSERT INTO q ({columns}) VALUES ({id}, 'p{id}', {due})" for id in ids))

    def acknowledge(self, id: int) -> None:
        self.write(f"DELETE FROM q WHERE Id = {id} ASSERT_ROWS_MODIFIED 1")

    def renew(self, *tokens: str) -> dict[str, Any]:
        """Renew leases of q; returns the new token by the old one."""
        sql = f"SELECT * FROM {self.words.renew(self.words.parameter(1))}"
        rows = self.query(sql, params={"p1": list(tokens)}, param_types={"p1": STRINGS})
        return {row[0]: row[1] for row in rows}

    def ids(self) -> list[int]:
        """Return the keys of the messages in q."""
        return [row[0] for row in self.query("SELECT Id FROM q ORDER BY Id")]


def _transaction_type() -> Any:
    from google.cloud.spanner_v1.database_sessions_manager import TransactionType

    return TransactionType.READ_ONLY


_TRANSACTION_TYPE = _transaction_type()

ID, PAYLOAD, DELIVER_TIME, EXPIRES, TOKEN, LAST = range(6)
