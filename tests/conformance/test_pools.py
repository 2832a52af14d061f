"""A receiver takes nothing from the application's pool for long, and minds none of its engine's settings."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver, acknowledge
from sqlalchemy_spanner_queues.emulator.clients import make_engine
from tests.conformance.conftest import OpenWorld
from tests.conformance.engines import World, emulator_world
from tests.conformance.helpers import Running, arrivals, count, finish, send, send_jobs, take_one
from tests.conformance.models import Base, Job, User


def single_connection(open_world: OpenWorld) -> World:
    world = open_world(pool_size=1, max_overflow=0, pool_timeout=3)
    world.create(Base.metadata)
    return world


def test_a_pool_of_one_connection_is_enough_for_the_whole_job(open_world: OpenWorld) -> None:
    world = single_connection(open_world)
    send_jobs(world, "a", "b")
    with Receiver(world.engine, Job, max_batch_size=1) as receiver:
        for number in range(2):
            message = take_one(receiver)
            with receiver.processing(message) as session:
                session.add(User(user_id=number))
    assert [count(world, model) for model in (User, Job)] == [2, 0]


def test_a_silent_receiver_holds_no_connection(open_world: OpenWorld) -> None:
    world = single_connection(open_world)
    with Receiver(world.engine, Job) as receiver:
        assert arrivals(world, receiver) == []
        waiting = Running(lambda: take_one(receiver))
        for number in range(5):
            send(world, User(user_id=number))
        send_jobs(world, "a")
        finish(world.engine, waiting.result())
    assert world.engine.pool.checkedout() == 0


def test_breaking_out_leaves_the_only_connection_ready_to_write(open_world: OpenWorld) -> None:
    world = single_connection(open_world)
    send_jobs(world, "a")
    with Receiver(world.engine, Job) as receiver:
        message = next(iter(receiver))
        with Session(world.engine) as session, session.begin():
            session.add(User(user_id=1))
            acknowledge(session, message)
    assert [count(world, model) for model in (User, Job)] == [1, 0]


def test_leases_are_kept_while_a_session_holds_the_only_connection(open_world: OpenWorld) -> None:
    world = single_connection(open_world)
    send_jobs(world, "a")
    with Receiver(world.engine, Job) as receiver:
        message = take_one(receiver)
        keeper, token = receiver._keeper, message.lease.token
        assert keeper is not None
        with Session(world.engine) as session:
            session.scalars(select(User)).all()
            assert Running(keeper.beat).result(2.0)
            assert message.lease.token != token
            acknowledge(session, message)
            session.commit()


def test_a_receiver_starts_while_a_session_holds_the_only_connection(open_world: OpenWorld) -> None:
    world = single_connection(open_world)
    send_jobs(world, "a")
    with Receiver(world.engine, Job) as receiver, Session(world.engine) as session:
        session.scalars(select(User)).all()
        assert take_one(receiver, timeout=2.0).key == "a"


SETTINGS: list[dict[str, Any]] = [
    {"isolation_level": "SERIALIZABLE"},
    {"isolation_level": "REPEATABLE READ"},
    {"isolation_level": "AUTOCOMMIT"},
    {"execution_options": {"read_only": True}},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_engines_isolation_does_not_matter_to_receiving(emulator: Any, settings: dict[str, Any]) -> None:
    # These are settings of the Spanner driver; SQLite has no such thing as a read-only engine.
    emulator.reset()
    plain = emulator_world(emulator)
    plain.create(Base.metadata)
    send_jobs(plain, "a", "b")
    engine = make_engine(emulator.host, plain.engine.url.database or "", **settings)
    with Receiver(engine, Job) as receiver:
        message = take_one(receiver)
        keeper, token = receiver._keeper, message.lease.token
        assert keeper is not None
        assert keeper.beat()
        assert message.lease.token != token
    engine.dispose()
    plain.engine.dispose()
