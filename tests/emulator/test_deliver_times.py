"""A deliver time in the past is moved to now, however a message is sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud.spanner_v1 import param_types
from google.cloud.spanner_v1.transaction import Transaction

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import DELIVER_TIME, ID, Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words

LONG_AGO = "2001-02-03T04:05:06Z"
FAR_AHEAD = "2101-02-03T04:05:06Z"


def check_moved(database: Session, send: Callable[[], Any], *ids: int, hour: int = 0) -> None:
    """Send, and check that the deliver times are about now, by a clock that is ``hour`` hours ahead."""
    ahead = timedelta(hours=hour)
    before = datetime.now(UTC) + ahead - timedelta(milliseconds=100)
    send()
    after = datetime.now(UTC) + ahead + timedelta(milliseconds=100)
    with database.receive() as received:
        rows = received.take(len(ids))
    assert sorted(row[ID] for row in rows) == sorted(ids)
    for row in rows:
        assert before <= row[DELIVER_TIME] <= after


def insert(words: Words, rest: str) -> str:
    return f"INSERT INTO q (Id, {words.deliver_time}, Payload) {rest}"


VALUES = [
    "VALUES (1, LONG_AGO, 'x')",
    "VALUES (1, 'literal', 'x')",
    "VALUES (1, LONG_AGO, 'x'), (2, CURRENT_TIMESTAMP, 'y'), (3, DEFAULT, 'z')",
    "VALUES (1, /* when? */ LONG_AGO /* then! */, 'VALUES (1, 2)');",
    "VALUES (1, (SELECT LONG_AGO), 'x')",
    "VALUES (1, CASE WHEN 1 = 1 THEN LONG_AGO ELSE CURRENT_TIMESTAMP END, 'x')",
]
QUERIES = [
    "SELECT 1, LONG_AGO, TEXT",
    "SELECT 1, LONG_AGO, 'x'",
    "SELECT 1 AS a, LONG_AGO AS b, TEXT AS c",
    "SELECT 1 a, LONG_AGO b, TEXT c",
    "(SELECT 1, LONG_AGO, TEXT)",
    "SELECT 1, LONG_AGO, TEXT UNION ALL SELECT 2, LONG_AGO, TEXT",
    "SELECT s.a, s.b, s.c FROM (SELECT 1 AS a, LONG_AGO AS b, TEXT AS c) AS s WHERE s.a = 1 LIMIT 1 -- end",
    "SELECT DISTINCT UserId, LONG_AGO, TEXT FROM Users WHERE UserId < 3",
]


def written(words: Words, rest: str) -> str:
    text = rest.replace("LONG_AGO", words.time(LONG_AGO)).replace("TEXT", words.text("x"))
    return insert(words, text.replace("'literal'", f"'{LONG_AGO}'"))


def ids_in(rest: str) -> list[int]:
    return [id for id in (1, 2, 3) if f"({id}, " in rest or f"SELECT {id}" in rest]


@pytest.mark.parametrize("rest", [*VALUES, *QUERIES])
@IN_BOTH_DIALECTS
def test_statements(database: Session, words: Words, rest: str) -> None:
    database.write("INSERT INTO Users (UserId) VALUES (1), (2), (3)")
    ids = [1, 2] if "Users" in rest else ids_in(rest)
    check_moved(database, lambda: database.write(written(words, rest)), *ids)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT 1 AS n), b AS (SELECT n, LONG_AGO, TEXT FROM a) SELECT * FROM b",
        "SELECT * FROM (SELECT 1 AS a, LONG_AGO AS b, TEXT AS c)",
        "SELECT 1, 'literal', 'x'",
    ],
)
@pytest.mark.parametrize("words", [GOOGLESQL], indirect=True)
def test_queries_of_googlesql(database: Session, words: Words, sql: str) -> None:
    check_moved(database, lambda: database.write(written(words, sql)), 1)


@IN_BOTH_DIALECTS
def test_statements_that_return_what_they_sent(database: Session, words: Words) -> None:
    returned: list[list[Any]] = []

    def work(transaction: Transaction) -> None:
        for rest in ("VALUES (1, LONG_AGO, 'x')", "SELECT 2, LONG_AGO, TEXT"):
            sql = f"{written(words, rest)} {words.returning} Id, {words.deliver_time}"
            returned.extend(transaction.execute_sql(sql))

    check_moved(database, lambda: database.db.run_in_transaction(work), 1, 2)
    with database.receive() as received:
        database.emulator.advance(10)
        assert sorted([row[ID], row[DELIVER_TIME]] for row in received.take(2)) == returned


@pytest.mark.parametrize("typed", [True, False])
@IN_BOTH_DIALECTS
def test_parameters(database: Session, words: Words, typed: bool) -> None:
    sql = insert(words, f"VALUES ({words.parameter(2)}, {words.parameter(1)}, {words.parameter(3)})")
    types = {"p1": param_types.TIMESTAMP} if typed else {}
    types |= {"p2": param_types.INT64, "p3": param_types.STRING}
    params = {"p1": LONG_AGO, "p2": 1, "p3": "x"}
    check_moved(database, lambda: database.write(sql, params=params, param_types=types), 1)


@IN_BOTH_DIALECTS
def test_batches_of_statements(database: Session, words: Words) -> None:
    statements = [written(words, "VALUES (1, LONG_AGO, 'x')"), written(words, "SELECT 2, LONG_AGO, TEXT")]
    check_moved(database, lambda: database.db.run_in_transaction(lambda t: t.batch_update(statements)), 1, 2)


@IN_BOTH_DIALECTS
def test_mutations(database: Session, words: Words) -> None:
    def send() -> None:
        with database.db.batch() as batch:
            batch.send(queue="q", key=[1], payload="x", deliver_time=datetime(2001, 1, 1, tzinfo=UTC))
            names = [words.column(name) for name in ("DeliverTime", "Id", "Payload")]
            batch.insert("q", names, [[LONG_AGO, 2, "y"], [datetime(1, 1, 1, tzinfo=UTC), 3, "z"]])

    check_moved(database, send, 1, 2, 3)


@IN_BOTH_DIALECTS
def test_now_is_that_of_the_moved_clock(database: Session, words: Words, emulator: Emulator) -> None:
    emulator.advance(3600)

    def send() -> None:
        database.write(
            written(words, "VALUES (1, LONG_AGO, 'x')"),
            written(words, "SELECT 2, LONG_AGO, TEXT"),
            written(words, "VALUES (3, CURRENT_TIMESTAMP, 'x')"),
        )
        with database.db.batch() as batch:
            batch.send(queue="q", key=[4], payload="x", deliver_time=datetime(2001, 1, 1, tzinfo=UTC))

    check_moved(database, send, 1, 2, 3, 4, hour=1)


@IN_BOTH_DIALECTS
def test_a_time_to_come_stays(database: Session, words: Words) -> None:
    ahead = words.time(FAR_AHEAD)
    database.write(insert(words, f"VALUES (1, {ahead}, 'x')"))
    database.write(insert(words, f"SELECT 2, {ahead}, {words.text('x')}"))
    with database.db.batch() as batch:
        batch.insert("q", [words.column(n) for n in ("DeliverTime", "Id", "Payload")], [[FAR_AHEAD, 3, "y"]])
    rows = database.query(f"SELECT Id FROM q WHERE {words.deliver_time} = {ahead}")
    assert sorted(row[0] for row in rows) == [1, 2, 3]
    with database.receive() as received:
        database.send(4)
        assert received.next()[ID] == 4


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (GOOGLESQL, "VALUES (1, NULL, 'x')"),
        (GOOGLESQL, "VALUES (1, 'never', 'x')"),
        (GOOGLESQL, "VALUES (1, 5, 'x')"),
        (GOOGLESQL, "VALUES (1, CURRENT_TIMESTAMP())"),
        (GOOGLESQL, "SELECT 1, nothing, 'x'"),
        (GOOGLESQL, "SELECT 1, 'x'"),
        (POSTGRESQL, "VALUES (1, 'never', 'x')"),
        (POSTGRESQL, "VALUES (1, NULL, 'x')"),
        (POSTGRESQL, "VALUES (1, 5, 'x')"),
        (POSTGRESQL, "VALUES (1, CURRENT_TIMESTAMP)"),
        (POSTGRESQL, "SELECT 1, nothing, 'x'"),
        (POSTGRESQL, "SELECT 1, 5, 'x'"),
        (POSTGRESQL, "SELECT 1, CURRENT_TIMESTAMP"),
        (POSTGRESQL, "SELECT * FROM (SELECT 1, CURRENT_TIMESTAMP) AS s"),
    ],
    indirect=["words"],
)
def test_what_is_no_time_is_refused(database: Session, words: Words, rest: str) -> None:
    with pytest.raises(GoogleAPICallError):
        database.write(insert(words, rest))
    assert database.ids() == []
