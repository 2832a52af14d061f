"""Keys of every type: sent, received, renewed and acknowledged by mutation and by DML, page by page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from google.cloud.spanner_v1 import param_types
from google.protobuf.struct_pb2 import Value

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.delivery.binding import Binder, column_types
from sqlalchemy_spanner_queues.emulator.text.ddl import restore
from sqlalchemy_spanner_queues.emulator.text.dialects import dialect_of
from sqlalchemy_spanner_queues.emulator.text.queries import Candidates, no_rows
from sqlalchemy_spanner_queues.emulator.upstream.api import SPANNER, UpstreamApi
from tests.emulator.helpers import Session
from tests.emulator.words import GOOGLESQL, POSTGRESQL, Words


@dataclass(frozen=True)
class KeyType:
    """A type that a key can have: how each dialect writes it, some values as literals, and its parameters."""

    googlesql: str
    postgresql: str
    values: tuple[str, ...]
    postgresql_values: tuple[str, ...] = ()
    param_type: str = "STRING"

    def __str__(self) -> str:
        return self.googlesql

    def column(self, words: Words) -> str:
        return self.googlesql if words is GOOGLESQL else self.postgresql

    def literals(self, words: Words) -> tuple[str, ...]:
        return self.postgresql_values if words is POSTGRESQL and self.postgresql_values else self.values

    def bound(self) -> Any:
        return getattr(param_types, self.param_type)


TYPES = [
    KeyType("INT64", "bigint", ("0", "-5", "9223372036854775807"), param_type="INT64"),
    KeyType("STRING(36)", "varchar(36)", ("''", "'a'", "'ü€ 😀'", "'it\"s'")),
    KeyType(
        "BYTES(16)", "bytea", ("b''", "b'\\x00\\xff'", "b'a'"), ("''", "'\\x00ff'", "'a'"), "BYTES"
    ),
    KeyType("BOOL", "boolean", ("TRUE", "FALSE"), param_type="BOOL"),
    KeyType("DATE", "date", ("DATE '2026-01-31'", "DATE '0001-01-01'"), ("'2026-01-31'", "'0001-01-01'"),
            "DATE"),
    KeyType("TIMESTAMP", "timestamptz",
            ("TIMESTAMP '2026-01-31T12:00:00.123456Z'", "TIMESTAMP '2026-01-31T12:00:00Z'"),
            ("'2026-01-31T12:00:00.123456Z'", "'2026-01-31T12:00:00Z'"), "TIMESTAMP"),
    KeyType("NUMERIC", "numeric", ("NUMERIC '1.5'", "NUMERIC '-3'", "NUMERIC '0.000000001'"), ("1.5", "-3"),
            "NUMERIC"),
    KeyType("FLOAT64", "double precision", ("1.5", "-0.1", "1e300", "CAST('inf' AS FLOAT64)"),
            ("1.5", "-0.1", "1e300"), "FLOAT64"),
]  # fmt: skip

# The official emulator allows no NUMERIC in a key of the PostgreSQL dialect.
IN_KEYS = [
    pytest.param(words, kind, id=f"{words.name}-{kind.column(words)}")
    for kind in TYPES
    for words in (GOOGLESQL, POSTGRESQL)
    if (words.name, kind.googlesql) != ("postgresql", "NUMERIC")
]
EVERY_KEY = pytest.mark.parametrize(("words", "kind"), IN_KEYS, indirect=["words"])


def create(words: Words, kind: KeyType) -> str:
    """Write a queue whose key has that type, nullable where the dialect allows it."""
    if words is GOOGLESQL:
        return f"CREATE QUEUE k (Id {kind.column(words)}, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id DESC)"
    return f"CREATE QUEUE k (id {kind.column(words)}, payload text NOT NULL, PRIMARY KEY (id))"


def literals_of(kind: KeyType, words: Words) -> list[str]:
    """Return what is sent: all values, and NULL, which no key of the PostgreSQL dialect can be."""
    return [*kind.literals(words), *(["NULL"] if words is GOOGLESQL else [])]


def insert(*literals: str) -> str:
    rows = ", ".join(f"({literal}, 'x')" for literal in literals)
    return f"INSERT INTO k (Id, Payload) VALUES {rows}"


@EVERY_KEY
def test_a_message_comes_and_goes(empty: Session, words: Words, kind: KeyType, emulator: Emulator) -> None:
    literals = literals_of(kind, words)
    empty.ddl(create(words, kind))
    empty.write(insert(*literals))
    token = words.column("SpannerLeaseToken")
    with empty.receive(f"SELECT Id, {token}, Id IS NULL FROM {words.receive('k')}") as received:
        rows = received.take(len(literals))
        assert sum(row[2] for row in rows) == literals.count("NULL")
        keys = [row[0] for row in rows]
        assert len({str(key) for key in keys}) == len(literals)
        renewed = empty.query(f"SELECT * FROM {words.renew(', '.join(repr(row[1]) for row in rows), 'k')}")
        assert sum(row[1] is not None for row in renewed) == len(literals)
        emulator.advance(9)
        empty.write(f"DELETE FROM k WHERE Id = {literals[0]} ASSERT_ROWS_MODIFIED 1")
        nulls = literals.count("NULL")
        empty.write(f"DELETE FROM k WHERE Id IS NULL ASSERT_ROWS_MODIFIED {nulls}")
        emulator.advance(1.1)
        again = received.take(len(literals) - 1 - nulls)
        assert {str(row[0]) for row in again} < {str(key) for key in keys}
        with empty.db.batch() as batch:
            for row in again:
                batch.ack(queue="k", key=[row[0]])
    assert empty.query("SELECT Id FROM k") == []


@EVERY_KEY
def test_messages_are_sent_by_mutation_and_found_by_key(
    empty: Session, words: Words, kind: KeyType, emulator: Emulator
) -> None:
    empty.ddl(create(words, kind))
    empty.write(insert(*kind.literals(words)))
    stored = [row[0] for row in empty.query("SELECT Id FROM k")]
    keys = [*stored, *([None] if words is GOOGLESQL else [])]
    with empty.db.batch() as batch:
        for key in keys:
            batch.ack(queue="k", key=[key], ignore_not_found=True)
            batch.send(queue="k", key=[key], payload="sent")
    condition = f"Id = {words.parameter(1)}"
    with empty.db.snapshot() as snapshot:
        found = list(
            snapshot.execute_sql(
                f"SELECT Id FROM k WHERE {condition}",
                params={"p1": stored[0]},
                param_types={"p1": kind.bound()},
            )
        )
    assert found == [[stored[0]]]
    with empty.receive(f"SELECT Id, Payload FROM {words.receive('k')}") as received:
        rows = received.take(len(keys))
    assert sorted(map(repr, rows)) == sorted(repr([key, "sent"]) for key in keys)
    leased = emulator.leases(empty.path)
    assert sum(lease["key"] == [None] for lease in leased) == keys.count(None)


def paged(emulator: Emulator, session: Session, page: int) -> list[list[Value]]:
    """Read all candidates of the queue k, so many at a time, as the gateway does."""

    async def read() -> list[list[Value]]:
        api = UpstreamApi(emulator.upstream)
        dialect = dialect_of(session.words.name)
        schema = restore(await api.schema(session.path), dialect)[1]
        queue, client = schema.queues["k"], await api.create_session(session.path, "test")
        types = column_types((await api.query(client, no_rows(queue, dialect, received=True))).metadata)
        found: list[list[Value]] = []
        while True:
            request = pb.ExecuteSqlRequest()
            request.session = client
            request.params.fields["p1"].string_value = "x"
            request.param_types["p1"].code = 6
            bind = Binder(request, dialect, types)
            after = found[-1] if found else ()
            where = f"k.Payload = {session.words.parameter(1)}"
            request.sql = Candidates(queue, dialect, "k").select(where, page, after, bind)
            rows = (await api.stream(SPANNER + "ExecuteStreamingSql", request)).rows
            found += rows
            if len(rows) < page:
                await api.close()
                return found

    return asyncio.run(read())


@pytest.mark.parametrize("page", [1, 2, 100])
@EVERY_KEY
def test_pages_leave_nothing_out(
    empty: Session, words: Words, kind: KeyType, emulator: Emulator, page: int
) -> None:
    literals = literals_of(kind, words)
    empty.ddl(create(words, kind))
    # All in one statement, so that all have one deliver time and the order is that of the keys.
    empty.write(insert(*literals))
    rows = paged(emulator, empty, page)
    assert len(rows) == len({row[0].SerializeToString() for row in rows}) == len(literals)


@pytest.mark.parametrize("page", [1, 2, 5, 100])
@pytest.mark.parametrize(
    ("words", "statement"),
    [
        (
            GOOGLESQL,
            (
                "CREATE QUEUE k (A INT64, B STRING(9), C BOOL, Payload STRING(MAX) NOT NULL)"
                " PRIMARY KEY (B DESC, C, A)"
            ),
        ),
        (
            POSTGRESQL,
            "CREATE QUEUE k (a bigint, b text, c boolean, payload text NOT NULL, PRIMARY KEY (b, c, a))",
        ),
    ],
    indirect=["words"],
)
def test_pages_of_composite_keys(
    empty: Session, words: Words, statement: str, emulator: Emulator, page: int
) -> None:
    empty.ddl(statement)
    null = "NULL" if words is GOOGLESQL else None
    keys = [
        (a, b, c)
        for a in (null or "0", "1", "2")
        for b in (null or "''", "'x'", "'y'")
        for c in (null or "FALSE", "TRUE")
    ]
    for start in (0, 9):
        rows = ", ".join(f"({a}, {b}, {c}, 'x')" for a, b, c in keys[start : start + 9])
        empty.write(f"INSERT INTO k (A, B, C, Payload) VALUES {rows}")
    found = paged(emulator, empty, page)
    identities = {tuple(value.SerializeToString() for value in row[:3]) for row in found}
    assert len(found) == len(identities) == len(keys)
    times = [row[3].string_value for row in found]
    assert times == sorted(times)
