"""Several types of messages in one queue, each with its handler; the unknown is told and stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sqlalchemy_spanner_queues import QueueMessage, Worker
from sqlalchemy_spanner_queues.exc import HandlerError, UnknownMessageType
from sqlalchemy_spanner_queues.worker import events, room
from tests.conformance.engines import World
from tests.conformance.helpers import count, send
from tests.conformance_worker.helpers import Gate, others_get, running, send_tasks, tally, work
from tests.conformance_worker.models import (
    Circle,
    FailedTask,
    Note,
    Shape,
    ShapeBase,
    Square,
    Task,
    plain_tasks,
)

BY: dict[str, Any] = {
    "key": "key",
    "payload": "payload.kind",
    "function": lambda message: message.payload.kind,
}
Seen = list[tuple[str, str]]


def noting(seen: Seen, name: str) -> Callable[..., None]:
    """Return a handler that notes its name and the key of its message."""

    def note(message: Any, *_session: object) -> None:
        seen.append((name, message.key))

    return note


def by_kind(world: World, seen: Seen, *kinds: str | None, by: Any = "payload.kind", **options: Any) -> Worker:
    """Return a worker of tasks with a handler for each kind; None stands for the rest."""
    worker = Worker(world.engine)
    for kind in kinds:
        worker.handler(Task, by=by, type=kind, **options)(noting(seen, kind or "rest"))
    return worker


def send_kinds(world: World, **kinds: str) -> None:
    send(world, *(Task(key=key, payload=Note("", kind)) for key, kind in kinds.items()))


@pytest.mark.parametrize("name", BY)
def test_each_type_goes_to_its_handler_and_the_rest_to_the_one_without(ready: World, name: str) -> None:
    seen: Seen = []
    worker = by_kind(ready, seen, "crop", "turn", None, by=BY[name])
    send_kinds(ready, crop="crop", turn="turn", other="other")
    assert work(worker, 3).keys(events.SUCCEEDED) == ["crop", "other", "turn"]
    assert sorted(seen) == [("crop", "crop"), ("rest", "other"), ("turn", "turn")]


def test_an_unknown_type_is_told_and_stays_and_holds_up_nobody(ready: World) -> None:
    seen: Seen = []
    worker = by_kind(ready, seen, "crop", "turn")
    send_kinds(ready, a="crop", b="melt", c="turn")
    watch = work(worker, 3)
    assert watch.keys(events.SUCCEEDED) == ["a", "c"]
    (event,) = watch.named(events.UNKNOWN_TYPE)
    assert isinstance(event.error, UnknownMessageType)
    assert (event.error.type, event.error.known) == ("melt", ["crop", "turn"])
    assert "'TaskKey': 'b'} of queue 'Tasks' is of the type 'melt'" in event.reason
    assert "(has: 'crop', 'turn'); it stays in the queue" in event.reason
    assert tally(ready) == {"Task": 1}
    ready.advance(10)
    assert others_get(ready) == ["b"]


def test_a_type_that_cannot_be_told_is_told_and_stays(ready: World) -> None:
    seen: Seen = []
    worker = by_kind(ready, seen, "crop", by=lambda message: {"crop": "crop"}[message.payload.kind])
    send_kinds(ready, a="crop", b="melt")
    watch = work(worker, 2)
    (event,) = watch.named(events.UNKNOWN_TYPE)
    assert (event.reason, type(event.error)) == ("its type cannot be told: 'melt'", KeyError)
    assert seen == [("crop", "a")]
    assert tally(ready) == {"Task": 1}


def test_what_cannot_be_decoded_has_no_type_and_goes_where_one_of_the_handlers_says(ready: World) -> None:
    worker = by_kind(ready, [], "crop")
    worker.handler(Task, by="payload.kind", type="turn", dead_letter=FailedTask)(noting([], "turn"))
    with ready.engine.begin() as connection:
        connection.execute(plain_tasks().insert(), [{"TaskKey": "a", "payload": [1, 2]}])
    assert work(worker).keys(events.DEAD_LETTERED) == ["a"]
    assert tally(ready) == {"FailedTask": 1}


def shapes(world: World) -> World:
    world.create(ShapeBase.metadata)
    messages: list[Shape] = [kind(key="a", payload=Note("")) for kind in (Circle, Square, Shape)]
    send(world, *messages)
    return world


def shape_worker(world: World, seen: list[tuple[str, str]], *models: type[QueueMessage]) -> Worker:
    worker = Worker(world.engine)
    for model in models:
        name = model.__name__

        def note(message: Any, session: object, name: str = name) -> None:
            seen.append((name, type(message).__name__))

        worker.handler(model)(note)
    return worker


def test_classes_of_a_queue_have_handlers_of_their_own(world: World) -> None:
    seen: Seen = []
    work(shape_worker(shapes(world), seen, Circle, Square, Shape), 3)
    assert sorted(seen) == [("Circle", "Circle"), ("Shape", "Shape"), ("Square", "Square")]


def test_the_handler_of_a_base_class_takes_the_rest(world: World) -> None:
    seen: Seen = []
    work(shape_worker(shapes(world), seen, Circle, Shape), 3)
    assert sorted(seen) == [("Circle", "Circle"), ("Shape", "Shape"), ("Shape", "Square")]


def test_classes_without_a_handler_are_left_to_other_workers(world: World) -> None:
    seen: Seen = []
    watch = work(shape_worker(shapes(world), seen, Circle))
    assert seen == [("Circle", "Circle")]
    assert watch.named(events.UNKNOWN_TYPE) == []
    # Nobody had leased them.
    work(shape_worker(world, seen, Square, Shape), 2)
    assert count(world, Shape) == 0


def test_handlers_of_one_queue_may_not_contradict_each_other(ready: World) -> None:
    worker = by_kind(ready, [], "crop")
    with pytest.raises(HandlerError, match=r"tell types by 'payload\.kind' and by 'key'"):
        worker.handler(Task, by="key", type="turn")(noting([], ""))
    with pytest.raises(HandlerError, match="takes the same messages of 'Tasks'"):
        worker.handler(Task, by="payload.kind", type="crop")(noting([], ""))
    with pytest.raises(HandlerError, match="type= needs by="):
        worker.handler(Task, type="turn")(noting([], ""))


def test_no_more_of_a_type_run_at_once_than_its_limit(ready: World) -> None:
    worker, slow, seen = Worker(ready.engine, concurrency=4), Gate(), list[tuple[str, str]]()
    worker.handler(Task, by="payload.kind", type="slow", concurrency=2)(lambda message, session: slow())
    worker.handler(Task, by="payload.kind", type="quick")(noting(seen, "quick"))
    send_kinds(ready, s1="slow", s2="slow", s3="slow", q1="quick")
    with running(worker) as watch:
        slow.wait(2)
        watch.wait(events.SUCCEEDED)
        send_kinds(ready, q2="quick")
        watch.wait(events.SUCCEEDED, number=2)
        # The third slow one waits, with threads free for it.
        assert watch.keys(events.STARTED) == ["q1", "q2", "s1", "s2"]
        assert worker.health().waiting == 1
        slow.open()
        watch.wait(events.SUCCEEDED, number=5)
    assert tally(ready) == {}


def test_what_waits_for_a_type_at_its_limit_is_handed_back_when_it_gets_too_much(
    ready: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_PARKED", 1)
    worker, slow = Worker(ready.engine, concurrency=2, max_batch_size=10), Gate()
    worker.handler(Task, by="payload.kind", type="slow", concurrency=1)(lambda message, session: slow())
    worker.handler(Task, by="payload.kind")(noting([], "quick"))
    send_kinds(ready, s1="slow")
    with running(worker) as watch:
        slow.wait()
        send_kinds(ready, s2="slow", s3="slow", s4="slow")
        watch.wait(events.HANDED_BACK, number=2)
        assert {event.reason for event in watch.named(events.HANDED_BACK)} == {"its handler is at its limit"}
        back = watch.keys(events.HANDED_BACK)
        slow.open()
        watch.wait(events.SUCCEEDED, number=2)
    assert len(back) == 2
    assert tally(ready) == {"Task": 2}
    ready.advance(10)
    assert others_get(ready) == back


def test_types_and_queues_are_counted_apart(ready: World) -> None:
    worker = by_kind(ready, [], "crop", "turn", concurrency=1)
    send_tasks(ready)
    send_kinds(ready, a="crop", b="turn", c="crop", d="turn")
    assert work(worker, 4).keys(events.SUCCEEDED) == list("abcd")
