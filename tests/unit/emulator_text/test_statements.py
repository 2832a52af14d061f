"""What a DML statement means to a queue, and the moved clock that it reads."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.statements import (
    Dml,
    at_moved_clock,
    find_dml,
    updates_on_conflict,
)
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named


@pytest.mark.parametrize(
    ("sql", "dml"),
    [
        ("INSERT INTO q (a) VALUES (1)", Dml("INSERT", "q")),
        ("/* UPDATE x */ insert into q (a) SELECT 1;", Dml("INSERT", "q")),
        ("-- c\nUPDATE q SET a = 1 WHERE TRUE", Dml("UPDATE", "q")),
        ("UPDATE s.q SET a = 1", Dml("UPDATE", "s.q")),
        ("UPDATE public.q SET a = 1", Dml("UPDATE", "q")),
        ("DELETE FROM q WHERE TRUE", Dml("DELETE", "q")),
        ("SELECT 'INSERT INTO q'", None),
        ("SELECT 1 FROM q; DELETE FROM q", None),
        ("INSERT", None),
        ("INSERT INTO 'q'", None),
        ("INSERT INTO 5", None),
        ("'broken", None),
        ("", None),
        (";", None),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_which_table_a_statement_changes(dialect: Dialect, sql: str, dml: Dml | None) -> None:
    assert find_dml(sql, dialect) == dml


@pytest.mark.parametrize(
    ("dialect", "sql", "dml"),
    [
        (GOOGLESQL, "INSERT `q` (a) SELECT 1", Dml("INSERT", "q")),
        (GOOGLESQL, "INSERT OR IGNORE INTO q (a) VALUES (1)", Dml("INSERT", "q")),
        (GOOGLESQL, "Insert Or Update q (a) VALUES (1)", Dml("INSERT OR UPDATE", "q")),
        (GOOGLESQL, "@{a=1, b='}'} UPDATE `My Queue` SET a = 1", Dml("UPDATE", "My Queue")),
        (GOOGLESQL, "DELETE q WHERE TRUE", Dml("DELETE", "q")),
        (GOOGLESQL, "DELETE Q@{FORCE_INDEX=_BASE_TABLE} WHERE TRUE", Dml("DELETE", "Q")),
        (GOOGLESQL, "INSERT INTO `INSERT` (a) VALUES (1)", Dml("INSERT", "INSERT")),
        (POSTGRESQL, 'UPDATE "UserTasks" SET a = 1', Dml("UPDATE", "UserTasks")),
        (POSTGRESQL, "UPDATE UserTasks SET a = 1", Dml("UPDATE", "usertasks")),
        (POSTGRESQL, "/*@ a=1 */ DELETE FROM Q", Dml("DELETE", "q")),
        (POSTGRESQL, 'INSERT INTO public."Q" VALUES (1)', Dml("INSERT", "Q")),
    ],
    ids=named,
)
def test_which_table_a_statement_of_one_dialect_changes(dialect: Dialect, sql: str, dml: Dml) -> None:
    assert find_dml(sql, dialect) == dml


def test_a_long_statement_is_not_read_to_its_end() -> None:
    rows = ", ".join(f"({number}, 'x')" for number in range(100))
    assert find_dml(f"INSERT INTO q (a, b) VALUES {rows}, (1, 'unfinished", GOOGLESQL) == Dml("INSERT", "q")


@pytest.mark.parametrize(
    ("sql", "updates"),
    [
        ("INSERT INTO q (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1", True),
        ("INSERT INTO q (a) VALUES (1) on conflict do /* c */ update set a = 1", True),
        ("INSERT INTO q (a) VALUES (1) ON CONFLICT DO NOTHING", False),
        ("INSERT INTO q (a) VALUES ('DO UPDATE')", False),
        ("INSERT INTO q (a) SELECT (DO UPDATE)", False),
        ("INSERT INTO q (a) VALUES (1) -- DO UPDATE", False),
        ("INSERT INTO q (a) VALUES (1) DO UPDATE 'unfinished", False),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_inserts_that_change_what_is_there(dialect: Dialect, sql: str, updates: bool) -> None:
    assert updates_on_conflict(sql, dialect) is updates


def test_the_moved_clock_in_googlesql() -> None:
    sql = "VALUES ('CURRENT_TIMESTAMP()', CURRENT_TIMESTAMP /**/ ( ), current_timestamp, `CURRENT_TIMESTAMP`)"
    moved = "TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 1500000 MICROSECOND)"
    assert at_moved_clock(sql, 0.0, GOOGLESQL) == sql
    assert at_moved_clock(sql, 1.5, GOOGLESQL) == (
        f"VALUES ('CURRENT_TIMESTAMP()', {moved}, {moved}, `CURRENT_TIMESTAMP`)"
    )


def test_the_moved_clock_in_postgresql() -> None:
    sql = "VALUES ('now()', now(), NOW ( ), Current_Timestamp, now, \"now\"(), $$CURRENT_TIMESTAMP$$)"
    moved = "spanner.timestamptz_add(CURRENT_TIMESTAMP, '1500000 microseconds')"
    assert at_moved_clock(sql, 0.0, POSTGRESQL) == sql
    assert at_moved_clock(sql, 1.5, POSTGRESQL) == (
        f"VALUES ('now()', {moved}, {moved}, {moved}, now, \"now\"(), $$CURRENT_TIMESTAMP$$)"
    )
