"""An INSERT into a queue never sends for a time that is over."""

from __future__ import annotations

import re

import pytest

from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.inserts import sent_now
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, parse, queue_named

NOW = {"googlesql": "CURRENT_TIMESTAMP()", "postgresql": "CURRENT_TIMESTAMP"}
TIME = {"googlesql": "DeliverTime", "postgresql": "deliver_time"}


def in_dialect(sql: str, dialect: Dialect) -> str:
    """Write a statement: TIME is the column of the deliver time, NOW the current time, «x» not before NOW."""
    sql = re.sub(r"«(.*?)»", lambda match: not_before(match[1], dialect), sql)
    return re.sub(r"\bTIME\b", TIME[dialect.name], sql).replace("NOW", NOW[dialect.name])


def not_before(time: str, dialect: Dialect, now: str = "NOW") -> str:
    if dialect is GOOGLESQL:
        return f"GREATEST({time}, {now})"
    return f"CASE WHEN ({time}) < {now} THEN {now} ELSE ({time}) END"


def moved(sql: str, dialect: Dialect, offset: float = 0.0) -> str:
    return sent_now(in_dialect(sql, dialect), queue_named("q", dialect), dialect, offset)


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("INSERT q (id, TIME) VALUES (1, due)", "INSERT q (id, TIME) VALUES (1, «due»)"),
        (
            "insert q (TIME, id) values (f(a, 'b)'), 1), ( due /* c */ , 2);",
            "insert q (TIME, id) values («f(a, 'b)')», 1), ( «due» /* c */ , 2);",
        ),
        ("INSERT INTO q (id, TIME) VALUES (1, DEFAULT), (2, due)",
         "INSERT INTO q (id, TIME) VALUES (1, DEFAULT), (2, «due»)"),
        ("INSERT INTO q (id, TIME) VALUES (1, (SELECT due FROM t))",
         "INSERT INTO q (id, TIME) VALUES (1, «(SELECT due FROM t)»)"),
        ("INSERT INTO q VALUES (1, 'x', due)", "INSERT INTO q VALUES (1, 'x', «due»)"),
        ("INSERT INTO q (id, TIME) VALUES (1, -- never\n due)",
         "INSERT INTO q (id, TIME) VALUES (1, -- never\n «due»)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_values_are_moved(dialect: Dialect, sql: str, written: str) -> None:
    assert moved(sql, dialect) == in_dialect(written, dialect)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO q (id, payload) VALUES (1, 'TIME')",
        "INSERT INTO q (id, payload) SELECT 1, due",
        "INSERT INTO q (id, TIME) VALUES (1)",
        "INSERT INTO q (id, TIME) VALUES (1, )",
        "INSERT INTO q (id, TIME) VALUES",
        "INSERT INTO q (id, TIME) VALUES (1, 'unfinished",
        "INSERT INTO q (id, TIME)",
        "INSERT INTO q (id, TIME",
        "INSERT INTO q (id, TIME) SELECT 1, PENDING_COMMIT_TIMESTAMP()",
        "INSERT INTO",
        "",
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_what_stays_as_it_is(dialect: Dialect, sql: str) -> None:
    assert moved(sql, dialect) == in_dialect(sql, dialect)


QUERIES = pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("SELECT 1, due", ""),
        ("SELECT 1 a, due b FROM t WHERE x LIMIT 1", ";"),
        ("SELECT DISTINCT f(1, 2), due UNION ALL SELECT 1, due", ""),
        ("((SELECT 1, due) LIMIT 1)", ""),
        ("SELECT 1, CASE WHEN a THEN due ELSE b END FROM t /* c */ ORDER BY 1", " ASSERT_ROWS_MODIFIED 1"),
    ],
)


@QUERIES
def test_what_a_query_gives_is_selected_anew_in_googlesql(query: str, rest: str) -> None:
    assert moved(f"INSERT q (ID, TIME) {query}{rest}", GOOGLESQL) == (
        "INSERT q (ID, DeliverTime) SELECT `Id`, GREATEST(`DeliverTime`, CURRENT_TIMESTAMP()) FROM"
        f" (SELECT `Id`, `DeliverTime` FROM `q` WHERE FALSE UNION ALL ({query})) AS given{rest}"
    )


