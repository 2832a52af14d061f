"""What a query over RECEIVE may say: arguments, filters, projections, subqueries; and what is refused."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import InvalidArgument

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import ID, LAST, Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words

INTEGER = {"code": "INT64"}


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (GOOGLESQL, "RECEIVE_q(2)"),
        (GOOGLESQL, "RECEIVE_q(2, NULL, '20m')"),
        (GOOGLESQL, "receive_Q(max_duration => '1h30m', MAX_BATCH_SIZE => 2)"),
        (GOOGLESQL, "`RECEIVE_q`(max_batch_size => 2, priority => 'HIGH')"),
        (GOOGLESQL, "RECEIVE_q(max_batch_size => @p1)"),
        (GOOGLESQL, "RECEIVE_q /* two */ (CAST(@p1 AS INT64)) -- at a time"),
        (POSTGRESQL, "spanner.receive_q(2, NULL, '20m')"),
        (POSTGRESQL, "spanner.receive_q(max_batch_size => 2, priority => NULL, max_duration => '20m')"),
        (POSTGRESQL, 'Spanner."receive_q"(max_duration => $$1h30m$$, MAX_BATCH_SIZE => 2)'),
        (POSTGRESQL, "spanner.receive_q(max_batch_size => $1, priority => NULL, max_duration => NULL)"),
        (POSTGRESQL, "spanner.receive_q /* two /* at */ a time */ ($1::bigint, NULL::text, NULL::text)"),
    ],
    indirect=["words"],
)
def test_arguments_by_name_position_and_parameter(database: Session, call: str) -> None:
    database.send(1, 2, 3)
    with database.receive(f"SELECT * FROM {call};", {"p1": "2"}) as received:
        assert [row[LAST] for row in received.take(3)] == [False, True, True]


@IN_BOTH_DIALECTS
def test_where_filters_before_leasing(database: Session, words: Words, emulator: Emulator) -> None:
    database.send(1, 2, 3)
    condition = f"m.Id >= {words.parameter(1)} AND Payload <> 'p3' -- and no more"
    sql = f"SELECT Id FROM {words.receive(size=10)} AS m WHERE {condition}"
    with database.receive(sql, {"p1": "2"}, param_types={"p1": INTEGER}) as received:
        assert received.next() == [2]
        assert [lease["key"] for lease in emulator.leases(database.path)] == [["2"]]
    with database.receive() as received:
        assert sorted(row[ID] for row in received.take(2)) == [1, 3]


@IN_BOTH_DIALECTS
def test_where_follows_the_moved_clock(database: Session, words: Words, emulator: Emulator) -> None:
    database.send(1)
    now = "CURRENT_TIMESTAMP"
    sql = f"SELECT Id FROM {words.receive()} WHERE {words.deliver_time} < {now}"
    emulator.advance(60)
    database.send(2, delay=-1)
    with database.receive(sql) as received:
        assert sorted(row[ID] for row in received.take(2)) == [1, 2]


@IN_BOTH_DIALECTS
def test_projections_aliases_and_expressions(database: Session, words: Words) -> None:
    database.send(1, 2)
    last, token = words.column("SpannerLastBatchMessage"), words.column("SpannerLeaseToken")
    sql = (
        f"SELECT m.Id AS number, CONCAT(Payload, {words.parameter(1)}) AS text, {last},"
        f" {token} IS NULL AS missing FROM {words.receive()} AS m"
    )
    text = {"p1": {"code": "STRING"}}
    with database.receive(sql, {"p1": "!"}, param_types=text) as received:
        rows = received.take(2)
        names = [field.name for field in received.result.fields]
    assert names == ["number", "text", last, "missing"]
    assert sorted(row[:2] for row in rows) == [[1, "p1!"], [2, "p2!"]]
    assert [row[2] for row in rows] == [False, True]
    assert not any(row[3] for row in rows)


@IN_BOTH_DIALECTS
def test_a_computed_batch_of_hundreds_ends_with_the_flag(database: Session, words: Words) -> None:
    rows = ", ".join(f"({id}, 'p{id}')" for id in range(300))
    database.write(f"INSERT INTO q (Id, Payload) VALUES {rows}")
    last = words.column("SpannerLastBatchMessage")
    with database.receive(f"SELECT Id + 1, {last} FROM {words.receive(size=300)}") as received:
        rows = received.take(300)
    assert sorted(row[0] for row in rows) == list(range(1, 301))
    assert [row[1] for row in rows] == [False] * 299 + [True]


@IN_BOTH_DIALECTS
def test_plain_columns_are_renamed(database: Session, words: Words) -> None:
    database.send(1)
    token = words.column("SpannerLeaseToken").upper()
    with database.receive(f"SELECT {token} AS t, Id FROM {words.receive()}") as received:
        token, id = received.next()
        assert [field.name for field in received.result.fields] == ["t", words.column("Id")]
    assert (id, token) == (1, database.emulator.leases(database.path)[0]["token"])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT Id, LAST FROM (SELECT * FROM RECEIVE WHERE Id < 3) AS s",
        "SELECT s.Id, s.LAST FROM (SELECT m.Id, m.LAST FROM RECEIVE AS m WHERE m.Id < 3) AS s",
        "WITH r AS (SELECT Id, LAST FROM RECEIVE WHERE Id < 3) SELECT * FROM r",
        "WITH o AS (SELECT 1 AS n), r AS (SELECT * FROM RECEIVE WHERE Id < 3) SELECT Id, LAST FROM r;",
        "SELECT Id, LAST FROM RECEIVE WHERE Id IN (SELECT Id FROM q WHERE Id < 3)",
        "SELECT Id, LAST FROM RECEIVE AS m WHERE EXISTS (SELECT 1 FROM q WHERE q.Id = m.Id AND q.Id < 3)",
        "SELECT m.* FROM (SELECT * FROM (SELECT Id, LAST FROM RECEIVE WHERE Id < 3) AS s) AS m",
    ],
)
@IN_BOTH_DIALECTS
def test_subqueries_and_named_queries(database: Session, words: Words, emulator: Emulator, sql: str) -> None:
    database.send(1, 2, 3)
    written = sql.replace("RECEIVE", words.receive(size=2))
    with database.receive(written.replace("LAST", words.column("SpannerLastBatchMessage"))) as received:
        rows = received.take(2)
    assert (sorted(row[0] for row in rows), [row[1] for row in rows]) == ([1, 2], [False, True])
    assert sorted(lease["key"] for lease in emulator.leases(database.path)) == [["1"], ["2"]]


@pytest.mark.parametrize("words", [POSTGRESQL], indirect=True)
def test_an_alias_may_rename_columns(database: Session, words: Words) -> None:
    database.send(1, 2, 3)
    sql = f"SELECT number, body, last FROM {words.receive()} AS m(number, body, due, expires, token, last)"
    with database.receive(f"{sql} WHERE m.number > $1", {"p1": "1"}, param_types={"p1": INTEGER}) as received:
        rows = received.take(2)
        assert [field.name for field in received.result.fields] == ["number", "body", "last"]
    assert (sorted(row[:2] for row in rows), rows[-1][2]) == ([[2, "p2"], [3, "p3"]], True)
    with database.receive(f"SELECT a, payload FROM {words.receive()} m(a) WHERE a = 1") as received:
        assert received.next() == [1, "p1"]


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM RECEIVE JOIN Users ON TRUE", "only where"),
        ("SELECT 1 FROM Users, RECEIVE", "only item"),
        ("SELECT 1 FROM RECEIVE AS r, Users", "cannot be joined"),
        ("SELECT * FROM (SELECT * FROM RECEIVE) AS s CROSS JOIN Users", "cross"),
        ("SELECT * FROM (SELECT * FROM RECEIVE) AS s LIMIT 1", "limit"),
        ("SELECT * FROM RECEIVE ORDER BY Id", "only where"),
        ("SELECT * FROM RECEIVE WHERE Id = 1 LIMIT 1", "limit"),
        ("SELECT Id FROM RECEIVE UNION ALL SELECT 1", "union"),
        ("SELECT * FROM RECEIVE WHERE Id IN (SELECT Id FROM RECEIVE)", "cannot be combined"),
        ("SELECT Nothing FROM RECEIVE", "nothing"),
        ("SELECT Id + Nothing FROM RECEIVE", "nothing"),
        ("SELECT * FROM (SELECT Nothing FROM RECEIVE) AS s", "nothing"),
        ("SELECT * FROM RECEIVE WHERE Nothing = 1", "nothing"),
        ("SELECT * FROM RECEIVE WHERE Id = = 1", "syntax"),
    ],
)
@IN_BOTH_DIALECTS
def test_refused_queries(database: Session, words: Words, sql: str, text: str) -> None:
    with database.receive(sql.replace("RECEIVE", words.receive())) as received:
        error = received.end()
    assert isinstance(error, InvalidArgument)
    assert text in error.message.lower()


@pytest.mark.parametrize(
    ("words", "call", "text"),
    [
        (GOOGLESQL, "RECEIVE_q(size => 1)", "size"),
        (GOOGLESQL, "RECEIVE_q(1, NULL, '1m', 2)", "positional"),
        (GOOGLESQL, "RECEIVE_q(max_batch_size => 0)", "max_batch_size"),
        (GOOGLESQL, "RECEIVE_q(max_batch_size => 'many')", "max_batch_size"),
        (GOOGLESQL, "RECEIVE_q(max_duration => 'long')", "max_duration"),
        (GOOGLESQL, "RECEIVE_q(max_batch_size => @nowhere)", "nowhere"),
        (POSTGRESQL, "spanner.receive_q(max_batch_size => 0)", "max_batch_size"),
        (POSTGRESQL, "spanner.receive_q(1, NULL, '1m', 2)", "positional"),
        (POSTGRESQL, "spanner.receive_q(max_batch_size => $7)", "p7"),
    ],
    indirect=["words"],
)
def test_refused_arguments(database: Session, call: str, text: str) -> None:
    with database.receive(f"SELECT * FROM {call}") as received:
        error = received.end()
    assert isinstance(error, InvalidArgument)
    assert text in error.message


@pytest.mark.parametrize(
    ("words", "sql", "text"),
    [
        (GOOGLESQL, "SELECT 'RECEIVE_q()' /* RECEIVE_q() */ # RECEIVE_q()", "RECEIVE_q()"),
        (POSTGRESQL, "SELECT $$spanner.receive_q()$$ /* /* spanner.receive_q() */ */", "spanner.receive_q()"),
    ],
    indirect=["words"],
)
def test_text_that_only_mentions_receive_passes(database: Session, sql: str, text: str) -> None:
    assert database.query(sql) == [[text]]


@IN_BOTH_DIALECTS
def test_queues_that_are_called_like_functions_of_others(empty: Session, words: Words) -> None:
    create = words.schema[-1]
    names = ("q", "q_more", "RECEIVE_q", "q_")
    empty.ddl(*(create.replace("QUEUE q ", f"QUEUE {name} ") for name in names))
    for name in names:
        empty.write(f"INSERT INTO {name} (Id, Payload) VALUES (1, '{name}')")
    for name in names:
        assert empty.query(f"SELECT Payload FROM {name}") == [[name]]
        with empty.receive(f"SELECT Payload FROM {words.receive(name)}") as received:
            assert received.next() == [name]


@pytest.mark.parametrize("words", [POSTGRESQL], indirect=True)
def test_a_queue_with_a_mixed_case_name(empty: Session) -> None:
    empty.ddl('CREATE QUEUE "UserTasks" ("Id" bigint NOT NULL PRIMARY KEY, payload text NOT NULL)')
    empty.write("""INSERT INTO "UserTasks" ("Id", payload) VALUES (1, 'x')""")
    sql = 'SELECT * FROM spanner."receive_UserTasks"(NULL, NULL, NULL) WHERE "Id" = 1'
    with empty.receive(sql) as received:
        row = received.next()
        assert [field.name for field in received.result.fields][:2] == ["Id", "payload"]
    renew = f"""SELECT spanner_old_lease_token FROM spanner."renewlease_UserTasks"(ARRAY['{row[-2]}'])"""
    assert empty.query(renew) == [[row[-2]]]
    assert empty.write('DELETE FROM "UserTasks" WHERE "Id" = 1 ASSERT_ROWS_MODIFIED 1') == [1]


@IN_BOTH_DIALECTS
def test_planning_leases_nothing(database: Session, words: Words, emulator: Emulator) -> None:
    database.send(1)
    sql = f"SELECT Id, Id + 1 AS more FROM {words.receive()}"
    request = database.request(sql, query_mode="PLAN")
    chunks = list(database.db.spanner_api.transport.execute_streaming_sql(request, timeout=10))
    fields = [field.name for chunk in chunks for field in chunk.metadata.row_type.fields]
    assert (fields, emulator.leases(database.path)) == ([words.column("Id"), "more"], [])
