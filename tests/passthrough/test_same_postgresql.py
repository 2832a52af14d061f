"""The same calls to PostgreSQL-dialect databases, sent both ways: the answers are compared field by field."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.passthrough.helpers import Answer, Route, Twin, Twins, describe, make_twins, same
from tests.passthrough.test_postgresql import STATEMENTS

BEGIN = {"begin": {"read_write": {}}}
QUERIES: dict[str, tuple[str, str]] = {
    "types": (
        "SELECT 1::bigint AS one, 'x'::text, true, 1.5::float8, 2.5::numeric, '{\"a\": 1}'::jsonb",
        "OK",
    ),
    "arrays": ("SELECT ARRAY[1, NULL]::bigint[], ARRAY['ü']", "OK"),
    "names": ('SELECT 1 AS "Two Words", 2 AS x, 3 AS x', "OK"),
    "an order": ("SELECT g FROM unnest(ARRAY[3, 1, 2]) AS g ORDER BY g DESC LIMIT 2 OFFSET 1", "OK"),
    "quotes": ("SELECT 'it''s', E'a\\nb', $$dollar$$ -- comment", "OK"),
    "words of queues in a text": (
        "SELECT 'spanner.receive_q(insert update)' /* spanner.renewlease_q( */",
        "OK",
    ),
    "a view": ("SELECT * FROM names ORDER BY id", "OK"),
    "a syntax error": ("SELEC 1", "INVALID_ARGUMENT"),
    "a text that does not end": ("SELECT 'x", "INVALID_ARGUMENT"),
    "dollars that do not end": ("SELECT $$x", "INVALID_ARGUMENT"),
    "a table": ("SELECT * FROM nothing", "NOT_FOUND"),
    "a column": ("SELECT nope FROM singers", "INVALID_ARGUMENT"),
    "a table function": ("SELECT * FROM spanner.receive_singers()", "NOT_FOUND"),
    "a division": ("SELECT 1 / 0", "OUT_OF_RANGE"),
    "DML alone": ("INSERT INTO singers (id) VALUES (9)", "INVALID_ARGUMENT"),
    "nothing": ("", "INVALID_ARGUMENT"),
}
INFORMATION = ("schemata", "tables", "columns", "indexes", "table_constraints", "views", "sequences")
SCHEMA_CHANGES: dict[str, tuple[list[str], str]] = {
    "several": (
        ["CREATE TABLE t (id bigint PRIMARY KEY)", "CREATE INDEX i ON t (id)", "DROP VIEW names"],
        "OK",
    ),
    "a column": (["ALTER TABLE singers ADD COLUMN \"Mixed\" text DEFAULT 'it''s'"], "OK"),
    "a table named like a queue's word": (["CREATE TABLE queue (ack bigint PRIMARY KEY)"], "OK"),
    "a syntax error": (["CREATE TABEL t (id bigint)"], "INVALID_ARGUMENT"),
    "another dialect": (["CREATE TABLE t (id INT64) PRIMARY KEY (id)"], "INVALID_ARGUMENT"),
    "a text that does not end": (["CREATE TABLE 'open"], "INVALID_ARGUMENT"),
    "a parent": (["DROP TABLE singers"], "FAILED_PRECONDITION"),
    "a missing table": (["DROP TABLE nothing"], "NOT_FOUND"),
    "a duplicate": (["CREATE TABLE singers (id bigint PRIMARY KEY)"], "FAILED_PRECONDITION"),
}


@pytest.fixture
def twins(routes: dict[str, Route]) -> Iterator[Twins]:
    """Two databases with singers and albums."""
    with make_twins(routes.values(), postgresql=True) as twins:
        fill(twins)
        yield twins


@pytest.fixture(scope="module")
def readable(routes: dict[str, Route]) -> Iterator[Twins]:
    """Two databases with singers and albums that are only read from."""
    with make_twins(routes.values(), postgresql=True) as twins:
        fill(twins)
        yield twins


def fill(twins: Twins) -> None:
    for twin in twins:
        begun = twin.ask("UpdateDatabaseDdl", database=twin.database, statements=STATEMENTS)
        assert twin.finished(begun).message.done
        rows = [["1", "Ada", "1.50"], ["2", "Bob", "NaN"]]
        write = {"table": "singers", "columns": ["id", "name", "balance"], "values": rows}
        twin.ask("Commit", single_use_transaction={"read_write": {}}, mutations=[{"insert": write}])


@pytest.mark.parametrize("query", QUERIES)
def test_a_query(readable: Twins, query: str) -> None:
    sql, code = QUERIES[query]
    same(
        readable,
        lambda twin: [twin.ask("ExecuteSql", sql=sql), twin.ask("ExecuteStreamingSql", sql=sql)],
        *(code, code),
    )


@pytest.mark.parametrize("view", INFORMATION)
def test_the_information_schema(readable: Twins, view: str) -> None:
    same(readable, lambda twin: describe(twin, f"information_schema.{view}"), "OK", "OK")


def test_parameters(readable: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        types = {"p1": {"code": "INT64"}, "p2": {"code": "NUMERIC", "type_annotation": "PG_NUMERIC"}}
        sql = "SELECT $1 + id, $2 FROM singers ORDER BY id"
        yield twin.ask("ExecuteSql", sql=sql, params={"p1": "5", "p2": "1.5"}, param_types=types)
        yield twin.ask("ExecuteSql", sql=sql, params={"p1": "5"})
        yield twin.ask("ExecuteSql", sql="SELECT id FROM singers WHERE name = $1", query_mode="PLAN")

    same(readable, script, "OK", "INVALID_ARGUMENT", "OK")


def test_writing(twins: Twins) -> None:
    insert = "INSERT INTO singers (id, name) VALUES (3, 'x') RETURNING id, loud"

    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("ExecuteStreamingSql", sql=insert, transaction=BEGIN, seqno=1)
        yield begun
        id = begun.messages[0].metadata.transaction.id
        inside = {"transaction": {"id": id}}
        yield twin.ask("ExecuteSql", sql="UPDATE singers SET name = 'y' WHERE id > 1", seqno=2, **inside)
        yield twin.ask("ExecuteSql", sql="DELETE FROM nothing WHERE true", seqno=3, **inside)
        statements = [{"sql": "DELETE FROM singers WHERE id = 2"}, {"sql": "DELETE FROM nothing"}]
        yield twin.ask("ExecuteBatchDml", statements=statements, seqno=4, **inside)
        yield twin.ask("Read", table="singers", columns=["id", "name"], key_set={"all_": True}, **inside)
        yield twin.ask("Commit", transaction_id=id)
        yield twin.ask("ExecuteSql", sql=insert, transaction=BEGIN, seqno=1)

    same(twins, script, "OK", "OK", "NOT_FOUND", "OK", "OK", "OK", "ALREADY_EXISTS")


@pytest.mark.parametrize("change", SCHEMA_CHANGES)
def test_a_change_of_the_schema(twins: Twins, change: str) -> None:
    statements, code = SCHEMA_CHANGES[change]

    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("UpdateDatabaseDdl", database=twin.database, statements=statements)
        yield twin.finished(begun)
        yield twin.schema()

    same(twins, script, code, "OK")
