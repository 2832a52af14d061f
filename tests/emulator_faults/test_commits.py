"""Commits that fail, that land unheard, and that come too late."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import AlreadyExists, NotFound, OutOfRange

from sqlalchemy_spanner_queues import MessageAlreadyAcknowledged, Receiver
from tests.conformance.helpers import take_one
from tests.emulator.words import IN_BOTH_DIALECTS
from tests.emulator_faults.models import Done, Message
from tests.emulator_faults.promises import LEASE_SECONDS, Scene, assert_promises


@pytest.mark.parametrize("code", ["DEADLINE_EXCEEDED", "INTERNAL"])
def test_commit_fails(scene: Scene, code: str) -> None:
    """`Commit` fails before it is applied: DEADLINE_EXCEEDED, INTERNAL.

    client: DeadlineExceeded or InternalServerError; 1 ExecuteSql, 1 Commit
    queue: nothing of the transaction
    receiver: nothing, until it is sent again
    """
    scene.emulator.inject("Commit", code=code)
    scene.client_sees(scene.send, 1)
    scene.queue_holds()
    scene.receiver_gets()
    scene.send(1)
    scene.receiver_gets(1)
    assert_promises(scene)


@pytest.mark.parametrize(
    ("code", "after_apply"), [("UNAVAILABLE", False), ("UNAVAILABLE", True), ("RESOURCE_EXHAUSTED", False)]
)
@IN_BOTH_DIALECTS
def test_commit_repeated(scene: Scene, code: str, after_apply: bool) -> None:
    """`Commit` ends in UNAVAILABLE before or after it is applied, or in RESOURCE_EXHAUSTED before.

    client: no error; 1 ExecuteSql, 2 Commit
    queue: the acknowledged message is gone
    receiver: the acknowledged message never again
    """
    scene.send(1, 2)
    scene.receiver_gets(1, 2)
    scene.emulator.inject("Commit", code=code, after_apply=after_apply)
    scene.client_sees(scene.acknowledge, 1)
    scene.queue_holds(2)
    assert_promises(scene)


@IN_BOTH_DIALECTS
def test_commit_aborted(scene: Scene) -> None:
    """`Commit` is ABORTED before it is applied.

    client: no error; 2 ExecuteSql, 2 Commit
    queue: the acknowledged message is gone, by the second transaction
    receiver: the acknowledged message never again
    """
    scene.send(1, 2)
    scene.receiver_gets(1, 2)
    scene.emulator.inject("Commit", code="ABORTED")
    scene.client_sees(scene.acknowledge, 1)
    scene.queue_holds(2)
    assert_promises(scene)


@pytest.mark.parametrize("code", ["UNKNOWN", "DEADLINE_EXCEEDED", "CANCELLED"])
@IN_BOTH_DIALECTS
def test_commit_lands_unheard(scene: Scene, code: str) -> None:
    """`Commit` is applied and ends in UNKNOWN, DEADLINE_EXCEEDED or CANCELLED.

    client: Unknown or DeadlineExceeded or Cancelled; 1 ExecuteSql, 1 Commit
    queue: the acknowledged message is gone; acknowledging it again is OUT_OF_RANGE
    receiver: the acknowledged message never again
    """
    scene.send(1, 2)
    scene.receiver_gets(1, 2)
    scene.emulator.inject("Commit", code=code, after_apply=True)
    scene.client_sees(scene.acknowledge, 1)
    scene.queue_holds(2)
    with pytest.raises(OutOfRange):
        scene.acknowledge(1)
    assert_promises(scene)


def test_work_lands_unheard(mapped: Scene) -> None:
    """`Commit` of this package's `Receiver.processing` is applied and ends in UNKNOWN.

    client: CommitOutcomeUnknown; 2 ExecuteStreamingSql, 1 Commit
    queue: the acknowledged message is gone; working on it again is refused
    receiver: the acknowledged message never again
    """
    mapped.send(1)
    with Receiver(mapped.engine, Message) as receiver:
        message = take_one(receiver)
        mapped.emulator.inject("Commit", code="UNKNOWN", after_apply=True)
        mapped.client_sees(process, receiver, message, "first")
        mapped.queue_holds()
        with pytest.raises(MessageAlreadyAcknowledged):
            process(receiver, message, "second")
    assert_promises(mapped)


def process(receiver: Receiver[Message], message: Message, attempt: str) -> None:
    """Do the work of a message: note it."""
    with receiver.processing(message) as session:
        session.add(Done(id=message.id, attempt=attempt))


@pytest.mark.parametrize("verb", ["send", "acknowledge"])
@IN_BOTH_DIALECTS
def test_commit_lands_and_is_aborted(scene: Scene, verb: str) -> None:
    """`Commit` of DML is applied and ends in ABORTED.

    client: AlreadyExists or OutOfRange; 2 ExecuteSql, 1 Commit
    queue: what the first transaction did, once; the second one, which the client runs by itself, did nothing
    receiver: the sent message once, the acknowledged one never again
    """
    scene.send(1, 2)
    scene.receiver_gets(1, 2)
    scene.emulator.inject("Commit", code="ABORTED", after_apply=True)
    if verb == "send":
        scene.client_sees(scene.send, 3)
        scene.queue_holds(1, 2, 3)
        scene.receiver_gets(3)
    else:
        scene.client_sees(scene.acknowledge, 1)
        scene.queue_holds(2)
    assert_promises(scene)


@pytest.mark.parametrize("after_apply", [False, True])
@IN_BOTH_DIALECTS
def test_commit_comes_too_late(scene: Scene, after_apply: bool) -> None:
    """`Commit` takes longer than its client waits, before or after it is applied.

    client: DeadlineExceeded; 1 BeginTransaction, 1 ExecuteSql, 1 Commit
    queue: the message is gone if the delay came after; otherwise nothing has happened
    receiver: the message again after its lease, if nothing has happened
    """
    scene.send(1)
    scene.receiver_gets(1)
    scene.emulator.inject("Commit", code=None, delay=60.0, after_apply=after_apply)
    scene.client_sees(impatient_commit, scene)
    scene.queue_holds(*(() if after_apply else (1,)))
    scene.receiver_gets()
    scene.emulator.advance(LEASE_SECONDS)
    scene.receiver_gets(*(() if after_apply else (1,)))
    assert_promises(scene)


def impatient_commit(scene: Scene) -> None:
    """Acknowledge message 1 in a transaction whose commit has a deadline."""
    api, session = scene.session.db.spanner_api, scene.session.request("").session
    transaction = api.begin_transaction(session=session, options={"read_write": {}}).id
    statement = {"session": session, "sql": scene.delete(1), "transaction": {"id": transaction}, "seqno": 1}
    api.execute_sql(statement)
    columns = [scene.words.column("Id"), scene.words.column("Attempt")]
    done = {
        "insert": {"table": scene.words.column("Done"), "columns": columns, "values": [["1", "impatient"]]}
    }
    commit = {"session": session, "transaction_id": transaction, "mutations": [done]}
    api.commit(commit, timeout=0.5, retry=None)


def send_in_a_batch(scene: Scene, id: int) -> None:
    """Send a message by a mutation in a commit of its own."""
    with scene.session.db.batch() as batch:
        batch.send(queue="q", key=(id,), payload=f"p{id}")
        scene.note_sent(batch, id)


def acknowledge_in_a_batch(scene: Scene, id: int) -> None:
    """Acknowledge a message by a mutation in a commit of its own."""
    with scene.session.db.batch() as batch:
        batch.ack(queue="q", key=(id,))
        scene.note_done(batch, id)


@IN_BOTH_DIALECTS
def test_mutations_land_unheard(scene: Scene) -> None:
    """`Commit` of a `Send` and of an `Ack` mutation is applied and ends in UNKNOWN.

    client: Unknown; 1 Commit
    queue: the sent message, and not the acknowledged one; sending or acknowledging again is ALREADY_EXISTS
      or NOT_FOUND
    receiver: the sent message at once, the acknowledged one never again
    """
    scene.send(1)
    scene.receiver_gets(1)
    scene.emulator.inject("Commit", code="UNKNOWN", after_apply=True, times=2)
    scene.client_sees(send_in_a_batch, scene, 2)
    scene.client_sees(acknowledge_in_a_batch, scene, 1)
    scene.queue_holds(2)
    scene.receiver_gets(2)
    with pytest.raises(AlreadyExists):
        send_in_a_batch(scene, 2)
    with pytest.raises(NotFound):
        acknowledge_in_a_batch(scene, 1)
    assert_promises(scene)


@pytest.mark.parametrize("verb", [send_in_a_batch, acknowledge_in_a_batch])
@IN_BOTH_DIALECTS
def test_mutations_land_and_are_aborted(scene: Scene, verb: Any) -> None:
    """`Commit` of a `Send` or `Ack` mutation is applied and ends in ABORTED.

    client: AlreadyExists or NotFound; 2 Commit
    queue: what the first commit did, once; the second one, which the client makes by itself, did nothing
    receiver: the sent message once, the acknowledged one never again
    """
    scene.send(1)
    scene.receiver_gets(1)
    scene.emulator.inject("Commit", code="ABORTED", after_apply=True)
    is_send = verb is send_in_a_batch
    scene.client_sees(verb, scene, 2 if is_send else 1)
    scene.queue_holds(*((1, 2) if is_send else ()))
    scene.receiver_gets(*((2,) if is_send else ()))
    assert_promises(scene)
