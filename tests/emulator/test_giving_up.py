"""What a client gives up without a word lets go of its turn at once, not when its patience has run out.

The deadline of the requests that follow is shorter than that patience.
"""

from __future__ import annotations

import pytest
from google.api_core.exceptions import Aborted, GoogleAPICallError
from google.cloud.spanner_v1 import (
    BeginTransactionRequest,
    CommitRequest,
    ExecuteSqlRequest,
    TransactionOptions,
    TransactionSelector,
)

from sqlalchemy_spanner_queues.emulator.writing.turns import IDLE_SECONDS
from tests.emulator.helpers import Session
from tests.emulator.words import IN_BOTH_DIALECTS

pytestmark = IN_BOTH_DIALECTS

AT_ONCE_SECONDS = IDLE_SECONDS / 2
READ_WRITE = TransactionOptions.ReadWrite
PARTITIONED = TransactionOptions(partitioned_dml=TransactionOptions.PartitionedDml())


def session_of(database: Session, *, multiplexed: bool = False) -> str:
    request = {"database": database.path, "session": {"multiplexed": multiplexed}}
    name: str = database.db.spanner_api.create_session(request).name
    return name


def begin(database: Session, session: str, previous: bytes = b"") -> bytes:
    mode = READ_WRITE(multiplexed_session_previous_transaction_id=previous)
    request = BeginTransactionRequest(session=session, options=TransactionOptions(read_write=mode))
    begun = database.db.spanner_api.begin_transaction(request, timeout=AT_ONCE_SECONDS, retry=None)
    return bytes(begun.id)


def insert(database: Session, session: str, transaction: bytes, id: int) -> None:
    request = ExecuteSqlRequest(
        session=session,
        sql=f"INSERT INTO Users (UserId) VALUES ({id})",
        transaction=TransactionSelector(id=transaction),
        seqno=1,
    )
    database.db.spanner_api.execute_sql(request, timeout=AT_ONCE_SECONDS, retry=None)


def commit(database: Session, session: str, transaction: bytes) -> None:
    request = CommitRequest(session=session, transaction_id=transaction)
    database.db.spanner_api.commit(request, timeout=AT_ONCE_SECONDS, retry=None)


def write_at_once(database: Session, id: int) -> None:
    session = session_of(database)
    transaction = begin(database, session)
    insert(database, session, transaction, id)
    commit(database, session, transaction)


def users(database: Session) -> list[int]:
    return sorted(row[0] for row in database.query("SELECT UserId FROM Users"))


def test_a_session_that_is_deleted(database: Session) -> None:
    session = session_of(database)
    transaction = begin(database, session)
    insert(database, session, transaction, 1)
    database.db.spanner_api.delete_session(name=session)
    write_at_once(database, 2)
    with pytest.raises(GoogleAPICallError):
        commit(database, session, transaction)
    assert users(database) == [2]


def test_a_second_transaction_in_a_plain_session(database: Session) -> None:
    session = session_of(database)
    first = begin(database, session)
    insert(database, session, first, 1)
    second = begin(database, session)
    insert(database, session, second, 2)
    commit(database, session, second)
    with pytest.raises(Aborted):
        commit(database, session, first)
    assert users(database) == [2]


def test_the_previous_transaction_of_a_multiplexed_session(database: Session) -> None:
    session = session_of(database, multiplexed=True)
    first = begin(database, session)
    insert(database, session, first, 1)
    second = begin(database, session, previous=first)
    insert(database, session, second, 2)
    commit(database, session, second)
    assert users(database) == [2]


def test_partitioned_dml_that_failed(database: Session) -> None:
    database.write("INSERT INTO Users (UserId) VALUES (1)")
    session = session_of(database)
    begun = database.db.spanner_api.begin_transaction(session=session, options=PARTITIONED)
    request = ExecuteSqlRequest(
        session=session,
        sql="DELETE FROM Users WHERE 1 / (UserId - 1) > 0",
        transaction=TransactionSelector(id=begun.id),
        seqno=1,
    )
    with pytest.raises(GoogleAPICallError):
        database.db.spanner_api.execute_sql(request, timeout=AT_ONCE_SECONDS, retry=None)
    write_at_once(database, 2)
    assert users(database) == [1, 2]
