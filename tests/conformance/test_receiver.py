"""Messages arrive mapped, promptly, to one receiver at a time, and come back when not acknowledged."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy import inspect
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver
from tests.conformance.engines import World
from tests.conformance.helpers import (
    MARKER,
    Running,
    arrivals,
    arriving_keys,
    count,
    finish,
    keys,
    send_jobs,
    take,
    take_batch,
    take_one,
)
from tests.conformance.models import HeldBase, HeldJob, Job

PROMPT_SECONDS = 2.0


def test_messages_are_mapped_and_detached_and_keep_their_values(ready: World) -> None:
    send_jobs(ready, "a", "b")
    with Receiver(ready.engine, Job) as receiver:
        found = take(receiver, 2)
    assert {job.key: job.payload for job in found} == {"a": b"a", "b": b"b"}
    assert all(type(job) is Job and inspect(job).detached and not inspect(job).unloaded for job in found)


def test_a_receiver_that_waits_already_gets_a_message_promptly(ready: World) -> None:
    with Receiver(ready.engine, Job) as receiver:
        assert arrivals(ready, receiver) == []
        waiting = Running(lambda: take_one(receiver))
        send_jobs(ready, "a")
        sent = time.monotonic()
        assert waiting.result().key == "a"
        assert time.monotonic() - sent < PROMPT_SECONDS


def test_a_waiting_receiver_gets_a_message_when_it_becomes_due(ready: World) -> None:
    with Session(ready.engine) as session, session.begin():
        session.add(Job(key="a", payload=b"", delay=timedelta(seconds=0.3)))
    with Receiver(ready.engine, Job) as receiver:
        assert take_one(receiver).key == "a"


@pytest.mark.parametrize("size", [1, 3])
def test_batches_hold_at_most_their_size_and_bring_everything(ready: World, size: int) -> None:
    send_jobs(ready, *"abcdefg")
    with Receiver(ready.engine, Job, max_batch_size=size) as receiver:
        found: list[Job] = []
        while len(found) < 7:
            batch = take_batch(receiver)
            assert 1 <= len(batch) <= size
            finish(ready.engine, *batch)
            found += batch
    assert keys(found) == list("abcdefg")
    assert count(ready, Job) == 0


def test_messages_that_are_due_together_come_as_one_batch(ready: World) -> None:
    send_jobs(ready, *"abcde")
    with Receiver(ready.engine, Job, max_batch_size=20) as receiver:
        assert keys(take_batch(receiver)) == list("abcde")


def test_nothing_more_is_leased_than_the_batch_that_is_worked_on(ready: World) -> None:
    send_jobs(ready, *"abcde")
    with Receiver(ready.engine, Job, max_batch_size=2) as first:
        ours = keys(take_batch(first))
        theirs = arriving_keys(ready)
    assert sorted(ours + theirs) == list("abcde")


def test_two_receivers_never_share_a_message_while_its_lease_runs(ready: World) -> None:
    names = [f"j{number:02}" for number in range(40)]
    send_jobs(ready, *names)
    seen: list[str] = []
    lock = threading.Lock()

    def work() -> None:
        with Receiver(ready.engine, Job, max_batch_size=3) as receiver:
            while len(seen) < len(names):
                batch = next(receiver.batches())
                with lock:
                    seen.extend(job.key for job in batch if job.key != MARKER)
                finish(ready.engine, *batch)

    workers = [Running(work) for _ in range(2)]
    while not all(worker.ended(0.05) for worker in workers):
        # Whoever waits for more when all is done is woken by a marker.
        if len(seen) >= len(names) and count(ready, Job) == 0:
            send_jobs(ready, MARKER)
    for worker in workers:
        worker.result()
    assert sorted(seen) == names


def test_an_unacknowledged_message_is_delivered_again_with_growing_pauses(ready: World) -> None:
    send_jobs(ready, "a")
    for pause in (0, 1, 2, 4, 8):
        assert arriving_keys(ready) == ["a"]
        assert arriving_keys(ready) == []
        ready.advance(8 + pause)
        assert arriving_keys(ready) == []
        ready.advance(2)
    assert arriving_keys(ready) == ["a"]


def test_a_waiting_receiver_gets_the_message_that_another_has_let_go(ready: World) -> None:
    send_jobs(ready, "a")
    assert arriving_keys(ready) == ["a"]
    with Receiver(ready.engine, Job) as receiver:
        assert arrivals(ready, receiver) == []
        waiting = Running(lambda: take_one(receiver))
        assert not waiting.ended(0.2)
        ready.advance(10)
        # SQLite's receiver looks at its clock again when anything happens in the database.
        send_jobs(ready, "b")
        assert waiting.result().key in ("a", "b")


def test_disable_delivery_delivers_nothing_and_raises_nothing(world: World) -> None:
    world.create(HeldBase.metadata)
    with Session(world.engine) as session, session.begin():
        session.add(HeldJob(key="a", payload=b""))
    with Receiver(world.engine, HeldJob) as receiver:
        waiting = Running(lambda: list(receiver))
        assert not waiting.ended(0.5)
        receiver.stop()
        assert waiting.result() == []
    assert count(world, HeldJob) == 1


def test_a_short_stream_is_opened_again_when_its_time_is_over(ready: World) -> None:
    with Receiver(ready.engine, Job, max_duration=timedelta(seconds=1)) as receiver:
        assert arrivals(ready, receiver) == []
        ready.advance(5)
        waiting = Running(lambda: take_one(receiver))
        assert not waiting.ended(1.2)
        send_jobs(ready, "a")
        assert waiting.result().key == "a"
