"""The gateway's own statements: candidates page by page, also past NULL, and rows that are at hand."""

from __future__ import annotations

import pytest
from google.protobuf.struct_pb2 import NULL_VALUE, Value

from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.delivery.binding import Binder
from sqlalchemy_spanner_queues.emulator.text import queries
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, parse, queue_named

NULL = Value(null_value=NULL_VALUE)


def text(value: str) -> Value:
    return Value(string_value=value)


def bind(value: Value, column: str) -> str:
    return f":{column}={value.string_value}"


GOOGLESQL_PAIR = parse(
    "CREATE QUEUE q (A INT64, B STRING(9), Payload JSON NOT NULL) PRIMARY KEY (b DESC, A)", GOOGLESQL
)
POSTGRESQL_PAIR = parse(
    'CREATE QUEUE "Q" ("A" bigint, b text, payload text NOT NULL, PRIMARY KEY (b, "A"))', POSTGRESQL
)


def test_the_first_page_comes_in_the_order_of_deliver_times() -> None:
    select = queries.Candidates(GOOGLESQL_PAIR, GOOGLESQL, "m").select("m.A > @low -- all", 7, [], bind)
    assert select == (
        "SELECT `m`.`B`, `m`.`A`, `m`.`DeliverTime` FROM `q` AS `m` WHERE (m.A > @low -- all\n)"
        " ORDER BY `m`.`DeliverTime`, `m`.`B`, `m`.`A` LIMIT 7"
    )


def test_columns_that_the_query_renames() -> None:
    renamed = ("x", "y", "z", "due", "expires")
    select = queries.Candidates(POSTGRESQL_PAIR, POSTGRESQL, "m", renamed).select("x = 1", 7, [], bind)
    assert select == (
        'SELECT "m"."y", "m"."x", "m"."due" FROM "Q" AS "m" ("x", "y", "z", "due") WHERE (x = 1\n)'
        ' ORDER BY "m"."due", "m"."y", "m"."x" LIMIT 7'
    )
    short = queries.Candidates(POSTGRESQL_PAIR, POSTGRESQL, "m", ("x",)).select("", 7, [], bind)
    assert short.startswith('SELECT "m"."b", "m"."x", "m"."deliver_time" FROM "Q" AS "m" ("x") ORDER BY')


def after(dialect: Dialect, *values: Value) -> list[str]:
    """Return the alternatives of what comes after the last message of a page."""
    queue = GOOGLESQL_PAIR if dialect is GOOGLESQL else POSTGRESQL_PAIR
    select = queries.Candidates(queue, dialect, "m").select("", 7, values, bind)
    condition = select.split(" WHERE ((", 1)[1].split(")) ORDER BY", 1)[0]
    return condition.replace("`", "").replace('"', "").replace("m.", "").split(") OR (")


def test_what_comes_after_a_message_when_null_is_first() -> None:
    assert after(GOOGLESQL, text("b"), text("1"), text("t")) == [
        "DeliverTime > :DeliverTime=t",
        "DeliverTime = :DeliverTime=t AND B > :B=b",
        "DeliverTime = :DeliverTime=t AND B = :B=b AND A > :A=1",
    ]
    assert after(GOOGLESQL, NULL, NULL, text("t")) == [
        "DeliverTime > :DeliverTime=t",
        "DeliverTime = :DeliverTime=t AND B IS NOT NULL",
        "DeliverTime = :DeliverTime=t AND B IS NULL AND A IS NOT NULL",
    ]


def test_what_comes_after_a_message_when_null_is_last() -> None:
    assert after(POSTGRESQL, text("b"), text("1"), text("t")) == [
        "(deliver_time > :deliver_time=t OR deliver_time IS NULL)",
        "deliver_time = :deliver_time=t AND (b > :b=b OR b IS NULL)",
        "deliver_time = :deliver_time=t AND b = :b=b AND (A > :A=1 OR A IS NULL)",
    ]
    assert after(POSTGRESQL, NULL, text("1"), text("t")) == [
        "(deliver_time > :deliver_time=t OR deliver_time IS NULL)",
        "deliver_time = :deliver_time=t AND b IS NULL AND (A > :A=1 OR A IS NULL)",
    ]


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_rows_that_are_at_hand(dialect: Dialect) -> None:
    one, two = dialect.quote_name("a"), dialect.quote_name("b c")
    rows = [[text("1"), text("2")], [text("3"), text("4")]]
    assert queries.given_rows(["a", "b c"], rows, dialect, bind) == (
        f"SELECT :a=1 AS {one}, :b c=2 AS {two} UNION ALL SELECT :a=3, :b c=4"
    )


def test_no_rows_with_the_types_of_a_function() -> None:
    assert queries.no_rows(queue_named("UserTasks", POSTGRESQL), POSTGRESQL, received=True) == (
        'SELECT "id", "payload", "deliver_time",'
        ' NULL::timestamptz AS "spanner_lease_expiration_timestamp", NULL::text AS "spanner_lease_token",'
        ' NULL::boolean AS "spanner_last_batch_message" FROM "UserTasks" WHERE FALSE'
    )
    assert queries.no_rows(queue_named("q", GOOGLESQL), GOOGLESQL, received=False) == (
        "SELECT CAST(NULL AS STRING) AS `SpannerOldLeaseToken`,"
        " CAST(NULL AS STRING) AS `SpannerNewLeaseToken`,"
        " CAST(NULL AS TIMESTAMP) AS `SpannerLeaseExpirationTimestamp` FROM `q` WHERE FALSE"
    )


@pytest.mark.parametrize(
    ("dialect", "used", "first"),
    [
        (GOOGLESQL, {"low": "1"}, 1),
        (GOOGLESQL, {}, 1),
        (GOOGLESQL, {"spanner_queues_7": "1", "SPANNER_QUEUES_9": "1"}, 10),
        (POSTGRESQL, {"p1": "1", "p12": "1", "px": "1", "p": "1"}, 13),
        (POSTGRESQL, {}, 1),
    ],
    ids=named,
)
def test_the_gateways_values_stand_beside_the_clients(
    dialect: Dialect, used: dict[str, str], first: int
) -> None:
    request = pb.ExecuteSqlRequest()
    for name, value in used.items():
        request.params.fields[name].string_value = value
    kind = pb.Type()
    kind.code = 6
    bind = Binder(request, dialect, {"a": kind})
    places = [dialect.placeholder(number) for number in (first, first + 1)]
    assert [bind(text(value), "a") for value in ("x", "y")] == [place for place, _ in places]
    names = [name for _, name in places]
    assert [request.params.fields[name].string_value for name in names] == ["x", "y"]
    assert {name: request.param_types[name].code for name in names} == dict.fromkeys(names, 6)
    assert {name: request.params.fields[name].string_value for name in used} == used


def test_how_the_gateways_own_parameters_are_called() -> None:
    assert GOOGLESQL.placeholder(3) == ("@spanner_queues_3", "spanner_queues_3")
    assert POSTGRESQL.placeholder(3) == ("$3", "p3")
