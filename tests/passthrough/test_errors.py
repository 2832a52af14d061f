"""Failures, as the client tells of them."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.api_core.exceptions import (
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    GoogleAPICallError,
    InvalidArgument,
    MethodNotImplemented,
    NotFound,
    OutOfRange,
    from_grpc_error,
)
from google.api_core.retry import Retry
from google.cloud.spanner_v1 import ExecuteSqlRequest, KeySet, param_types
from google.cloud.spanner_v1.database import Database

# The official emulator works on it for longer than its client waits.
SLOW = "SELECT COUNT(*) FROM UNNEST(GENERATE_ARRAY(1, 1200)) AS a, UNNEST(GENERATE_ARRAY(1, 1200)) AS b"


def query(database: Database, sql: str, **options: Any) -> list[list[Any]]:
    with database.snapshot() as snapshot:
        return list(snapshot.execute_sql(sql, **options))


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("SELEC 1", InvalidArgument, 'Syntax error: Unexpected identifier "SELEC" [at 1:1]'),
        ("SELECT 'open", InvalidArgument, "Syntax error: Unclosed string literal [at 1:8]"),
        ("", InvalidArgument, "Syntax error: Unexpected end of statement"),
        ("SELECT * FROM Nothing", InvalidArgument, "Table not found: Nothing [at 1:15]"),
        ("SELECT Nope FROM Singers", InvalidArgument, "Unrecognized name: Nope; Did you mean Name? [at 1:8]"),
        ("SELECT NOPE(1)", InvalidArgument, "Function not found: NOPE [at 1:8]"),
        ("SELECT 1 + 'a'", InvalidArgument, "No matching signature for operator +"),
        ("SELECT @missing", InvalidArgument, "Incomplete query parameters missing"),
        ("SELECT CAST('x' AS INT64)", OutOfRange, "Bad int64 value: x"),
        ("SELECT 9223372036854775807 + 1", OutOfRange, "int64 overflow"),
        (
            "INSERT INTO Singers (SingerId) VALUES (1)",
            InvalidArgument,
            "DML statements may not be performed in single-use",
        ),
        (
            "CREATE TABLE t (i INT64) PRIMARY KEY (i)",
            InvalidArgument,
            "Statement not supported: CreateTableStmt",
        ),
        ("SELECT 1; SELECT 2", InvalidArgument, "Expected end of input"),
    ],
)
def test_a_query_that_fails(
    database: Database, sql: str, error: type[GoogleAPICallError], words: str
) -> None:
    with pytest.raises(error) as failure:
        query(database, sql)
    assert words in failure.value.message


def test_parameters_of_the_wrong_type(database: Database) -> None:
    with pytest.raises((InvalidArgument, FailedPrecondition)):
        query(database, "SELECT @p", params={"p": "text"}, param_types={"p": param_types.INT64})
    sql, types = "SELECT * FROM Singers WHERE SingerId = @p", {"p": param_types.STRING}
    with pytest.raises(InvalidArgument):
        query(database, sql, params={"p": "text"}, param_types=types)


@pytest.mark.parametrize(
    ("table", "columns", "keys", "index", "error"),
    [
        ("Nothing", ["SingerId"], KeySet(all_=True), "", NotFound),
        ("Singers", ["Nope"], KeySet(all_=True), "", NotFound),
        ("Singers", ["SingerId"], KeySet(all_=True), "NoIndex", NotFound),
        ("Singers", ["Born"], KeySet(all_=True), "SingersByName", NotFound),
        ("Singers", ["SingerId"], KeySet(keys=[["text"]]), "", FailedPrecondition),
        ("Albums", ["AlbumId"], KeySet(keys=[[1]]), "", FailedPrecondition),
    ],
)
def test_a_read_that_fails(
    database: Database, table: str, columns: list[str], keys: KeySet, index: str, error: type[Exception]
) -> None:
    with pytest.raises(error), database.snapshot() as snapshot:
        list(snapshot.read(table, columns, keys, index=index))


def test_the_details_of_an_error(database: Database) -> None:
    with pytest.raises(NotFound) as failure:
        database.spanner_api.get_session(name=f"{database.name}/sessions/none")
    (information,) = failure.value.details
    assert information.resource_type.endswith("Session")
    assert information.resource_name == f"{database.name}/sessions/none"
    assert failure.value.grpc_status_code is grpc.StatusCode.NOT_FOUND


def test_a_deadline_of_the_client(database: Database) -> None:
    with pytest.raises(DeadlineExceeded):
        query(database, SLOW, timeout=0.05, retry=Retry(predicate=lambda _: False))
    assert query(database, "SELECT 1") == [[1]]


def test_a_deadline_that_has_passed(database: Database) -> None:
    session = database.spanner_api.create_session(database=database.name)
    with pytest.raises(DeadlineExceeded):
        database.spanner_api.execute_sql(
            request={"session": session.name, "sql": SLOW},
            timeout=0.0,
            retry=Retry(predicate=lambda _: False),
        )


def test_a_stream_that_its_client_cancels(database: Database) -> None:
    session = database.spanner_api.create_session(database=database.name)
    sql = "SELECT REPEAT('x', 10000) FROM UNNEST(GENERATE_ARRAY(1, 1000))"
    call = database.spanner_api.transport.execute_streaming_sql(
        ExecuteSqlRequest(session=session.name, sql=sql)
    )
    assert next(call).metadata.row_type.fields[0].type_.code.name == "STRING"
    call.cancel()
    with pytest.raises(grpc.RpcError) as failure:
        list(call)
    assert isinstance(from_grpc_error(failure.value), Cancelled)
    assert query(database, "SELECT 1") == [[1]]


def test_a_stream_that_its_client_forgets(database: Database) -> None:
    with database.snapshot() as snapshot:
        rows = iter(snapshot.execute_sql("SELECT n FROM UNNEST(GENERATE_ARRAY(1, 16000)) AS n"))
        assert next(rows)
    del rows
    assert query(database, "SELECT 1") == [[1]]


def test_a_check_constraint(database: Database) -> None:
    database.update_ddl(["ALTER TABLE Singers ADD CONSTRAINT Named CHECK (Name != '')"]).result()
    with pytest.raises(OutOfRange, match="Named"), database.batch() as batch:
        batch.insert("Singers", ["SingerId", "Name"], [(1, "")])


def test_a_foreign_key(database: Database) -> None:
    winner = "CONSTRAINT Winner FOREIGN KEY (SingerId) REFERENCES Singers (SingerId)"
    database.update_ddl(
        [f"CREATE TABLE Prizes (Id INT64, SingerId INT64, {winner}) PRIMARY KEY (Id)"]
    ).result()
    with pytest.raises(FailedPrecondition, match="Winner"), database.batch() as batch:
        batch.insert("Prizes", ["Id", "SingerId"], [(1, 1)])
    with database.batch() as batch:
        batch.insert("Singers", ["SingerId"], [(1,)])
        batch.insert("Prizes", ["Id", "SingerId"], [(1, 1)])
    with pytest.raises(FailedPrecondition, match="Winner"), database.batch() as batch:
        batch.delete("Singers", KeySet(keys=[[1]]))


def test_a_unique_index(database: Database) -> None:
    database.update_ddl(["CREATE UNIQUE INDEX OneName ON Singers (Name)"]).result()
    with pytest.raises(GoogleAPICallError, match="OneName"), database.batch() as batch:
        batch.insert("Singers", ["SingerId", "Name"], [(1, "a"), (2, "a")])


def test_what_the_official_emulator_does_not_implement(database: Database) -> None:
    with pytest.raises(MethodNotImplemented):
        query(database, "SELECT STRUCT(1, 2)")
