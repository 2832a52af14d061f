"""Handlers that take lists: one acknowledgment for all, and one by one where a batch fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Discard, Worker
from sqlalchemy_spanner_queues.worker import events
from tests.conformance.engines import World
from tests.conformance.helpers import listening
from tests.conformance_worker.helpers import (
    COUNTED,
    Gate,
    attempts,
    running,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import Done, Task

both_modes = pytest.mark.parametrize("mode", ["transaction", "outside"])


def batching(
    world: World, calls: list[list[str]], mode: Any = "transaction", poison: str = "", **options: Any
) -> Worker:
    """Return a worker with a handler of batches that notes its calls, and fails on one key."""
    worker = Worker(world.engine, concurrency=1, max_batch_size=20)

    @worker.handler(Task, mode=mode, **({"batch": 20} | options))
    def handle(messages: list[Task], *session: Session) -> None:
        calls.append(sorted(message.key for message in messages))
        for one in session:
            one.add_all([Done(key=message.key) for message in messages])
        if poison in calls[-1]:
            raise LookupError(poison)

    return worker


def commits_of(world: World, function: Callable[[], object]) -> int:
    """Return how many transactions the application's connections commit."""
    found = list[object]()
    with listening(world.engine, "commit", found.append):
        function()
    return len(found)


@both_modes
def test_a_batch_is_one_list_and_one_transaction(ready: World, mode: Any) -> None:
    calls: list[list[str]] = []
    worker = batching(ready, calls, mode)
    send_tasks(ready, *"abcde")
    assert commits_of(ready, lambda: work(worker, 5)) == 1
    assert calls == [list("abcde")]
    assert tally(ready) == ({"Done": 5} if mode == "transaction" else {})


def test_a_batch_is_no_longer_than_the_handler_takes(ready: World) -> None:
    calls: list[list[str]] = []
    worker = batching(ready, calls, batch=2)
    send_tasks(ready, *"abcde")
    work(worker, 5)
    assert calls == [["a", "b"], ["c", "d"], ["e"]]


def test_a_batch_that_is_not_full_does_not_wait(ready: World) -> None:
    calls: list[list[str]] = []
    worker = batching(ready, calls)
    with running(worker) as watch:
        send_tasks(ready, "a")
        watch.wait(events.SUCCEEDED)
        send_tasks(ready, "b", "c")
        watch.wait(events.SUCCEEDED, number=3)
    assert calls == [["a"], ["b", "c"]]


@both_modes
def test_a_coroutine_takes_batches(ready: World, mode: Any) -> None:
    worker, calls = Worker(ready.engine), list[list[str]]()

    @worker.handler(Task, mode=mode, batch=20)
    async def handle(messages: list[Task], *session: Session) -> None:
        calls.append([message.key for message in messages])

    send_tasks(ready, *"abc")
    work(worker, 3)
    assert calls == [list("abc")]
    assert tally(ready) == {}


@both_modes
def test_a_batch_that_fails_is_worked_on_one_by_one(ready: World, mode: Any) -> None:
    calls: list[list[str]] = []
    worker = batching(ready, calls, mode, poison="b", **COUNTED)
    send_tasks(ready, *"abc")
    watch = work(worker, 3)
    assert calls == [list("abc"), ["a"], ["b"], ["c"]]
    assert watch.keys(events.SUCCEEDED) == ["a", "c"]
    assert watch.keys(events.RETRIED) == ["b"]
    assert tally(ready) == ({"Done": 2, "Task": 1} if mode == "transaction" else {"Task": 1})
    # Once, however often the handler was called with it.
    assert attempts(ready) == {'["b"]': 1}


@both_modes
def test_what_failed_before_runs_alone(ready: World, mode: Any) -> None:
    calls: list[list[str]] = []
    worker = batching(ready, calls, mode, poison="b", **COUNTED)
    send_tasks(ready, "b")
    work(worker)
    ready.advance(60)
    send_tasks(ready, "a", "c")
    calls.clear()
    work(worker, 3)
    assert calls == [["a", "c"], ["b"]]


def test_an_outcome_is_asked_for_each_message_of_a_batch(ready: World) -> None:
    worker, calls = Worker(ready.engine), list[int]()

    @worker.handler(Task, batch=20)
    def handle(messages: list[Task], session: Session) -> object:
        calls.append(len(messages))
        session.add(Done(key=messages[0].key))
        return Discard("moot") if any(message.key == "b" for message in messages) else None

    send_tasks(ready, *"abc")
    watch = work(worker, 3)
    assert calls == [3, 1, 1, 1]
    assert watch.keys(events.DISCARDED) == ["b"]
    assert tally(ready) == {"Done": 2}


@both_modes
def test_one_that_somebody_else_acknowledged_does_not_hold_up_the_others(ready: World, mode: Any) -> None:
    worker, gate = Worker(ready.engine, concurrency=1), Gate()

    @worker.handler(Task, mode=mode, batch=20)
    def handle(messages: list[Task], *session: Session) -> None:
        gate()

    send_tasks(ready, *"abc")
    with running(worker) as watch:
        gate.wait()
        with Session(ready.engine) as session, session.begin():
            session.delete(session.get_one(Task, "b"))
        gate.open()
        watch.wait(events.SUCCEEDED, number=2)
        watch.wait(events.ALREADY_ACKNOWLEDGED)
    assert watch.keys(events.SUCCEEDED) == ["a", "c"]
    assert watch.keys(events.ALREADY_ACKNOWLEDGED) == ["b"]
    assert tally(ready) == {}
