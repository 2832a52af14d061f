"""The two ways to the official emulator, and databases that are asked the same on both."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TypeAlias

import grpc
import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud.spanner_admin_database_v1 import DatabaseDialect
from google.cloud.spanner_v1 import Client
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.instance import Instance
from google.cloud.sqlalchemy_spanner.sqlalchemy_spanner import SpannerDialect
from sqlalchemy import Engine, MetaData, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateSequence, CreateTable, ExecutableDDLElement

from tests.passthrough.answers import IN_SESSION, METHODS, Answer, ask

PROJECT: Final = "passthrough"
CONFIGURATION: Final = f"projects/{PROJECT}/instanceConfigs/emulator-config"
TIMEOUT_SECONDS: Final = 30.0

SCHEMA: Final = (
    "CREATE TABLE Singers (SingerId INT64 NOT NULL, Name STRING(100), Born DATE) PRIMARY KEY (SingerId)",
    """CREATE TABLE Albums (SingerId INT64 NOT NULL, AlbumId INT64 NOT NULL, Title STRING(MAX), Price NUMERIC)
    PRIMARY KEY (SingerId, AlbumId), INTERLEAVE IN PARENT Singers ON DELETE CASCADE""",
    "CREATE INDEX SingersByName ON Singers (Name)",
    "CREATE INDEX AlbumsByTitle ON Albums (Title DESC) STORING (Price)",
)


def make_client(address: str, **options: Any) -> Client:
    """Make an official client of what listens at an address; the environment stays as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANNER_EMULATOR_HOST", address)
        return Client(project=PROJECT, **options)


@cache
def creating(metadata: MetaData) -> list[str]:
    """Return the statements that create a schema, as the dialect writes them."""
    dialect = SpannerDialect()
    # SQLAlchemy has no public way to list them.
    statements: list[ExecutableDDLElement] = [CreateSequence(item) for item in metadata._sequences.values()]
    for table in metadata.sorted_tables:
        statements += [CreateTable(table), *map(CreateIndex, table.indexes)]
    return [str(statement.compile(dialect=dialect)) for statement in statements]


def spanner_error(error: BaseException | None) -> GoogleAPICallError:
    """Return Spanner's own error behind the one that SQLAlchemy raises."""
    while not isinstance(error, GoogleAPICallError):
        assert error is not None
        error = error.orig if isinstance(error, DBAPIError) else error.__cause__
    return error


class Route:
    """A way to the official emulator: ``direct``, or through the ``gateway``; with an instance of its own."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.client = make_client(address)
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])
        self.instance = self.make_instance(f"{name}-{uuid.uuid4().hex[:8]}")
        self.instance.create().result(TIMEOUT_SECONDS)

    def make_instance(self, name: str, **options: Any) -> Instance:
        """Return an instance that is not created yet."""
        options = {"configuration_name": CONFIGURATION, "node_count": 1, "display_name": "Own", **options}
        return self.client.instance(name, **options)

    def create_database(self, *statements: str, postgresql: bool = False, **options: Any) -> Database:
        """Create a database with a fresh name; a PostgreSQL-dialect database is created empty."""
        dialect = DatabaseDialect.POSTGRESQL if postgresql else DatabaseDialect.GOOGLE_STANDARD_SQL
        name = f"db-{uuid.uuid4().hex[:16]}"
        options = {"ddl_statements": statements, "database_dialect": dialect, **options}
        database = self.instance.database(name, **options)
        database.create().result(TIMEOUT_SECONDS)
        return database

    def create_engine(self, database: Database, **options: Any) -> Engine:
        """Create an SQLAlchemy engine over a database."""
        arguments = {"client": self.client}
        return create_engine(f"spanner+spanner:///{database.name}", connect_args=arguments, **options)

    def ask(self, method: str, request: Any, **options: Any) -> Answer:
        """Send a request past the client's own logic, and note all that comes back; bytes go as they are."""
        return ask(self.channel, method, request, **{"timeout": TIMEOUT_SECONDS, **options})

    def close(self) -> None:
        """Delete the instance with all that is in it."""
        self.instance.delete()
        self.channel.close()


class Twin:
    """One of two databases that are asked the same; ``session`` is a plain session in it."""

    def __init__(self, route: Route, database: str) -> None:
        self.route = route
        self.database = database
        self.instance = route.instance.name
        self.session = self.ask("CreateSession", database=self.database).message.name

    def ask(self, method: str, **fields: Any) -> Answer:
        """Send a request with these fields; one that belongs into a session goes into the twin's own."""
        _, kind, _ = METHODS[method]
        if kind in IN_SESSION:
            fields = {"session": self.session, **fields}
        return self.route.ask(method, kind(**fields))

    def again(self) -> Twin:
        """Return the same database with another session."""
        return Twin(self.route, self.database)

    def schema(self) -> Answer:
        """Ask for the schema; the official emulator shows it in any order, which is sorted here."""
        answer = self.ask("GetDatabaseDdl", database=self.database)
        answer.message.statements = sorted(answer.message.statements)
        return answer

    def finished(self, answer: Answer) -> Answer:
        """Ask for the operation that an answer began until it is done."""
        while answer.code == "OK" and not answer.message.done:
            answer = self.ask("GetOperation", name=answer.message.name)
        return answer

    def plain(self, answer: Answer) -> dict[str, Any]:
        """Return an answer without what differs between any two databases."""
        return answer.plain(session=self.session, database=self.database, instance=self.instance)


Twins: TypeAlias = "tuple[Twin, Twin]"


@contextmanager
def make_twins(routes: Iterable[Route], *statements: str, postgresql: bool = False) -> Iterator[Twins]:
    """Create a database on each way, and drop both at the end."""
    databases = [route.create_database(*statements, postgresql=postgresql) for route in routes]
    direct, gateway = (Twin(*both) for both in zip(routes, [made.name for made in databases], strict=True))
    yield direct, gateway
    for database in databases:
        database.drop()


def same(twins: Twins, script: Callable[[Twin], Iterable[Answer]], *codes: str) -> None:
    """Run a script on both twins, where all answers have to be the same, and to have these codes."""
    direct, gateway = ([twin.plain(answer) for answer in script(twin)] for twin in twins)
    for number, (here, there) in enumerate(zip(direct, gateway, strict=True)):
        assert there == here, f"answer {number} of the gateway differs"
    assert [answer["code"] for answer in direct] == list(codes)


def describe(twin: Twin, view: str) -> Iterator[Answer]:
    """Ask for the columns of a view, then for its rows, which the official emulator gives in any order."""
    shape = twin.ask("ExecuteSql", sql=f"SELECT * FROM {view} LIMIT 0")
    yield shape
    order = ", ".join(field.name for field in shape.message.metadata.row_type.fields)
    yield twin.ask("ExecuteSql", sql=f"SELECT * FROM {view} ORDER BY {order}")
