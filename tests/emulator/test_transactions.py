"""Read-write transactions of many threads and clients take turns instead of destroying each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core.exceptions import Aborted
from google.cloud import spanner
from google.cloud.spanner_v1 import (
    BeginTransactionRequest,
    CommitRequest,
    RollbackRequest,
    TransactionOptions,
)

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_client
from tests.emulator.helpers import TIMEOUT_SECONDS, Session
from tests.emulator.words import IN_BOTH_DIALECTS, Words

pytestmark = IN_BOTH_DIALECTS

MULTIPLEXED = (
    "GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS",
    "GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS_FOR_RW",
    "GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS_PARTITIONED_OPS",
)


def add_one(transaction: Any) -> None:
    rows = transaction.execute_sql("SELECT COALESCE(MAX(UserId), 0) FROM Users")
    highest = next(iter(rows))[0]
    transaction.execute_update(f"INSERT INTO Users (UserId) VALUES ({highest + 1})")


@pytest.mark.parametrize("multiplexed", ["true", "false"])
def test_fifty_at_once(
    database: Session, emulator: Emulator, multiplexed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in MULTIPLEXED:
        monkeypatch.setenv(name, multiplexed)
    sessions = [Session(emulator, database.path, make_client(emulator.host)) for _ in range(2)]
    emulator.requests(reset=True)
    with ThreadPoolExecutor(50) as threads:
        done = [threads.submit(sessions[n % 2].db.run_in_transaction, add_one) for n in range(50)]
        for future in done:
            future.result(60)
    assert database.query("SELECT COUNT(*), MAX(UserId) FROM Users") == [[50, 50]]
    assert emulator.requests()["Commit"] == 50


def test_mutations_and_batches_queue_up_as_well(database: Session, words: Words) -> None:
    def insert(id: int) -> None:
        with database.db.batch() as batch:
            batch.insert("Users", [words.column("UserId")], [[id]])

    def increment(_: int) -> None:
        database.db.run_in_transaction(add_one)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(insert, range(1000, 1016)))
        list(threads.map(increment, range(16)))
    assert database.query("SELECT COUNT(*) FROM Users") == [[32]]


class Raw:
    """A client that speaks for itself, to go silent where the official one would not."""

    def __init__(self, database: Session) -> None:
        self.api = database.db.spanner_api
        self.session = database.request("").session

    def begin(self) -> bytes:
        options = TransactionOptions(read_write=TransactionOptions.ReadWrite())
        return self.api.begin_transaction(BeginTransactionRequest(session=self.session, options=options)).id

    def commit(self, transaction: bytes) -> Any:
        return self.api.commit(CommitRequest(session=self.session, transaction_id=transaction))

    def rollback(self, transaction: bytes) -> None:
        self.api.rollback(RollbackRequest(session=self.session, transaction_id=transaction))


def test_a_silent_transaction_loses_its_turn_when_others_wait(database: Session) -> None:
    raw = Raw(database)
    silent = raw.begin()
    database.db.run_in_transaction(add_one)
    with pytest.raises(Aborted):
        raw.commit(silent)
    raw.rollback(silent)


def test_a_silent_transaction_lives_while_nobody_waits(database: Session) -> None:
    raw = Raw(database)
    transaction = raw.begin()
    database.query("SELECT 1")
    raw.commit(transaction)
    raw.commit(transaction)


def test_a_rolled_back_transaction_frees_the_turn(database: Session) -> None:
    raw = Raw(database)
    raw.rollback(raw.begin())
    with pytest.raises(KeyError):
        database.db.run_in_transaction(raising(KeyError))
    finished = threading.Event()
    thread = threading.Thread(target=lambda: (database.db.run_in_transaction(add_one), finished.set()))
    thread.start()
    # Well below the time after which a silent transaction loses its turn.
    assert finished.wait(2)
    thread.join(TIMEOUT_SECONDS)


def raising(error: type[Exception]) -> Callable[[Any], None]:
    def work(transaction: Any) -> None:
        add_one(transaction)
        raise error

    return work


def test_schema_changes_wait_for_their_turn(database: Session, words: Words) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hold(transaction: Any) -> None:
        add_one(transaction)
        begun.set()
        assert go_on.wait(TIMEOUT_SECONDS)

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(database.db.run_in_transaction, hold)
        assert begun.wait(TIMEOUT_SECONDS)
        changing = threads.submit(database.db.update_ddl, [words.schema[0].replace("Users", "More")])
        go_on.set()
        writing.result(TIMEOUT_SECONDS)
        changing.result(TIMEOUT_SECONDS).result(TIMEOUT_SECONDS)
    assert database.query("SELECT COUNT(*) FROM Users") == [[1]]


def test_databases_do_not_wait_for_each_other(database: Session, words: Words, emulator: Emulator) -> None:
    other = Session(emulator, emulator.create_database(words.name, words.schema[:1]))

    def nested(transaction: Any) -> None:
        add_one(transaction)
        other.db.run_in_transaction(add_one)

    database.db.run_in_transaction(nested)
    assert other.query("SELECT COUNT(*) FROM Users") == [[1]]


def test_read_only_transactions_see_one_moment(database: Session) -> None:
    with database.db.snapshot(multi_use=True) as snapshot:
        assert list(snapshot.execute_sql("SELECT COUNT(*) FROM Users")) == [[0]]
        database.db.run_in_transaction(add_one)
        assert list(snapshot.execute_sql("SELECT COUNT(*) FROM Users")) == [[0]]
    assert database.query("SELECT COUNT(*) FROM Users") == [[1]]


def test_reads_within_a_transaction(database: Session, words: Words) -> None:
    columns = [words.column("UserId")]

    def work(transaction: Any) -> tuple[list[Any], list[Any]]:
        keys = spanner.KeySet(all_=True)
        before = list(transaction.read("Users", columns, keys))
        transaction.execute_update("INSERT INTO Users (UserId) VALUES (5)")
        return before, list(transaction.read("Users", columns, keys))

    assert database.db.run_in_transaction(work) == ([], [[5]])
