"""RECEIVE and RENEWLEASE are found in a query, and rows are put in their place."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.functions import FunctionQuery, find_function, plain_columns
from sqlalchemy_spanner_queues.emulator.text.reading import SqlError
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, queues, texts

RECEIVE = {"googlesql": "RECEIVE_q", "postgresql": "spanner.receive_q"}
NAMES = ("q", "q_more", "RECEIVE_q", "UserTasks")


def in_dialect(sql: str, dialect: Dialect) -> str:
    """Write a query of GoogleSQL in a dialect."""
    return sql.replace("RECEIVE_q()", f"{RECEIVE[dialect.name]}()")


def function(sql: str, dialect: Dialect) -> FunctionQuery:
    found = find_function(sql, queues(dialect, *NAMES), dialect)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        (GOOGLESQL, "SELECT * FROM RECEIVE_q()", ("RECEIVE", "q", "RECEIVE_q")),
        (GOOGLESQL, "select * from `receive_Q`(1);", ("RECEIVE", "q", "RECEIVE_q")),
        (GOOGLESQL, "SELECT * FROM RENEWLEASE_q(['a'])", ("RENEWLEASE", "q", "RENEWLEASE_q")),
        (GOOGLESQL, "SELECT * FROM RECEIVE_q_more()", ("RECEIVE", "q_more", "RECEIVE_q_more")),
        (GOOGLESQL, "SELECT * FROM receive_receive_q()", ("RECEIVE", "RECEIVE_q", "RECEIVE_RECEIVE_q")),
        (GOOGLESQL, "SELECT * FROM RECEIVE_usertasks()", ("RECEIVE", "UserTasks", "RECEIVE_UserTasks")),
        (GOOGLESQL, "@{a=1} SELECT 1 FROM /* c */ RECEIVE_q # d\n ()", ("RECEIVE", "q", "RECEIVE_q")),
        (POSTGRESQL, "SELECT * FROM spanner.receive_q()", ("RECEIVE", "q", "spanner.receive_q")),
        (POSTGRESQL, "SELECT * FROM SPANNER.RECEIVE_Q()", ("RECEIVE", "q", "spanner.receive_q")),
        (POSTGRESQL, 'SELECT * FROM "spanner"."receive_q"()', ("RECEIVE", "q", "spanner.receive_q")),
        (
            POSTGRESQL,
            'SELECT * FROM spanner."receive_UserTasks"()',
            ("RECEIVE", "UserTasks", 'spanner."receive_UserTasks"'),
        ),
        (
            POSTGRESQL,
            "/*@ a=1 */ select * from spanner . renewlease_q_more (ARRAY['a'])",
            ("RENEWLEASE", "q_more", "spanner.renewlease_q_more"),
        ),
    ],
    ids=named,
)
def test_a_function_of_a_queue(dialect: Dialect, sql: str, expected: tuple[str, str, str]) -> None:
    query = function(sql, dialect)
    assert (query.function, query.queue.name, query.name) == expected


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (GOOGLESQL, "SELECT 'RECEIVE_q()'"),
        (GOOGLESQL, "SELECT * FROM q -- RECEIVE_q()"),
        (GOOGLESQL, "SELECT receive_q FROM t"),
        (GOOGLESQL, "SELECT * FROM RECEIVE_x()"),
        (GOOGLESQL, "SELECT * FROM RECEIVE_q"),
        (GOOGLESQL, "SELECT * FROM spanner.receive_()"),
        (GOOGLESQL, "INSERT INTO RECEIVE_q (Id, Payload) VALUES (1, 'x')"),
        (GOOGLESQL, "INSERT OR IGNORE RECEIVE_q (Id) VALUES (1)"),
        (GOOGLESQL, "INSERT RECEIVE_q (Id) SELECT 1"),
        (GOOGLESQL, "'RECEIVE_q("),
        (GOOGLESQL, ""),
        (GOOGLESQL, ";"),
        (POSTGRESQL, "SELECT * FROM receive_q()"),
        (POSTGRESQL, "SELECT * FROM other.receive_q()"),
        (POSTGRESQL, "SELECT $$spanner.receive_q()$$"),
        (POSTGRESQL, "SELECT 1 /* /* */ spanner.receive_q() */"),
        (POSTGRESQL, "SELECT * FROM spanner.receive_x()"),
        (POSTGRESQL, ".receive_q()"),
    ],
    ids=named,
)
def test_what_only_looks_like_one(dialect: Dialect, sql: str) -> None:
    assert find_function(sql, queues(dialect, *NAMES), dialect) is None


@pytest.mark.parametrize(
    ("sql", "alias", "renamed", "where"),
    [
        ("SELECT * FROM RECEIVE_q()", "", (), ""),
        ("SELECT * FROM RECEIVE_q() AS m", "m", (), ""),
        ("SELECT * FROM RECEIVE_q() m WHERE m.Id > 1;", "m", (), "m.Id > 1"),
        (
            "SELECT * FROM RECEIVE_q() WHERE id IN (SELECT 1 FROM t LIMIT 1)",
            "",
            (),
            "id IN (SELECT 1 FROM t LIMIT 1)",
        ),
        ("SELECT * FROM RECEIVE_q() AS m (a, b) WHERE a = 1", "m", ("a", "b"), "a = 1"),
        (
            "SELECT * FROM (SELECT * FROM RECEIVE_q() AS m WHERE (Id) = 1) AS s WHERE s.Id = 2",
            "m",
            (),
            "(Id) = 1",
        ),
        ("WITH r AS (SELECT * FROM RECEIVE_q()), s AS (SELECT 1) SELECT * FROM r WHERE Id = 1", "", (), ""),
        ("SELECT * FROM RECEIVE_q() WHERE -- why\n Id /* not */ = 1 -- so", "", (), "Id /* not */ = 1"),
        ("SELECT * FROM RECEIVE_q() WHERE ", "", (), ""),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_alias_and_condition(
    dialect: Dialect, sql: str, alias: str, renamed: tuple[str, ...], where: str
) -> None:
    query = function(in_dialect(sql, dialect), dialect)
    default = "RECEIVE_q" if dialect is GOOGLESQL else "receive_q"
    assert (query.alias, query.renamed, query.where) == (alias or default, renamed, where)


@pytest.mark.parametrize(
    ("sql", "over", "with_where"),
    [
        ("SELECT a FROM RECEIVE_q(1)", "SELECT a FROM \n(ROWS) AS `RECEIVE_q`\n", True),
        ("SELECT a FROM RECEIVE_q(1) m WHERE b -- c\n;", "SELECT a FROM \n(ROWS) m\n WHERE b -- c\n;", True),
        ("SELECT a FROM RECEIVE_q(1) AS m WHERE b(1)", "SELECT a FROM \n(ROWS) AS m\n WHERE TRUE", False),
        (
            "SELECT a FROM (SELECT * FROM `receive_q`(1) WHERE b) WHERE c",
            "SELECT a FROM (SELECT * FROM \n(ROWS) AS `receive_q`\n WHERE TRUE) WHERE c",
            False,
        ),
        (
            "WITH r AS (SELECT * FROM RECEIVE_q(1)) SELECT * FROM r",
            "WITH r AS (SELECT * FROM \n(ROWS) AS `RECEIVE_q`\n) SELECT * FROM r",
            False,
        ),
    ],
)
def test_rows_in_the_place_of_a_function(sql: str, over: str, with_where: bool) -> None:
    assert function(sql, GOOGLESQL).over("ROWS", with_where=with_where) == over


def test_rows_in_the_place_of_a_function_of_postgresql() -> None:
    query = function('SELECT a FROM spanner."receive_UserTasks"($1) WHERE b = $2', POSTGRESQL)
    assert query.over("ROWS", with_where=True) == (
        'SELECT a FROM \n(ROWS) AS "receive_UserTasks"\n WHERE b = $2'
    )
    renamed = function("SELECT a FROM spanner.receive_q() m(a, b)", POSTGRESQL)
    assert renamed.over("ROWS", with_where=True) == "SELECT a FROM \n(ROWS) m(a, b)\n"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT RECEIVE_q()", "only item of the FROM clause"),
        ("SELECT 1 FROM t, RECEIVE_q()", "only item"),
        ("DELETE FROM t WHERE Id IN (RECEIVE_q())", "only item"),
        ("RECEIVE_q()", "only item"),
        ("SELECT * FROM RECEIVE_q(), t", "cannot be joined or followed by ','"),
        ("SELECT * FROM RECEIVE_q() JOIN t ON TRUE", "'JOIN'"),
        ("SELECT * FROM RECEIVE_q() AS m LEFT JOIN t ON TRUE", "'LEFT'"),
        ("SELECT * FROM RECEIVE_q() ORDER BY Id", "'ORDER'"),
        ("SELECT * FROM RECEIVE_q() UNION ALL SELECT 1", "'UNION'"),
        ("SELECT * FROM RECEIVE_q() WHERE Id = 1 LIMIT 1", "LIMIT"),
        ("SELECT * FROM RECEIVE_q() WHERE Id = 1 FOR UPDATE", "FOR"),
        ("SELECT * FROM RECEIVE_q() WHERE Id = 1 OFFSET 1", "OFFSET"),
        ("SELECT * FROM RECEIVE_q() WHERE Id = 1 GROUP BY 1", "GROUP"),
        ("SELECT * FROM (SELECT * FROM RECEIVE_q()) LIMIT 1", "LIMIT"),
        ("SELECT * FROM (SELECT * FROM RECEIVE_q()) AS s CROSS JOIN t", "CROSS"),
        ("SELECT * FROM t JOIN (SELECT * FROM RECEIVE_q()) AS s ON TRUE", "JOIN"),
        ("WITH r AS (SELECT * FROM RECEIVE_q()) SELECT * FROM r JOIN t ON TRUE", "JOIN"),
        ("WITH r AS (SELECT * FROM RECEIVE_q()) SELECT * FROM r ORDER BY 1", "ORDER"),
        ("SELECT 1 UNION ALL SELECT * FROM RECEIVE_q()", "UNION"),
        ("SELECT * FROM RECEIVE_q() AS", "end of statement"),
        ("SELECT * FROM RECEIVE_q() AS m (a, b, c, d, e, f, g)", "has 6 columns, but 7 are named"),
        ("SELECT * FROM RECEIVE_q() WHERE (Id = 1", "end of statement"),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_places_where_a_function_is_refused(dialect: Dialect, sql: str, text: str) -> None:
    with pytest.raises(SqlError, match=text):
        find_function(in_dialect(sql, dialect), queues(dialect), dialect)


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (GOOGLESQL, "SELECT * EXCEPT (Payload) FROM RECEIVE_q()"),
        (
            GOOGLESQL,
            "SELECT LEFT(Payload, 1), RIGHT (Payload, 1) FROM RECEIVE_q() WHERE LEFT(Payload, 1) = 'a'",
        ),
        (GOOGLESQL, "SELECT m.order, m . union FROM RECEIVE_q() AS m WHERE m.group = 1 AND m.limit = 2"),
        (GOOGLESQL, "SELECT offset, returning FROM RECEIVE_q() WHERE offset = 1 AND returning AND qualify"),
        (
            GOOGLESQL,
            "WITH a AS (SELECT 1 FROM t JOIN u ON TRUE LIMIT 1), r AS (SELECT * FROM RECEIVE_q()) SELECT 1",
        ),
        (
            GOOGLESQL,
            "SELECT * FROM RECEIVE_q() WHERE Id IN (SELECT Id FROM t JOIN u ON TRUE ORDER BY 1 LIMIT 1)",
        ),
        (GOOGLESQL, "SELECT `JOIN`, 'UNION', @limit FROM RECEIVE_q() AS `order` WHERE `LIMIT` = 'LIMIT 1'"),
        (POSTGRESQL, "SELECT hash, qualify FROM spanner.receive_q() WHERE hash = 1"),
        (POSTGRESQL, 'SELECT "order" FROM spanner.receive_q() AS "join" WHERE "limit" = $$LIMIT 1$$'),
    ],
    ids=named,
)
def test_keywords_that_are_no_clauses(dialect: Dialect, sql: str) -> None:
    assert function(sql, dialect).queue.name == "q"


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("*", [("Id", "Id"), ("Payload", "Payload"), ("DeliverTime", "DeliverTime")]),
        ("m.*", [("Id", "Id"), ("Payload", "Payload"), ("DeliverTime", "DeliverTime")]),
        ("payload AS p, M.Id i", [("Payload", "p"), ("Id", "i")]),
        ("DELIVERTIME", [("DeliverTime", "DELIVERTIME")]),
        ("`Id` AS `a b`", [("Id", "a b")]),
        ("Id, *", [("Id", "Id"), ("Id", "Id"), ("Payload", "Payload"), ("DeliverTime", "DeliverTime")]),
        ("Id + 1", None),
        ("COUNT(*)", None),
        ("x.Id", None),
        ("DISTINCT Id", None),
        ("Nothing", None),
        ("'Id'", None),
        ("Id,", None),
        ("", None),
    ],
)  # fmt: skip
def test_plain_columns(select: str, expected: list[tuple[str, str]] | None) -> None:
    query = function(f"SELECT {select} FROM RECEIVE_q() AS m", GOOGLESQL)
    columns = plain_columns(query, ("Id", "Payload", "DeliverTime"))
    assert (None if columns is None else [(each.source, each.name) for each in columns]) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM (SELECT id FROM spanner.receive_q())",
        "WITH r AS (SELECT * FROM spanner.receive_q()) SELECT * FROM r",
        "SELECT a FROM spanner.receive_q() AS m(a)",
        "SELECT id, (SELECT 1 FROM t) FROM spanner.receive_q()",
    ],
)
def test_queries_that_are_computed(sql: str) -> None:
    assert plain_columns(function(sql, POSTGRESQL), ("id", "payload")) is None


def test_the_arguments_of_a_function() -> None:
    query = function("SELECT * FROM RECEIVE_q(max_batch_size => 1, ['a', 'b'], f(x, y))", GOOGLESQL)
    assert [" ".join(texts(argument)) for argument in query.arguments] == [
        "max_batch_size => 1",
        "[ 'a' , 'b' ]",
        "f ( x , y )",
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM RECEIVE_q() WHERE Id IN (SELECT Id FROM RECEIVE_q_more())",
        "SELECT * FROM RECEIVE_q(RENEWLEASE_q([]))",
        "SELECT 1 FROM RECEIVE_q() UNION ALL SELECT 1 FROM RENEWLEASE_q([])",
    ],
)
def test_a_query_has_one_function(sql: str) -> None:
    with pytest.raises(SqlError, match="RECEIVE_q cannot be combined with R"):
        find_function(sql, queues(GOOGLESQL, *NAMES), GOOGLESQL)
