"""Queues in INFORMATION_SCHEMA, through the official client and through SQLAlchemy's inspector."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import inspect

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_engine
from tests.emulator.helpers import Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words

SCHEMA = {GOOGLESQL.name: "''", POSTGRESQL.name: "'public'"}


def rows(database: Session, sql: str) -> list[list[Any]]:
    """Run a query in which SCHEMA is the schema that tables stand in."""
    return sorted(database.query(sql.replace("SCHEMA_NAME", SCHEMA[database.words.name])))


def names(words: Words, *tables: str) -> list[str]:
    return [table if words is GOOGLESQL else table.lower() for table in tables]


TABLES = [
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = SCHEMA_NAME",
    "SELECT t.TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES AS t WHERE TABLE_SCHEMA = SCHEMA_NAME;",
    "SELECT tables.table_name, table_type FROM information_schema.tables WHERE table_schema = SCHEMA_NAME",
    (
        "SELECT t.table_name, MIN(table_type) FROM information_schema.tables t"
        " JOIN information_schema.columns AS c USING (table_name, table_schema)"
        " WHERE table_schema = SCHEMA_NAME GROUP BY 1"
    ),
    (
        "SELECT s.table_name, s.table_type FROM (SELECT * FROM information_schema.tables) AS s"
        " WHERE s.table_schema = SCHEMA_NAME"
    ),
    (
        "WITH t AS (SELECT * FROM information_schema.tables /* all */ WHERE table_schema = SCHEMA_NAME)"
        " SELECT table_name, table_type FROM t -- and no more"
    ),
]


@pytest.mark.parametrize("sql", TABLES)
@IN_BOTH_DIALECTS
def test_tables(database: Session, words: Words, sql: str) -> None:
    mails, users = names(words, "Mails", "Users")
    expected = [[mails, "QUEUE"], ["q", "QUEUE"], [users, "BASE TABLE"]]
    assert rows(database, sql) == sorted(expected)


@pytest.mark.parametrize("words", [POSTGRESQL], indirect=True)
def test_fully_qualified_columns(database: Session) -> None:
    sql = (
        "SELECT information_schema.tables.table_name FROM information_schema.tables"
        " WHERE information_schema.tables.table_type = 'QUEUE'"
    )
    assert rows(database, sql) == [["mails"], ["q"]]


@pytest.mark.parametrize("words", [GOOGLESQL], indirect=True)
def test_quoted_views(database: Session) -> None:
    sql = "SELECT TABLE_NAME FROM `INFORMATION_SCHEMA`.`TABLES` WHERE TABLE_TYPE = 'QUEUE'"
    assert rows(database, sql) == [["Mails"], ["q"]]


@IN_BOTH_DIALECTS
def test_columns(database: Session, words: Words) -> None:
    sql = (
        "SELECT column_name, ordinal_position, is_nullable, column_default"
        " FROM information_schema.columns WHERE table_name = 'q' ORDER BY ordinal_position"
    )
    assert database.query(sql) == [
        [words.column("Id"), 1, "NO", None],
        [words.column("Payload"), 2, "NO", None],
        [words.deliver_time, 3, "NO", None],
    ]


@IN_BOTH_DIALECTS
def test_defaults_of_tables_are_shown(database: Session, words: Words) -> None:
    kind = "INT64 DEFAULT (7)) PRIMARY KEY (Id)" if words is GOOGLESQL else "bigint DEFAULT 7 PRIMARY KEY)"
    database.ddl(f"CREATE TABLE d (Id {kind}")
    sql = "SELECT column_default FROM information_schema.columns WHERE table_name = 'd'"
    ((default,),) = database.query(sql)
    assert "7" in (default.decode() if isinstance(default, bytes) else default)


@IN_BOTH_DIALECTS
def test_routines_and_parameters(database: Session, words: Words) -> None:
    receive, renew = names(words, "RECEIVE_q", "RENEWLEASE_q")
    schema = "" if words is GOOGLESQL else "spanner"
    sql = "SELECT routine_name, routine_schema, routine_type FROM information_schema.routines"
    assert [receive, schema, "TABLE FUNCTION"] in rows(database, sql)
    assert len(rows(database, sql)) == 4
    sql = (
        "SELECT p.parameter_name, p.ordinal_position FROM information_schema.routines AS r"
        " JOIN information_schema.parameters AS p ON r.specific_name = p.specific_name"
        f" WHERE r.routine_name = '{receive}' ORDER BY p.ordinal_position"
    )
    assert database.query(sql) == [["max_batch_size", 1], ["priority", 2], ["max_duration", 3]]
    sql = f"SELECT parameter_name FROM information_schema.parameters WHERE specific_name = '{renew}'"
    assert database.query(sql) == [["lease_tokens"]]


@IN_BOTH_DIALECTS
def test_a_database_without_queues(empty: Session, words: Words) -> None:
    empty.ddl(words.schema[0])
    (users,) = names(words, "Users")
    assert rows(empty, TABLES[0]) == [[users, "BASE TABLE"]]
    for view in ("routines", "parameters"):
        assert empty.query(f"SELECT * FROM information_schema.{view}") == []


@IN_BOTH_DIALECTS
def test_queues_come_and_go(empty: Session, words: Words) -> None:
    sql = "SELECT COUNT(*) FROM information_schema.routines"
    assert empty.query(sql) == [[0]]
    empty.ddl(words.schema[-1])
    assert empty.query(sql) == [[2]]
    empty.ddl("DROP QUEUE q")
    assert empty.query(sql) == [[0]]


@IN_BOTH_DIALECTS
def test_parameters_transactions_and_plans(database: Session, words: Words) -> None:
    sql = f"SELECT table_type FROM information_schema.tables WHERE table_name = {words.parameter(1)}"
    bound = {"params": {"p1": "q"}}
    assert database.query(sql, **bound) == [["QUEUE"]]
    with database.db.snapshot(multi_use=True) as snapshot:
        assert list(snapshot.execute_sql(sql, **bound)) == [["QUEUE"]]
    with database.db.snapshot() as snapshot:
        planned = snapshot.execute_sql(sql, query_mode="PLAN", **bound)
        assert list(planned) == []
        assert [field.name.lower() for field in planned.fields] == ["table_type"]
    result = database.db.spanner_api.execute_sql(database.request(sql, {"p1": "q"}))
    assert [list(row) for row in result.rows] == [["QUEUE"]]


@IN_BOTH_DIALECTS
def test_other_views_pass(database: Session) -> None:
    assert database.query("SELECT COUNT(*) FROM information_schema.indexes WHERE table_name = 'q'") == [[1]]
    assert database.query("SELECT 'information_schema.tables'") == [["information_schema.tables"]]


def test_the_inspector_of_sqlalchemy(database: Session, emulator: Emulator) -> None:
    engine = make_engine(emulator.host, database.path)
    inspector = inspect(engine)
    assert "SpannerQueuesAccess" not in inspector.get_view_names()
    database.ddl("CREATE ROLE r", "CREATE VIEW v SQL SECURITY INVOKER AS SELECT q.Id FROM q")
    inspector.clear_cache()
    assert inspector.get_view_names() == ["v"]
    assert "Users" in inspector.get_table_names()
    assert [column["name"] for column in inspector.get_columns("Users")] == ["UserId", "Name"]
    assert inspector.get_pk_constraint("Users")["constrained_columns"] == ["UserId"]
    assert [column["name"] for column in inspector.get_columns("v")] == ["Id"]
    engine.dispose()
