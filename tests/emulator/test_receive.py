"""RECEIVE through the unmodified official client: rows, arguments, filters, batches, refusals."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud import spanner

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import DELIVER_TIME, EXPIRES, ID, LAST, PAYLOAD, TOKEN, Session


def test_a_message_arrives_with_its_lease(database: Session) -> None:
    before = datetime.now(UTC)
    database.send(1)
    with database.receive() as received:
        row = received.next()
    assert [row[ID], row[PAYLOAD], row[LAST]] == [1, "p1", True]
    assert before <= row[DELIVER_TIME] <= datetime.now(UTC)
    assert timedelta(seconds=9) < row[EXPIRES] - row[DELIVER_TIME] < timedelta(seconds=12)
    assert isinstance(row[TOKEN], str)


def test_columns_of_star_in_order(database: Session) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        names = [field.name for field in received.result.fields]
    assert names == [
        "Id",
        "Payload",
        "DeliverTime",
        "SpannerLeaseExpirationTimestamp",
        "SpannerLeaseToken",
        "SpannerLastBatchMessage",
    ]


def test_the_clients_own_snapshot_receives(database: Session) -> None:
    database.send(1)
    with database.db.snapshot() as snapshot:
        row = next(iter(snapshot.execute_sql("SELECT * FROM RECEIVE_q(max_duration => '1m')")))
    assert row[ID] == 1


def test_the_description_of_the_columns_comes_before_any_message(database: Session) -> None:
    call = database.db.spanner_api.transport.execute_streaming_sql(
        database.request("SELECT Id FROM RECEIVE_q()"), timeout=10
    )
    assert [field.name for field in next(call).metadata.row_type.fields] == ["Id"]
    call.cancel()


def test_a_commit_wakes_a_waiting_receiver_at_once(database: Session) -> None:
    with database.receive() as received:
        latencies = []
        for id in range(10):
            database.send(id)
            committed = time.perf_counter()
            assert received.next()[ID] == id
            latencies.append(time.perf_counter() - committed)
    assert sorted(latencies)[5] < 0.05


def test_a_message_is_not_delivered_twice_while_its_lease_runs(database: Session) -> None:
    database.send(1)
    with database.receive() as first, database.receive() as second:
        rows = []
        for id in (2, 3, 4):
            database.send(id)
        while len(rows) < 4:
            rows += [stream.next() for stream in (first, second) if stream.waiting]
        assert sorted(row[ID] for row in rows) == [1, 2, 3, 4]


def test_redelivery_after_the_lease_ran_out(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        first = received.next()
        emulator.advance(10)
        again = received.next()
        assert again[ID] == 1
        assert again[TOKEN] != first[TOKEN]


def test_redeliveries_back_off(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        emulator.advance(10.1)
        received.next()
        emulator.advance(10.1)
        database.send(2)
        assert received.next()[ID] == 2
        emulator.advance(1)
        assert received.next()[ID] == 1


def test_an_acknowledged_message_does_not_come_back(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        database.acknowledge(1)
        emulator.advance(30)
        database.send(2)
        assert received.next()[ID] == 2
        assert [lease["key"] for lease in emulator.leases(database.path)] == [["2"]]


def test_a_key_that_is_deleted_and_sent_again_is_a_new_message(database: Session) -> None:
    database.send(1)
    with database.receive() as received:
        old = received.next()
        database.write("DELETE FROM q WHERE Id = 1", "INSERT INTO q (Id, Payload) VALUES (1, 'again')")
        new = received.next()
    assert [new[ID], new[PAYLOAD]] == [1, "again"]
    assert new[TOKEN] != old[TOKEN]


def test_deliver_time_holds_a_message_back(database: Session, emulator: Emulator) -> None:
    database.send(1, delay=300)
    database.send(2)
    with database.receive() as received:
        assert received.next()[ID] == 2
        emulator.advance(5)
        database.acknowledge(2)
        database.send(3)
        assert received.next()[ID] == 3
        database.acknowledge(3)
        emulator.advance(295)
        assert received.next()[ID] == 1


def test_a_delay_counts_from_the_moved_clock(database: Session, emulator: Emulator) -> None:
    emulator.advance(3600)
    database.send(1, delay=300)
    database.send(2)
    with database.receive() as received:
        assert received.next()[ID] == 2
        database.acknowledge(2)
        database.send(3)
        assert received.next()[ID] == 3
        database.acknowledge(3)
        emulator.advance(300)
        assert received.next()[ID] == 1


def test_a_deliver_time_in_the_past_is_due(database: Session) -> None:
    database.send(1, delay=-3600)
    with database.receive() as received:
        assert received.next()[ID] == 1


def test_batches_end_with_the_flag(database: Session) -> None:
    database.send(*range(5))
    with database.receive("SELECT * FROM RECEIVE_q(max_batch_size => 2)") as received:
        assert [row[LAST] for row in received.take(5)] == [False, True, False, True, True]


@pytest.mark.parametrize(
    "call",
    [
        "RECEIVE_q(2)",
        "RECEIVE_q(2, NULL, '20m')",
        "receive_Q(max_duration => '1h30m', MAX_BATCH_SIZE => 2)",
        "`RECEIVE_q`(max_batch_size => 2, priority => 'HIGH')",
        "RECEIVE_q(max_batch_size => @size)",
    ],
)
def test_arguments_by_name_position_and_parameter(database: Session, call: str) -> None:
    database.send(1, 2, 3)
    with database.receive(f"SELECT * FROM {call}", {"size": "2"}) as received:
        assert [row[LAST] for row in received.take(3)] == [False, True, True]


def test_where_filters_before_leasing(database: Session, emulator: Emulator) -> None:
    database.send(1, 2, 3)
    sql = "SELECT Id FROM RECEIVE_q(max_batch_size => 10) AS m WHERE m.Id >= @low AND Payload != 'p3'"
    with database.receive(sql, {"low": "2"}, param_types={"low": {"code": "INT64"}}) as received:
        assert received.next() == [2]
        assert [lease["key"] for lease in emulator.leases(database.path)] == [["2"]]
    with database.receive() as received:
        assert sorted(row[ID] for row in received.take(2)) == [1, 3]


def test_projections_aliases_and_expressions(database: Session) -> None:
    database.send(1, 2)
    sql = (
        "SELECT m.Id AS number, CONCAT(Payload, @more) AS text, SpannerLastBatchMessage,"
        " SpannerLeaseToken IS NULL AS missing FROM RECEIVE_q() AS m"
    )
    with database.receive(sql, {"more": "!"}) as received:
        rows = received.take(2)
        names = [field.name for field in received.result.fields]
    assert names == ["number", "text", "SpannerLastBatchMessage", "missing"]
    assert sorted(row[:2] for row in rows) == [[1, "p1!"], [2, "p2!"]]
    assert sorted(row[2] for row in rows) == [False, True]
    assert not any(row[3] for row in rows)


def test_plain_columns_are_renamed(database: Session) -> None:
    database.send(1)
    with database.receive("SELECT spannerleasetoken AS t, Id FROM RECEIVE_q()") as received:
        token, id = received.next()
        assert [field.name for field in received.result.fields] == ["t", "Id"]
    assert (id, token) == (1, database.emulator.leases(database.path)[0]["token"])


def test_max_duration_ends_the_stream(database: Session, emulator: Emulator) -> None:
    with database.receive("SELECT * FROM RECEIVE_q(max_duration => '30s')") as received:
        emulator.advance(31)
        assert received.end() is None


def test_a_dropped_stream_keeps_its_leases(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
    with database.receive() as received:
        database.send(2)
        assert received.next()[ID] == 2
        emulator.advance(10)
        assert {received.next()[ID], received.next()[ID]} == {1, 2}


def test_receivers_share_what_is_due(database: Session) -> None:
    with database.receive() as first, database.receive() as second, database.receive() as third:
        streams, got = (first, second, third), [0, 0, 0]
        for id in range(60):
            database.send(id)
        while sum(got) < 60:
            for index, stream in enumerate(streams):
                got[index] += len(stream.take(stream.waiting))
        assert min(got) >= 10


def test_disable_delivery(database: Session) -> None:
    database.db.update_ddl(["ALTER QUEUE q SET OPTIONS (disable_delivery = true)"]).result()
    database.send(1)
    with database.receive() as received:
        database.db.update_ddl(["ALTER QUEUE q SET OPTIONS (disable_delivery = false)"]).result()
        database.send(2)
        assert sorted(row[ID] for row in received.take(2)) == [1, 2]


def test_dropping_the_queue_ends_its_streams(database: Session) -> None:
    with database.receive() as received:
        database.db.update_ddl(["DROP QUEUE q"]).result()
        error = received.end()
        assert error is not None
        assert error.code == 404


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM RECEIVE_q() JOIN Users ON TRUE", "only WHERE"),
        ("SELECT 1 FROM Users, RECEIVE_q()", "only item"),
        ("SELECT * FROM (SELECT * FROM RECEIVE_q())", "RECEIVE_q"),
        ("SELECT * FROM RECEIVE_q() ORDER BY Id", "only WHERE"),
        ("SELECT * FROM RECEIVE_q() WHERE Id = 1 LIMIT 1", "LIMIT"),
        ("SELECT * FROM RECEIVE_q(size => 1)", "size"),
        ("SELECT * FROM RECEIVE_q(1, NULL, '1m', 2)", "positional"),
        ("SELECT * FROM RECEIVE_q(max_batch_size => 0)", "max_batch_size"),
        ("SELECT * FROM RECEIVE_q(max_batch_size => 'many')", "max_batch_size"),
        ("SELECT * FROM RECEIVE_q(max_duration => 'long')", "max_duration"),
        ("SELECT * FROM RECEIVE_q(max_batch_size => @nowhere)", "nowhere"),
        ("SELECT Nothing FROM RECEIVE_q()", "Nothing"),
        ("SELECT * FROM RECEIVE_q() WHERE Nothing = 1", "Nothing"),
    ],
)
def test_refused_queries(database: Session, sql: str, text: str) -> None:
    with database.receive(sql) as received:
        error = received.end()
    assert isinstance(error, InvalidArgument)
    assert text in error.message


def test_refused_in_transactions_and_stale_reads(database: Session) -> None:
    sql = "SELECT * FROM RECEIVE_q(max_duration => '1s')"
    with pytest.raises(InvalidArgument, match="single-use"):
        database.db.run_in_transaction(lambda t: list(t.execute_sql(sql)))
    with database.db.snapshot(multi_use=True) as snapshot, pytest.raises(InvalidArgument, match="single-use"):
        list(snapshot.execute_sql(sql))
    stale = database.db.snapshot(exact_staleness=timedelta(seconds=1))
    with stale as snapshot, pytest.raises(InvalidArgument, match="stale"):
        list(snapshot.execute_sql(sql))


def test_refused_without_streaming(database: Session) -> None:
    with pytest.raises(InvalidArgument, match="ExecuteStreamingSql"):
        database.db.spanner_api.execute_sql(database.request("SELECT * FROM RECEIVE_q()"))


def test_a_receiver_does_not_wait_for_an_open_transaction(database: Session) -> None:
    database.send(1, 2)

    def hold(transaction: spanner.Transaction) -> int:
        transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")
        with database.receive() as received:
            return len(received.take(2))

    assert database.db.run_in_transaction(hold) == 2


def test_text_that_only_mentions_receive_passes(database: Session) -> None:
    assert database.query("SELECT 'RECEIVE_q()' /* RECEIVE_q() */") == [["RECEIVE_q()"]]
    with pytest.raises(InvalidArgument, match="RECEIVE_Nothing"):
        database.query("SELECT * FROM RECEIVE_Nothing()")
