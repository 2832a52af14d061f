"""Sending and acknowledging by mutation, through the unmodified official client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.api_core.exceptions import InvalidArgument, NotFound
from google.cloud import spanner
from google.cloud.spanner_v1.transaction import Transaction

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import ID, PAYLOAD, Session
from tests.emulator.words import IN_BOTH_DIALECTS, Words

pytestmark = IN_BOTH_DIALECTS


def columns(words: Words, *names: str) -> list[str]:
    return [words.column(name) for name in names]


@pytest.mark.parametrize("operation", ["update", "insert_or_update", "replace"])
def test_update_mutations_are_refused(database: Session, words: Words, operation: str) -> None:
    database.send(1)
    with pytest.raises(InvalidArgument, match="queue q"), database.db.batch() as batch:
        getattr(batch, operation)("q", columns(words, "Id", "Payload"), [[1, "x"]])


def test_send_and_acknowledge(database: Session) -> None:
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
    assert database.ids() == []


def test_a_message_is_acknowledged_once(database: Session, words: Words) -> None:
    def acknowledge_and_insert(transaction: Transaction) -> None:
        transaction.insert("Users", columns(words, "UserId"), [[1]])
        transaction.ack(queue="q", key=[1])

    with pytest.raises(NotFound):
        database.db.run_in_transaction(acknowledge_and_insert)
    assert database.query("SELECT UserId FROM Users") == []
    with database.db.batch() as batch:
        batch.insert("Users", columns(words, "UserId"), [[1]])
        batch.ack(queue="q", key=[1], ignore_not_found=True)
    assert database.query("SELECT UserId FROM Users") == [[1]]


def test_mutations_ride_in_a_transaction(database: Session, words: Words) -> None:
    database.send(1)

    def work(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO Users (UserId) VALUES (1)")
        transaction.ack(queue="q", key=[1])
        transaction.send(queue="q", key=[2], payload="two")

    with database.receive(f"SELECT * FROM {words.receive()} WHERE Id = 2") as received:
        database.db.run_in_transaction(work)
        assert received.next()[PAYLOAD] == "two"


def test_send_with_a_deliver_time(database: Session, words: Words, emulator: Emulator) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    with database.db.batch() as batch:
        batch.send(queue="q", key=[1], payload="later", deliver_time=due)
        batch.send(queue="q", key=[2], payload="now")
    with database.receive(f"SELECT * FROM {words.receive(duration='2h')}") as received:
        assert received.next()[ID] == 2
        database.acknowledge(2)
        emulator.advance(3600)
        assert received.next()[ID] == 1


def test_an_insert_mutation_wakes_receivers(database: Session, words: Words) -> None:
    with database.receive() as received:
        with database.db.batch() as batch:
            batch.insert("q", columns(words, "Id", "Payload"), [[1, "x"]])
        assert received.next()[ID] == 1


def test_wrong_queue_mutations(database: Session) -> None:
    with pytest.raises(NotFound, match="Queue not found: Users"), database.db.batch() as batch:
        batch.send(queue="Users", key=[1], payload="x")
    with pytest.raises(InvalidArgument, match="1 key columns"), database.db.batch() as batch:
        batch.ack(queue="q", key=[1, 2])


def test_mutation_groups(database: Session, words: Words) -> None:
    with database.receive() as received, database.db.mutation_groups() as groups:
        group = groups.group()
        group.insert("q", columns(words, "Id", "Payload"), [[1, "x"]])
        for response in groups.batch_write():
            assert response.status.code == 0
        assert received.next()[ID] == 1


def test_the_keyset_of_a_delete_mutation(database: Session) -> None:
    database.send(1, 2)
    with database.db.batch() as batch:
        batch.delete("q", spanner.KeySet(keys=[[1]]))
    assert database.ids() == [2]
