"""Queries of INFORMATION_SCHEMA: which views they name, and the queries that stand in their place."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.ddl import Schema
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.information_schema import references, with_queues
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, queues

COLUMNS = {"tables": ["TABLE_NAME", "TABLE_TYPE"], "columns": ["COLUMN_NAME", "COLUMN_DEFAULT"]}


def written(sql: str, dialect: Dialect, *names: str) -> str:
    found = references(sql, dialect)
    return with_queues(sql, found, Schema(queues(dialect, *names) if names else {}), dialect, COLUMNS)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT * FROM INFORMATION_SCHEMA.TABLES", [("tables", False, False)]),
        ("SELECT * FROM information_schema . Tables AS t", [("tables", True, False)]),
        ("SELECT * FROM information_schema.columns c WHERE TRUE", [("columns", True, False)]),
        ("SELECT * FROM information_schema.routines WHERE TRUE", [("routines", False, False)]),
        ("SELECT * FROM information_schema.parameters ORDER BY 1", [("parameters", False, False)]),
        ("SELECT * FROM (SELECT * FROM information_schema.views)", [("views", False, False)]),
        (
            "SELECT 1 FROM information_schema.tables JOIN information_schema.columns USING (TABLE_NAME)",
            [("tables", False, False), ("columns", False, False)],
        ),
        (
            "SELECT 1 FROM information_schema.tables t, information_schema.columns LEFT JOIN x ON TRUE",
            [("tables", True, False), ("columns", False, False)],
        ),
        (
            "SELECT information_schema.tables.table_name FROM information_schema.tables",
            [("tables", False, True), ("tables", False, False)],
        ),
        ("SELECT * FROM information_schema.indexes", []),
        ("SELECT 'information_schema.tables'", []),
        ("SELECT 1 -- information_schema.tables", []),
        ("SELECT information_schema, tables", []),
        ("SELECT * FROM information_schema", []),
        ("information_schema.tables 'unfinished", []),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_references(dialect: Dialect, sql: str, found: list[tuple[str, bool, bool]]) -> None:
    given = [(each.view, each.aliased, each.qualifies) for each in references(sql, dialect)]
    assert given == found


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (GOOGLESQL, "SELECT * FROM `INFORMATION_SCHEMA`.`tables`"),
        (POSTGRESQL, 'SELECT * FROM "information_schema"."tables"'),
        (POSTGRESQL, "SELECT * FROM INFORMATION_SCHEMA.TABLES"),
    ],
    ids=named,
)
def test_quoted_and_folded_names(dialect: Dialect, sql: str) -> None:
    assert [each.view for each in references(sql, dialect)] == ["tables"]


def test_tables_without_queues_hide_what_the_gateway_keeps() -> None:
    assert written("SELECT 1 FROM information_schema.tables", GOOGLESQL) == (
        "SELECT 1 FROM (SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.tables"
        " WHERE TABLE_NAME <> 'SpannerQueuesAccess') AS `tables`"
    )
    assert written("SELECT 1 FROM information_schema.tables t", POSTGRESQL) == (
        "SELECT 1 FROM (SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.tables"
        " WHERE table_name <> 'spanner_queues_access') t"
    )


def test_queues_are_tables_of_another_type() -> None:
    assert written("SELECT 1 FROM information_schema.tables AS t", GOOGLESQL, "q", "it's") == (
        "SELECT 1 FROM (SELECT TABLE_NAME, CASE WHEN TABLE_SCHEMA = '' AND TABLE_NAME IN ('q', 'it\\'s')"
        " THEN 'QUEUE' ELSE TABLE_TYPE END AS TABLE_TYPE FROM information_schema.tables"
        " WHERE TABLE_NAME <> 'SpannerQueuesAccess') AS t"
    )
    assert "CASE WHEN table_schema = 'public' AND table_name IN ('q', 'UserTasks') THEN 'QUEUE'" in written(
        "SELECT 1 FROM information_schema.tables", POSTGRESQL, "q", "UserTasks"
    )


def test_the_definition_in_a_default_is_not_shown() -> None:
    assert written("SELECT 1 FROM information_schema.columns", POSTGRESQL, "q") == (
        "SELECT 1 FROM (SELECT COLUMN_NAME, CASE WHEN table_schema = 'public' AND table_name IN ('q')"
        " AND column_name = 'deliver_time' THEN NULL ELSE column_default END AS COLUMN_DEFAULT"
        " FROM information_schema.columns WHERE table_name <> 'spanner_queues_access') AS \"columns\""
    )


def test_a_qualified_name_follows_its_view() -> None:
    sql = "SELECT information_schema.tables.table_name FROM information_schema.tables"
    assert written(sql, POSTGRESQL).startswith('SELECT "tables".table_name FROM (SELECT ')


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        (GOOGLESQL, ["RECEIVE_q", "RENEWLEASE_q", "RECEIVE_UserTasks", "RENEWLEASE_UserTasks"]),
        (POSTGRESQL, ["receive_q", "renewlease_q", "receive_UserTasks", "renewlease_UserTasks"]),
    ],
    ids=named,
)
def test_routines_and_parameters(dialect: Dialect, names: list[str]) -> None:
    routines = written("SELECT 1 FROM information_schema.routines", dialect, "q", "UserTasks")
    parameters = written("SELECT 1 FROM information_schema.parameters", dialect, "q", "UserTasks")
    for name in names:
        assert routines.count(f"'{name}'") == 2
        assert parameters.count(f"'{name}'") == (3 if name.lower().startswith("receive") else 1)


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_routines_of_a_database_without_queues(dialect: Dialect) -> None:
    text = written("SELECT 1 FROM information_schema.routines r", dialect)
    assert text.count("SELECT") == 3
    assert text.endswith(" <> '') r")
