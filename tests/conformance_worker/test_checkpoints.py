"""A handler may end or replace its message by itself: the worker does not do it a second time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Worker, acknowledge, reschedule
from sqlalchemy_spanner_queues.worker import events
from tests.conformance.engines import World
from tests.conformance_worker.helpers import (
    COUNTED,
    MINUTE,
    attempts,
    others_get,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import Done, Note, Task


def delete_loaded(session: Session, message: Task) -> None:
    session.delete(session.get_one(Task, message.key))


ENDINGS: dict[str, Callable[[Session, Task], object]] = {
    "acknowledge": acknowledge,
    "delete": lambda session, message: session.delete(message),
    "delete what was loaded": delete_loaded,
}
every_ending = pytest.mark.parametrize("name", ENDINGS)


@every_ending
def test_a_message_that_its_handler_ended_is_ended_once(ready: World, name: str) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, **COUNTED)
    def handle(message: Task, session: Session) -> None:
        session.add(Done(key=message.key))
        ENDINGS[name](session, message)
        if message.key == "flushed":
            session.flush()

    send_tasks(ready, "flushed", "unflushed")
    assert work(worker, 2).keys(events.SUCCEEDED) == ["flushed", "unflushed"]
    assert tally(ready) == {"Done": 2}
    assert attempts(ready) == {}


def test_a_message_that_its_handler_ended_stays_when_it_fails(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task)
    def handle(message: Task, session: Session) -> None:
        acknowledge(session, message)
        session.flush()
        raise LookupError

    send_tasks(ready, "a")
    assert work(worker).named(events.RETRIED)
    assert tally(ready) == {"Task": 1}


def checkpoint(world: World, seen: list[str], **options: Any) -> Worker:
    """Return a worker that does its work in two steps, with a note in between."""
    worker = Worker(world.engine)

    @worker.handler(Task, **options)
    def handle(message: Task, session: Session) -> None:
        seen.append(message.payload.text)
        session.add(Done(key=f"{message.key}{len(seen)}"))
        if message.payload.text != "half":
            reschedule(session, message, delay=MINUTE, payload=Note("half"))

    return worker


@pytest.mark.parametrize("options", [{}, COUNTED], ids=["uncounted", "counted"])
def test_a_message_that_its_handler_rescheduled_is_not_acknowledged(
    ready: World, options: dict[str, Any]
) -> None:
    seen: list[str] = []
    worker = checkpoint(ready, seen, **options)
    send_tasks(ready, "a")
    assert work(worker).keys(events.SUCCEEDED) == ["a"]
    assert tally(ready) == {"Task": 1, "Done": 1}
    assert others_get(ready) == []
    ready.advance(60)
    last = work(worker).named(events.SUCCEEDED)[0]
    # A step that is done has had its attempts; the next one has its own.
    assert last.attempts == (1 if options else 0)
    assert seen == ["a", "half"]
    assert tally(ready) == {"Done": 2}
    assert attempts(ready) == {}


def test_some_of_a_batch_may_be_ended_by_the_handler(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, batch=10)
    def handle(messages: list[Task], session: Session) -> None:
        for message in messages:
            if message.key == "a":
                acknowledge(session, message)
            elif message.key == "b":
                reschedule(session, message, delay=MINUTE)

    send_tasks(ready, *"abc")
    assert work(worker, 3).keys(events.SUCCEEDED) == ["a", "b", "c"]
    ready.advance(60)
    assert others_get(ready) == ["b"]


def test_outside_a_transaction_a_message_that_was_ended_is_told(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, mode="outside")
    def handle(message: Task) -> None:
        with Session(ready.engine) as session, session.begin():
            acknowledge(session, message)

    send_tasks(ready, "a")
    assert work(worker).named(events.ALREADY_ACKNOWLEDGED)
    assert tally(ready) == {}


def test_outside_a_transaction_what_took_the_place_of_a_message_stays(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(Task, mode="outside")
    def handle(message: Task) -> None:
        with Session(ready.engine) as session, session.begin():
            reschedule(session, message, delay=MINUTE)

    send_tasks(ready, "a")
    work(worker)
    assert tally(ready) == {"Task": 1}
