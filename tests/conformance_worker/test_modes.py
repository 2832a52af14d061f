"""When a message is acknowledged, by the mode of its handler; and what kinds of functions can be one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Worker
from sqlalchemy_spanner_queues.worker import events, processing
from tests.conformance.engines import World
from tests.conformance.helpers import TIMEOUT_SECONDS, count
from tests.conformance_worker.helpers import (
    MINUTE,
    Gate,
    others_get,
    running,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import Done, Note, Task

MODES: dict[str, dict[str, Any]] = {
    "transaction": {"mode": "transaction"},
    "outside": {"mode": "outside"},
    "at_most_once": {"mode": "at_most_once", "run_time": MINUTE},
}
in_every_mode = pytest.mark.parametrize("mode", MODES)
KINDS = ["def", "async def"]


def kind_of_function(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler that calls a function, of one kind or the other."""

    def handle(message: Task, *session: Session) -> Any:
        return function(message, *session)

    async def handle_async(message: Task, *session: Session) -> Any:
        await asyncio.sleep(0)
        return function(message, *session)

    return handle if kind == "def" else handle_async


@in_every_mode
@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_handled_once_and_acknowledged_and_a_failed_one_stays(
    ready: World, mode: str, kind: str
) -> None:
    worker, seen = Worker(ready.engine), list[Any]()

    def handle(message: Task, *_session: Session) -> None:
        seen.append((message.key, message.payload))
        if message.key == "c":
            raise LookupError("no such thing")

    worker.handler(Task, **MODES[mode])(kind_of_function(kind, handle))
    send_tasks(ready, "a", "b", "c")
    watch = work(worker, 3)
    assert sorted(seen) == [(key, Note(key)) for key in "abc"]
    assert watch.keys(events.STARTED) == ["a", "b", "c"]
    assert watch.keys(events.SUCCEEDED) == ["a", "b"]
    failed = watch.named(events.RETRIED)[0]
    assert isinstance(failed.error, LookupError)
    assert failed.reason == "LookupError: no such thing"
    assert tally(ready) == {"Task": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_transaction_work_and_acknowledgment_commit_together_or_not_at_all(
    ready: World, kind: str
) -> None:
    worker = Worker(ready.engine, concurrency=1)

    def handle(message: Task, session: Session) -> None:
        session.add(Done(key=message.key))
        session.flush()
        if message.key == "b":
            raise LookupError

    worker.handler(Task)(kind_of_function(kind, handle))
    send_tasks(ready, "a", "b")
    work(worker, 2)
    with Session(ready.engine) as session:
        assert list(session.scalars(select(Done.key))) == ["a"]
        assert list(session.scalars(select(Task.key))) == ["b"]


def test_work_that_cannot_be_written_leaves_the_message(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task)
    def write(message: Task, session: Session) -> None:
        session.add(Done(key="the same"))

    send_tasks(ready, "a", "b")
    watch = work(worker, 2)
    assert len(watch.named(events.SUCCEEDED)) == len(watch.named(events.RETRIED)) == 1
    assert tally(ready) == {"Task": 1, "Done": 1}


def test_sessions_come_from_the_factory(ready: World) -> None:
    class OwnSession(Session):
        pass

    seen = list[type[Session]]()
    worker = Worker(ready.engine, session_factory=lambda: OwnSession(ready.engine))
    worker.handler(Task)(lambda message, session: seen.append(type(session)))
    send_tasks(ready, "a")
    work(worker)
    assert seen == [OwnSession]


def test_outside_a_transaction_the_message_is_there_until_the_handler_returns(ready: World) -> None:
    worker, seen = Worker(ready.engine), list[int]()
    worker.handler(Task, mode="outside")(lambda message: seen.append(count(ready, Task)))
    send_tasks(ready, "a")
    work(worker)
    assert seen == [1]
    assert tally(ready) == {}


@pytest.mark.usefixtures("beats_by_hand")
def test_at_most_once_nobody_else_starts_within_the_run_time(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1), Gate()
    worker.handler(Task, mode="at_most_once", run_time=MINUTE)(lambda message: gate())
    send_tasks(ready, "a")
    with running(worker):
        gate.wait()
        # Nobody renews anything here, and it is still nobody else's.
        ready.advance(50)
        assert others_get(ready) == []
        assert tally(ready) == {"Task": 1}
        gate.open()
    assert tally(ready) == {}


@pytest.mark.usefixtures("beats_by_hand")
def test_at_most_once_somebody_else_starts_after_the_run_time(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1), Gate()
    worker.handler(Task, mode="at_most_once", run_time=MINUTE)(lambda message: gate())
    send_tasks(ready, "a")
    with running(worker):
        gate.wait()
        ready.advance(60)
        assert others_get(ready) == ["a"]
        gate.open()


def test_at_most_once_a_failed_message_is_due_after_the_run_time(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, mode="at_most_once", run_time=MINUTE)
    def fail(message: Task) -> None:
        raise LookupError

    send_tasks(ready, "a")
    work(worker)
    ready.advance(30)
    assert others_get(ready) == []
    ready.advance(30)
    assert others_get(ready) == ["a"]


class TimerByHand(threading.Timer):
    """A timer that is over when the test says so."""

    started: list[TimerByHand]

    def start(self) -> None:
        self.started.append(self)


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_once_what_runs_longer_is_not_acknowledged(
    ready: World, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimerByHand, "started", [], raising=False)
    monkeypatch.setattr(processing, "Timer", TimerByHand)
    worker, lost, entered = Worker(ready.engine), list[bool](), threading.Event()

    def handle(message: Task) -> None:
        entered.set()
        lost.append(message.lease.lost.wait(TIMEOUT_SECONDS))

    worker.handler(Task, mode="at_most_once", run_time=MINUTE)(kind_of_function(kind, handle))
    send_tasks(ready, "a")
    with running(worker) as watch:
        assert entered.wait(TIMEOUT_SECONDS)
        (timer,) = TimerByHand.started
        assert timer.interval == MINUTE.total_seconds()
        timer.function(*timer.args, **timer.kwargs)
        watch.wait(events.LEASE_LOST)
    assert lost == [True]
    assert "run time of 0:01:00 is over" in watch.named(events.LEASE_LOST)[0].reason
    assert watch.named(events.SUCCEEDED) == []
    assert tally(ready) == {"Task": 1}


def test_at_most_once_the_one_that_took_its_place_in_turn_stays(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1), Gate()
    worker.handler(Task, mode="at_most_once", run_time=MINUTE)(lambda message: gate())
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        with Session(ready.engine) as session, session.begin():
            session.delete(session.get_one(Task, "a"))
        send_tasks(ready, "a", delay=MINUTE)
        gate.open()
        watch.wait(events.ALREADY_ACKNOWLEDGED)
    assert tally(ready) == {"Task": 1}


@in_every_mode
@pytest.mark.parametrize("kind", KINDS)
def test_a_handler_stays_callable(mode: str, kind: str) -> None:
    function = kind_of_function(kind, lambda message: message)
    handler = Worker(create_engine("sqlite://")).handler(Task, **MODES[mode])(function)
    assert handler is function
    found = handler("anything")
    assert (asyncio.run(found) if kind == "async def" else found) == "anything"


def test_functions_run_side_by_side_up_to_the_concurrency(ready: World) -> None:
    worker, together = Worker(ready.engine, concurrency=3), threading.Barrier(3)

    @worker.handler(Task)
    def handle(message: Task, session: Session) -> None:
        together.wait(TIMEOUT_SECONDS)

    send_tasks(ready, "a", "b", "c")
    assert work(worker, 3).keys(events.SUCCEEDED) == ["a", "b", "c"]


def test_coroutines_run_side_by_side_on_one_loop(ready: World) -> None:
    worker, loops = Worker(ready.engine, concurrency=3), list[Any]()
    together = asyncio.Barrier(3)

    @worker.handler(Task, mode="outside")
    async def handle(message: Task) -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.wait_for(together.wait(), TIMEOUT_SECONDS)

    send_tasks(ready, "a", "b", "c")
    assert work(worker, 3).keys(events.SUCCEEDED) == ["a", "b", "c"]
    assert len(set(loops)) == 1
