"""Requests within a transaction, and those for sessions and the schema, that fail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.helpers import ID
from tests.emulator.words import IN_BOTH_DIALECTS
from tests.emulator_faults.promises import LEASE_SECONDS, SCHEMAS, Scene, assert_promises


def test_statement_aborted(scene: Scene) -> None:
    """`ExecuteSql` of the second of two statements is ABORTED.

    client: no error; 4 ExecuteSql, 1 Commit
    queue: both messages, by the second transaction
    receiver: both messages
    """
    scene.emulator.inject("ExecuteSql", code="ABORTED", match="'p2'")
    scene.client_sees(scene.send, 1, 2)
    scene.queue_holds(1, 2)
    scene.receiver_gets(1, 2)
    assert_promises(scene)


@pytest.mark.parametrize("id", [1, 2])
@IN_BOTH_DIALECTS
def test_statement_repeated(scene: Scene, id: int) -> None:
    """`ExecuteSql`, the first or the second of a transaction, is applied and ends in UNAVAILABLE.

    client: no error; 3 ExecuteSql, 1 Commit
    queue: both acknowledged messages are gone
    receiver: neither of them again
    """
    scene.send(1, 2)
    scene.receiver_gets(1, 2)
    scene.emulator.inject("ExecuteSql", after_apply=True, match=f"Id = {id} ")
    scene.client_sees(scene.acknowledge, 1, 2)
    scene.queue_holds()
    assert_promises(scene)


def acknowledge_together(scene: Scene, *ids: int) -> None:
    """Acknowledge messages by one request, in one transaction."""

    def work(transaction: Any) -> None:
        transaction.batch_update([scene.delete(id) for id in ids])
        scene.note_done(transaction, *ids)

    scene.session.db.run_in_transaction(work)


@pytest.mark.parametrize("code", ["INTERNAL", "UNKNOWN"])
@IN_BOTH_DIALECTS
def test_batch_dml_fails(scene: Scene, code: str) -> None:
    """`ExecuteBatchDml` is applied and ends in INTERNAL or UNKNOWN.

    client: InternalServerError or Unknown; 1 ExecuteBatchDml
    queue: both messages: the transaction is not committed
    receiver: both messages again after their lease
    """
    scene.send(1, 2)
    scene.receiver_gets(1, 2)
    scene.emulator.inject("ExecuteBatchDml", code=code, after_apply=True)
    scene.client_sees(acknowledge_together, scene, 1, 2)
    scene.queue_holds(1, 2)
    scene.receiver_gets()
    scene.emulator.advance(LEASE_SECONDS)
    scene.receiver_gets(1, 2)
    assert_promises(scene)


def send_by_mutations(scene: Scene, id: int) -> None:
    """Send a message in a transaction that begins by itself: it holds mutations only."""

    def work(transaction: Any) -> None:
        transaction.send(queue="q", key=(id,), payload=f"p{id}")
        scene.note_sent(transaction, id)

    scene.session.db.run_in_transaction(work)


@pytest.mark.parametrize("after_apply", [False, True])
def test_begin_fails(scene: Scene, after_apply: bool) -> None:
    """`BeginTransaction` ends in INTERNAL, before or after it is applied.

    client: InternalServerError; 1 BeginTransaction
    queue: nothing of the transaction; sending it again works at once
    receiver: nothing, until it is sent again
    """
    scene.emulator.inject("BeginTransaction", code="INTERNAL", after_apply=after_apply)
    scene.client_sees(send_by_mutations, scene, 1)
    scene.queue_holds()
    send_by_mutations(scene, 1)
    scene.receiver_gets(1)
    assert_promises(scene)


@pytest.mark.parametrize("after_apply", [False, True])
@IN_BOTH_DIALECTS
def test_rollback_fails(scene: Scene, after_apply: bool) -> None:
    """`Rollback` ends in INTERNAL, before or after it is applied.

    client: InternalServerError; 1 ExecuteSql, 1 Rollback
    queue: the message: nothing of the transaction has happened
    receiver: the message again after its lease
    """
    scene.send(1)
    scene.receiver_gets(1)
    scene.emulator.inject("Rollback", code="INTERNAL", after_apply=after_apply)
    scene.client_sees(acknowledge_and_regret, scene)
    scene.queue_holds(1)
    assert_promises(scene)


def acknowledge_and_regret(scene: Scene) -> None:
    """Acknowledge message 1 in a transaction that the client rolls back."""

    def work(transaction: Any) -> None:
        transaction.execute_update(scene.delete(1))
        raise LookupError

    scene.session.db.run_in_transaction(work)


def test_session_fails(scene: Scene) -> None:
    """`CreateSession` and `BatchCreateSessions` end in UNAVAILABLE once.

    client: no error; 2 CreateSession, 2 BatchCreateSessions, 1 ExecuteSql, 1 Commit
    queue: the message
    receiver: the message
    """
    scene.emulator.inject("CreateSession")
    scene.emulator.inject("BatchCreateSessions")
    scene.client_sees(make_sessions_and_send, scene.at(scene.emulator))
    scene.queue_holds(1)
    scene.receiver_gets(1)
    assert_promises(scene)


def make_sessions_and_send(fresh: Scene) -> None:
    """Make sessions for others, and send with one that the client makes by itself."""
    api = fresh.session.db.spanner_api
    api.batch_create_sessions(database=fresh.path, session_count=1)
    fresh.send(1)


@pytest.mark.parametrize("code", ["INTERNAL", "UNKNOWN"])
@IN_BOTH_DIALECTS
def test_schema_change_lands_unheard(scene: Scene, code: str) -> None:
    """`UpdateDatabaseDdl` of CREATE QUEUE is applied and ends in INTERNAL or UNKNOWN.

    client: InternalServerError or Unknown; 1 UpdateDatabaseDdl
    queue: the new queue is there, and is shown; those that were there go on
    receiver: what is sent to either queue
    """
    scene.send(1)
    scene.emulator.inject("UpdateDatabaseDdl", code=code, after_apply=True)
    create = SCHEMAS[scene.words.name][-1].replace("QUEUE q", "QUEUE later")
    scene.client_sees(scene.session.ddl, create)
    assert any("CREATE QUEUE later" in statement for statement in scene.session.shown())
    scene.session.write("INSERT INTO later (Id, Payload) VALUES (7, 'x')")
    with scene.session.receive(f"SELECT * FROM {scene.words.receive('later')}") as received:
        assert received.next()[ID] == 7
    scene.session.write("DELETE FROM later WHERE Id = 7 ASSERT_ROWS_MODIFIED 1")
    scene.receiver_gets(1)
    assert_promises(scene)


@IN_BOTH_DIALECTS
def test_reading_the_schema_fails(scene: Scene) -> None:
    """`GetDatabaseDdl` ends in INTERNAL.

    client: InternalServerError; 1 GetDatabaseDdl
    queue: as it was
    receiver: goes on, in a stream that was open before and in a new one
    """
    with scene.session.receive() as received:
        scene.emulator.inject("GetDatabaseDdl", code="INTERNAL")
        scene.client_sees(scene.session.shown)
        scene.send(1)
        assert received.next()[ID] == 1
    scene.send(2)
    scene.receiver_gets(2)
    assert_promises(scene)
