"""A receiver ends promptly, whatever its stream does, and leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from sqlalchemy_spanner_queues import Receiver
from tests.conformance.conftest import leftover_threads, our_threads
from tests.conformance.engines import World
from tests.conformance.helpers import (
    Running,
    arrivals,
    arriving_keys,
    finish,
    keys,
    send_jobs,
    take_batch,
    take_one,
)
from tests.conformance.models import Job


@pytest.mark.parametrize("how", ["loop", "batches"])
def test_stop_ends_a_silent_loop_within_two_seconds(ready: World, how: str) -> None:
    receiver = Receiver(ready.engine, Job)
    assert arrivals(ready, receiver) == []
    waiting = Running(lambda: list(receiver if how == "loop" else receiver.batches()))
    assert not waiting.ended(0.2)
    started = time.monotonic()
    receiver.stop()
    assert waiting.result(2.0) == []
    assert time.monotonic() - started < 2.0


def test_stop_before_the_loop_and_twice_is_harmless(ready: World) -> None:
    before = our_threads()
    receiver = Receiver(ready.engine, Job)
    receiver.stop()
    with receiver:
        receiver.stop()
    assert leftover_threads(before) == []


def test_a_stopped_receiver_does_not_start_again(ready: World) -> None:
    send_jobs(ready, "a")
    receiver = Receiver(ready.engine, Job)
    take_one(receiver)
    receiver.stop()
    assert Running(lambda: list(receiver)).result(5.0) == []


def test_breaking_out_of_the_loop_leaves_no_thread_and_no_connection(ready: World) -> None:
    send_jobs(ready, "a", "b", "c")
    before = our_threads()
    with Receiver(ready.engine, Job) as receiver:
        for message in receiver:
            finish(ready.engine, message)
            break
    assert leftover_threads(before) == []
    assert ready.engine.pool.checkedout() == 0


def test_the_loop_goes_on_where_it_was_left(ready: World) -> None:
    send_jobs(ready, "a", "b", "c")
    with Receiver(ready.engine, Job) as receiver:
        found = [take_one(receiver) for _ in range(3)]
    assert keys(found) == ["a", "b", "c"]


@pytest.mark.parametrize("way", [take_one, take_batch], ids=lambda way: way.__name__)
def test_messages_of_a_receiver_that_stopped_come_back_though_others_receive(
    ready: World, way: Callable[[Receiver[Job]], object]
) -> None:
    send_jobs(ready, "held")
    with Receiver(ready.engine, Job, where=Job.key == "held") as other:
        take_one(other)
        send_jobs(ready, "a", "b", "c")
        with Receiver(ready.engine, Job, where=Job.key < "d") as stopped:
            way(stopped)
        for _ in range(3):
            ready.advance(4)
            assert other._keeper is not None
            other._keeper.beat()
        assert arriving_keys(ready) == ["a", "b", "c"]


def test_a_dropped_queue_raises_in_the_loop(ready: World) -> None:
    with Receiver(ready.engine, Job) as receiver:
        assert arrivals(ready, receiver) == []
    Job.__table__.drop(ready.engine)
    with Receiver(ready.engine, Job) as receiver, pytest.raises(Exception, match=r"(?i)jobs"):
        take_one(receiver)


def test_a_queue_that_is_dropped_meanwhile_ends_the_loop_with_an_error(ready: World) -> None:
    with Receiver(ready.engine, Job) as receiver:
        assert arrivals(ready, receiver) == []
        waiting = Running(lambda: take_one(receiver))
        assert not waiting.ended(0.2)
        Job.__table__.drop(ready.engine)
        with pytest.raises(Exception, match=r"(?i)jobs"):
            waiting.result()


def test_an_error_stays_when_the_loop_is_entered_again(world: World) -> None:
    with Receiver(world.engine, Job) as receiver:
        for _ in range(2):
            with pytest.raises(Exception, match=r"(?i)jobs"):
                take_one(receiver)
