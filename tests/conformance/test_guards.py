"""An acknowledgment that fails, or a duplicate, fails closed: nothing of its transaction is ever stored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import bindparam, insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import (
    MessageAlreadyAcknowledged,
    SpannerQueuesError,
    acknowledge,
    reschedule,
)
from tests.conformance.engines import World
from tests.conformance.helpers import FAILURES, caught, count, gone
from tests.conformance.models import Job, User

JOBS = Job.__table__
USERS = User.__table__
ONE = {"UserId": 1, "Welcomed": False}


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


def test_the_error_names_queue_and_key(ready: World) -> None:
    job = gone(ready)
    with Session(ready.engine) as session, pytest.raises(MessageAlreadyAcknowledged) as raised:
        by_acknowledge(session, job)
    assert raised.value.queue == "Jobs"
    assert [list(key.values()) for key in raised.value.keys] == [["gone"]]
    assert "gone" in str(raised.value)
