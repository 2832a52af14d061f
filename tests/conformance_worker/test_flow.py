"""Nothing is taken that cannot start soon: it is others' to take, and no queue holds up another."""

from __future__ import annotations

from typing import Any

import pytest

from sqlalchemy_spanner_queues import Worker
from sqlalchemy_spanner_queues.worker import events
from tests.conformance.engines import World
from tests.conformance_worker.helpers import (
    Gate,
    others_get,
    pass_time,
    running,
    send_errands,
    send_tasks,
    tally,
    until,
    wait_until_held,
)
from tests.conformance_worker.models import Errand, Note, Task


@pytest.mark.parametrize("mode", ["transaction", "outside"])
@pytest.mark.usefixtures("beats_by_hand")
def test_what_no_handler_is_free_for_is_left_to_others(ready: World, mode: Any) -> None:
    worker, gate = Worker(ready.engine, concurrency=2), Gate()
    worker.handler(Task, mode=mode)(lambda message, *session: gate())
    with running(worker) as watch:
        send_tasks(ready, "a", "b")
        gate.wait(2)
        send_tasks(ready, "c", "d")
        assert others_get(ready) == ["c", "d"]
        gate.open()
        watch.wait(events.SUCCEEDED, number=2)
    assert watch.keys(events.STARTED) == ["a", "b"]


@pytest.mark.usefixtures("beats_by_hand")
def test_no_more_is_taken_than_there_are_handlers_free(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=2), Gate()
    worker.handler(Task)(lambda message, session: gate())
    with running(worker) as watch:
        send_tasks(ready, "a")
        gate.wait()
        send_tasks(ready, "b", "c", "d")
        gate.wait()
        pass_time(ready, worker, 12)
        left = others_get(ready)
        gate.open()
        watch.wait(events.SUCCEEDED, number=2)
    # A stream of Spanner that is still open keeps the batch size that it was opened with: one more may wait.
    assert len(left) == 2 or (ready.emulator is not None and len(left) == 1)


def test_a_slow_handler_holds_up_no_other_queue(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1), Gate()
    worker.handler(Task, mode="outside")(lambda message: gate())
    worker.handler(Errand)(lambda message, session: None)
    send_tasks(ready, "a", "b")
    with running(worker) as watch:
        gate.wait()
        send_errands(ready, "x", "y", "z")
        watch.wait(events.SUCCEEDED, number=3)
        assert {event.queue for event in watch.named(events.SUCCEEDED)} == {"Errands"}
        gate.open()
        watch.wait(events.SUCCEEDED, number=5)
    assert tally(ready) == {}


def large(key: str) -> Task:
    return Task(key=key, payload=Note("x" * 1000))


@pytest.mark.parametrize(("most", "left"), [(1, 4), (2**20, 0)])
@pytest.mark.usefixtures("beats_by_hand")
def test_no_more_bytes_wait_than_the_limit(ready: World, most: int, left: int) -> None:
    worker, gate = Worker(ready.engine, concurrency=1, max_batch_size=5, max_waiting_bytes=most), Gate()
    worker.handler(Task)(lambda message, session: gate())
    send_tasks(ready, *"abcde")
    with running(worker) as watch:
        gate.wait()
        wait_until_held(worker, 5 - left)
        pass_time(ready, worker, 12)
        assert len(others_get(ready)) == left
        gate.open()
        watch.wait(events.SUCCEEDED, number=5 - left)


def test_a_handler_that_is_free_again_takes_what_was_left(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1), Gate()
    worker.handler(Task)(lambda message, session: gate())
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        send_tasks(ready, "b", "c")
        gate.open()
        until("all are done", lambda: len(watch.named(events.SUCCEEDED)) == 3)
    assert tally(ready) == {}
