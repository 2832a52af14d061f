"""A database in which each send and each acknowledgment leaves a note, and what must hold after any fault.

A message is sent in one transaction with a row of ``Sent``, and acknowledged in one with a row of ``Done``
that names the attempt. So what is lost, or done twice, shows in the tables, whatever the client was told::

    scene.emulator.inject("Commit", code="UNKNOWN", after_apply=True)
    scene.client_sees(scene.send, 1)
    assert_promises(scene)
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from google.api_core.exceptions import Aborted, GoogleAPICallError
from sqlalchemy import Engine

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_client
from sqlalchemy_spanner_queues.exc import SpannerQueuesError
from tests.conformance.helpers import Running
from tests.emulator.helpers import ID, TIMEOUT_SECONDS, TOKEN, Received, Session
from tests.emulator.words import GOOGLESQL, Words
from tests.emulator_faults.views import NO_ERROR, View

# Below the 4 seconds after which a silent transaction loses its turn: who holds one is noticed.
AT_ONCE_SECONDS = 3.0
LEASE_SECONDS = 10
# Longer than a lease and any pause after it.
LONG_SECONDS = 3700

GOOGLESQL_SCHEMA = (
    "CREATE TABLE Sent (Id INT64 NOT NULL) PRIMARY KEY (Id)",
    "CREATE TABLE Done (Id INT64 NOT NULL, Attempt STRING(36) NOT NULL) PRIMARY KEY (Id, Attempt)",
    "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)",
)
POSTGRESQL_SCHEMA = (
    "CREATE TABLE sent (id bigint NOT NULL PRIMARY KEY)",
    "CREATE TABLE done (id bigint NOT NULL, attempt varchar(36) NOT NULL, PRIMARY KEY (id, attempt))",
    "CREATE QUEUE q (id bigint NOT NULL PRIMARY KEY, payload text NOT NULL)",
)


class Scene:
    """The queue ``q`` of a database, and a client that sends to it, receives and acknowledges."""

    def __init__(
        self,
        emulator: Emulator,
        path: str,
        words: Words,
        view: View,
        client: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.emulator = emulator
        self.path = path
        self.words = words
        self.view = view
        self.engine = engine
        self.session = Session(emulator, path, client, words)
        self.told_sent: set[int] = set()
        self.told_done: set[int] = set()
        self._markers = itertools.count(1001)

    def at(self, emulator: Emulator) -> Scene:
        """Return the same database behind a gateway, with a fresh client; what was told is kept."""
        other = Scene(emulator, self.path, self.words, self.view, make_client(emulator.host))
        other.told_sent, other.told_done, other._markers = self.told_sent, self.told_done, self._markers
        return other

    def send(self, *ids: int) -> None:
        """Send messages, each by a statement, in one transaction."""
        self.session.db.run_in_transaction(self.write_sent, ids)
        self.told_sent.update(ids)

    def write_sent(self, transaction: Any, ids: tuple[int, ...]) -> None:
        for id in ids:
            transaction.execute_update(self.insert(id))
        self.note_sent(transaction, *ids)

    def insert(self, id: int) -> str:
        return f"INSERT INTO q (Id, Payload) VALUES ({id}, 'p{id}')"

    def note_sent(self, mutations: Any, *ids: int) -> None:
        mutations.insert(self._name("Sent"), [self._name("Id")], [[id] for id in ids])

    def acknowledge(self, *ids: int) -> None:
        """Acknowledge messages, each by a statement, in one transaction."""
        self.session.db.run_in_transaction(self.write_done, ids)
        self.told_done.update(ids)

    def write_done(self, transaction: Any, ids: tuple[int, ...]) -> None:
        for id in ids:
            transaction.execute_update(self.delete(id))
        self.note_done(transaction, *ids)

    def delete(self, id: int) -> str:
        return f"DELETE FROM q WHERE Id = {id} ASSERT_ROWS_MODIFIED 1"

    def note_done(self, mutations: Any, *ids: int) -> None:
        attempt = str(uuid.uuid4())
        columns = [self._name("Id"), self._name("Attempt")]
        mutations.insert(self._name("Done"), columns, [[id, attempt] for id in ids])

    def client_sees(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Run what the fault hits, and compare what the client sees with the test's docstring."""
        self.emulator.requests(reset=True)
        result, error = None, NO_ERROR
        try:
            result = action(*arguments)
        except (GoogleAPICallError, SpannerQueuesError) as raised:
            error = type(raised).__name__
        self.view.check(error, self.emulator.requests())
        return result

    def queue_holds(self, *ids: int) -> None:
        """Compare the queue, as a client sees it."""
        assert self.session.ids() == sorted(ids)

    def receiver_gets(self, *ids: int) -> dict[int, str]:
        """Receive all that is due now, in any order; returns the lease tokens by id.

        A marker that is sent and acknowledged on the way tells when everything has come.
        """
        marker = next(self._markers)
        self.send(marker)
        with self.session.receive() as received:
            tokens = self._take_up_to(marker, received)
        self.acknowledge(marker)
        assert sorted(tokens) == sorted(ids)
        return tokens

    def _take_up_to(self, marker: int, received: Received) -> dict[int, str]:
        tokens: dict[int, str] = {}
        while True:
            row = received.next()
            if row[ID] == marker:
                return tokens
            assert row[ID] not in tokens, f"{row[ID]} comes twice within its lease"
            assert row[ID] not in self.told_done, f"{row[ID]} comes after its acknowledgment"
            tokens[row[ID]] = row[TOKEN]

    def _name(self, name: str) -> str:
        return self.words.column(name)


