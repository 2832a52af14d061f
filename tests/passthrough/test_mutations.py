"""Commits of mutations, batches of DML, partitioned DML.

Mutation groups (BatchWrite) are left out: the official emulator does not implement them, the gateway does.
"""

from __future__ import annotations

import datetime

import pytest
from google.api_core.exceptions import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from google.cloud.spanner_v1 import KeyRange, KeySet, RequestOptions, param_types
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.transaction import Transaction

COLUMNS = ("SingerId", "Name")


def names(database: Database) -> dict[int, str | None]:
    with database.snapshot() as snapshot:
        return dict(snapshot.read("Singers", COLUMNS, KeySet(all_=True)))


@pytest.fixture(autouse=True)
def _rows(database: Database) -> None:
    with database.batch() as batch:
        batch.insert("Singers", COLUMNS, [(1, "Ada"), (2, "Bob"), (3, "Cleo")])
        batch.insert("Albums", ("SingerId", "AlbumId", "Title"), [(1, 1, "One"), (1, 2, "Two")])


def test_insert(database: Database) -> None:
    with database.batch() as batch:
        batch.insert("Singers", COLUMNS, [(4, "Dan"), (5, None)])
    assert names(database) == {1: "Ada", 2: "Bob", 3: "Cleo", 4: "Dan", 5: None}


def test_update(database: Database) -> None:
    with database.batch() as batch:
        batch.update("Singers", COLUMNS, [(1, "A"), (2, None)])
    assert names(database) == {1: "A", 2: None, 3: "Cleo"}


def test_insert_or_update_keeps_the_other_columns(database: Database) -> None:
    with database.batch() as batch:
        batch.insert_or_update("Singers", ("SingerId", "Born"), [(1, "1990-01-01"), (7, "2000-01-01")])
    assert names(database) == {1: "Ada", 2: "Bob", 3: "Cleo", 7: None}


def test_replace_forgets_the_other_columns(database: Database) -> None:
    with database.batch() as batch:
        batch.replace("Singers", ("SingerId", "Born"), [(2, "1990-01-01")])
    assert names(database)[2] is None


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (KeySet(keys=[[1], [9]]), {2, 3}),
        (KeySet(ranges=[KeyRange(start_closed=[2], end_open=[3])]), {1, 3}),
        (KeySet(ranges=[KeyRange(start_open=[1], end_closed=[3])]), {1}),
        (KeySet(all_=True), set()),
    ],
    ids=["keys", "closed to open", "open to closed", "all"],
)
def test_delete(database: Database, keys: KeySet, left: set[int]) -> None:
    with database.batch() as batch:
        batch.delete("Singers", keys)
    assert set(names(database)) == left


def test_deleting_a_parent_deletes_its_children(database: Database) -> None:
    with database.batch() as batch:
        batch.delete("Singers", KeySet(keys=[[1]]))
    with database.snapshot() as snapshot:
        assert list(snapshot.read("Albums", ("AlbumId",), KeySet(all_=True))) == []


def test_mutations_take_effect_in_their_order(database: Database) -> None:
    with database.batch() as batch:
        batch.delete("Singers", KeySet(keys=[[2]]))
        batch.insert("Singers", COLUMNS, [(2, "New")])
        batch.update("Singers", COLUMNS, [(2, "Newer")])
    assert names(database)[2] == "Newer"


@pytest.mark.parametrize(
    ("operation", "table", "columns", "row", "error"),
    [
        ("insert", "Singers", COLUMNS, (1, "Twice"), AlreadyExists),
        ("update", "Singers", COLUMNS, (9, "Nobody"), NotFound),
        ("insert", "Albums", ("SingerId", "AlbumId"), (9, 1), NotFound),
        ("insert", "Nothing", COLUMNS, (4, "x"), NotFound),
        ("insert", "Singers", ("SingerId", "Nope"), (4, "x"), NotFound),
        ("insert", "Singers", COLUMNS, (None, "x"), FailedPrecondition),
        ("insert", "Singers", COLUMNS, ("text", "x"), FailedPrecondition),
        ("insert", "Singers", COLUMNS, (4, "x" * 101), FailedPrecondition),
        ("insert", "Singers", ("Name",), ("x",), FailedPrecondition),
        ("insert", "Singers", ("SingerId", "SingerId"), (4, 4), InvalidArgument),
    ],
)
def test_refused_mutations_change_nothing(
    database: Database,
    operation: str,
    table: str,
    columns: tuple[str, ...],
    row: tuple,
    error: type[Exception],
) -> None:
    def write() -> None:
        with database.batch() as batch:
            batch.insert("Singers", COLUMNS, [(8, "First")])
            getattr(batch, operation)(table, columns, [row])

    before = names(database)
    with pytest.raises(error):
        write()
    assert names(database) == before


