"""The same calls about sessions, schemas, databases and operations, sent both ways; some make no sense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.passthrough.helpers import CONFIGURATION, PROJECT, Answer, Route, Twin, Twins, same

TABLE = "CREATE TABLE Other (Id INT64) PRIMARY KEY (Id)"


def test_sessions(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        yield twin.ask("GetSession", name=twin.session)
        yield twin.ask("ListSessions", database=twin.database)
        yield twin.ask("GetSession", name=f"{twin.database}/sessions/none")
        yield twin.ask("GetSession", name="nonsense")
        yield twin.ask("CreateSession", database=f"{twin.database}-none")
        yield twin.ask("CreateSession", database="nonsense")
        yield twin.ask("BatchCreateSessions", database=twin.database, session_count=0)
        yield twin.ask("ListSessions", database=twin.database, page_size=-1)
        yield twin.ask("ListSessions", database=twin.database, filter="labels.a:b")
        yield twin.ask("DeleteSession", name=twin.session)
        yield twin.ask("DeleteSession", name=twin.session)
        yield twin.ask("DeleteSession", name="nonsense")
        yield twin.ask("ExecuteSql", sql="SELECT 1")

    same(
        twins,
        script,
        *("OK", "OK", "NOT_FOUND", "INVALID_ARGUMENT", "NOT_FOUND", "INVALID_ARGUMENT"),
        *("OK", "OK", "OK", "OK", "OK", "INVALID_ARGUMENT", "NOT_FOUND"),
    )


def test_only_the_sessions_of_clients_are_listed(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        twin.ask("Commit", single_use_transaction={"read_write": {}})
        twin.ask(
            "ExecuteSql",
            sql="DELETE FROM Singers WHERE TRUE",
            transaction={"begin": {"read_write": {}}},
            seqno=1,
        )
        yield twin.ask("ListSessions", database=twin.database)

    same(twins, script, "OK")


REQUESTS: dict[str, dict[str, Any]] = {
    "ExecuteSql": {"sql": "SELECT 1"},
    "ExecuteStreamingSql": {"sql": "INSERT INTO Singers (SingerId) VALUES (1)"},
    "ExecuteBatchDml": {"statements": [{"sql": "SELECT 1"}], "transaction": {"begin": {"read_write": {}}}},
    "Read": {"table": "Singers", "columns": ["Name"], "key_set": {"all_": True}},
    "StreamingRead": {
        "table": "Singers",
        "columns": ["Name"],
        "key_set": {"all_": True},
        "transaction": {"begin": {"read_write": {}}},
    },
    "BeginTransaction": {"options": {"read_write": {}}},
    "Commit": {"single_use_transaction": {"read_write": {}}},
    "Rollback": {"transaction_id": b"1"},
    "PartitionQuery": {"sql": "SELECT 1"},
}


@pytest.mark.parametrize(
    ("session", "code"),
    [("{database}/sessions/none", "NOT_FOUND"), ("{instance}/databases/none/sessions/1", "NOT_FOUND")],
    ids=["in a database", "in none"],
)
@pytest.mark.parametrize("method", REQUESTS)
def test_a_session_that_is_none(twins: Twins, method: str, session: str, code: str) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        name = session.format(database=twin.database, instance=twin.instance)
        yield twin.ask(method, session=name, **REQUESTS[method])

    same(twins, script, code)


@pytest.mark.parametrize("session", ["nonsense", ""], ids=["nonsense", "empty"])
def test_a_session_with_a_bad_name(twins: Twins, session: str) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        for method, request in REQUESTS.items():
            yield twin.ask(method, session=session, **request)

    codes = ["NOT_FOUND" if method == "BeginTransaction" else "INVALID_ARGUMENT" for method in REQUESTS]
    same(twins, script, *codes)


def test_requests_that_cannot_be_read(twins: Twins) -> None:
    methods = [*REQUESTS, "CreateSession", "GetDatabaseDdl", "UpdateDatabaseDdl", "CreateDatabase"]

    def script(twin: Twin) -> Iterator[Answer]:
        for method in methods:
            yield twin.route.ask(method, b"\xff\xff\xff")

    same(twins, script, *["INTERNAL"] * len(methods))


@pytest.mark.parametrize("method", ["/google.spanner.v1.Spanner/Nothing", "/some.other.Service/Method"])
def test_a_method_that_is_none(twins: Twins, method: str) -> None:
    same(twins, lambda twin: [twin.route.ask(method, b"")], "UNIMPLEMENTED")


SCHEMA_CHANGES: dict[str, tuple[list[str], str]] = {
    "two": ([TABLE, "CREATE INDEX ById ON Other (Id)"], "OK"),
    "a schema": (["CREATE SCHEMA extra"], "OK"),
    "analyze": (["ANALYZE"], "OK"),
    "none": ([], "INVALID_ARGUMENT"),
    "an empty one": ([""], "INVALID_ARGUMENT"),
    "a syntax error": (["CREATE TABEL t"], "INVALID_ARGUMENT"),
    "a text that does not end": (["CREATE TABLE 'open"], "INVALID_ARGUMENT"),
    "a duplicate": (["CREATE TABLE Singers (Id INT64) PRIMARY KEY (Id)"], "FAILED_PRECONDITION"),
    "a missing table": (["DROP TABLE Nothing"], "NOT_FOUND"),
    "a parent": (["DROP TABLE Singers"], "FAILED_PRECONDITION"),
    "a semicolon": ([f"{TABLE};"], "INVALID_ARGUMENT"),
    "two in one": ([f"{TABLE}; DROP TABLE Other"], "INVALID_ARGUMENT"),
    "comments": ([f"-- first\n{TABLE} /* last */"], "INVALID_ARGUMENT"),
    "a queue's words in a comment": ([f"-- CREATE QUEUE q\n{TABLE}"], "INVALID_ARGUMENT"),
    "a table named like a queue's word": (["CREATE TABLE Queue (Ack INT64) PRIMARY KEY (Ack)"], "OK"),
}


@pytest.mark.parametrize("change", SCHEMA_CHANGES)
def test_a_change_of_the_schema(twins: Twins, change: str) -> None:
    statements, code = SCHEMA_CHANGES[change]

    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask(
            "UpdateDatabaseDdl", database=twin.database, statements=statements, operation_id="mine"
        )
        yield twin.finished(begun)
        yield twin.schema()

    same(twins, script, code, "OK")


def test_a_change_that_fails_halfway(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        write = {"table": "Singers", "columns": ["SingerId", "Name"], "values": [["1", "a"], ["2", "a"]]}
        twin.ask("Commit", single_use_transaction={"read_write": {}}, mutations=[{"insert": write}])
        statements = [TABLE, "CREATE UNIQUE INDEX OneName ON Singers (Name)", "DROP TABLE Other"]
        begun = twin.ask(
            "UpdateDatabaseDdl", database=twin.database, statements=statements, operation_id="halfway"
        )
        yield twin.finished(begun)
        yield twin.schema()
        yield twin.ask("ListOperations", name=f"{twin.database}/operations")
        yield twin.ask("GetOperation", name=f"{twin.database}/operations/none")
        yield twin.ask("GetOperation", name="nonsense")

    same(twins, script, "OK", "OK", "OK", "NOT_FOUND", "INVALID_ARGUMENT")


CREATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "backquotes": ({"create_statement": "CREATE DATABASE `made-here`", "extra_statements": [TABLE]}, "OK"),
    "no quotes": ({"create_statement": "CREATE DATABASE made_here"}, "OK"),
    "PostgreSQL": ({"create_statement": 'CREATE DATABASE "made-here"', "database_dialect": 2}, "OK"),
    "PostgreSQL with backquotes": (
        {"create_statement": "CREATE DATABASE `made-here`", "database_dialect": 2},
        "INVALID_ARGUMENT",
    ),
    "a bad name": ({"create_statement": "CREATE DATABASE x"}, "INVALID_ARGUMENT"),
    "no name": ({"create_statement": "CREATE DATABASE"}, "INVALID_ARGUMENT"),
    "another statement": ({"create_statement": TABLE}, "INVALID_ARGUMENT"),
    "a text that does not end": ({"create_statement": "CREATE DATABASE 'open"}, "INVALID_ARGUMENT"),
    "nothing": ({}, "INVALID_ARGUMENT"),
    "a bad schema": (
        {"create_statement": "CREATE DATABASE fine", "extra_statements": ["CREATE TABEL t"]},
        "INVALID_ARGUMENT",
    ),
    "no instance": ({"create_statement": "CREATE DATABASE fine", "parent": "nonsense"}, "INVALID_ARGUMENT"),
}


@pytest.mark.parametrize("creation", CREATIONS)
def test_the_creation_of_a_database(twins: Twins, creation: str) -> None:
    request, code = CREATIONS[creation]

    def script(twin: Twin) -> Iterator[Answer]:
        made = twin.finished(twin.ask("CreateDatabase", **{"parent": twin.instance, **request}))
        yield made
        if code == "OK":
            name = made.message.name.split("/operations/")[0]
            yield twin.ask("CreateDatabase", parent=twin.instance, **request)
            yield twin.ask("GetDatabase", name=name)
            yield twin.ask("GetDatabaseDdl", database=name)
            yield twin.ask("DropDatabase", database=name)

    same(twins, script, code, *(["ALREADY_EXISTS", "OK", "OK", "OK"] if code == "OK" else []))


def test_a_database_that_is_none(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        for name in (f"{twin.database}-none", "nonsense"):
            yield twin.ask("GetDatabase", name=name)
            yield twin.ask("GetDatabaseDdl", database=name)
            yield twin.ask("UpdateDatabaseDdl", database=name, statements=[TABLE])
            yield twin.ask("DropDatabase", database=name)

    same(twins, script, *["NOT_FOUND"] * 3, "OK", *["INVALID_ARGUMENT"] * 4)


def test_instances(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        yield twin.ask("GetInstance", name=twin.instance)
        yield twin.ask("GetInstance", name=f"{twin.instance}-none")
        yield twin.ask(
            "CreateInstance",
            parent=f"projects/{PROJECT}",
            instance_id="X",
            instance={"config": CONFIGURATION},
        )
        yield twin.ask("ListDatabases", parent=twin.instance, page_size=1, page_token="nonsense")
        yield twin.ask("ListDatabases", parent=f"{twin.instance}-none")

    same(twins, script, "OK", "NOT_FOUND", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND")


def test_both_ways_lead_to_the_same_instances(routes: dict[str, Route]) -> None:
    direct, gateway = routes.values()
    listed = [{item.name for item in route.client.list_instances()} for route in (direct, gateway)]
    assert listed[0] == listed[1]
    there = gateway.client.instance(direct.instance.instance_id)
    there.reload()
    assert there.display_name == direct.instance.display_name
