"""The same commits, and requests for transactions that are over, sent both ways: all answers are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud.spanner_v1 import ExecuteSqlRequest

from tests.passthrough.helpers import Answer, Twin, Twins, same
from tests.passthrough.test_same_transactions import BEGIN, ONE, READ_WRITE, dml, insert

SOON_SECONDS = 2.0
WRITES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({"mutations": []}, "OK"),
    "statistics": ({"mutations": [insert(1)], "return_commit_stats": True}, "OK"),
    "options": (
        {
            "mutations": [insert(1)],
            "max_commit_delay": {"nanos": 1000},
            "request_options": {"priority": "PRIORITY_LOW", "transaction_tag": "tag"},
        },
        "OK",
    ),
    "a missing table": (
        {"mutations": [{"insert": {"table": "Nothing", "columns": ["x"], "values": [["1"]]}}]},
        "NOT_FOUND",
    ),
    "a missing row": (
        {"mutations": [{"update": {"table": "Singers", "columns": ["SingerId"], "values": [["1"]]}}]},
        "NOT_FOUND",
    ),
    "a wrong type": (
        {"mutations": [{"insert": {"table": "Singers", "columns": ["SingerId"], "values": [["x"]]}}]},
        "FAILED_PRECONDITION",
    ),
    "too few values": (
        {"mutations": [{"insert": {"table": "Singers", "columns": ["SingerId", "Name"], "values": [["1"]]}}]},
        "INVALID_ARGUMENT",
    ),
    "an empty mutation": ({"mutations": [{}]}, "INVALID_ARGUMENT"),
    "a delete": ({"mutations": [{"delete": {"table": "Singers", "key_set": {"all_": True}}}]}, "OK"),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_commit_of_its_own(twins: Twins, write: str) -> None:
    request, code = WRITES[write]
    same(twins, lambda twin: [twin.ask("Commit", single_use_transaction=READ_WRITE, **request)], code)


def test_commits_of_no_transaction(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        yield twin.ask("Commit")
        yield twin.ask("Commit", transaction_id=b"")
        yield twin.ask("Commit", transaction_id=b"99999")
        yield twin.ask("Commit", single_use_transaction={"read_only": {}})
        yield twin.ask("Commit", single_use_transaction={"partitioned_dml": {}})
        yield twin.ask("Rollback", transaction_id=b"")
        yield twin.ask("Rollback", transaction_id=b"99999")
        yield twin.ask("ExecuteSql", sql=dml(1), transaction={"single_use": READ_WRITE})
        yield twin.ask("ExecuteBatchDml", statements=[{"sql": dml(1)}])

    same(
        twins,
        script,
        *("INVALID_ARGUMENT", "UNKNOWN", "NOT_FOUND", "FAILED_PRECONDITION", "INVALID_ARGUMENT"),
        *("UNKNOWN", "NOT_FOUND", "INVALID_ARGUMENT", "OK"),
    )


def test_a_transaction_that_is_over(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)
        id = begun.began["id"]
        twin.ask("Commit", transaction_id=id)
        yield twin.ask("ExecuteSql", sql=ONE, transaction={"id": id})
        yield twin.ask("ExecuteSql", sql=dml(2), transaction={"id": id}, seqno=2)
        yield twin.ask(
            "Read", table="Singers", columns=["Name"], key_set={"all_": True}, transaction={"id": id}
        )
        yield twin.ask("Commit", transaction_id=id)
        yield twin.ask("Rollback", transaction_id=id)

    same(twins, script, *["FAILED_PRECONDITION"] * 3, "OK", "FAILED_PRECONDITION")


def test_a_transaction_that_was_rolled_back(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)
        id = begun.began["id"]
        yield twin.ask("Rollback", transaction_id=id)
        yield twin.ask("Rollback", transaction_id=id)
        yield twin.ask("ExecuteSql", sql=ONE, transaction={"id": id})
        yield twin.ask("ExecuteStreamingSql", sql=ONE, transaction={"id": id})
        yield twin.ask("Commit", transaction_id=id)

    same(twins, script, "OK", "OK", *["FAILED_PRECONDITION"] * 3)


def test_a_snapshot_is_neither_committed_nor_rolled_back(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("BeginTransaction", options={"read_only": {"strong": True}})
        yield twin.ask("Commit", transaction_id=begun.message.id)
        yield twin.ask("Rollback", transaction_id=begun.message.id)
        yield twin.ask("ExecuteSql", sql=ONE, transaction=begun.began)

    same(twins, script, *["FAILED_PRECONDITION"] * 3)


def test_a_commit_that_failed_is_asked_for_again(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)
        id = begun.began["id"]
        yield twin.ask("Commit", transaction_id=id, mutations=[insert(1)])
        yield twin.ask("Commit", transaction_id=id, mutations=[insert(2)])
        yield twin.ask("ExecuteSql", sql=ONE, transaction={"id": id})
        yield twin.ask("Rollback", transaction_id=id)
        yield twin.ask("ExecuteSql", sql=ONE)

    same(twins, script, *["ALREADY_EXISTS"] * 3, "OK", "OK")


def test_a_transaction_in_a_database_that_is_dropped(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)
        yield twin.ask("DropDatabase", database=twin.database)
        yield twin.ask("ExecuteSql", sql=dml(2), transaction=begun.began, seqno=2)
        yield twin.ask("Commit", transaction_id=begun.began["id"])
        yield twin.ask("Rollback", transaction_id=begun.began["id"])

    same(twins, script, "OK", *["NOT_FOUND"] * 3)


def test_a_transaction_of_another_session(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        other = twin.ask("CreateSession", database=twin.database).message.name
        begun = twin.ask("BeginTransaction", options=READ_WRITE)
        yield twin.ask("ExecuteSql", session=other, sql=dml(1), transaction=begun.began, seqno=1)
        yield twin.ask("Commit", session=other, transaction_id=begun.message.id)

    same(twins, script, "NOT_FOUND", "NOT_FOUND")


def test_a_session_has_one_transaction_at_a_time(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1)
        # The official emulator gives that one up; to wait for its end would be to wait for oneself.
        request = ExecuteSqlRequest(session=twin.session, sql=dml(2), transaction=BEGIN, seqno=1)
        yield twin.route.ask("ExecuteSql", request, timeout=SOON_SECONDS)

    same(twins, script, "OK")


def test_a_transaction_in_a_multiplexed_session(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        session = {"multiplexed": True}
        made = twin.ask("CreateSession", database=twin.database, session=session)
        inside = {"session": made.message.name}
        begun = twin.ask("ExecuteSql", sql=dml(1), transaction=BEGIN, seqno=1, **inside)
        yield begun
        yield twin.ask("ExecuteSql", sql=ONE, transaction=begun.began, **inside)
        yield twin.ask("Commit", transaction_id=begun.began["id"], **inside)
        begun = twin.ask("BeginTransaction", options=READ_WRITE, mutation_key=insert(3), **inside)
        yield begun
        yield twin.ask("Commit", transaction_id=begun.message.id, mutations=[insert(3)], **inside)

    same(twins, script, *["OK"] * 5)
