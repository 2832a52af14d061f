"""A received message is plain data: readable, loaded and picklable, whatever becomes of its transaction."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import inspect
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import MessageAlreadyAcknowledged, Receiver, SpannerQueuesError, acknowledge
from tests.conformance.engines import World
from tests.conformance.helpers import finish, send, take_one
from tests.conformance.models import Job, User, Welcome, WelcomeEmail


def received(world: World) -> WelcomeEmail:
    send(
        world,
        User(user_id=1),
        WelcomeEmail(user_id=1, message_id="m", payload=Welcome("hi", "a@example.com")),
    )
    with Receiver(world.engine, WelcomeEmail) as receiver:
        return take_one(receiver)


def assert_readable(message: WelcomeEmail) -> None:
    for copy in (message, pickle.loads(pickle.dumps(message))):
        assert (copy.user_id, copy.message_id) == (1, "m")
        assert copy.payload == Welcome("hi", "a@example.com")
        assert copy.deliver_time.utcoffset() == timedelta(0)
        assert copy.lease.token == message.lease.token
        assert not copy.lease.lost.is_set()


def test_it_is_detached_and_fully_loaded(ready: World) -> None:
    message = received(ready)
    state: Any = inspect(message)
    assert state.detached
    assert state.unloaded <= {"user", "_queue_parent"}
    assert_readable(message)


def test_it_is_readable_after_acknowledgment_commit_and_the_end_of_the_session(ready: World) -> None:
    message = received(ready)
    with Session(ready.engine) as session:
        acknowledge(session, message)
        assert_readable(message)
        session.flush()
        assert_readable(message)
        session.commit()
        assert_readable(message)
    assert_readable(message)


def test_it_is_readable_after_deletion_in_a_session(ready: World) -> None:
    message = received(ready)
    with Session(ready.engine) as session:
        session.delete(message)
        session.flush()
        assert_readable(message)
        session.commit()
        assert_readable(message)
    assert_readable(message)


@pytest.mark.parametrize("way", [acknowledge, Session.delete], ids=["acknowledge", "delete"])
def test_it_is_readable_after_a_rollback_and_can_be_acknowledged_then(
    ready: World, way: Callable[..., None]
) -> None:
    message = received(ready)
    with Session(ready.engine) as session:
        way(session, message)
        session.flush()
        session.rollback()
        assert_readable(message)
    assert_readable(message)
    finish(ready.engine, message)
    assert_readable(message)


def test_it_is_readable_after_a_failed_acknowledgment(ready: World) -> None:
    message = received(ready)
    finish(ready.engine, message)
    for way in (acknowledge, Session.delete):
        with Session(ready.engine) as session:
            way(session, message)
            with pytest.raises(MessageAlreadyAcknowledged):
                session.flush()
            session.rollback()
            assert_readable(message)
        assert_readable(message)


def test_it_can_be_added_to_a_session_like_any_detached_instance(ready: World) -> None:
    message = received(ready)
    with Session(ready.engine) as session:
        session.add(message)
        assert message.user.user_id == 1
        session.commit()
        assert_readable(message)
        session.expire_all()
        assert_readable(message)
        acknowledge(session, message)
        session.commit()
    assert_readable(message)


def test_processing_leaves_it_readable(ready: World) -> None:
    send(
        ready,
        User(user_id=1),
        WelcomeEmail(user_id=1, message_id="m", payload=Welcome("hi", "a@example.com")),
    )
    with Receiver(ready.engine, WelcomeEmail) as receiver:
        message = take_one(receiver)
        with receiver.processing(message) as session:
            assert message not in session
            assert_readable(message)
        assert_readable(message)


def test_a_message_that_was_not_received_has_no_lease(ready: World) -> None:
    with pytest.raises(SpannerQueuesError, match="Receiver"):
        Job(key="a", payload=b"").lease  # noqa: B018
