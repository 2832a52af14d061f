"""One session of our own on the engine's client, and streaming calls in it."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

from google.api_core import exceptions as google_exceptions
from google.cloud.spanner_v1 import (
    Client,
    ExecuteSqlRequest,
    RequestOptions,
    TransactionOptions,
    TransactionSelector,
)
from google.protobuf.struct_pb2 import Struct
from sqlalchemy.engine import Engine

from ..exc import ForkedProcess, SpannerQueuesError
from .spanner_values import value_pb

log = logging.getLogger("sqlalchemy_spanner_queues.receiver")

SESSION_TIMEOUT_SECONDS = 10.0
# Characters of a request tag that Spanner keeps.
LONGEST_TAG = 50
DATABASE_PATH = re.compile(
    r"projects/(?P<project>[^/]+)/instances/(?P<instance>[^/]+)/databases/(?P<database>[^/]+)"
)

_databases: WeakKeyDictionary[object, tuple[int, Any]] = WeakKeyDictionary()
_databases_lock = threading.Lock()

_STRONG = TransactionSelector(
    single_use=TransactionOptions(read_only=TransactionOptions.ReadOnly(strong=True))
)


class Call(Protocol):
    """A gRPC stream that can be cancelled from any thread."""

    def __iter__(self) -> Iterator[Any]: ...

    def __next__(self) -> Any: ...

    def cancel(self) -> Any: ...


class SpannerCalls:
    """Run strong, single-use queries in a session that belongs to one receiver.

    The engine's pool is asked for its client once; no connection of it is kept.
    """

    def __init__(self, engine: Engine, spanner_database: str | None) -> None:
        self._engine = engine
        self._path = spanner_database
        self._lock = threading.Lock()
        self._database: Any = None
        self._session = ""

    def stream(
        self, sql: str, values: Mapping[str, Any], types: Mapping[str, Any], timeout: float, tag: str
    ) -> Call:
        """Start a query and return its stream at once, before anything has arrived.

        ``timeout`` is in seconds; by its ``tag`` the query is found in Spanner's statistics tables.
        """
        session, database = self._ready()
        request = ExecuteSqlRequest(
            session=session,
            sql=sql,
            params=Struct(fields={name: value_pb(value) for name, value in values.items()}),
            param_types=dict(types),
            transaction=_STRONG,
            request_options=RequestOptions(request_tag=tag[:LONGEST_TAG]),
        )
        call = database.spanner_api.transport.execute_streaming_sql
        return cast(Call, call(request, metadata=_routing(database.name, session), timeout=timeout))

    def forget_session(self) -> None:
        with self._lock:
            self._session = ""

    def close(self) -> None:
        """Give the session back; what goes wrong is left to Spanner, which drops idle sessions by itself."""
        with self._lock:
            session, self._session = self._session, ""
        if session:
            try:
                self._database.spanner_api.delete_session(
                    name=session, metadata=_routing(self._database.name, session), retry=None, timeout=1.0
                )
            except google_exceptions.GoogleAPICallError as error:
                log.debug("the session %s was not deleted: %s", session, error)

    def _ready(self) -> tuple[str, Any]:
        with self._lock:
            if self._database is None:
                self._database = _database_at(self._path) if self._path else _database_of(self._engine)
            if not self._session:
                self._session = self._create_session()
            return self._session, self._database

    def _create_session(self) -> str:
        database = self._database
        created = database.spanner_api.create_session(
            request={"database": database.name, "session": {"creator_role": database.database_role or ""}},
            metadata=[("google-cloud-resource-prefix", database.name)],
            retry=None,
            timeout=SESSION_TIMEOUT_SECONDS,
        )
        return str(created.name)


def _routing(database: str, session: str) -> list[tuple[str, str]]:
    return [("google-cloud-resource-prefix", database), ("x-goog-request-params", f"session={session}")]


def _database_at(path: str) -> Any:
    """Return a database by its full path, with Google's default credentials or SPANNER_EMULATOR_HOST."""
    found = DATABASE_PATH.fullmatch(path)
    if found is None:
        raise SpannerQueuesError(f"spanner_database is projects/…/instances/…/databases/…, not {path!r}")
    client: Any = Client(project=found["project"])
    return client.instance(found["instance"]).database(found["database"])


def _database_of(engine: Engine) -> Any:
    """Return the driver's database object, one for each engine, through a connection of our own.

    The application may hold all connections of its pool.
    """
    with _databases_lock:
        if engine.dialect not in _databases:
            _databases[engine.dialect] = os.getpid(), _find_database(engine)
        pid, database = _databases[engine.dialect]
        if pid != os.getpid():
            raise ForkedProcess("the Spanner client of the engine")
        return database


def _find_database(engine: Engine) -> Any:
    pool = engine.pool.recreate()
    connection = pool.connect()
    try:
        database = getattr(connection.driver_connection, "database", None)
    finally:
        connection.close()
        pool.dispose()
    if database is None:
        raise SpannerQueuesError(
            f"the engine {engine.url!r} does not tell which Spanner database it is connected to"
        )
    return database
