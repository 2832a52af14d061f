"""Only the database says that a lease is lost; then nothing of the handler's work commits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import LeaseLost, MessageAlreadyAcknowledged, acknowledge
from tests.conformance.engines import World
from tests.conformance.helpers import (
    arriving_keys,
    count,
    finish,
    keeper_of,
    pass_time,
    send_jobs,
    take_batch,
    take_one,
    working_receiver,
)
from tests.conformance.models import Job, User

pytestmark = pytest.mark.usefixtures("beats_by_hand")


def test_a_late_beat_is_no_loss_while_the_database_still_holds_the_lease(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        message = take_one(receiver)
        ready.advance(9)
        assert keeper_of(receiver).beat()
        assert not message.lease.lost.is_set()
        ready.advance(5)
        assert arriving_keys(ready) == []


def test_without_a_beat_the_lease_is_lost_and_the_next_beat_tells(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        message = take_one(receiver)
        ready.advance(10)
        assert not message.lease.lost.is_set()
        assert arriving_keys(ready) == ["a"]
        keeper_of(receiver).beat()
        assert message.lease.lost.is_set()
        with pytest.raises(LeaseLost) as raised:
            message.lease.raise_if_lost()
        assert raised.value.queue == "Jobs"
        assert list(raised.value.keys.values()) == ["a"]


def test_processing_a_lost_message_raises_and_commits_nothing(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        message = take_one(receiver)

        def work() -> None:
            with receiver.processing(message) as session:
                session.add(User(user_id=1))
                ready.advance(10)
                keeper_of(receiver).beat()
                assert message.lease.lost.wait(0)

        with pytest.raises(LeaseLost):
            work()
        with pytest.raises(LeaseLost), receiver.processing(message):
            pytest.fail("the block runs although the lease is lost")
    assert [count(ready, model) for model in (User, Job)] == [0, 1]


def test_max_lease_ends_the_renewal_of_a_handler_that_never_returns(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready, max_lease=timedelta(0)) as receiver:
        message = take_one(receiver)
        pass_time(ready, receiver, 4)
        assert message.lease.lost.is_set()
        with pytest.raises(LeaseLost, match="longest"):
            message.lease.raise_if_lost()
        pass_time(ready, receiver, 8)
        assert arriving_keys(ready) == ["a"]


def test_the_lease_of_a_message_that_somebody_acknowledged_is_lost(ready: World) -> None:
    send_jobs(ready, "a", "b")
    with working_receiver(ready) as receiver:
        batch = {job.key: job for job in take_batch(receiver)}
        finish(ready.engine, batch["a"])
        pass_time(ready, receiver, 4)
        assert batch["a"].lease.lost.is_set()
        assert "acknowledged" in batch["a"].lease.reason
        assert not batch["b"].lease.lost.is_set()


def test_an_acknowledgment_that_is_under_way_is_no_loss(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        message = take_one(receiver)
        with receiver.processing(message):
            pass
        keeper_of(receiver).beat()
        assert not message.lease.lost.is_set()


def test_a_message_whose_acknowledgment_failed_once_is_run_again_on_redelivery(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        for attempt in range(3):
            message = take_one(receiver)
            with Session(ready.engine) as session:
                session.add(User(user_id=1))
                acknowledge(session, message)
                session.flush()
                session.rollback()
            with pytest.raises(LookupError), receiver.processing(message):
                raise LookupError
            ready.advance(10 + 2**attempt)
        with receiver.processing(take_one(receiver)) as session:
            session.add(User(user_id=1))
    assert [count(ready, model) for model in (User, Job)] == [1, 0]


def test_a_redelivered_message_can_be_acknowledged_by_the_first_to_finish_only(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as slow, working_receiver(ready) as fast:
        late = take_one(slow)
        slow.stop()
        ready.advance(10)
        with fast.processing(take_one(fast)) as session:
            session.add(User(user_id=1))
        with pytest.raises(MessageAlreadyAcknowledged), slow.processing(late) as session:
            session.add(User(user_id=2))
    assert [count(ready, model) for model in (User, Job)] == [1, 0]
