"""The same transactions, sent both ways, one request after the other: all answers are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.passthrough.helpers import Answer, Twin, Twins, same

READ_WRITE: dict[str, Any] = {"read_write": {}}
BEGIN = {"begin": READ_WRITE}
ONE = "SELECT COUNT(*) FROM Singers"


def insert(id: int) -> dict[str, Any]:
    """Return a mutation."""
    return {"insert": {"table": "Singers", "columns": ["SingerId"], "values": [[str(id)]]}}


def dml(id: int) -> str:
    return f"INSERT INTO Singers (SingerId, Name) VALUES ({id}, 'n{id}')"


OPTIONS: dict[str, dict[str, Any]] = {
    "read-write": READ_WRITE,
    "optimistic": {"read_write": {"read_lock_mode": "OPTIMISTIC"}},
    "repeatable read": {"read_write": {}, "isolation_level": "REPEATABLE_READ"},
    "outside of change streams": {"read_write": {}, "exclude_txn_from_change_streams": True},
    "read-only": {"read_only": {"strong": True}},
    "read-only with its time": {"read_only": {"strong": True, "return_read_timestamp": True}},
    "partitioned DML": {"partitioned_dml": {}},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_begin(twins: Twins, options: str) -> None:
    same(twins, lambda twin: [twin.ask("BeginTransaction", options=OPTIONS[options])], "OK")


def test_begin_without_options(twins: Twins) -> None:
    same(twins, lambda twin: [twin.ask("BeginTransaction")], "INVALID_ARGUMENT")


def test_begin_write_read_and_commit(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("BeginTransaction", options=READ_WRITE)
        yield begun
        inside = {"transaction": begun.began}
        yield twin.ask("ExecuteSql", sql=dml(1), seqno=1, **inside)
        yield twin.ask("ExecuteStreamingSql", sql=f"{dml(2)} THEN RETURN SingerId, Name", seqno=2, **inside)
        yield twin.ask("ExecuteSql", sql=ONE, **inside)
        yield twin.ask("Read", table="Singers", columns=["SingerId"], key_set={"all_": True}, **inside)
        yield twin.ask("StreamingRead", table="Singers", columns=["Name"], key_set={"all_": True}, **inside)
        yield twin.ask(
            "Commit", transaction_id=begun.message.id, return_commit_stats=True, mutations=[insert(3)]
        )
        yield twin.ask("ExecuteSql", sql=ONE)

    same(twins, script, *["OK"] * 8)


@pytest.mark.parametrize("method", ["ExecuteSql", "ExecuteStreamingSql"])
@pytest.mark.parametrize("sql", [ONE, dml(1), f"{dml(1)} THEN RETURN SingerId", f"{dml(1)}, (2, 'x')"])
def test_a_statement_that_begins(twins: Twins, method: str, sql: str) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask(method, sql=sql, transaction=BEGIN, seqno=1)
        yield begun
        yield twin.ask("ExecuteSql", sql=dml(9), transaction=begun.began, seqno=2)
        yield twin.ask("Commit", transaction_id=begun.began["id"])

    same(twins, script, "OK", "OK", "OK")


@pytest.mark.parametrize("method", ["Read", "StreamingRead"])
def test_a_read_that_begins(twins: Twins, method: str) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        twin.ask("Commit", single_use_transaction=READ_WRITE, mutations=[insert(1)])
        read = {"table": "Singers", "columns": ["SingerId"], "key_set": {"all_": True}}
        begun = twin.ask(method, **read, transaction=BEGIN)
        yield begun
        yield twin.ask("Rollback", transaction_id=begun.began["id"])

    same(twins, script, "OK", "OK")


@pytest.mark.parametrize("method", ["ExecuteSql", "ExecuteStreamingSql"])
def test_a_first_statement_that_fails(twins: Twins, method: str) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        yield twin.ask(method, sql="SELECT nope", transaction=BEGIN)
        yield twin.ask(method, sql="DELETE FROM Nothing WHERE TRUE", transaction=BEGIN, seqno=1)
        yield twin.ask(method, sql="SELECT 1 / 0", transaction=BEGIN)
        yield twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)

    same(twins, script, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "OUT_OF_RANGE", "OK")


def test_dml_that_fails_inside(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)
        inside = {"transaction": begun.began}
        yield twin.ask("ExecuteSql", sql="DELETE FROM Nothing WHERE TRUE", seqno=2, **inside)
        yield twin.ask("ExecuteStreamingSql", sql="SELECT nope", **inside)
        yield twin.ask("Read", table="Nothing", columns=["x"], key_set={"all_": True}, **inside)
        yield twin.ask("ExecuteSql", sql=dml(2), seqno=3, **inside)
        yield twin.ask("Commit", transaction_id=begun.began["id"])
        yield twin.ask("ExecuteSql", sql=ONE)

    same(twins, script, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND", "OK", "OK", "OK")


def test_a_duplicate(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        yield twin.ask("Commit", single_use_transaction=READ_WRITE, mutations=[insert(1)])
        yield twin.ask("Commit", single_use_transaction=READ_WRITE, mutations=[insert(2), insert(1)])
        begun = twin.ask("BeginTransaction", options=READ_WRITE)
        yield twin.ask("ExecuteSql", sql=dml(1), transaction=begun.began, seqno=1)
        yield twin.ask("ExecuteSql", sql=dml(3), transaction=begun.began, seqno=2)
        yield twin.ask("Commit", transaction_id=begun.message.id)

    same(twins, script, "OK", "ALREADY_EXISTS", *["ALREADY_EXISTS"] * 3)


def test_a_sequence_number_again(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("BeginTransaction", options=READ_WRITE)
        inside = {"transaction": begun.began}
        yield twin.ask("ExecuteSql", sql=dml(1), seqno=5, **inside)
        yield twin.ask("ExecuteSql", sql=dml(1), seqno=5, **inside)
        yield twin.ask("ExecuteSql", sql=dml(2), seqno=5, **inside)
        yield twin.ask("ExecuteSql", sql=dml(2), seqno=4, **inside)

    same(twins, script, "OK", "OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT")


def test_the_largest_sequence_number(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        yield twin.ask("ExecuteSql", sql=dml(1), seqno=2**63 - 1, transaction=BEGIN)

    same(twins, script, "OK")


def test_batch_dml(twins: Twins) -> None:
    good, bad = {"sql": dml(1)}, {"sql": "DELETE FROM Nothing WHERE TRUE"}

    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteBatchDml", statements=[good, {"sql": dml(2)}], transaction=BEGIN, seqno=1)
        yield begun
        id = begun.message.result_sets[0].metadata.transaction.id
        yield twin.ask(
            "ExecuteBatchDml", statements=[{"sql": dml(3)}, bad, good], transaction={"id": id}, seqno=2
        )
        yield twin.ask("ExecuteBatchDml", statements=[], transaction={"id": id}, seqno=3)
        yield twin.ask("ExecuteBatchDml", statements=[{"sql": "SELECT 1"}], transaction={"id": id}, seqno=4)
        yield twin.ask("Commit", transaction_id=id)

    same(twins, script, "OK", "OK", "INVALID_ARGUMENT", "OK", "OK")


def test_batch_dml_that_begins_with_a_failure(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        bad = {"sql": "DELETE FROM Nothing WHERE TRUE"}
        yield twin.ask("ExecuteBatchDml", statements=[bad, {"sql": dml(1)}], transaction=BEGIN, seqno=1)
        begun = twin.ask("ExecuteBatchDml", statements=[{"sql": dml(1)}, bad], transaction=BEGIN, seqno=1)
        yield begun
        yield twin.ask("Rollback", transaction_id=begun.message.result_sets[0].metadata.transaction.id)
        yield twin.ask("ExecuteBatchDml", statements=[], transaction=BEGIN, seqno=1)

    same(twins, script, "OK", "OK", "OK", "INVALID_ARGUMENT")


def test_partitioned_dml(twins: Twins) -> None:
    update = "UPDATE Singers SET Name = 'x' WHERE TRUE"

    def script(twin: Twin) -> Iterator[Answer]:
        twin.ask("Commit", single_use_transaction=READ_WRITE, mutations=[insert(1), insert(2)])
        begun = twin.ask("BeginTransaction", options={"partitioned_dml": {}})
        yield twin.ask("ExecuteSql", sql=update, transaction=begun.began, seqno=1)
        begun = twin.ask("BeginTransaction", options={"partitioned_dml": {}})
        yield twin.ask("ExecuteStreamingSql", sql=update, transaction=begun.began, seqno=1)
        begun = twin.ask("BeginTransaction", options={"partitioned_dml": {}})
        yield twin.ask("ExecuteSql", sql=dml(3), transaction=begun.began, seqno=1)
        begun = twin.ask("BeginTransaction", options={"partitioned_dml": {}})
        yield twin.ask("ExecuteSql", sql="SELECT 1", transaction=begun.began, seqno=1)
        begun = twin.ask("BeginTransaction", options={"partitioned_dml": {}})
        yield twin.ask("Commit", transaction_id=begun.message.id)
        yield twin.ask("ExecuteSql", sql="SELECT Name FROM Singers")

    same(twins, script, "OK", "OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OK")


def test_a_second_statement_of_partitioned_dml(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("BeginTransaction", options={"partitioned_dml": {}})
        delete, update = "DELETE FROM Singers WHERE TRUE", "UPDATE Singers SET Name = 'x' WHERE TRUE"
        yield twin.ask("ExecuteSql", sql=delete, transaction=begun.began, seqno=1)
        yield twin.ask("ExecuteSql", sql=delete, transaction=begun.began, seqno=1)
        yield twin.ask("ExecuteSql", sql=update, transaction=begun.began, seqno=2)

    same(twins, script, "OK", "OK", "INVALID_ARGUMENT")


def test_partitioned_dml_that_is_begun_by_its_statement(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begin = {"begin": {"partitioned_dml": {}}}
        yield twin.ask("ExecuteSql", sql="DELETE FROM Singers WHERE TRUE", transaction=begin, seqno=1)

    same(twins, script, "OK")
