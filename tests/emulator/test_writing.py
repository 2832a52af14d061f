"""Sending, acknowledging and renewing through the unmodified official client."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core.exceptions import AlreadyExists, InvalidArgument, NotFound, OutOfRange
from google.cloud import spanner
from google.cloud.spanner_v1 import TransactionOptions, TransactionSelector
from google.cloud.spanner_v1.transaction import Transaction

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import ID, PAYLOAD, STRINGS, TOKEN, Session


def test_a_message_goes_with_its_parent(database: Session) -> None:
    database.write(
        "INSERT INTO Users (UserId, Name) VALUES (1, 'Ada')",
        """INSERT INTO Mails (UserId, MailId, Payload) VALUES (1, 'm', JSON '{"to": "ada"}')""",
    )
    with database.receive("SELECT * FROM RECEIVE_Mails()") as received:
        assert received.next()[:3] == [1, "m", {"to": "ada"}]
    database.write("DELETE FROM Users WHERE UserId = 1")
    assert database.query("SELECT * FROM Mails") == []


def test_a_queue_is_read_and_joined_like_a_table(database: Session) -> None:
    database.send(1)
    assert database.query("SELECT * EXCEPT (DeliverTime) FROM q") == [[1, "p1"]]
    rows = database.query("SELECT q.Id FROM q LEFT JOIN Users ON q.Id = Users.UserId")
    assert rows == [[1]]


def test_a_rolled_back_message_is_not_sent(database: Session) -> None:
    def fail(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO q (Id, Payload) VALUES (1, 'never')")
        raise KeyError

    with database.receive() as received:
        with pytest.raises(KeyError):
            database.db.run_in_transaction(fail)
        database.send(2)
        assert received.next()[ID] == 2


def test_duplicates_are_refused(database: Session) -> None:
    database.send(1)
    with pytest.raises(AlreadyExists):
        database.send(1)
    with pytest.raises(AlreadyExists), database.db.batch() as batch:
        batch.send(queue="q", key=[1], payload="again")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE q SET Payload = 'x' WHERE Id = 1",
        "@{PDML_MAX_PARALLELISM=1} update `q` set Payload = 'x' where TRUE",
        "INSERT OR UPDATE INTO q (Id, Payload) VALUES (1, 'x')",
    ],
)
def test_updates_are_refused(database: Session, sql: str) -> None:
    database.send(1)
    with pytest.raises(InvalidArgument, match="not supported on queue q"):
        database.write(sql)
    with pytest.raises(InvalidArgument, match="not supported on queue q"):
        database.db.run_in_transaction(lambda t: t.batch_update([sql]))


@pytest.mark.parametrize("operation", ["update", "insert_or_update", "replace"])
def test_update_mutations_are_refused(database: Session, operation: str) -> None:
    database.send(1)
    with pytest.raises(InvalidArgument, match="queue q"), database.db.batch() as batch:
        getattr(batch, operation)("q", ["Id", "Payload"], [[1, "x"]])


def test_a_failed_acknowledgment_leaves_the_transaction_open(database: Session) -> None:
    database.send(1)

    def work(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO Users (UserId) VALUES (1)")
        with pytest.raises(OutOfRange):
            transaction.execute_update("DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1")
        transaction.execute_update("DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1")

    database.db.run_in_transaction(work)
    assert database.query("SELECT UserId FROM Users") == [[1]]
    assert database.query("SELECT Id FROM q") == []


def test_a_failed_first_statement_begins_no_transaction(database: Session) -> None:
    # The official client deadlocks when it goes on after this, so the request is made by hand.
    begin = TransactionSelector(begin=TransactionOptions(read_write=TransactionOptions.ReadWrite()))
    sql = "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1"
    before = time.monotonic()
    with pytest.raises(OutOfRange):
        database.db.spanner_api.execute_sql(database.request(sql, transaction=begin, seqno=1))
    database.send(1)
    # Well below the time after which a silent transaction loses its turn.
    assert time.monotonic() - before < 2


def test_batch_dml_stops_at_the_failed_acknowledgment(database: Session) -> None:
    database.send(1)

    def work(transaction: Transaction) -> tuple[int, list[int]]:
        status, counts = transaction.batch_update(
            [
                "DELETE FROM q WHERE Id = 1 ASSERT_ROWS_MODIFIED 1",
                "DELETE FROM q WHERE Id = 7 ASSERT_ROWS_MODIFIED 1",
                "INSERT INTO Users (UserId) VALUES (1)",
            ]
        )
        return status.code, counts

    assert database.db.run_in_transaction(work) == (11, [1])


def test_send_and_acknowledge_by_mutation(database: Session) -> None:
    with database.receive() as received:
        with database.db.batch() as batch:
            batch.send(queue="q", key=[1], payload="hello")
        assert received.next()[:2] == [1, "hello"]
        with database.db.batch() as batch:
            batch.ack(queue="q", key=[1])
            batch.send(queue="q", key=[1], payload="next")
        assert received.next()[:2] == [1, "next"]
    with database.db.batch() as batch:
        batch.ack(queue="q", key=[1])
    assert database.query("SELECT Id FROM q") == []


def acknowledge_and_insert(transaction: Transaction) -> None:
    transaction.insert("Users", ["UserId"], [[1]])
    transaction.ack(queue="q", key=[1])


def test_a_message_is_acknowledged_once_by_mutation(database: Session) -> None:
    with pytest.raises(NotFound):
        database.db.run_in_transaction(acknowledge_and_insert)
    assert database.query("SELECT UserId FROM Users") == []
    with database.db.batch() as batch:
        batch.insert("Users", ["UserId"], [[1]])
        batch.ack(queue="q", key=[1], ignore_not_found=True)
    assert database.query("SELECT UserId FROM Users") == [[1]]


def test_mutations_ride_in_a_transaction(database: Session) -> None:
    database.send(1)

    def work(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO Users (UserId) VALUES (1)")
        transaction.ack(queue="q", key=[1])
        transaction.send(queue="q", key=[2], payload="two")

    with database.receive("SELECT * FROM RECEIVE_q() WHERE Id = 2") as received:
        database.db.run_in_transaction(work)
        assert received.next()[PAYLOAD] == "two"


def test_send_with_a_deliver_time(database: Session, emulator: Emulator) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    with database.db.batch() as batch:
        batch.send(queue="q", key=[1], payload="later", deliver_time=due)
        batch.send(queue="q", key=[2], payload="now")
    with database.receive("SELECT * FROM RECEIVE_q(max_duration => '2h')") as received:
        assert received.next()[ID] == 2
        database.acknowledge(2)
        emulator.advance(3600)
        assert received.next()[ID] == 1


def test_an_insert_mutation_wakes_receivers(database: Session) -> None:
    with database.receive() as received:
        with database.db.batch() as batch:
            batch.insert("q", ["Id", "Payload"], [[1, "x"]])
        assert received.next()[ID] == 1


def test_wrong_queue_mutations(database: Session) -> None:
    with pytest.raises(NotFound, match="Queue not found: Users"), database.db.batch() as batch:
        batch.send(queue="Users", key=[1], payload="x")
    with pytest.raises(InvalidArgument, match="1 key columns"), database.db.batch() as batch:
        batch.ack(queue="q", key=[1, 2])


def test_mutation_groups(database: Session) -> None:
    with database.receive() as received, database.db.mutation_groups() as groups:
        group = groups.group()
        group.insert("q", ["Id", "Payload"], [[1, "x"]])
        for response in groups.batch_write():
            assert response.status.code == 0
        assert received.next()[ID] == 1


def test_renewing_has_three_outcomes(database: Session, emulator: Emulator) -> None:
    database.send(1, 2)
    with database.receive() as received:
        tokens = {row[ID]: row[TOKEN] for row in received.take(2)}
    database.acknowledge(2)
    renewed = database.renew(tokens[1], tokens[2], "no token")
    assert renewed == {tokens[1]: renewed[tokens[1]], tokens[2]: None}
    assert renewed[tokens[1]] not in (None, tokens[1])
    assert database.renew(tokens[1]) == {}
    emulator.advance(10)
    assert database.renew(renewed[tokens[1]]) == {}


def test_a_renewed_lease_holds_longer(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
        for _ in range(4):
            emulator.advance(8)
            token = database.renew(token)[token]
        database.send(2)
        assert received.next()[ID] == 2
        assert [lease["deliveries"] for lease in emulator.leases(database.path)] == [1, 1]


def test_renewing_with_a_projection_and_literals(database: Session) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
    function = f"RENEWLEASE_q(lease_tokens => ['{token}', 'x'])"
    sql = f"SELECT r.SpannerNewLeaseToken IS NOT NULL AS ok FROM {function} AS r"
    assert database.query(sql) == [[True]]
    with pytest.raises(InvalidArgument, match="lease_tokens"):
        database.query("SELECT * FROM RENEWLEASE_q()")


def test_renewing_without_streaming(database: Session) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
    request = database.request(f"SELECT SpannerOldLeaseToken AS old FROM RENEWLEASE_q(['{token}'])")
    result = database.db.spanner_api.execute_sql(request)
    assert [list(row) for row in result.rows] == [[token]]


def test_partitioned_dml(database: Session) -> None:
    database.send(1, 2)
    assert database.db.execute_partitioned_dml("DELETE FROM q WHERE Id > 1") == 1
    assert database.query("SELECT Id FROM q") == [[1]]
    with pytest.raises(InvalidArgument, match="UPDATE is not supported"):
        database.db.execute_partitioned_dml("UPDATE q SET Payload = 'x' WHERE TRUE")
    database.send(3)


def test_tokens_of_one_queue_mean_nothing_to_another(database: Session) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
    sql = "SELECT * FROM RENEWLEASE_Mails(lease_tokens => @tokens)"
    rows = database.query(sql, params={"tokens": [token]}, param_types={"tokens": STRINGS})
    assert rows == []


def test_the_keyset_of_a_delete_mutation(database: Session) -> None:
    database.send(1, 2)
    with database.db.batch() as batch:
        batch.delete("q", spanner.KeySet(keys=[[1]]))
    assert database.query("SELECT Id FROM q") == [[2]]