@QUERIES
def test_what_a_query_gives_is_selected_anew_in_postgresql(query: str, rest: str) -> None:
    assert moved(f"INSERT INTO q (ID, TIME) {query}{rest}", POSTGRESQL) == (
        'INSERT INTO q (ID, deliver_time) SELECT "id", CASE WHEN ("deliver_time") < CURRENT_TIMESTAMP'
        ' THEN CURRENT_TIMESTAMP ELSE ("deliver_time") END'
        f' FROM ({query}) AS given ("id", "deliver_time"){rest}'
    )


@pytest.mark.parametrize(
    "query", ["SELECT 1", "SELECT 1, due, 2", "SELECT *, due FROM t", "TABLE t", "()", ";"]
)
def test_a_query_of_postgresql_whose_columns_are_not_counted(query: str) -> None:
    sql = f"INSERT INTO q (id, TIME) {query}"
    assert moved(sql, POSTGRESQL) == in_dialect(sql, POSTGRESQL)


def test_all_columns_in_googlesql() -> None:
    written = moved("INSERT q (TIME, Id) SELECT * FROM t", GOOGLESQL)
    assert written.endswith(
        "(SELECT `DeliverTime`, `Id` FROM `q` WHERE FALSE UNION ALL (SELECT * FROM t)) AS given"
    )


def test_what_follows_a_query_of_googlesql() -> None:
    written = moved("INSERT OR IGNORE q (TIME) SELECT due THEN RETURN Id", GOOGLESQL)
    assert written.endswith("UNION ALL (SELECT due)) AS given THEN RETURN Id")


def test_what_follows_a_query_of_postgresql() -> None:
    written = moved("INSERT INTO q AS x (TIME) SELECT due ON CONFLICT DO NOTHING RETURNING id", POSTGRESQL)
    assert written.endswith('(SELECT due) AS given ("deliver_time") ON CONFLICT DO NOTHING RETURNING id')
    written = moved("INSERT INTO q (TIME) SELECT due RETURNING id", POSTGRESQL)
    assert written.endswith('(SELECT due) AS given ("deliver_time") RETURNING id')


def test_a_query_with_named_queries_in_googlesql() -> None:
    sql = "INSERT q (DeliverTime) WITH a AS (SELECT 1), b AS (SELECT due FROM a) SELECT due FROM b"
    assert moved(sql, GOOGLESQL) == (
        "INSERT q (DeliverTime) WITH a AS (SELECT 1), b AS (SELECT due FROM a)"
        " SELECT GREATEST(`DeliverTime`, CURRENT_TIMESTAMP()) FROM (SELECT `DeliverTime` FROM `q`"
        " WHERE FALSE UNION ALL (SELECT due FROM b)) AS given"
    )


def test_a_hint_and_columns_in_any_letter_case() -> None:
    sql = "@{x=1} INSERT INTO `Q` (`delivertime`, ID) VALUES (@due, 1)"
    assert moved(sql, GOOGLESQL) == sql.replace("@due", "GREATEST(@due, CURRENT_TIMESTAMP())")
    sql = 'INSERT INTO "q" ("deliver_time", ID) VALUES ($1, $2)'
    assert moved(sql, POSTGRESQL) == sql.replace("$1", not_before("$1", POSTGRESQL, "CURRENT_TIMESTAMP"))


def test_a_key_may_be_called_like_a_keyword() -> None:
    queue = parse(
        "CREATE QUEUE q (`Select` INT64, Payload JSON NOT NULL) PRIMARY KEY (`Select`)",
        GOOGLESQL,
    )
    sql = "INSERT q (`Select`, DeliverTime) SELECT 1, due"
    assert "SELECT `Select`, GREATEST(" in sent_now(sql, queue, GOOGLESQL, 0.0)


@pytest.mark.parametrize(
    ("dialect", "now"),
    [
        (GOOGLESQL, "TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 3600000000 MICROSECOND)"),
        (POSTGRESQL, "spanner.timestamptz_add(CURRENT_TIMESTAMP, '3600000000 microseconds')"),
    ],
    ids=named,
)
def test_the_moved_clock(dialect: Dialect, now: str) -> None:
    written = f"INSERT INTO q (id, {TIME[dialect.name]}) VALUES (1, {not_before(now, dialect, now)})"
    assert moved("INSERT INTO q (id, TIME) VALUES (1, NOW)", dialect, 3600.0) == written
    unfinished = "INSERT INTO q (id, TIME) VALUES (1, 'unfinished"
    assert moved(unfinished, dialect, 3600.0) == in_dialect(unfinished, dialect)
