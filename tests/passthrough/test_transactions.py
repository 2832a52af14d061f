"""Read-write transactions of one client at a time."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from google.api_core.exceptions import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    OutOfRange,
)
from google.cloud.spanner_v1 import (
    ExecuteSqlRequest,
    KeySet,
    RequestOptions,
    TransactionOptions,
    param_types,
)
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.transaction import Transaction
from google.rpc.error_details_pb2 import RetryInfo

ALL = KeySet(all_=True)
SOON_SECONDS = 2.0
COUNT = "SELECT COUNT(*) FROM Singers"


def insert(id: int) -> str:
    return f"INSERT INTO Singers (SingerId, Name) VALUES ({id}, 'n{id}')"


def ids(database: Database) -> list[int]:
    with database.snapshot() as snapshot:
        return [row[0] for row in snapshot.read("Singers", ["SingerId"], ALL)]


def test_a_transaction_reads_what_it_wrote(database: Database) -> None:
    def work(transaction: Transaction) -> tuple[Any, ...]:
        before = list(transaction.execute_sql(COUNT))
        count = transaction.execute_update(insert(1))
        after = list(transaction.execute_sql(COUNT))
        return before, count, after, list(transaction.read("Singers", ["Name"], ALL))

    assert database.run_in_transaction(work) == ([[0]], 1, [[1]], [["n1"]])


def test_mutations_are_seen_after_the_commit_only(database: Database) -> None:
    def work(transaction: Transaction) -> list[list[Any]]:
        transaction.insert("Singers", ["SingerId"], [(1,)])
        return list(transaction.execute_sql(COUNT))

    assert database.run_in_transaction(work) == [[0]]
    assert ids(database) == [1]


def test_dml_and_mutations_in_one_transaction(database: Database) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update(insert(1))
        transaction.update("Singers", ["SingerId", "Name"], [(1, "updated")])
        transaction.insert("Albums", ["SingerId", "AlbumId"], [(1, 1)])

    database.run_in_transaction(work)
    with database.snapshot() as snapshot:
        assert list(
            snapshot.execute_sql("SELECT Name, AlbumId FROM Singers JOIN Albums USING (SingerId)")
        ) == [["updated", 1]]


def test_a_transaction_of_mutations_only(database: Database) -> None:
    database.run_in_transaction(lambda transaction: transaction.insert("Singers", ["SingerId"], [(1,), (2,)]))
    assert ids(database) == [1, 2]


def test_an_error_rolls_back(database: Database) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update(insert(1))
        raise LookupError

    with pytest.raises(LookupError):
        database.run_in_transaction(work)
    assert ids(database) == []
    database.run_in_transaction(lambda transaction: transaction.execute_update(insert(2)))
    assert ids(database) == [2]


def test_an_aborted_transaction_runs_again(database: Database) -> None:
    attempts: list[Transaction] = []

    def work(transaction: Transaction) -> None:
        attempts.append(transaction)
        transaction.execute_update(insert(len(attempts)), timeout=SOON_SECONDS)
        if len(attempts) == 1:
            raise Aborted("again", errors=[NoWait()])

    database.run_in_transaction(work)
    assert len(attempts) == 2
    assert ids(database) == [2]


class NoWait(Exception):
    """An error's cause that tells the client to try again at once."""

    def trailing_metadata(self) -> dict[str, bytes]:
        wait = RetryInfo(retry_delay={"nanos": 1})
        return {"google.rpc.retryinfo-bin": wait.SerializeToString()}


def test_the_next_transaction_begins_at_once_after_an_error(database: Database) -> None:
    # The client does not roll back when Spanner's own error leaves the function.
    def work(transaction: Transaction) -> None:
        transaction.execute_update(insert(1))
        transaction.execute_update("INSERT INTO Nothing (Id) VALUES (1)")

    with pytest.raises(InvalidArgument):
        database.run_in_transaction(work)
    database.run_in_transaction(
        lambda transaction: transaction.execute_update(insert(2), timeout=SOON_SECONDS)
    )
    assert ids(database) == [2]


def test_a_failed_statement_does_not_end_the_transaction(database: Database) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update(insert(1))
        with pytest.raises(InvalidArgument):
            transaction.execute_update("INSERT INTO Nothing (Id) VALUES (1)")
        transaction.execute_update(insert(2))

    database.run_in_transaction(work)
    assert ids(database) == [1, 2]


def test_a_first_statement_that_fails(database: Database) -> None:
    with pytest.raises(InvalidArgument, match="Table not found: Nothing"):
        database.run_in_transaction(
            lambda transaction: transaction.execute_update("DELETE FROM Nothing WHERE TRUE")
        )
    database.run_in_transaction(lambda transaction: transaction.execute_update(insert(1)))
    assert ids(database) == [1]


