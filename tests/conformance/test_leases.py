"""A lease is kept as long as its handler works, and ends with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.conformance.engines import World
from tests.conformance.helpers import (
    Running,
    arriving_keys,
    count,
    finish,
    keeper_of,
    keys,
    pass_time,
    send_jobs,
    take,
    take_batch,
    take_one,
    wait_until_held,
    working_receiver,
)
from tests.conformance.models import Job, User

pytestmark = pytest.mark.usefixtures("beats_by_hand")


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
        wait_until_held(receiver, 5)
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
