"""What a worker does can be seen: events, counters, health, the log, and middleware around handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Discard, Worker
from sqlalchemy_spanner_queues.worker import Call, Health, WorkerEvent, events, on_send
from tests.conformance.engines import World
from tests.conformance_worker.helpers import (
    COUNTED,
    Gate,
    attempts,
    letters,
    running,
    send_errands,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import Done, Errand, Note, Task

Proceed = Callable[[], object]


def test_a_message_is_told_from_its_start_to_its_end(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, **COUNTED)
    def handle(message: Task, session: Session) -> None:
        pass

    send_tasks(ready, "a")
    watch = work(worker)
    started, ended = watch.wait(events.STARTED), watch.wait(events.SUCCEEDED)
    for one in (started, ended):
        assert (one.queue, one.keys, one.attempts) == ("Tasks", {"TaskKey": "a"}, 1)
        assert one.handler.endswith("handle")
        assert (one.reason, one.error) == ("", None)
    assert started.seconds is not None
    assert ended.seconds is not None
    assert 0 <= started.seconds <= ended.seconds
    names = [one.name for one in watch.events]
    assert names == [
        events.WORKER_STARTED, events.STARTED, events.SUCCEEDED, events.WORKER_STOPPING, events.WORKER_STOPPED
    ]  # fmt: skip


def test_everything_is_counted_whether_somebody_listens_or_not(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Errand)(lambda message, session: worker.stop())
    send_errands(ready, "a")
    worker.run()
    assert worker.counters() == {
        events.WORKER_STARTED: 1,
        events.STARTED: 1,
        events.SUCCEEDED: 1,
        events.WORKER_STOPPING: 1,
        events.WORKER_STOPPED: 1,
    }


def test_the_log_has_the_fields_of_each_event(ready: World, caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, **COUNTED)
    def handle(message: Task, session: Session) -> None:
        raise LookupError("no such thing")

    send_tasks(ready, "a")
    with caplog.at_level(logging.DEBUG, "sqlalchemy_spanner_queues.worker"):
        work(worker)
    given: list[Any] = caplog.records
    records = {record.spanner_queues["event"]: record for record in given}
    record = records[events.RETRIED]
    assert record.levelno == logging.WARNING
    assert record.exc_info[0] is LookupError
    fields = record.spanner_queues
    assert fields["handler"].endswith("handle")
    assert fields.pop("seconds") > 0
    assert {name: fields[name] for name in fields if name != "handler"} == {
        "event": events.RETRIED,
        "queue": "Tasks",
        "keys": {"TaskKey": "a"},
        "attempts": 1,
        "reason": "LookupError: no such thing",
    }
    assert record.getMessage().startswith("message.retried queue='Tasks' keys={'TaskKey': 'a'}")
    assert records[events.STARTED].levelno == logging.DEBUG
    assert records[events.WORKER_STARTED].levelno == logging.INFO


def test_a_listener_that_fails_is_logged_and_touches_nothing(
    ready: World, caplog: pytest.LogCaptureFixture
) -> None:
    worker, seen = Worker(ready.engine), list[str]()

    @worker.listen
    def broken(event: WorkerEvent) -> None:
        raise LookupError(event.name)

    worker.listen(lambda event: seen.append(event.name))
    worker.handler(Task)(lambda message, session: None)
    send_tasks(ready, "a")
    with caplog.at_level(logging.ERROR, "sqlalchemy_spanner_queues.worker"):
        assert work(worker).keys(events.SUCCEEDED) == ["a"]
    assert events.SUCCEEDED in seen
    assert f"a listener failed on {events.SUCCEEDED}" in caplog.text
    assert tally(ready) == {}


def test_health_while_it_runs_and_while_it_does_not(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=2, max_batch_size=10), Gate()
    worker.handler(Task, concurrency=1)(lambda message, session: gate())
    assert worker.health() == Health(live=False, ready=False)
    with running(worker):
        assert worker.health() == Health(live=True, ready=True)
        send_tasks(ready, "a")
        gate.wait()
        health = worker.health()
        assert (health.live, health.ready, health.running, health.waiting) == (True, True, 1, 0)
        assert health.oldest_running > 0
        assert worker.health().oldest_running > health.oldest_running
        gate.open()
    assert worker.health() == Health(live=False, ready=False)


def test_a_worker_that_stops_is_not_ready_and_lives(ready: World) -> None:
    worker, gate, seen = Worker(ready.engine), Gate(), list[Health]()
    worker.handler(Task)(lambda message, session: gate())
    worker.listen(lambda event: seen.append(worker.health()) if event.name == events.WORKER_STOPPING else 0)
    send_tasks(ready, "a")
    with running(worker):
        gate.wait()
        gate.open()
    assert [(health.live, health.ready) for health in seen] == [(True, False)]


def test_middleware_is_around_the_handler_the_first_one_outermost(ready: World) -> None:
    worker, seen = Worker(ready.engine), list[str]()

    def around(name: str) -> Callable[[Call, Proceed], object]:
        def middleware(call: Call, proceed: Proceed) -> object:
            seen.append(f"{name} {call.message.key}")
            try:
                return proceed()
            finally:
                seen.append(f"{name} ends")

        return middleware

    worker.middleware(around("first"))
    worker.middleware(around("second"))
    worker.handler(Task)(lambda message, session: seen.append("handler"))
    send_tasks(ready, "a")
    work(worker)
    assert seen == ["first a", "second a", "handler", "second ends", "first ends"]


def test_middleware_is_told_the_call(ready: World) -> None:
    worker, calls = Worker(ready.engine), list[Call]()

    @worker.middleware
    def note(call: Call, proceed: Proceed) -> object:
        calls.append(call)
        if call.session is not None:
            call.session.add(Done(key=f"from {call.handler[-6:]}"))
        return proceed()

    @worker.handler(Task, batch=5, **COUNTED)
    def handle(messages: list[Task], session: Session) -> None:
        assert session is calls[-1].session

    worker.handler(Errand, mode="outside")(lambda message: None)
    send_tasks(ready, "a", "b")
    send_errands(ready, "c")
    work(worker, 3)
    calls.sort(key=lambda call: call.session is None)
    batch, outside = calls
    assert (len(batch.messages), batch.attempts) == (2, 1)
    assert (len(outside.messages), outside.attempts, outside.session) == (1, 0, None)
    assert isinstance(outside.message, Errand)
    assert tally(ready) == {"Done": 1}


def test_middleware_may_answer_in_the_handlers_place(ready: World) -> None:
    worker, seen = Worker(ready.engine, concurrency=1), list[str]()

    @worker.middleware
    def decide(call: Call, proceed: Proceed) -> object:
        match call.message.key:
            case "discard":
                return Discard("not needed")
            case "raise":
                raise Discard("raised")
            case "fail":
                raise LookupError("from the middleware")
            case "rescue":
                try:
                    proceed()
                except LookupError:
                    return None
        return proceed()

    @worker.handler(Task, **COUNTED)
    def handle(message: Task, session: Session) -> None:
        seen.append(message.key)
        raise LookupError("from the handler")

    send_tasks(ready, "discard", "fail", "raise", "rescue")
    watch = work(worker, 4)
    assert seen == ["rescue"]
    assert watch.keys(events.DISCARDED) == ["discard", "raise"]
    assert watch.keys(events.RETRIED) == ["fail"]
    assert watch.keys(events.SUCCEEDED) == ["rescue"]
    assert attempts(ready) == {'["fail"]': 1}


@pytest.mark.parametrize("fails", [False, True])
def test_middleware_is_around_the_whole_of_a_coroutine(ready: World, fails: bool) -> None:
    worker, seen = Worker(ready.engine), list[str]()

    @worker.middleware
    def around(call: Call, proceed: Proceed) -> object:
        try:
            seen.append("before")
            return proceed()
        except LookupError:
            seen.append("failed")
            raise
        finally:
            seen.append("after")

    @worker.handler(Task, mode="outside", **COUNTED)
    async def handle(message: Task) -> None:
        await asyncio.sleep(0)
        seen.append("handler")
        if fails:
            raise LookupError

    send_tasks(ready, "a")
    work(worker)
    assert seen == ["before", "handler", *(["failed"] if fails else []), "after"]
    assert letters(ready) == []


@pytest.fixture
def sending() -> Iterator[list[str]]:
    """Note each task that is sent, and stamp it."""
    seen: list[str] = []

    @on_send(Task)
    def stamp(message: Task) -> None:
        if message.key == "refused":
            raise LookupError("not this one")
        seen.append(message.key)
        message.payload = Note(message.payload.text, "stamped")

    yield seen
    # There is no way back in the package: hooks are for a program's whole life.
    for function in list(Task.__mapper__.dispatch.before_insert):
        if event.contains(Task, "before_insert", function) and function.__module__.endswith("sending"):
            event.remove(Task, "before_insert", function)


def test_a_hook_may_change_and_refuse_what_is_sent(ready: World, sending: list[str]) -> None:
    worker, seen = Worker(ready.engine), list[Note]()
    worker.handler(Task)(lambda message, session: seen.append(message.payload))
    send_tasks(ready, "a")
    with pytest.raises(LookupError, match="not this one"):
        send_tasks(ready, "b", "refused")
    send_errands(ready, "c")
    work(worker)
    assert seen == [Note("a", "stamped")]
    assert set(sending) <= {"a", "b"}
    assert tally(ready) == {"Errand": 1}