def assert_promises(scene: Scene) -> None:
    """Check that nothing is lost, nothing comes after its acknowledgment, and nothing is stuck."""
    assert_nothing_stuck(scene)
    assert_nothing_lost(scene)
    assert_nothing_comes_back(scene)


def assert_nothing_lost(scene: Scene) -> None:
    """Each message that was sent waits in the queue, or was acknowledged by exactly one transaction.

    What a client was told is true.
    """
    sent, waiting, done = behind_the_gateway(scene)
    for id in sent:
        assert waiting.count(id) + done.count(id) == 1, f"{id}: in the queue {waiting}, acknowledged {done}"
    assert set(waiting) | set(done) == set(sent), "a message that nobody sent"
    assert scene.told_sent <= set(sent), "a client was told of a send that did not happen"
    assert scene.told_done <= set(done), "a client was told of an acknowledgment that did not happen"


def behind_the_gateway(scene: Scene) -> tuple[list[int], list[int], list[int]]:
    """Read the ids in Sent, q and Done at one moment, from the official emulator itself."""
    with _upstream(scene).db.snapshot(multi_use=True) as snapshot:
        sent, waiting, done = (
            [row[0] for row in snapshot.execute_sql(f"SELECT Id FROM {table}")]
            for table in ("Sent", "q", "Done")
        )
    return sent, waiting, done


def _upstream(scene: Scene) -> Session:
    return Session(scene.emulator, scene.path, _client_of(scene.emulator.upstream), scene.words)


@functools.cache
def _client_of(address: str) -> Any:
    return make_client(address)


def assert_nothing_stuck(scene: Scene) -> None:
    """No transaction is open, no turn is held, and a fresh client sends, receives and acknowledges."""
    assert_no_transaction_is_open(scene)
    fresh = scene.at(scene.emulator)
    marker = next(fresh._markers)
    begun = time.monotonic()
    Running(lambda: fresh.send(marker)).result(TIMEOUT_SECONDS)
    took = time.monotonic() - begun
    assert took < AT_ONCE_SECONDS, f"the turn was held: a fresh client's send took {took:.1f} s"
    with fresh.session.receive() as received:
        fresh._take_up_to(marker, received)
    Running(lambda: fresh.acknowledge(marker)).result(TIMEOUT_SECONDS)


def assert_no_transaction_is_open(scene: Scene) -> None:
    """Write on the official emulator itself, which aborts whoever writes beside an open transaction."""
    database, statement = _upstream(scene).db, "DELETE FROM Sent WHERE Id = -1"

    def can_write() -> bool:
        try:
            database.run_in_transaction(
                lambda transaction: transaction.execute_update(statement), timeout_secs=0
            )
        except Aborted:
            return False
        return True

    until(can_write)


def assert_nothing_comes_back(scene: Scene) -> None:
    """Long after, no lease is left, and a fresh receiver gets all that is in the queue and nothing else."""
    scene.emulator.advance(LONG_SECONDS)
    assert scene.emulator.leases(scene.path) == []
    _, waiting, _ = behind_the_gateway(scene)
    scene.at(scene.emulator).receiver_gets(*waiting)


def until(condition: Callable[[], bool]) -> None:
    """Wait for what only shows when it is asked for."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.01)


SCHEMAS = {GOOGLESQL.name: GOOGLESQL_SCHEMA, "postgresql": POSTGRESQL_SCHEMA}
