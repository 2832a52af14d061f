"""RECEIVE through the unmodified official client: leases, deliver times, batches, ends of streams."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud import spanner

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import DELIVER_TIME, EXPIRES, ID, LAST, PAYLOAD, TOKEN, Session
from tests.emulator.words import IN_BOTH_DIALECTS, Words

pytestmark = IN_BOTH_DIALECTS


def test_a_message_arrives_with_its_lease(database: Session) -> None:
    before = datetime.now(UTC)
    database.send(1)
    with database.receive() as received:
        row = received.next()
    assert [row[ID], row[PAYLOAD], row[LAST]] == [1, "p1", True]
    assert before <= row[DELIVER_TIME] <= datetime.now(UTC)
    assert timedelta(seconds=9) < row[EXPIRES] - row[DELIVER_TIME] < timedelta(seconds=12)
    assert isinstance(row[TOKEN], str)


def test_columns_of_star_in_order(database: Session, words: Words) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        names = [field.name for field in received.result.fields]
    assert names == [
        words.column(name)
        for name in (
            "Id",
            "Payload",
            "DeliverTime",
            "SpannerLeaseExpirationTimestamp",
            "SpannerLeaseToken",
            "SpannerLastBatchMessage",
        )
    ]


def test_the_clients_own_snapshot_receives(database: Session, words: Words) -> None:
    database.send(1)
    with database.db.snapshot() as snapshot:
        row = next(iter(snapshot.execute_sql(f"SELECT * FROM {words.receive(duration='1m')}")))
    assert row[ID] == 1


def test_the_description_of_the_columns_comes_before_any_message(database: Session, words: Words) -> None:
    call = database.db.spanner_api.transport.execute_streaming_sql(
        database.request(f"SELECT Id FROM {words.receive()}"), timeout=10
    )
    assert [field.name for field in next(call).metadata.row_type.fields] == [words.column("Id")]
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
    assert set(database.renew(old[TOKEN], new[TOKEN]).items()) > {(old[TOKEN], None)}


def test_a_key_that_is_rescheduled_by_mutation_is_a_new_message(database: Session, words: Words) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
        with database.db.batch() as batch:
            batch.delete("q", spanner.KeySet(keys=[[1]]))
            batch.insert("q", [words.column("Id"), words.column("Payload")], [[1, "again"]])
        assert received.next()[PAYLOAD] == "again"
    assert database.renew(token) == {token: None}


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


def test_batches_end_with_the_flag(database: Session, words: Words) -> None:
    database.send(*range(5))
    with database.receive(f"SELECT * FROM {words.receive(size=2)}") as received:
        assert [row[LAST] for row in received.take(5)] == [False, True, False, True, True]


def test_max_duration_ends_the_stream(database: Session, words: Words, emulator: Emulator) -> None:
    with database.receive(f"SELECT * FROM {words.receive(duration='30s')}") as received:
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
    database.ddl("ALTER QUEUE q SET OPTIONS (disable_delivery = true)")
    database.send(1)
    with database.receive() as received:
        database.ddl("ALTER QUEUE q SET OPTIONS (disable_delivery = false)")
        database.send(2)
        assert sorted(row[ID] for row in received.take(2)) == [1, 2]


def test_dropping_the_queue_ends_its_streams(database: Session) -> None:
    with database.receive() as received:
        database.ddl("DROP QUEUE q")
        error = received.end()
        assert error is not None
        assert error.code == 404


def test_refused_in_transactions_and_stale_reads(database: Session, words: Words) -> None:
    sql = f"SELECT * FROM {words.receive(duration='1s')}"
    with pytest.raises(InvalidArgument, match="single-use"):
        database.db.run_in_transaction(lambda t: list(t.execute_sql(sql)))
    with database.db.snapshot(multi_use=True) as snapshot, pytest.raises(InvalidArgument, match="single-use"):
        list(snapshot.execute_sql(sql))
    stale = database.db.snapshot(exact_staleness=timedelta(seconds=1))
    with stale as snapshot, pytest.raises(InvalidArgument, match="stale"):
        list(snapshot.execute_sql(sql))


def test_refused_without_streaming(database: Session, words: Words) -> None:
    with pytest.raises(InvalidArgument, match="ExecuteStreamingSql"):
        database.db.spanner_api.execute_sql(database.request(f"SELECT * FROM {words.receive()}"))


def test_a_receiver_does_not_wait_for_an_open_transaction(database: Session) -> None:
    database.send(1, 2)

    def hold(transaction: spanner.Transaction) -> int:
        transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")
        with database.receive() as received:
            return len(received.take(2))

    assert database.db.run_in_transaction(hold) == 2
