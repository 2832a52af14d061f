"""An acknowledgment that fails, or a duplicate, fails closed: nothing of its transaction is ever stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import bindparam, insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import (
    MessageAlreadyAcknowledged,
    MessageAlreadyExists,
    Receiver,
    SpannerQueuesError,
    acknowledge,
    reschedule,
)
from tests.conformance.engines import World
from tests.conformance.helpers import Running, caught, count, finish, send, send_jobs, take_batch, take_one
from tests.conformance.models import Job, User

JOBS = Job.__table__
USERS = User.__table__
FAILURES = (MessageAlreadyAcknowledged, MessageAlreadyExists)
ONE = {"UserId": 1, "Welcomed": False}


def gone(world: World) -> Job:
    """Return a received message that somebody else has acknowledged."""
    send_jobs(world, "gone", "kept")
    with Receiver(world.engine, Job, max_batch_size=10) as receiver:
        job = next(job for job in take_batch(receiver) if job.key == "gone")
    finish(world.engine, job)
    return job


def by_acknowledge(session: Session, job: Job) -> None:
    acknowledge(session, job)
    session.flush()


def by_session_delete(session: Session, job: Job) -> None:
    session.delete(job)
    session.flush()


def by_reschedule(session: Session, job: Job) -> None:
    reschedule(session, job)


def by_statement(session: Session, job: Job) -> None:
    session.execute(JOBS.delete().where(JOBS.c.JobKey == job.key))


def by_statements(session: Session, job: Job) -> None:
    session.connection().execute(
        JOBS.delete().where(JOBS.c.JobKey == bindparam("k")), [{"k": "kept"}, {"k": job.key}]
    )


def by_batch(session: Session, job: Job) -> None:
    acknowledge(session, session.get_one(Job, "kept"), job)
    session.flush()


def by_duplicate(session: Session, job: Job) -> None:
    session.add(Job(key="kept", payload=b"again"))
    session.flush()


def by_duplicate_statement(session: Session, job: Job) -> None:
    session.execute(JOBS.insert().values(JobKey="kept", payload=b"again"))


WAYS = [
    by_acknowledge,
    by_session_delete,
    by_reschedule,
    by_statement,
    by_statements,
    by_batch,
    by_duplicate,
    by_duplicate_statement,
]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def assert_untouched_and_usable(world: World, session: Session) -> None:
    """See that nothing was stored, and that a rollback makes the session usable again."""
    assert [count(world, model) for model in (User, Job)] == [0, 1]
    session.rollback()
    session.add(User(user_id=2))
    session.commit()
    assert [count(world, model) for model in (User, Job)] == [1, 1]


@each_way
def test_a_session_cannot_commit_after_a_caught_failure(ready: World, way: Callable[..., None]) -> None:
    job = gone(ready)
    with Session(ready.engine) as session:
        session.add(User(user_id=1))
        session.flush()
        with caught(*FAILURES):
            way(session, job)
        with pytest.raises((SpannerQueuesError, SQLAlchemyError)):
            session.commit()
        session.rollback()
        assert_untouched_and_usable(ready, session)


@each_way
def test_a_begin_block_stores_nothing_after_a_caught_failure(ready: World, way: Callable[..., None]) -> None:
    job = gone(ready)
    with Session(ready.engine) as session:
        # Where the flush failed SQLAlchemy has rolled back already, and leaves the block in silence.
        with suppress(SpannerQueuesError, SQLAlchemyError), session.begin():
            session.add(User(user_id=1))
            session.flush()
            with caught(*FAILURES):
                way(session, job)
        assert_untouched_and_usable(ready, session)


@each_way
def test_later_work_of_the_same_session_does_not_commit_either(
    ready: World, way: Callable[..., None]
) -> None:
    job = gone(ready)
    with Session(ready.engine) as session:
        with caught(*FAILURES):
            way(session, job)
        with suppress(SpannerQueuesError, SQLAlchemyError):
            session.execute(insert(USERS), ONE)
            session.commit()
        session.rollback()
        assert_untouched_and_usable(ready, session)


@each_way
@pytest.mark.parametrize(
    "mode", ["conditional_savepoint", "create_savepoint", "rollback_only", "control_fully"]
)
def test_the_transaction_around_a_session_stores_nothing_either(
    ready: World, way: Callable[..., None], mode: Any
) -> None:
    if mode == "create_savepoint" and not ready.savepoints:
        pytest.skip("the database has no savepoints")
    job = gone(ready)
    with ready.engine.connect() as connection:
        connection.execute(insert(USERS), ONE)
        with Session(connection, join_transaction_mode=mode) as session, caught(*FAILURES):
            way(session, job)
        with suppress(SpannerQueuesError, SQLAlchemyError):
            connection.commit()
        connection.rollback()
    assert [count(ready, model) for model in (User, Job)] == [0, 1]


STATEMENTS: dict[str, tuple[Any, Any]] = {
    "delete": (JOBS.delete().where(JOBS.c.JobKey == "gone"), None),
    "deletes": (JOBS.delete().where(JOBS.c.JobKey == bindparam("k")), [{"k": "kept"}, {"k": "gone"}]),
    "insert": (JOBS.insert(), {"JobKey": "kept", "payload": b""}),
    "inserts": (JOBS.insert(), [{"JobKey": "new", "payload": b""}, {"JobKey": "kept", "payload": b""}]),
}
each_statement = pytest.mark.parametrize(
    ("statement", "parameters"), STATEMENTS.values(), ids=list(STATEMENTS)
)


@each_statement
def test_a_connection_cannot_commit_after_a_caught_failure(
    ready: World, statement: Any, parameters: Any
) -> None:
    gone(ready)
    with ready.engine.connect() as connection:
        connection.execute(insert(USERS), ONE)
        with caught(*FAILURES):
            connection.execute(statement, parameters)
        with pytest.raises(SpannerQueuesError):
            connection.commit()
        connection.rollback()
        assert [count(ready, model) for model in (User, Job)] == [0, 1]
        connection.execute(insert(USERS), {"UserId": 2, "Welcomed": False})
        connection.commit()
    assert [count(ready, model) for model in (User, Job)] == [1, 1]


@each_statement
def test_a_connection_block_cannot_commit_after_a_caught_failure(
    ready: World, statement: Any, parameters: Any
) -> None:
    gone(ready)

    def carelessly() -> None:
        with ready.engine.begin() as connection:
            connection.execute(insert(USERS), ONE)
            with caught(*FAILURES):
                connection.execute(statement, parameters)

    with pytest.raises(SpannerQueuesError):
        carelessly()
    assert [count(ready, model) for model in (User, Job)] == [0, 1]
    with ready.engine.begin() as connection:
        connection.execute(insert(USERS), ONE)
    assert count(ready, User) == 1


def test_a_savepoint_does_not_save_the_transaction(ready: World) -> None:
    if not ready.savepoints:
        pytest.skip("the database has no savepoints")
    job = gone(ready)
    with Session(ready.engine) as session:
        session.add(User(user_id=1))
        session.flush()
        with caught(MessageAlreadyAcknowledged), session.begin_nested():
            acknowledge(session, job)
        with pytest.raises(MessageAlreadyAcknowledged):
            session.commit()
        session.rollback()
        assert_untouched_and_usable(ready, session)


def test_a_delete_that_hits_more_than_one_message_is_no_acknowledgment(ready: World) -> None:
    send_jobs(ready, "a", "b")
    with pytest.raises(MessageAlreadyAcknowledged), ready.engine.begin() as connection:
        connection.execute(JOBS.delete().where(JOBS.c.JobKey.in_(["a", "b"])))
    assert count(ready, Job) == 2


def test_the_error_names_queue_and_key(ready: World) -> None:
    job = gone(ready)
    with Session(ready.engine) as session, pytest.raises(MessageAlreadyAcknowledged) as raised:
        by_acknowledge(session, job)
    assert raised.value.queue == "Jobs"
    assert [list(key.values()) for key in raised.value.keys] == [["gone"]]
    assert "gone" in str(raised.value)


def test_many_messages_are_acknowledged_in_one_transaction(ready: World) -> None:
    send_jobs(ready, *(f"j{number:03}" for number in range(120)))
    done = 0
    with Receiver(ready.engine, Job, max_batch_size=50) as receiver:
        while done < 120:
            batch = take_batch(receiver)
            with Session(ready.engine) as session, session.begin():
                session.add(User(user_id=done))
                acknowledge(session, *batch)
            done += len(batch)
    assert (done, count(ready, Job)) == (120, 0)


def test_of_two_sessions_that_acknowledge_one_message_exactly_one_commits(ready: World) -> None:
    send_jobs(ready, *(f"j{number}" for number in range(5)))
    with Receiver(ready.engine, Job) as receiver:
        batch = take_batch(receiver)
    for number, job in enumerate(batch):
        together = threading.Barrier(2, timeout=10)

        def attempt(user_id: int, job: Job = job, together: threading.Barrier = together) -> str:
            with Session(ready.engine) as session:
                session.add(User(user_id=user_id))
                acknowledge(session, job)
                together.wait()
                try:
                    session.commit()
                except MessageAlreadyAcknowledged:
                    return "refused"
                return "committed"

        ours, theirs = (
            Running(lambda n=n, attempt=attempt: attempt(n)) for n in (2 * number, 2 * number + 1)
        )
        assert sorted([ours.result(), theirs.result()]) == ["committed", "refused"]
    assert [count(ready, model) for model in (User, Job)] == [len(batch), 0]


def test_a_second_acknowledgment_after_processing_is_refused(ready: World) -> None:
    send(ready, User(user_id=1))
    send_jobs(ready, "a")
    with Receiver(ready.engine, Job) as receiver:
        message = take_one(receiver)
        with receiver.processing(message) as session:
            session.get_one(User, 1).welcomed = True
        with pytest.raises(MessageAlreadyAcknowledged), receiver.processing(message) as session:
            session.get_one(User, 1).welcomed = False
    with Session(ready.engine) as session:
        assert session.get_one(User, 1).welcomed
