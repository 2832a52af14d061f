"""Sessions that commit statement by statement cannot keep the promise, and are refused before any work."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver, Worker
from sqlalchemy_spanner_queues.exc import NotTransactional
from tests.conformance.conftest import OpenWorld
from tests.conformance.engines import World, sqlite_world
from tests.conformance.helpers import count, send_jobs, take_one
from tests.conformance.models import Base, Job, User


@pytest.fixture
def world(open_world: OpenWorld) -> World:
    world = open_world()
    world.create(Base.metadata)
    send_jobs(world, "a")
    return world


def autocommit_session(world: World) -> Session:
    return Session(world.engine.execution_options(isolation_level="AUTOCOMMIT"))


def test_a_receiver_refuses_autocommit(world: World) -> None:
    with Receiver(world.engine, Job, session_factory=lambda: autocommit_session(world)) as receiver:
        message = take_one(receiver)
        with (
            pytest.raises(NotTransactional, match=r"AUTOCOMMIT.*session_factory="),
            receiver.processing(message) as session,
        ):
            session.add(User(user_id=1))
    assert [count(world, model) for model in (User, Job)] == [0, 1]


def test_a_worker_refuses_autocommit(world: World) -> None:
    worker = Worker(world.engine, session_factory=lambda: autocommit_session(world))

    @worker.handler(Job)
    def work(message: Job, session: Session) -> None:
        session.add(User(user_id=1))

    with pytest.raises(NotTransactional):
        worker.drain(timeout=8)
    assert [count(world, model) for model in (User, Job)] == [0, 1]


def test_transactions_that_the_application_begins_itself_are_transactions(tmp_path: Path) -> None:
    """The usual recipe for SQLite's driver, whose own transactions begin late."""
    world = sqlite_world("sqlite-file", tmp_path)

    @event.listens_for(world.engine, "connect")
    def leave_it_to_us(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None

    @event.listens_for(world.engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    world.create(Base.metadata)
    send_jobs(world, "a")
    with Receiver(world.engine, Job) as receiver, receiver.processing(take_one(receiver)) as session:
        session.add(User(user_id=1))
    assert [count(world, model) for model in (User, Job)] == [1, 0]
    world.engine.dispose()
