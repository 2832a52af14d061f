"""What a handler says about a message is done, returned or raised; only Ack commits its work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Ack, DeadLetter, Discard, Retry, Worker
from sqlalchemy_spanner_queues.worker import Outcome, events
from tests.conformance.engines import World
from tests.conformance_worker.helpers import (
    COUNTED,
    ENDS,
    MINUTE,
    Watch,
    attempts,
    letters,
    others_get,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import Done, FailedTask, Task

# Each: the outcome, the event that tells of it, and what is in the tables then.
OUTCOMES: dict[str, tuple[Callable[[], Outcome], str, dict[str, int]]] = {
    "ack": (Ack, events.SUCCEEDED, {"Done": 1}),
    "retry": (lambda: Retry(delay=MINUTE, reason="busy"), events.RETRIED, {"Task": 1}),
    "retry-when-it-is-due": (lambda: Retry(reason="busy"), events.RETRIED, {"Task": 1}),
    "discard": (lambda: Discard("moot"), events.DISCARDED, {}),
    "dead-letter": (lambda: DeadLetter("broken"), events.DEAD_LETTERED, {"FailedTask": 1}),
}
WAYS = ["returned", "raised"]
KEYS = [f"{name} {way}" for name in OUTCOMES for way in WAYS]


def say(key: str) -> Outcome:
    """Return or raise an outcome, as a message's key says."""
    name, way = key.split()
    outcome = OUTCOMES[name][0]()
    if way == "raised":
        raise outcome
    return outcome


def assert_as_said(watch: Watch, world: World, *, counted: bool) -> None:
    """Check what was told of each message, and where each is now."""
    told = {str(event.keys["TaskKey"]): event for event in watch.named(*ENDS)}
    for key in KEYS:
        make, name, _left = OUTCOMES[key.split()[0]]
        assert (told[key].name, told[key].reason) == (name, make().reason)
    left = {key: OUTCOMES[key.split()[0]][2] for key in KEYS}
    with Session(world.engine) as session:
        assert set(session.scalars(select(Task.key))) == {key for key in KEYS if "Task" in left[key]}
    assert [json.loads(letter.key)[0] for letter in letters(world)] == [
        "dead-letter raised",
        "dead-letter returned",
    ]
    kept = {json.dumps([key]): 1 for key in KEYS if "Task" in left[key]}
    assert attempts(world) == (kept if counted else {})


def test_in_a_transaction_only_an_acknowledgment_commits_the_work(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, **COUNTED)
    def handle(message: Task, session: Session) -> Outcome:
        session.add(Done(key=message.key))
        session.flush()
        return say(message.key)

    send_tasks(ready, *KEYS)
    assert_as_said(work(worker, len(KEYS)), ready, counted=True)
    with Session(ready.engine) as session:
        assert set(session.scalars(select(Done.key))) == {"ack returned", "ack raised"}


@pytest.mark.parametrize("counted", [True, False])
def test_outside_a_transaction(ready: World, counted: bool) -> None:
    worker, options = Worker(ready.engine), COUNTED if counted else {"dead_letter": FailedTask}
    worker.handler(Task, mode="outside", **options)(lambda message: say(message.key))
    send_tasks(ready, *KEYS)
    assert_as_said(work(worker, len(KEYS)), ready, counted=counted)


def test_at_most_once(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task, mode="at_most_once", run_time=MINUTE, **COUNTED)(lambda message: say(message.key))
    send_tasks(ready, *KEYS)
    assert_as_said(work(worker, len(KEYS)), ready, counted=True)


def test_a_coroutine_may_raise_one(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task)
    async def handle(message: Task, session: Session) -> None:
        session.add(Done(key=message.key))
        raise Discard("moot")

    send_tasks(ready, "a")
    assert work(worker).named(events.DISCARDED)[0].reason == "moot"
    assert tally(ready) == {}


@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_retry_with_a_delay_comes_back_by_the_clock_of_the_database(ready: World, mode: Any) -> None:
    worker, seen = Worker(ready.engine), list[str]()

    @worker.handler(Task, mode=mode)
    def handle(message: Task, *session: Session) -> Outcome | None:
        seen.append(message.payload.text)
        return Retry(delay=timedelta(minutes=5)) if len(seen) == 1 else None

    send_tasks(ready, "a")
    work(worker)
    ready.advance(290)
    assert others_get(ready) == []
    ready.advance(10)
    assert work(worker).keys(events.SUCCEEDED) == ["a"]
    assert seen == ["a", "a"]


def test_retry_without_a_delay_is_left_to_redelivery(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: Retry(reason="not yet"))
    send_tasks(ready, "a")
    work(worker)
    assert others_get(ready) == []
    ready.advance(10)
    assert others_get(ready) == ["a"]


def test_a_dead_letter_that_has_nowhere_to_go_stays_and_is_told(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: DeadLetter("broken"))
    send_tasks(ready, "a")
    event = work(worker).named(events.LEFT)[0]
    assert event.reason == "broken; the handler has no dead_letter=, so that it stays in the queue"
    assert tally(ready) == {"Task": 1}


WRONG: dict[str, object] = {"zero": 0, "false": False, "text": "done", "class": Ack}


@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_a_wrong_return_value_is_a_failure_that_says_what_to_return(ready: World, mode: Any) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, mode=mode)
    def handle(message: Task, *session: Session) -> object:
        for one in session:
            one.add(Done(key=message.key))
        return WRONG[message.key]

    send_tasks(ready, *WRONG)
    for event in work(worker, len(WRONG)).named(events.RETRIED):
        value = WRONG[str(event.keys["TaskKey"])]
        assert isinstance(event.error, TypeError)
        assert f"handle' returned {value!r}; return None, Ack(), Retry(...)" in str(event.error)
    assert tally(ready) == {"Task": len(WRONG)}


ERRORS = [ValueError("x"), SystemExit(1), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_whatever_is_raised_ends_an_attempt_and_not_the_worker(ready: World, kind: str) -> None:
    worker = Worker(ready.engine, concurrency=1)

    def handle(message: Task) -> None:
        if message.key != "good":
            raise ERRORS[int(message.key)]

    async def handle_async(message: Task) -> None:
        handle(message)

    worker.handler(Task, mode="outside", **COUNTED)(handle if kind == "def" else handle_async)
    send_tasks(ready, *map(str, range(len(ERRORS))))
    send_tasks(ready, "good")
    watch = work(worker, len(ERRORS) + 1)
    told = {event.keys["TaskKey"]: event.error for event in watch.named(events.RETRIED)}
    assert told == {str(at): error for at, error in enumerate(ERRORS)}
    assert watch.keys(events.SUCCEEDED) == ["good"]
    assert len(attempts(ready)) == len(ERRORS)


def test_the_reason_is_in_the_dead_letter(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task, dead_letter=FailedTask)(lambda message, session: DeadLetter("no template"))
    send_tasks(ready, "a")
    work(worker)
    assert [(letter.reason, letter.traceback) for letter in letters(ready)] == [("no template", "")]
