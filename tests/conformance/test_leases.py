"""A lease is kept as long as its handler works, ends with it, and only the database says that it is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import LeaseLost, MessageAlreadyAcknowledged, Receiver, acknowledge
from sqlalchemy_spanner_queues.receiver import keeper as keeper_module
from sqlalchemy_spanner_queues.receiver.keeper import LeaseKeeper
from tests.conformance.engines import World
from tests.conformance.helpers import (
    Running,
    arriving_keys,
    count,
    finish,
    keys,
    send_jobs,
    take,
    take_batch,
    take_one,
    working_receiver,
)
from tests.conformance.models import Job, User


@pytest.fixture(autouse=True)
def _beats_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases be renewed when the test says so, and at no other time."""
    monkeypatch.setattr(keeper_module, "BEAT_SECONDS", 3600.0)


def keeper_of(receiver: Receiver[Job]) -> LeaseKeeper:
    assert receiver._keeper is not None
    return receiver._keeper


def pass_time(world: World, receiver: Receiver[Job], seconds: int) -> None:
    """Let time pass with a beat every 4 seconds."""
    for _ in range(0, seconds, 4):
        world.advance(4)
        assert keeper_of(receiver).beat()


def test_a_handler_that_takes_25_seconds_is_given_its_message_once(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        message = take_one(receiver)
        with receiver.processing(message) as session:
            session.add(User(user_id=1))
            pass_time(ready, receiver, 28)
            assert arriving_keys(ready) == []
            message.lease.raise_if_lost()
    assert [count(ready, model) for model in (User, Job)] == [1, 0]


def test_a_batch_that_waits_keeps_its_leases_while_the_first_is_worked_on(ready: World) -> None:
    send_jobs(ready, *"abcde")
    with working_receiver(ready, max_batch_size=5) as receiver:
        loop = iter(receiver)
        first = Running(lambda: next(loop)).result()
        with receiver.processing(first):
            pass_time(ready, receiver, 28)
            assert arriving_keys(ready) == []
        done = [first]
        for _ in range(4):
            message = Running(lambda: next(loop)).result()
            with receiver.processing(message):
                pass_time(ready, receiver, 8)
            done.append(message)
    assert keys(done) == list("abcde")
    assert count(ready, Job) == 0


def test_a_batch_keeps_all_its_leases(ready: World) -> None:
    send_jobs(ready, *"abc")
    with working_receiver(ready) as receiver:
        batch = take_batch(receiver)
        pass_time(ready, receiver, 28)
        assert arriving_keys(ready) == []
        finish(ready.engine, *batch)


def test_a_renewal_changes_the_token_and_the_expiry(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        lease = take_one(receiver).lease
        seen = {lease.token}
        for number in range(3):
            before = lease.expires_at
            pass_time(ready, receiver, 4)
            assert lease.expires_at - before > timedelta(seconds=3.5)
            seen.add(lease.token)
            assert len(seen) == number + 2


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


def test_processing_that_raises_ends_the_renewal_and_stores_nothing(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        message = take_one(receiver)

        def work() -> None:
            with receiver.processing(message) as session:
                session.add(User(user_id=1))
                session.flush()
                raise LookupError

        with pytest.raises(LookupError):
            work()
        pass_time(ready, receiver, 12)
        assert arriving_keys(ready) == ["a"]
        assert not message.lease.lost.is_set()
    assert count(ready, User) == 0


def test_asking_for_the_next_message_ends_the_renewal_of_the_one_before(ready: World) -> None:
    send_jobs(ready, "a", "b")
    with working_receiver(ready) as receiver:
        first, second = take(receiver, 2)
        pass_time(ready, receiver, 12)
        assert arriving_keys(ready) == [first.key]
        assert not second.lease.lost.is_set()


def test_stop_ends_the_renewal(ready: World) -> None:
    send_jobs(ready, "a")
    with working_receiver(ready) as receiver:
        take_one(receiver)
        keeper = keeper_of(receiver)
    ready.advance(5)
    keeper.beat()
    ready.advance(5)
    assert arriving_keys(ready) == ["a"]


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


def test_one_keeper_renews_the_leases_of_all_receivers_of_a_queue(ready: World) -> None:
    send_jobs(ready, "a", "b")
    with (
        working_receiver(ready, where=Job.key == "a") as one,
        working_receiver(ready, where=Job.key == "b") as other,
    ):
        messages = [take_one(one), take_one(other)]
        assert keeper_of(one) is keeper_of(other)
        tokens = {message.lease.token for message in messages}
        pass_time(ready, one, 24)
        assert not any(message.lease.lost.is_set() for message in messages)
        assert tokens.isdisjoint(message.lease.token for message in messages)
