"""What was given up is kept with all that is needed to send it anew, in a table or in a queue."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import (
    MetaData,
    select,
)
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import (
    DeadLetter,
    MessageAlreadyAcknowledged,
    MessageAlreadyExists,
    PayloadError,
    SpannerQueuesError,
    Worker,
)
from sqlalchemy_spanner_queues.worker import (
    DeadMessage,
    dead_letters,
    dead_message,
    events,
    redrive,
)
from tests.conformance.engines import World
from tests.conformance.helpers import count
from tests.conformance_worker.helpers import (
    COUNTED,
    MINUTE,
    POLICY,
    attempts,
    bury,
    letters,
    others_get,
    redrive_all,
    send_errands,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import Errand, FailedLater, FailedTask, Note, Task, plain_tasks

into_both = pytest.mark.parametrize("target", [FailedTask, FailedLater])


def all_letters(world: World, target: type[Any]) -> list[Any]:
    with Session(world.engine, expire_on_commit=False) as session:
        return dead_letters(session, target)


@into_both
def test_a_letter_holds_the_whole_message(ready: World, target: type[Any]) -> None:
    worker = Worker(ready.engine)
    worker.handler(Errand, retry=POLICY, dead_letter=target)(lambda message, session: DeadLetter("broken"))
    send_errands(ready, "a")
    watch = work(worker)
    assert watch.named(events.DEAD_LETTERED)[0].reason == "broken"
    (letter,) = all_letters(ready, target)
    dead = dead_message(letter)
    assert isinstance(dead, DeadMessage)
    assert (dead.queue, dead.key, dead.payload, dead.reason) == ("Errands", '["a"]', b"a", "broken")
    assert (dead.traceback, dead.attempts) == ("", 1)
    for stamp in (dead.deliver_time, dead.first_attempt_at, dead.last_attempt_at):
        assert stamp.utcoffset() == timedelta(0)
        assert abs(stamp - datetime.now(UTC)) < MINUTE
    assert [count(ready, Errand), attempts(ready)] == [0, {}]


@into_both
def test_what_is_sent_anew_is_the_same_message_counted_from_the_beginning(
    ready: World, target: type[Any]
) -> None:
    worker, seen = Worker(ready.engine), list[Note]()

    @worker.handler(Task, retry=POLICY, dead_letter=target)
    def handle(message: Task, session: Session) -> None:
        seen.append(message.payload)
        if len(seen) == 1:
            raise DeadLetter("broken")

    send_tasks(ready, "a")
    work(worker)
    redrive_all(ready, target)
    assert all_letters(ready, target) == []
    assert work(worker).named(events.SUCCEEDED)[0].attempts == 1
    assert seen == [Note("a"), Note("a")]
    assert tally(ready) == {}


def test_letters_are_listed_by_queue_and_up_to_a_limit(ready: World) -> None:
    send_tasks(ready, "a", "b")
    send_errands(ready, "c")
    for target in (FailedTask, FailedLater):
        bury(ready, Task, Errand, target=target, number=3)
        with Session(ready.engine) as session:
            names = [dead_message(letter).queue for letter in dead_letters(session, target)]
            assert sorted(names) == ["Errands", "Tasks", "Tasks"]
            (letter,) = dead_letters(session, target, queue="Errands")
            assert dead_message(letter).key == '["c"]'
            assert len(dead_letters(session, target, limit=2)) == 2
            assert len(dead_letters(session, target, queue="Tasks", limit=1)) == 1
        redrive_all(ready, target)


def test_what_is_sent_anew_may_rest_first(ready: World) -> None:
    send_tasks(ready, "a")
    bury(ready, Task)
    redrive_all(ready, FailedTask, delay=5 * MINUTE)
    ready.advance(290)
    assert others_get(ready) == []
    ready.advance(10)
    assert others_get(ready) == ["a"]


@into_both
def test_a_key_that_is_pending_is_refused_and_the_letter_stays(ready: World, target: type[Any]) -> None:
    send_tasks(ready, "a")
    bury(ready, Task, target=target)
    send_tasks(ready, "a")
    with pytest.raises(MessageAlreadyExists) as raised:
        redrive_all(ready, target)
    assert raised.value.queue == "Tasks"
    assert len(all_letters(ready, target)) == 1


@into_both
def test_a_letter_that_somebody_else_sent_anew_is_not_sent_again(ready: World, target: type[Any]) -> None:
    send_tasks(ready, "a")
    bury(ready, Task, target=target)
    stale = all_letters(ready, target)
    redrive_all(ready, target)
    work_off(ready)
    with Session(ready.engine) as session, pytest.raises(MessageAlreadyAcknowledged):
        redrive(session, *stale)
    assert count(ready, Task) == 0


def work_off(world: World) -> None:
    worker = Worker(world.engine)
    worker.handler(Task)(lambda message, session: None)
    work(worker)


def test_a_queue_that_is_not_declared_is_named(ready: World) -> None:
    send_tasks(ready, "a")
    bury(ready, Task)
    with pytest.raises(SpannerQueuesError, match="no queue 'Tasks' in the metadata of the dead letter"):
        redrive_all(ready, FailedTask, metadata=MetaData())
    redrive_all(ready, FailedTask, metadata=plain_tasks().metadata)
    assert others_get(ready) == ["a"]


RUBBISH: list[Any] = [{"unknown": 1}, [1, 2], "text", {"text": 1}]


def send_rubbish(world: World) -> None:
    """Send what is no Note, and a good message among it."""
    send_tasks(world, "good")
    with world.engine.begin() as connection:
        rows = [{"TaskKey": f"bad{at}", "payload": value} for at, value in enumerate(RUBBISH)]
        connection.execute(plain_tasks().insert(), rows)


@pytest.mark.parametrize("options", [{}, {"batch": 10}, {"mode": "outside"}], ids=str)
def test_what_cannot_be_decoded_becomes_a_dead_letter_untouched(
    ready: World, options: dict[str, Any]
) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task, **(COUNTED | options))(lambda message, *session: None)
    send_rubbish(ready)
    watch = work(worker, len(RUBBISH) + 1)
    assert watch.keys(events.SUCCEEDED) == watch.keys(events.STARTED) == ["good"]
    found = letters(ready)
    assert [json.loads(letter.payload) for letter in found] == RUBBISH
    assert [(letter.key, letter.attempts) for letter in found] == [(f'["bad{at}"]', 0) for at in range(4)]
    assert all(letter.reason.startswith("PayloadError: ") for letter in found)
    assert all(isinstance(event.error, PayloadError) for event in watch.named(events.DEAD_LETTERED))
    assert tally(ready) == {"FailedTask": len(RUBBISH)}


def test_what_cannot_be_decoded_and_has_nowhere_to_go_stays_and_is_told(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    send_rubbish(ready)
    watch = work(worker, len(RUBBISH) + 1)
    assert watch.keys(events.SUCCEEDED) == ["good"]
    assert len(watch.named(events.LEFT)) == len(RUBBISH)
    assert tally(ready) == {"Task": len(RUBBISH)}


def test_what_could_not_be_decoded_can_be_sent_anew(ready: World) -> None:
    """Once the program knows what it is."""
    worker = Worker(ready.engine)
    worker.handler(Task, dead_letter=FailedTask)(lambda message, session: None)
    send_rubbish(ready)
    work(worker, len(RUBBISH) + 1)
    redrive_all(ready, FailedTask)
    with ready.engine.connect() as connection:
        queue = plain_tasks()
        found = connection.scalars(select(queue.c.payload).order_by(queue.c.TaskKey)).all()
    assert found == RUBBISH
