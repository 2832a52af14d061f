"""Streams of messages that do not open, that break, come in pieces, or are given up."""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

import pytest
from google.cloud.spanner_v1 import JsonObject, param_types

from tests.conformance.helpers import Running
from tests.emulator.helpers import ID, PAYLOAD
from tests.emulator.words import IN_BOTH_DIALECTS, Words, plain
from tests.emulator_faults.promises import LEASE_SECONDS, Scene, assert_promises, until

TEXT = "größer, длиннее 🚀 und so weiter"


def read_broken(scene: Scene, rows: int) -> None:
    """Read a stream that breaks after so many rows, and raise its error."""
    with scene.session.receive() as received:
        received.take(rows)
        error = received.end()
    assert error is not None
    raise error


def match(scene: Scene) -> str:
    """Return what the SQL of RECEIVE contains."""
    return scene.words.receive().split("(")[0]


@pytest.mark.parametrize("rows", [None, 0])
@IN_BOTH_DIALECTS
def test_receive_does_not_open(scene: Scene, rows: int | None) -> None:
    """`ExecuteStreamingSql` of RECEIVE ends in UNAVAILABLE before it is applied, or before the first batch.

    client: ServiceUnavailable; 1 ExecuteStreamingSql
    queue: all messages, and none is leased
    receiver: all of them at once
    """
    scene.send(1, 2, 3)
    scene.emulator.inject("ExecuteStreamingSql", drop_after_rows=rows, match=match(scene))
    scene.client_sees(read_broken, scene, 0)
    assert scene.emulator.leases(scene.path) == []
    scene.receiver_gets(1, 2, 3)
    assert_promises(scene)


@pytest.mark.parametrize("rows", [1, 2])
@IN_BOTH_DIALECTS
def test_receive_breaks(scene: Scene, rows: int) -> None:
    """`ExecuteStreamingSql` of RECEIVE breaks with UNAVAILABLE after 1 or 2 of 3 rows.

    client: ServiceUnavailable; 1 ExecuteStreamingSql
    queue: all messages, and all are leased, those too that did not arrive
    receiver: nothing while the leases run, all of them afterwards
    """
    scene.send(1, 2, 3)
    scene.emulator.inject("ExecuteStreamingSql", drop_after_rows=rows, match=match(scene))
    scene.client_sees(read_broken, scene, rows)
    scene.queue_holds(1, 2, 3)
    scene.receiver_gets()
    scene.emulator.advance(LEASE_SECONDS)
    scene.receiver_gets(1, 2, 3)
    assert_promises(scene)


@pytest.mark.parametrize("resume_tokens", [True, False])
@IN_BOTH_DIALECTS
def test_receive_is_read_again(scene: Scene, resume_tokens: bool) -> None:
    """The same after the first batch, in the official client's own loop, with resume tokens and without.

    client: no error; 2 ExecuteStreamingSql
    queue: all messages, and all are leased
    receiver: with tokens the first batch, which the client drops without; the second batch at once, in the
      stream that the client opens by itself; everything again when the leases are over
    """
    scene.send(1, 2, 3)
    scene.emulator.inject(
        "ExecuteStreamingSql", drop_after_rows=2, resume_tokens=resume_tokens, match=match(scene)
    )
    found = scene.client_sees(read_for_a_minute, scene)
    once_or_twice = sorted(Counter(found).values())
    assert once_or_twice == ([2, 2, 2] if resume_tokens else [1, 1, 2])
    assert_promises(scene)


def read_for_a_minute(scene: Scene) -> list[int]:
    """Read batches of 2 with the official client, while a lease and then the duration of its stream pass."""
    sql = f"SELECT * FROM {scene.words.receive(size=2, duration='1m')}"
    with scene.session.db.snapshot() as snapshot:
        reading = Running(lambda: [row[ID] for row in snapshot.execute_sql(sql)])
        until(lambda: deliveries(scene) == [1, 1, 1])
        scene.emulator.advance(LEASE_SECONDS)
        until(lambda: deliveries(scene) == [2, 2, 2])
        scene.emulator.advance(60)
        found: list[int] = reading.result()
    return found


def deliveries(scene: Scene) -> list[int]:
    """Return how often each message that is leased was delivered."""
    return [lease["deliveries"] for lease in scene.emulator.leases(scene.path)]


@pytest.mark.parametrize("size", [1, 7])
@IN_BOTH_DIALECTS
def test_receive_in_pieces(scene: Scene, size: int) -> None:
    """`ExecuteStreamingSql` of RECEIVE sends its values in chunks of 1 or 7 characters.

    client: no error; 3 ExecuteStreamingSql
    queue: all messages
    receiver: text, JSON and bytes as they were sent, characters of several bytes included
    """
    scene.session.ddl(*queues_of_other_types(scene.words))
    payloads = {
        "q": TEXT,
        "trees": {TEXT: [1, None, {"b": TEXT}]},
        "blobs": base64.b64encode(bytes(range(256))),
    }
    for queue, payload in payloads.items():
        send_payload(scene, queue, payload)
    receive = scene.words.receive("").split("(")[0]
    scene.emulator.inject("ExecuteStreamingSql", code=None, split_values=size, times=3, match=receive)
    found = scene.client_sees(lambda: {queue: receive_payload(scene, queue) for queue in payloads})
    assert found == payloads
    assert_promises(scene)


def queues_of_other_types(words: Words) -> list[str]:
    if words.name == "googlesql":
        queue = "CREATE QUEUE {} (Id INT64 NOT NULL, Payload {} NOT NULL) PRIMARY KEY (Id)"
        return [queue.format("trees", "JSON"), queue.format("blobs", "BYTES(MAX)")]
    queue = "CREATE QUEUE {} (id bigint NOT NULL PRIMARY KEY, payload {} NOT NULL)"
    return [queue.format("trees", "jsonb"), queue.format("blobs", "bytea")]


def send_payload(scene: Scene, queue: str, payload: Any) -> None:
    """Send message 1 to a queue; the official client takes bytes as base64."""
    types = {str: param_types.STRING, bytes: param_types.BYTES, dict: scene.words.json_type}
    value = JsonObject(payload) if isinstance(payload, dict) else payload

    def work(transaction: Any) -> None:
        transaction.execute_update(
            f"INSERT INTO {queue} (Id, Payload) VALUES (1, {scene.words.parameter(1)})",
            params={"p1": value},
            param_types={"p1": types[type(payload)]},
        )
        if queue == "q":
            scene.note_sent(transaction, 1)

    scene.session.db.run_in_transaction(work)


def receive_payload(scene: Scene, queue: str) -> Any:
    with scene.session.receive(f"SELECT * FROM {scene.words.receive(queue)}") as received:
        return plain(received.next()[PAYLOAD])


@IN_BOTH_DIALECTS
def test_receive_is_cancelled(scene: Scene) -> None:
    """The client cancels RECEIVE in the middle of a batch.

    client: no error; 1 ExecuteStreamingSql
    queue: all messages, and all of the batch are leased
    receiver: what is sent now at once, the batch again after its leases
    """
    scene.send(1, 2, 3)
    scene.client_sees(read_one_and_cancel, scene)
    scene.queue_holds(1, 2, 3)
    scene.send(4)
    scene.receiver_gets(4)
    scene.emulator.advance(LEASE_SECONDS)
    scene.receiver_gets(1, 2, 3, 4)
    assert_promises(scene)


def read_one_and_cancel(scene: Scene) -> None:
    with scene.session.receive() as received:
        received.next()
