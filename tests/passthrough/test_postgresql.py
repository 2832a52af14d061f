"""A PostgreSQL-dialect database with plain tables, through the client."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from typing import Any

import pytest
from google.api_core.exceptions import (
    AlreadyExists,
    FailedPrecondition,
    GoogleAPICallError,
    InvalidArgument,
    NotFound,
    OutOfRange,
)
from google.cloud.spanner_admin_database_v1 import DatabaseDialect
from google.cloud.spanner_v1 import KeySet, param_types
from google.cloud.spanner_v1.database import Database

from tests.passthrough.helpers import TIMEOUT_SECONDS, Route

STATEMENTS = (
    """CREATE TABLE singers (
        id bigint PRIMARY KEY, name varchar(100), born date, seen timestamptz, score double precision,
        single real, balance numeric, active boolean, photo bytea, settings jsonb, tags text[],
        made timestamptz DEFAULT now(), loud varchar GENERATED ALWAYS AS (UPPER(name)) STORED
    )""",
    """CREATE TABLE albums (id bigint, album bigint, title text, PRIMARY KEY (id, album))
    INTERLEAVE IN PARENT singers ON DELETE CASCADE""",
    "CREATE INDEX by_name ON singers (name) INCLUDE (born)",
    "CREATE VIEW names SQL SECURITY INVOKER AS SELECT id, name FROM singers",
    "CREATE SEQUENCE numbers BIT_REVERSED_POSITIVE",
)


@pytest.fixture
def database(route: Route) -> Iterator[Database]:
    """A fresh PostgreSQL-dialect database with singers and albums."""
    database = route.create_database(postgresql=True)
    database.update_ddl(STATEMENTS).result(TIMEOUT_SECONDS)
    yield database
    database.drop()


def query(database: Database, sql: str, **options: Any) -> list[list[Any]]:
    with database.snapshot() as snapshot:
        return list(snapshot.execute_sql(sql, **options))


def run(database: Database, *statements: str) -> list[int]:
    return database.run_in_transaction(
        lambda transaction: [transaction.execute_update(statement) for statement in statements]
    )


def test_dialect_and_schema(database: Database) -> None:
    database.reload()
    assert database.database_dialect == DatabaseDialect.POSTGRESQL
    assert database.default_schema_name == "public"
    heads = {" ".join(statement.split()[:3]) for statement in database.ddl_statements}
    assert heads == {
        "CREATE TABLE singers",
        "CREATE TABLE albums",
        "CREATE INDEX by_name",
        "CREATE VIEW names",
        "CREATE SEQUENCE numbers",
    }


def test_parameters_and_returning(database: Database) -> None:
    values: list[tuple[Any, Any]] = [
        (1, param_types.INT64),
        ("Ada", param_types.STRING),
        ("1.50", param_types.PG_NUMERIC),
        ('{"a": [1, null]}', param_types.PG_JSONB),
        (["x", None], param_types.Array(param_types.STRING)),
        (datetime.date(1990, 1, 2), param_types.DATE),
    ]
    sql = (
        "INSERT INTO singers (id, name, balance, settings, tags, born) VALUES ($1, $2, $3, $4, $5, $6)"
        " RETURNING id, name, balance, settings, tags, born"
    )
    params = {f"p{number}": value for number, (value, _) in enumerate(values, 1)}
    types = {f"p{number}": kind for number, (_, kind) in enumerate(values, 1)}
    (row,) = database.run_in_transaction(
        lambda transaction: list(transaction.execute_sql(sql, params, types))
    )
    assert row == [
        1,
        "Ada",
        decimal.Decimal("1.50"),
        {"a": [1, None]},
        ["x", None],
        datetime.date(1990, 1, 2),
    ]
    assert query(database, "SELECT loud FROM singers WHERE made <= now()") == [["ADA"]]


def test_types_of_results(database: Database) -> None:
    sql = (
        "SELECT 1::bigint AS one, true, 1.5::float8, 2.5::numeric, '2024-01-01'::date, '{}'::jsonb, ARRAY[1]"
    )
    with database.snapshot() as snapshot:
        rows = snapshot.execute_sql(sql)
        assert list(rows) == [[1, True, 1.5, decimal.Decimal("2.5"), datetime.date(2024, 1, 1), {}, [1]]]
        kinds = [
            (field.type_.code.name, field.type_.type_annotation.name)
            for field in rows.metadata.row_type.fields
        ]
    plain = "TYPE_ANNOTATION_CODE_UNSPECIFIED"
    assert kinds == [
        ("INT64", plain),
        ("BOOL", plain),
        ("FLOAT64", plain),
        ("NUMERIC", "PG_NUMERIC"),
        ("DATE", plain),
        ("JSON", "PG_JSONB"),
        ("ARRAY", plain),
    ]


def test_queries(database: Database) -> None:
    run(database, "INSERT INTO singers (id, name) VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Al')")
    assert query(database, "SELECT id FROM singers WHERE name LIKE 'A%' ORDER BY id DESC LIMIT 1") == [[3]]
    assert query(database, "SELECT name FROM names WHERE id = 2") == [["Bob"]]
    numbers = "WITH n AS (SELECT 1 AS i UNION ALL SELECT 2) SELECT sum(i) FROM n"
    assert query(database, numbers) == [[decimal.Decimal(3)]]
    assert query(database, "SELECT substr(name, 1, 1), count(*) FROM singers GROUP BY 1 ORDER BY 1") == [
        ["A", 2],
        ["B", 1],
    ]


def test_writing(database: Database) -> None:
    counts = run(
        database,
        "INSERT INTO singers (id, name) VALUES (1, 'Ada'), (2, 'Bob')",
        "INSERT INTO albums (id, album) VALUES (1, 1)",
        "UPDATE singers SET name = 'x' WHERE id > 1",
        "DELETE FROM singers WHERE id = 1",
    )
    assert counts == [2, 1, 1, 1]
    assert query(database, "SELECT count(*) FROM albums") == [[0]]


def test_mutations_and_reads(database: Database) -> None:
    with database.batch() as batch:
        batch.insert("singers", ["id", "name", "balance"], [(1, "Ada", "1.5"), (2, "Bob", "NaN")])
        batch.insert_or_update("singers", ["id", "name"], [(1, "A")])
    with database.snapshot() as snapshot:
        rows = list(snapshot.read("singers", ["id", "name", "balance"], KeySet(all_=True)))
    assert [row[:2] for row in rows] == [[1, "A"], [2, "Bob"]]
    assert rows[0][2] == decimal.Decimal("1.5")
    assert rows[1][2].is_nan()


def test_batch_and_partitioned_dml(database: Database) -> None:
    statements = [f"INSERT INTO singers (id) VALUES ({id})" for id in range(3)]
    status, counts = database.run_in_transaction(lambda transaction: transaction.batch_update(statements))
    assert (status.code, counts) == (0, [1, 1, 1])
    assert database.execute_partitioned_dml("UPDATE singers SET name = 'x' WHERE id > 0") == 2


def test_partitioned_query(database: Database) -> None:
    run(database, "INSERT INTO singers (id) VALUES (1), (2)")
    rows = database.batch_snapshot().run_partitioned_query("SELECT id FROM singers")
    assert sorted(row[0] for row in rows) == [1, 2]


def test_sequence_and_commit_timestamp(database: Database) -> None:
    key = "id bigint DEFAULT nextval('numbers') PRIMARY KEY"
    table = f"CREATE TABLE marks ({key}, at spanner.commit_timestamp)"
    database.update_ddl([table]).result(TIMEOUT_SECONDS)
    insert = "INSERT INTO marks (at) VALUES (spanner.pending_commit_timestamp())"
    assert run(database, insert, insert) == [1, 1]
    assert query(database, "SELECT count(DISTINCT id), count(DISTINCT at) FROM marks") == [[2, 1]]


def test_schema_changes(database: Database) -> None:
    database.update_ddl(
        [
            "ALTER TABLE singers ADD COLUMN extra bigint",
            "ALTER TABLE singers ADD CONSTRAINT positive CHECK (id > 0)",
            "DROP INDEX by_name",
            "CREATE UNIQUE INDEX one_name ON singers (name)",
            "CREATE CHANGE STREAM everything FOR ALL",
        ]
    ).result(TIMEOUT_SECONDS)
    names = "SELECT index_name FROM information_schema.indexes WHERE table_name = 'singers' ORDER BY 1"
    assert query(database, names) == [["PRIMARY_KEY"], ["one_name"]]
    with pytest.raises(OutOfRange, match="positive"):
        run(database, "INSERT INTO singers (id) VALUES (-1)")


def test_information_schema(database: Database) -> None:
    tables = (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"
    )
    assert query(database, tables) == [["albums"], ["names"], ["singers"]]
    columns = (
        "SELECT column_name, data_type FROM information_schema.columns"
        " WHERE table_name = 'albums' ORDER BY ordinal_position"
    )
    assert query(database, columns) == [["id", "bigint"], ["album", "bigint"], ["title", "character varying"]]


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("SELEC 1", InvalidArgument, 'syntax error at or near "SELEC"'),
        ("SELECT nope", InvalidArgument, 'column "nope" does not exist'),
        ("SELECT * FROM nothing", NotFound, 'relation "nothing" does not exist'),
        ("SELECT 1/0", OutOfRange, "division by zero"),
        ("INSERT INTO singers (id) VALUES (9)", InvalidArgument, "DML statements may not be performed"),
        ("SELECT $1", InvalidArgument, "parameter"),
    ],
)
def test_queries_that_fail(database: Database, sql: str, error: type[GoogleAPICallError], words: str) -> None:
    with pytest.raises(error) as failure:
        query(database, sql)
    assert words in failure.value.message


def test_writing_that_fails(database: Database) -> None:
    run(database, "INSERT INTO singers (id) VALUES (1)")
    with pytest.raises(AlreadyExists):
        run(database, "INSERT INTO singers (id) VALUES (1)")
    with pytest.raises(NotFound, match="nothing"):
        run(database, "DELETE FROM nothing WHERE true")
    with pytest.raises(FailedPrecondition, match="interleaved tables: albums"):
        database.update_ddl(["DROP TABLE singers"]).result(TIMEOUT_SECONDS)
    with pytest.raises(InvalidArgument, match="syntax error"):
        database.update_ddl(["CREATE TABLE x (id INT64) PRIMARY KEY (id)"]).result(TIMEOUT_SECONDS)
    assert query(database, "SELECT id FROM singers") == [[1]]
