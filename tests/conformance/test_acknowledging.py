"""Many messages in one transaction, and one message in many."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import MessageAlreadyAcknowledged, Receiver, acknowledge
from tests.conformance.engines import World
from tests.conformance.helpers import Running, count, send, send_jobs, take_batch, take_one
from tests.conformance.models import Job, User


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
