"""drain() works on what is due, once each, and returns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Retry, Worker
from sqlalchemy_spanner_queues.worker import events, supervising
from tests.conformance.engines import World
from tests.conformance.helpers import DATABASE_ERRORS, TIMEOUT_SECONDS, Running
from tests.conformance_worker.helpers import COUNTED, MINUTE, Gate, Watch, send_errands, send_tasks, tally
from tests.conformance_worker.models import Done, Errand, Note, Task


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a shorter silence for the end where nobody can tell what is in others' hands."""
    monkeypatch.setitem(supervising.QUIET_SECONDS, "spanner", 0.3)


def test_what_is_due_is_worked_on_and_counted(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: session.add(Done(key=message.key)))
    worker.handler(Errand, mode="outside")(lambda message: None)
    send_tasks(ready, "a", "b")
    send_errands(ready, "c")
    send_tasks(ready, "later", delay=MINUTE)
    counts = worker.drain(timeout=TIMEOUT_SECONDS)
    assert counts == {
        events.WORKER_STARTED: 1,
        events.STARTED: 3,
        events.SUCCEEDED: 3,
        events.WORKER_STOPPING: 1,
        events.WORKER_STOPPED: 1,
    }
    assert tally(ready) == {"Task": 1, "Done": 2}


def test_each_drain_tells_its_own_counts(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    for _ in range(2):
        send_tasks(ready, "a")
        assert worker.drain(timeout=TIMEOUT_SECONDS)[events.SUCCEEDED] == 1
    assert events.SUCCEEDED not in worker.drain(timeout=TIMEOUT_SECONDS)
    assert worker.counters()[events.SUCCEEDED] == 2


def test_what_handlers_send_is_worked_on_too(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task)
    def handle(message: Task, session: Session) -> None:
        if len(message.key) < 3:
            session.add(Task(key=message.key + "a", payload=Note("")))

    send_tasks(ready, "a")
    assert worker.drain(timeout=TIMEOUT_SECONDS)[events.SUCCEEDED] == 3
    assert tally(ready) == {}


def test_each_message_is_tried_once(ready: World) -> None:
    worker, seen = Worker(ready.engine), list[str]()

    @worker.handler(Task, **COUNTED)
    def handle(message: Task, session: Session) -> Retry | None:
        seen.append(message.key)
        return None if message.key == "good" else Retry(reason=message.key)

    @worker.handler(Errand)
    def fail(message: Errand, session: Session) -> None:
        raise LookupError

    send_tasks(ready, "rests", "good")
    send_errands(ready, "redelivered")
    counts = worker.drain(timeout=TIMEOUT_SECONDS)
    assert (counts[events.SUCCEEDED], counts[events.RETRIED]) == (1, 2)
    assert sorted(seen) == ["good", "rests"]
    assert tally(ready) == {"Task": 1, "Errand": 1}


@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_coroutines_are_drained(ready: World, mode: Any) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, mode=mode)
    async def handle(message: Task, *session: Session) -> None:
        await asyncio.sleep(0)

    send_tasks(ready, "a", "b")
    assert worker.drain(timeout=TIMEOUT_SECONDS)[events.SUCCEEDED] == 2


def test_nothing_to_do_is_over_at_once(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    assert events.STARTED not in worker.drain(timeout=TIMEOUT_SECONDS)


def test_what_runs_when_the_time_is_over_is_waited_for(ready: World) -> None:
    worker, gate = Worker(ready.engine), Gate()
    worker.handler(Task)(lambda message, session: gate())
    send_tasks(ready, "a")
    watch, draining = Watch(worker), Running(lambda: worker.drain(timeout=0.2))
    gate.wait()
    assert watch.wait(events.WORKER_STOPPING).reason == "the drain's time of 0.2 s is over"
    assert not draining.ended(0)
    gate.open()
    assert draining.result()[events.SUCCEEDED] == 1


def test_a_queue_that_is_gone_is_raised(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    Task.__table__.drop(ready.engine)
    with pytest.raises(DATABASE_ERRORS, match="Tasks"):
        worker.drain(timeout=TIMEOUT_SECONDS)
    assert worker.counters()[events.WORKER_FAILED] == 1
    with ready.engine.connect() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
