"""Core connections fail closed too, with and without a block around the transaction."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import bindparam, insert

from sqlalchemy_spanner_queues import MessageAlreadyAcknowledged, SpannerQueuesError
from tests.conformance.engines import World
from tests.conformance.helpers import DATABASE_ERRORS, FAILURES, caught, count, gone, send_jobs
from tests.conformance.models import Job, User

JOBS = Job.__table__
USERS = User.__table__
ONE = {"UserId": 1, "Welcomed": False}

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


def test_a_delete_that_hits_more_than_one_message_is_no_acknowledgment(ready: World) -> None:
    send_jobs(ready, "a", "b")
    with pytest.raises(MessageAlreadyAcknowledged), ready.engine.begin() as connection:
        connection.execute(JOBS.delete().where(JOBS.c.JobKey.in_(["a", "b"])))
    assert count(ready, Job) == 2


def make_deletes_fail(world: World) -> None:
    """Let the next DELETE of a job fail for a reason that has nothing to do with its guard."""
    if world.emulator is not None:
        world.emulator.inject("ExecuteStreamingSql", code="INVALID_ARGUMENT", times=1, match="DELETE FROM")
        return
    trigger = "CREATE TRIGGER broken BEFORE DELETE ON \"Jobs\" BEGIN SELECT RAISE(ABORT, 'broken'); END"
    with world.engine.begin() as connection:
        connection.exec_driver_sql(trigger)


def test_an_acknowledgment_that_fails_for_another_reason_holds_up_the_commit_too(ready: World) -> None:
    send_jobs(ready, "a")
    make_deletes_fail(ready)
    with ready.engine.connect() as connection:
        connection.execute(insert(USERS).values(**ONE))
        with caught(*DATABASE_ERRORS):
            connection.execute(JOBS.delete().where(JOBS.c.JobKey == "a"))
        with pytest.raises(DATABASE_ERRORS):
            connection.commit()
        connection.rollback()
    assert [count(ready, model) for model in (User, Job)] == [0, 1]
