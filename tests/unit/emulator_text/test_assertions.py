"""ASSERT_ROWS_MODIFIED in the PostgreSQL dialect."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.assertions import Assertion, find_assertion
from tests.unit.emulator_text.queues import GOOGLESQL, POSTGRESQL


@pytest.mark.parametrize(
    ("sql", "assertion"),
    [
        (
            "DELETE FROM q WHERE id = $1 ASSERT_ROWS_MODIFIED 1",
            Assertion("DELETE FROM q WHERE id = $1 ", 1, "SELECT count(*) FROM q WHERE id = $1"),
        ),
        (
            'delete from "UserTasks" x where x."Id" = 1 assert_rows_modified 12 RETURNING x."Id";',
            Assertion(
                'delete from "UserTasks" x where x."Id" = 1  RETURNING x."Id";',
                12,
                'SELECT count(*) FROM "UserTasks" x where x."Id" = 1',
            ),
        ),
        (
            "DELETE FROM q /* all */ ASSERT_ROWS_MODIFIED /* none */ 0 -- end",
            Assertion("DELETE FROM q /* all */  -- end", 0, "SELECT count(*) FROM q"),
        ),
        (
            "UPDATE t SET a = $1, b = f('WHERE') WHERE c = $2 ASSERT_ROWS_MODIFIED 3",
            Assertion(
                "UPDATE t SET a = $1, b = f('WHERE') WHERE c = $2 ", 3, "SELECT count(*) FROM t WHERE c = $2"
            ),
        ),
        (
            'UPDATE t AS "set" SET a = (SELECT 1 FROM u WHERE TRUE) ASSERT_ROWS_MODIFIED 3',
            Assertion(
                'UPDATE t AS "set" SET a = (SELECT 1 FROM u WHERE TRUE) ',
                3,
                'SELECT count(*) FROM t AS "set"',
            ),
        ),
        (
            "INSERT INTO t (a, b) VALUES (1, f(2, 3)), (4, 5) ASSERT_ROWS_MODIFIED 2 RETURNING a",
            Assertion("INSERT INTO t (a, b) VALUES (1, f(2, 3)), (4, 5)  RETURNING a", 2, "SELECT 2"),
        ),
        (
            "INSERT INTO t (a) SELECT b FROM u WHERE c -- d\n ASSERT_ROWS_MODIFIED 1",
            Assertion(
                "INSERT INTO t (a) SELECT b FROM u WHERE c -- d\n ",
                1,
                "SELECT count(*) FROM (SELECT b FROM u WHERE c) AS counted",
            ),
        ),
        (
            "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO NOTHING ASSERT_ROWS_MODIFIED 1",
            Assertion("INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO NOTHING ", 1, ""),
        ),
    ],
)
def test_an_assertion(sql: str, assertion: Assertion) -> None:
    assert find_assertion(sql, POSTGRESQL) == assertion


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM q WHERE id = 1",
        "DELETE FROM q WHERE a = 'ASSERT_ROWS_MODIFIED 1'",
        "DELETE FROM q -- ASSERT_ROWS_MODIFIED 1",
        "DELETE FROM q WHERE a = $$ASSERT_ROWS_MODIFIED$$ AND 1 = 1",
        'DELETE FROM q WHERE "ASSERT_ROWS_MODIFIED" = 1',
        "DELETE FROM q ASSERT_ROWS_MODIFIED",
        "DELETE FROM q ASSERT_ROWS_MODIFIED one",
        "DELETE FROM q ASSERT_ROWS_MODIFIED 1.5",
        "DELETE FROM q WHERE a = 'unfinished ASSERT_ROWS_MODIFIED 1",
        "INSERT INTO t (a ASSERT_ROWS_MODIFIED 1",
    ],
)
def test_no_assertion(sql: str) -> None:
    assert find_assertion(sql, POSTGRESQL) is None


def test_upstream_knows_the_word_in_googlesql() -> None:
    assert find_assertion("DELETE FROM q WHERE TRUE ASSERT_ROWS_MODIFIED 1", GOOGLESQL) is None