def test_commit_timestamps_grow(database: Database) -> None:
    with database.batch() as first:
        first.update("Singers", COLUMNS, [(1, "a")])
    with database.batch() as second:
        second.update("Singers", COLUMNS, [(1, "b")])
    assert first.committed < second.committed


def test_options_of_a_commit_are_accepted(database: Database) -> None:
    options = RequestOptions(priority=RequestOptions.Priority.PRIORITY_HIGH, transaction_tag="tag")
    delay = datetime.timedelta(milliseconds=1)
    with database.batch(options, max_commit_delay=delay, exclude_txn_from_change_streams=True) as batch:
        batch.insert("Singers", COLUMNS, [(4, "Dan")])
    assert names(database)[4] == "Dan"


def test_commit_statistics(database: Database) -> None:
    session = database.session()
    session.create()
    batch = session.batch()
    batch.insert("Singers", COLUMNS, [(4, "Dan"), (5, "Eve")])
    batch.commit(return_commit_stats=True)
    # The official emulator counts nothing.
    assert batch.commit_stats.mutation_count == 0
    session.delete()


def test_batch_dml(database: Database) -> None:
    statements = [
        "INSERT INTO Singers (SingerId, Name) VALUES (4, 'Dan'), (5, 'Eve')",
        ("UPDATE Singers SET Name = @n WHERE SingerId > 3", {"n": "x"}, {"n": param_types.STRING}),
        "DELETE FROM Singers WHERE SingerId = 5",
    ]
    status, counts = database.run_in_transaction(lambda transaction: transaction.batch_update(statements))
    assert (status.code, counts) == (0, [2, 2, 1])
    assert names(database) == {1: "Ada", 2: "Bob", 3: "Cleo", 4: "x"}


def test_batch_dml_stops_at_a_failure(database: Database) -> None:
    statements = [
        "INSERT INTO Singers (SingerId) VALUES (4)",
        "INSERT INTO Nothing (Id) VALUES (1)",
        "INSERT INTO Singers (SingerId) VALUES (5)",
    ]
    status, counts = database.run_in_transaction(lambda transaction: transaction.batch_update(statements))
    assert (status.code, counts) == (3, [1])
    assert "Table not found: Nothing" in status.message
    assert set(names(database)) == {1, 2, 3, 4}


def test_a_duplicate_in_batch_dml_fails_the_commit(database: Database) -> None:
    seen = []

    def work(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO Singers (SingerId) VALUES (4)")
        seen.append(transaction.batch_update(["INSERT INTO Singers (SingerId) VALUES (1)"]))

    with pytest.raises(AlreadyExists):
        database.run_in_transaction(work)
    ((status, counts),) = seen
    assert (status.code, counts) == (6, [])
    assert set(names(database)) == {1, 2, 3}


def test_batch_dml_that_fails_at_once(database: Database) -> None:
    def work(transaction: Transaction) -> None:
        status, counts = transaction.batch_update(["INSERT INTO Nothing (Id) VALUES (1)"])
        assert (status.code, counts) == (3, [])
        assert transaction.execute_update("UPDATE Singers SET Name = 'x' WHERE TRUE") == 3

    database.run_in_transaction(work)
    assert set(names(database).values()) == {"x"}


def test_partitioned_dml(database: Database) -> None:
    types = {"n": param_types.STRING}
    sql = "UPDATE Singers SET Name = @n WHERE SingerId > 1"
    assert database.execute_partitioned_dml(sql, params={"n": "x"}, param_types=types) == 2
    assert database.execute_partitioned_dml("DELETE FROM Singers WHERE SingerId = 3") == 1
    assert names(database) == {1: "Ada", 2: "x"}


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO Singers (SingerId) VALUES (9)", "UPDATE Nothing SET a = 1 WHERE TRUE", "SELECT 1"],
)
def test_refused_partitioned_dml(database: Database, sql: str) -> None:
    with pytest.raises(InvalidArgument):
        database.execute_partitioned_dml(sql)
    with database.batch() as batch:
        batch.insert("Singers", COLUMNS, [(4, "goes on")])