def test_a_duplicate_fails(database: Database) -> None:
    database.run_in_transaction(lambda transaction: transaction.execute_update(insert(1)))
    with pytest.raises(AlreadyExists, match="SingerId:1"):
        database.run_in_transaction(lambda transaction: transaction.execute_update(insert(1)))
    assert ids(database) == [1]


def test_a_division_by_zero(database: Database) -> None:
    with pytest.raises(OutOfRange, match="division by zero"):
        database.run_in_transaction(lambda transaction: list(transaction.execute_sql("SELECT 1 / 0")))


def test_dml_that_returns_rows(database: Database) -> None:
    def work(transaction: Transaction) -> tuple[list[list[Any]], int]:
        rows = transaction.execute_sql(f"{insert(1)}, (2, 'b') THEN RETURN SingerId, UPPER(Name) AS Loud")
        return sorted(rows), rows.stats.row_count_exact

    assert database.run_in_transaction(work) == ([[1, "N1"], [2, "B"]], 2)


def test_dml_is_planned_without_a_change(database: Database) -> None:
    def work(transaction: Transaction) -> list[str]:
        mode = ExecuteSqlRequest.QueryMode.PLAN
        sql = "INSERT INTO Singers (SingerId, Name) VALUES (@id, @name)"
        rows = transaction.execute_sql(sql, query_mode=mode)
        assert list(rows) == []
        return [field.name for field in rows.metadata.undeclared_parameters.fields]

    assert database.run_in_transaction(work) == ["id", "name"]
    assert ids(database) == []


def test_the_last_statement_is_said_to_be_the_last(database: Database) -> None:
    database.run_in_transaction(
        lambda transaction: transaction.execute_update(insert(1), last_statement=True)
    )
    database.run_in_transaction(
        lambda transaction: transaction.batch_update([insert(2), insert(3)], last_statement=True)
    )
    assert ids(database) == [1, 2, 3]


def test_options_of_a_transaction_are_accepted(database: Database) -> None:
    priority = RequestOptions(priority=RequestOptions.Priority.PRIORITY_MEDIUM, request_tag="request")
    database.run_in_transaction(
        lambda transaction: transaction.execute_update(insert(1), request_options=priority),
        transaction_tag="whole",
        commit_request_options={"priority": RequestOptions.Priority.PRIORITY_LOW},
        max_commit_delay=datetime.timedelta(milliseconds=1),
        exclude_txn_from_change_streams=True,
    )
    assert ids(database) == [1]


@pytest.mark.parametrize("level", ["SERIALIZABLE", "REPEATABLE_READ"])
@pytest.mark.parametrize("lock", ["PESSIMISTIC", "OPTIMISTIC"])
def test_isolation_levels_and_lock_modes(database: Database, level: str, lock: str) -> None:
    database.run_in_transaction(
        lambda transaction: transaction.execute_update(insert(1)),
        isolation_level=TransactionOptions.IsolationLevel[level],
        read_lock_mode=TransactionOptions.ReadWrite.ReadLockMode[lock],
    )
    assert ids(database) == [1]


def test_explicit_begin_rollback_and_commit(database: Database) -> None:
    session = database.session()
    session.create()
    transaction = session.transaction()
    transaction.begin()
    transaction.execute_update(insert(1))
    transaction.rollback()
    assert ids(database) == []
    other = session.transaction()
    other.begin()
    other.execute_update(insert(2))
    committed = other.commit()
    assert ids(database) == [2]
    assert abs(datetime.datetime.now(datetime.UTC) - committed) < datetime.timedelta(minutes=1)
    session.delete()


def test_a_transaction_is_begun_by_a_read(database: Database) -> None:
    def work(transaction: Transaction) -> int:
        assert list(transaction.read("Singers", ["SingerId"], ALL)) == []
        return transaction.execute_update(insert(1))

    assert database.run_in_transaction(work) == 1


def test_a_statement_with_an_unused_and_a_missing_parameter(database: Database) -> None:
    sql = "UPDATE Singers SET Name = @name WHERE SingerId = 1"
    types = {"name": param_types.STRING, "other": param_types.INT64}
    given = {"name": "x", "other": 1}
    count = database.run_in_transaction(lambda transaction: transaction.execute_update(sql, given, types))
    assert count == 0
    with pytest.raises((InvalidArgument, FailedPrecondition), match="name"):
        database.run_in_transaction(lambda transaction: transaction.execute_update(sql))


def test_a_row_is_rewritten_many_times(database: Database) -> None:
    def work(transaction: Transaction) -> None:
        transaction.execute_update(insert(1))
        for number in range(20):
            transaction.execute_update(f"UPDATE Singers SET Name = '{number}' WHERE SingerId = 1")
        transaction.execute_update("DELETE FROM Singers WHERE Name = '19'")
        transaction.execute_update(insert(1))

    database.run_in_transaction(work)
    assert ids(database) == [1]
