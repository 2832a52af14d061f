"""ASSERT_ROWS_MODIFIED in both dialects, by every way in which a statement goes to the database.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/dml-syntax#assert-rows-modified
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from google.api_core.exceptions import OutOfRange
from google.cloud.spanner_v1 import (
    ExecuteBatchDmlRequest,
    TransactionOptions,
    TransactionSelector,
    param_types,
)
from google.cloud.spanner_v1.transaction import Transaction

from tests.emulator.helpers import Session
from tests.emulator.words import IN_BOTH_DIALECTS, POSTGRESQL, Words

pytestmark = IN_BOTH_DIALECTS

OUT_OF_RANGE = 11
BEGIN = TransactionSelector(begin=TransactionOptions(read_write=TransactionOptions.ReadWrite()))

PASSING = [
    "DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1",
    "delete from q where Id in (1, 2) assert_rows_modified 2",
    "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 0",
    "UPDATE Users SET Name = 'x' WHERE UserId = 1 ASSERT_ROWS_MODIFIED 1",
    "UPDATE Users SET Name = 'ASSERT_ROWS_MODIFIED 5' WHERE TRUE /* all */ ASSERT_ROWS_MODIFIED 2 -- of 2",
    "INSERT INTO Users (UserId) VALUES (5), (6) ASSERT_ROWS_MODIFIED 2",
    "INSERT INTO Users (UserId) SELECT UserId + 10 FROM Users ASSERT_ROWS_MODIFIED 2",
    "INSERT INTO q (Id, Payload) VALUES (5, 'x') ASSERT_ROWS_MODIFIED 1",
]
FAILING = [
    "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1",
    "DELETE FROM q WHERE Id IN (1, 2) ASSERT_ROWS_MODIFIED 1",
    "UPDATE Users SET Name = 'x' WHERE UserId = 7 ASSERT_ROWS_MODIFIED 1",
    "UPDATE Users SET Name = 'x' WHERE TRUE ASSERT_ROWS_MODIFIED 1",
    "INSERT INTO Users (UserId) VALUES (5), (6) ASSERT_ROWS_MODIFIED 1",
    "INSERT INTO Users (UserId) SELECT UserId + 10 FROM Users ASSERT_ROWS_MODIFIED 9",
    "INSERT INTO q (Id, Payload) VALUES (5, 'x') ASSERT_ROWS_MODIFIED 2",
]


@pytest.fixture
def filled(database: Session) -> Session:
    database.send(1, 2)
    database.write("INSERT INTO Users (UserId, Name) VALUES (1, 'a'), (2, 'b')")
    return database


def by_execute_sql(transaction: Transaction, sql: str) -> None:
    transaction.execute_update(sql)


def by_streaming(transaction: Transaction, sql: str) -> None:
    list(transaction.execute_sql(sql))


def by_batch(transaction: Transaction, sql: str) -> None:
    status, counts = transaction.batch_update([sql])
    if status.code:
        assert counts == []
        raise OutOfRange(status.message) if status.code == OUT_OF_RANGE else AssertionError(status)


WAYS = pytest.mark.parametrize("run", [by_execute_sql, by_streaming, by_batch])
Run = Callable[[Transaction, str], None]


def everything(database: Session) -> list[list[Any]]:
    rows = database.query("SELECT Id FROM q ORDER BY Id")
    return [*rows, *database.query("SELECT UserId, Name FROM Users ORDER BY UserId")]


@pytest.mark.parametrize("sql", PASSING)
@WAYS
def test_an_assertion_that_holds(filled: Session, run: Run, sql: str) -> None:
    before = everything(filled)
    filled.db.run_in_transaction(run, sql)
    assert (everything(filled) == before) is ("7" in sql)


@pytest.mark.parametrize("sql", FAILING)
@WAYS
def test_an_assertion_that_fails_leaves_the_transaction_open(filled: Session, run: Run, sql: str) -> None:
    before = everything(filled)

    def work(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO Users (UserId) VALUES (100)")
        with pytest.raises(OutOfRange):
            run(transaction, sql)
        with pytest.raises(OutOfRange):
            run(transaction, sql)
        transaction.execute_update("DELETE FROM Users WHERE UserId = 1 ASSERT_ROWS_MODIFIED 1")

    filled.db.run_in_transaction(work)
    assert everything(filled) == [row for row in before if row != [1, "a"]] + [[100, None]]


def test_a_message_is_acknowledged_with_the_writes_of_its_work(filled: Session) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update("UPDATE Users SET Name = 'done' WHERE UserId = 1")
        transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")

    filled.db.run_in_transaction(work)
    with pytest.raises(OutOfRange):
        filled.db.run_in_transaction(work)
    assert everything(filled) == [[2], [1, "done"], [2, "b"]]


def test_what_was_deleted_or_inserted_before_counts(filled: Session) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")
        with pytest.raises(OutOfRange):
            transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")
        transaction.execute_update("INSERT INTO q (Id, Payload) VALUES (1, 'again') ASSERT_ROWS_MODIFIED 1")
        transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")

    filled.db.run_in_transaction(work)
    assert filled.ids() == [2]


def test_parameters_of_the_statement_are_those_of_the_count(filled: Session, words: Words) -> None:
    sql = f"UPDATE Users SET Name = {words.parameter(1)} WHERE UserId = {words.parameter(2)}"
    bound = {
        "params": {"p1": "x", "p2": 2},
        "param_types": {"p1": param_types.STRING, "p2": param_types.INT64},
    }
    assert filled.write(f"{sql} ASSERT_ROWS_MODIFIED 1", **bound) == [1]
    with pytest.raises(OutOfRange):
        filled.write(f"{sql} ASSERT_ROWS_MODIFIED 2", **bound)
    sql = f"DELETE FROM q WHERE Id = {words.parameter(3)} ASSERT_ROWS_MODIFIED 1"
    assert filled.write(sql, params={"p3": 1}, param_types={"p3": param_types.INT64}) == [1]


@pytest.mark.parametrize("first", [True, False])
def test_rows_come_back_from_a_statement_with_an_assertion(
    filled: Session, words: Words, first: bool
) -> None:
    def work(transaction: Transaction) -> list[list[Any]]:
        if not first:
            transaction.execute_update("INSERT INTO Users (UserId) VALUES (100)")
        sql = "DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1"
        rows = list(transaction.execute_sql(f"{sql} {words.returning} Id, Payload"))
        with pytest.raises(OutOfRange):
            list(transaction.execute_sql(f"{sql} {words.returning} Id"))
        sql = "INSERT INTO q (Id, Payload) VALUES (3, 'c') ASSERT_ROWS_MODIFIED 1"
        return rows + list(transaction.execute_sql(f"{sql} {words.returning} Id, Payload"))

    assert filled.db.run_in_transaction(work) == [[1, "p1"], [3, "c"]]
    assert filled.ids() == [2, 3]


def test_batches_stop_at_the_failed_assertion(filled: Session) -> None:
    statements = [
        "DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1",
        "INSERT INTO Users (UserId) VALUES (100)",
        "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1",
        "INSERT INTO Users (UserId) VALUES (101)",
    ]

    def work(transaction: Transaction) -> tuple[int, list[int], list[int]]:
        status, counts = transaction.batch_update(statements)
        _, more = transaction.batch_update(["DELETE FROM q WHERE Id = 2 ASSERT_ROWS_MODIFIED 1"])
        return status.code, counts, more

    assert filled.db.run_in_transaction(work) == (OUT_OF_RANGE, [1, 1], [1])
    assert everything(filled) == [[1, "a"], [2, "b"], [100, None]]


def test_a_batch_stops_at_an_error_of_another_kind(filled: Session) -> None:
    statements = [
        "DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1",
        "INSERT INTO Nothing (UserId) VALUES (1)",
        "DELETE FROM q WHERE Id = 2 ASSERT_ROWS_MODIFIED 1",
    ]

    def work(transaction: Transaction) -> tuple[bool, list[int]]:
        status, counts = transaction.batch_update(statements)
        return status.code in (0, OUT_OF_RANGE), counts

    assert filled.db.run_in_transaction(work) == (False, [1])
    assert filled.ids() == [2]


@pytest.mark.parametrize("way", ["execute_sql", "execute_batch_dml", "execute_streaming_sql"])
def test_a_failed_first_statement_begins_no_transaction(database: Session, way: str) -> None:
    # The official client deadlocks when it goes on after this, so the request is made by hand.
    sql = "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1"
    request = database.request(sql, transaction=BEGIN, seqno=1)
    api, before = database.db.spanner_api, time.monotonic()
    if way == "execute_batch_dml":
        statements = [ExecuteBatchDmlRequest.Statement(sql=sql)]
        batch = ExecuteBatchDmlRequest(
            session=request.session, transaction=BEGIN, statements=statements, seqno=1
        )
        response = api.execute_batch_dml(batch)
        assert (response.status.code, len(response.result_sets)) == (OUT_OF_RANGE, 0)
    else:
        answer: Callable[[Any], Any] = getattr(api, way)
        with pytest.raises(OutOfRange):
            list(answer(request))
    database.send(1)
    # Well below the time after which a silent transaction loses its turn.
    assert time.monotonic() - before < 2


def test_planning_counts_nothing(filled: Session) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO Users (UserId) VALUES (100)")
        sql = "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1"
        list(transaction.execute_sql(sql, query_mode="PLAN"))

    filled.db.run_in_transaction(work)
    assert filled.ids() == [1, 2]


def test_what_a_conflict_leaves_out_does_not_count(filled: Session, words: Words) -> None:
    ignoring = words is POSTGRESQL
    head = "INSERT INTO" if ignoring else "INSERT OR IGNORE INTO"
    tail = " ON CONFLICT (UserId) DO NOTHING" if ignoring else ""
    sql = f"{head} Users (UserId) VALUES (2), (3){tail} ASSERT_ROWS_MODIFIED"
    assert filled.write(f"{sql} 1") == [1]
    for run in (by_execute_sql, by_streaming):
        with pytest.raises(OutOfRange):
            filled.db.run_in_transaction(run, f"{sql} 1")
