"""The same queries and reads, sent both ways: the answers are compared field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.passthrough.helpers import SCHEMA, Answer, Route, Twin, Twins, describe, make_twins, same

STRONG = {"single_use": {"read_only": {"strong": True, "return_read_timestamp": True}}}
STALE = {"single_use": {"read_only": {"exact_staleness": {"nanos": 1000}, "return_read_timestamp": True}}}
LONG_AGO = {"single_use": {"read_only": {"exact_staleness": {"seconds": 99999}}}}
BEGIN = {"begin": {"read_only": {"strong": True, "return_read_timestamp": True}}}
ALL = {"all_": True}
QUERIES: dict[str, dict[str, Any]] = {
    "a number": {"sql": "SELECT 1"},
    "no rows": {"sql": "SELECT SingerId, Name FROM Singers WHERE FALSE"},
    "rows": {"sql": "SELECT SingerId, Name, Born FROM Singers ORDER BY SingerId"},
    "types": {
        "sql": """SELECT 1 AS i, 0.5 AS f, CAST(0.5 AS FLOAT32) AS r, TRUE AS b, 'ü' AS s, b'\\xff' AS y,
        DATE '2024-01-01' AS d, TIMESTAMP '2024-01-01T00:00:00.123456789Z' AS t, NUMERIC '1.5' AS n,
        JSON '{"a": [1]}' AS j, NULL AS z"""
    },
    "arrays": {
        "sql": "SELECT [1, NULL] AS a, ARRAY<STRING>[] AS e, ARRAY(SELECT AS STRUCT 1 AS x, 'y' AS z) AS s"
    },
    "names": {"sql": "SELECT 1, 2 AS `two words`, 3 AS x, 4 AS x"},
    "parameters": {
        "sql": "SELECT @i, @s, @a",
        "params": {"i": "7", "s": "x", "a": ["1", None]},
        "param_types": {
            "i": {"code": "INT64"},
            "s": {"code": "STRING"},
            "a": {"code": "ARRAY", "array_element_type": {"code": "INT64"}},
        },
    },
    "parameters without types": {"sql": "SELECT CONCAT(@s, 'x')", "params": {"s": "x"}},
    "plan": {"sql": "SELECT Name FROM Singers WHERE SingerId = @id", "query_mode": "PLAN"},
    "profile": {"sql": "SELECT Name FROM Singers ORDER BY SingerId", "query_mode": "PROFILE"},
    "strong": {"sql": "SELECT 1", "transaction": STRONG},
    "stale": {"sql": "SELECT 1", "transaction": STALE},
    "begins a snapshot": {"sql": "SELECT COUNT(*) FROM Singers", "transaction": BEGIN},
    "options": {
        "sql": "SELECT 1",
        "request_options": {"priority": "PRIORITY_LOW", "request_tag": "tag"},
        "query_options": {"optimizer_version": "latest"},
        "directed_read_options": {"include_replicas": {"replica_selections": [{"location": "us-east1"}]}},
    },
    "a resume token that is none": {"sql": "SELECT 1", "resume_token": b"nonsense"},
    "hints": {
        "sql": """@{USE_ADDITIONAL_PARALLELISM=TRUE}
        SELECT Name FROM Singers@{FORCE_INDEX=SingersByName} ORDER BY Name"""
    },
    "comments and lines": {"sql": "-- one\nSELECT /* two */ 1 # three\n  + 2;"},
    "words of queues in a text": {
        "sql": "SELECT 'RECEIVE_q() RENEWLEASE_q(insert update)' AS x -- RECEIVE_Singers("
    },
    "information schema": {
        "sql": "SELECT table_name FROM information_schema.tables WHERE table_schema = '' ORDER BY 1"
    },
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a syntax error": ({"sql": "SELEC 1"}, "INVALID_ARGUMENT"),
    "a text that does not end": ({"sql": "SELECT 'x"}, "INVALID_ARGUMENT"),
    "nothing": ({"sql": ""}, "INVALID_ARGUMENT"),
    "a table": ({"sql": "SELECT * FROM Nothing"}, "INVALID_ARGUMENT"),
    "a column": ({"sql": "SELECT Nope FROM Singers"}, "INVALID_ARGUMENT"),
    "a table function": ({"sql": "SELECT * FROM RECEIVE_Singers()"}, "INVALID_ARGUMENT"),
    "another table function": (
        {"sql": "SELECT * FROM RENEWLEASE_q(lease_tokens => ['x'])"},
        "INVALID_ARGUMENT",
    ),
    "a window": ({"sql": "SELECT ROW_NUMBER() OVER (ORDER BY Name) FROM Singers"}, "INVALID_ARGUMENT"),
    "a division": ({"sql": "SELECT 1 / 0"}, "OUT_OF_RANGE"),
    "an overflow in a later row": (
        {"sql": "SELECT 9223372036854775800 + n FROM UNNEST(GENERATE_ARRAY(1, 100)) AS n ORDER BY n"},
        "OUT_OF_RANGE",
    ),
    "a struct": ({"sql": "SELECT STRUCT(1)"}, "UNIMPLEMENTED"),
    "a missing parameter": ({"sql": "SELECT @p"}, "INVALID_ARGUMENT"),
    "a parameter of the wrong type": (
        {"sql": "SELECT @p", "params": {"p": "x"}, "param_types": {"p": {"code": "INT64"}}},
        "FAILED_PRECONDITION",
    ),
    "DML alone": ({"sql": "INSERT INTO Singers (SingerId) VALUES (9)"}, "INVALID_ARGUMENT"),
    "DML in a snapshot": (
        {"sql": "DELETE FROM Singers WHERE TRUE", "transaction": BEGIN},
        "INVALID_ARGUMENT",
    ),
    "DDL": ({"sql": "CREATE TABLE t (i INT64) PRIMARY KEY (i)"}, "INVALID_ARGUMENT"),
    "a time that is too long ago": (
        {"sql": "SELECT Name FROM Singers", "transaction": LONG_AGO},
        "FAILED_PRECONDITION",
    ),
    "an unknown transaction": ({"sql": "SELECT 1", "transaction": {"id": b"99999"}}, "NOT_FOUND"),
    "a transaction of no number": ({"sql": "SELECT 1", "transaction": {"id": b"x"}}, "UNKNOWN"),
    "a bad partition": ({"sql": "SELECT 1", "partition_token": b"nonsense"}, "INVALID_ARGUMENT"),
}
READS: dict[str, dict[str, Any]] = {
    "all": {"columns": ["SingerId", "Name"], "key_set": ALL},
    "keys": {"columns": ["Name"], "key_set": {"keys": [["1"], ["9"], ["3"]]}},
    "a range": {"columns": ["Name"], "key_set": {"ranges": [{"start_closed": ["1"], "end_open": ["3"]}]}},
    "an index": {"columns": ["Name"], "index": "SingersByName", "key_set": {"keys": [["Bob"]]}},
    "a limit": {"columns": ["SingerId"], "key_set": ALL, "limit": 2},
    "strong": {"columns": ["SingerId"], "key_set": ALL, "transaction": STRONG},
    "begins a snapshot": {"columns": ["SingerId"], "key_set": ALL, "transaction": BEGIN},
    "no key": {"columns": ["SingerId"], "key_set": {}},
}
INFORMATION = (
    *("SCHEMATA", "TABLES", "COLUMNS", "COLUMN_OPTIONS", "INDEXES", "INDEX_COLUMNS", "VIEWS", "SEQUENCES"),
    *("TABLE_CONSTRAINTS", "CONSTRAINT_TABLE_USAGE", "CONSTRAINT_COLUMN_USAGE", "KEY_COLUMN_USAGE"),
    *("REFERENTIAL_CONSTRAINTS", "CHECK_CONSTRAINTS", "DATABASE_OPTIONS"),
    "SPANNER_STATISTICS",
)
REFUSED_READS: dict[str, tuple[dict[str, Any], str]] = {
    "a table": ({"table": "Nothing", "columns": ["x"], "key_set": ALL}, "NOT_FOUND"),
    "a column": ({"columns": ["Nope"], "key_set": ALL}, "NOT_FOUND"),
    "an index": ({"columns": ["Name"], "key_set": ALL, "index": "Nope"}, "NOT_FOUND"),
    "a key of the wrong type": ({"columns": ["Name"], "key_set": {"keys": [["x"]]}}, "FAILED_PRECONDITION"),
    "a key that is too long": (
        {"columns": ["Name"], "key_set": {"keys": [["1", "2"]]}},
        "FAILED_PRECONDITION",
    ),
    "an unknown transaction": (
        {"columns": ["Name"], "key_set": ALL, "transaction": {"id": b"99999"}},
        "NOT_FOUND",
    ),
}


@pytest.fixture(scope="module")
def filled(routes: dict[str, Route]) -> Iterator[Twins]:
    """Two databases with singers."""
    with make_twins(routes.values(), *SCHEMA) as twins:
        write_rows(twins)
        yield twins


@pytest.fixture
def twins(filled: Twins) -> Twins:
    """The databases, which are only read from, with fresh sessions."""
    direct, gateway = filled
    return direct.again(), gateway.again()


def write_rows(twins: Twins) -> None:
    rows = [["1", "Ada", None], ["2", "Bob", "1990-01-02"], ["3", "ü", None]]
    write = {"table": "Singers", "columns": ["SingerId", "Name", "Born"], "values": rows}
    for twin in twins:
        twin.ask("Commit", single_use_transaction={"read_write": {}}, mutations=[{"insert": write}])


@pytest.mark.parametrize("method", ["ExecuteSql", "ExecuteStreamingSql"])
@pytest.mark.parametrize("query", QUERIES)
def test_a_query(twins: Twins, method: str, query: str) -> None:
    same(twins, lambda twin: [twin.ask(method, **QUERIES[query])], "OK")


@pytest.mark.parametrize("method", ["ExecuteSql", "ExecuteStreamingSql"])
@pytest.mark.parametrize("query", REFUSED)
def test_a_refused_query(twins: Twins, method: str, query: str) -> None:
    request, code = REFUSED[query]
    same(twins, lambda twin: [twin.ask(method, **request)], code)


@pytest.mark.parametrize("method", ["Read", "StreamingRead"])
@pytest.mark.parametrize("read", READS)
def test_a_read(twins: Twins, method: str, read: str) -> None:
    same(twins, lambda twin: [twin.ask(method, table="Singers", **READS[read])], "OK")


@pytest.mark.parametrize("method", ["Read", "StreamingRead"])
@pytest.mark.parametrize("read", REFUSED_READS)
def test_a_refused_read(twins: Twins, method: str, read: str) -> None:
    request, code = REFUSED_READS[read]
    same(twins, lambda twin: [twin.ask(method, **{"table": "Singers", **request})], code)


@pytest.mark.parametrize("view", INFORMATION)
def test_the_information_schema(twins: Twins, view: str) -> None:
    same(twins, lambda twin: describe(twin, f"INFORMATION_SCHEMA.{view}"), "OK", "OK")


def test_partitions(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        begun = twin.ask("BeginTransaction", options={"read_only": {"strong": True}})
        yield begun
        query = {"sql": "SELECT SingerId FROM Singers", "transaction": begun.began}
        partitions = twin.ask("PartitionQuery", **query)
        yield partitions
        read = {"table": "Singers", "columns": ["SingerId"], "key_set": ALL, "transaction": begun.began}
        yield twin.ask("PartitionRead", **read)
        yield twin.ask("PartitionQuery", **(query | {"sql": "SELECT COUNT(*) FROM Singers"}))
        for partition in partitions.message.partitions:
            token = partition.partition_token
            part = twin.ask("ExecuteStreamingSql", **query, partition_token=token)
            assert part.code == "OK"
            yield twin.ask("ExecuteStreamingSql", **(query | {"sql": "SELECT 1"}), partition_token=token)

    same(twins, script, *["OK"] * 3, *["INVALID_ARGUMENT"] * 3)


def test_the_chunks_of_a_large_answer(twins: Twins) -> None:
    def script(twin: Twin) -> Iterator[Answer]:
        digits = "REPEAT(CAST(MOD(n, 10) AS STRING), 1000)"
        many = f"SELECT n, {digits} FROM UNNEST(GENERATE_ARRAY(1, 3000)) AS n ORDER BY n"
        yield twin.ask("ExecuteStreamingSql", sql=many)
        large = "SELECT 1, REPEAT('ü', 450000), [REPEAT('a', 400000), NULL, REPEAT('b', 400000)], 2"
        yield twin.ask("ExecuteStreamingSql", sql=large)
        yield twin.ask("ExecuteSql", sql=large)

    same(twins, script, "OK", "OK", "OK")
