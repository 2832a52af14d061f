"""A receiver's filter leases only what it matches, and a base class yields its subclasses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, MetaData, String, or_
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column, registry

from sqlalchemy_spanner_queues import (
    Bytes,
    Json,
    Queue,
    QueueMessage,
    Receiver,
    Text,
    message_key,
    payload_column,
)
from tests.conformance.engines import World
from tests.conformance.helpers import (
    arriving_keys,
    count,
    finish,
    send,
    send_jobs,
    take,
    take_batch,
    take_one,
)
from tests.conformance.models import Job


class Base(DeclarativeBase):
    pass


class Task(QueueMessage, Base):
    """One queue for several types: the type is part of the key."""

    __tablename__ = "Tasks"
    kind: Mapped[str] = mapped_column("Kind", String(16), primary_key=True)
    number: Mapped[int] = mapped_column("TaskNumber", BigInteger, primary_key=True)
    payload: Mapped[dict[str, Any]] = payload_column(Json())
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "task"}


class Resize(Task):
    __mapper_args__ = {"polymorphic_identity": "resize"}


class Notify(Task):
    __mapper_args__ = {"polymorphic_identity": "notify"}


def test_only_what_matches_is_leased(ready: World) -> None:
    send_jobs(ready, "a1", "a2", "b1", "b2")
    with Receiver(ready.engine, Job, where=Job.key.like("a%")) as receiver:
        assert sorted(job.key for job in take_batch(receiver)) == ["a1", "a2"]
        assert arriving_keys(ready) == ["b1", "b2"]


CONDITIONS: dict[str, Any] = {
    "equal": Job.key == "it's",
    "in": Job.key.in_(["it's", "other"]),
    "or": or_(Job.key == "it's", Job.key == "x"),
    "payload": Job.payload == b"it's",
    "core column": Job.__table__.c.JobKey == "it's",
    "deliver time": Job.deliver_time < datetime.now(UTC) + timedelta(days=1),
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=list(CONDITIONS))
def test_filters_use_any_column_of_the_queue(ready: World, condition: Any) -> None:
    send(ready, Job(key="late", payload=b"", deliver_at=datetime.now(UTC) + timedelta(days=2)))
    send_jobs(ready, "it's")
    ready.advance(3 * 86400)
    with Receiver(ready.engine, Job, where=condition) as receiver:
        assert [job.key for job in take_batch(receiver)] == ["it's"]
    assert arriving_keys(ready) == ["late"]


def test_a_waiting_receiver_with_a_filter_gets_what_matches_later(ready: World) -> None:
    with Receiver(ready.engine, Job, where=Job.key > "m") as receiver:
        send_jobs(ready, "a", "z")
        assert take_one(receiver).key == "z"
        send_jobs(ready, "b", "y")
        assert take_one(receiver).key == "y"


def test_the_base_class_yields_the_right_subclasses(world: World) -> None:
    world.create(Base.metadata)
    send(
        world,
        Resize(number=1, payload={"w": 1}),
        Notify(number=1, payload={"to": "a"}),
        Task(number=1, payload={}),
    )
    with Receiver(world.engine, Task) as receiver:
        found = take(receiver, 3)
        assert {type(task): task.payload for task in found} == {
            Resize: {"w": 1},
            Notify: {"to": "a"},
            Task: {},
        }
        finish(world.engine, *found)
    assert count(world, Task) == 0


def test_a_filter_on_the_type_column_takes_one_type(world: World) -> None:
    world.create(Base.metadata)
    send(world, Resize(number=1, payload={}), Notify(number=1, payload={}), Notify(number=2, payload={}))
    with Receiver(world.engine, Task, where=Task.kind == "notify") as receiver:
        assert [type(task) for task in take_batch(receiver)] == [Notify, Notify]


def test_receiving_a_subclass_takes_no_message_of_another(world: World) -> None:
    world.create(Base.metadata)
    send(world, Resize(number=1, payload={}), Notify(number=1, payload={}))
    with Receiver(world.engine, Notify) as receiver:
        assert [type(task) for task in take_batch(receiver)] == [Notify]
        with Receiver(world.engine, Resize) as other:
            assert [type(task) for task in take_batch(other)] == [Resize]


def test_models_that_are_dataclasses_are_sent_and_received(world: World) -> None:
    class DataBase(MappedAsDataclass, DeclarativeBase):
        pass

    class Note(QueueMessage, DataBase):
        __tablename__ = "Notes"
        topic: Mapped[str] = mapped_column("Topic", String(16), primary_key=True)
        payload: Mapped[str] = payload_column(Text())
        message_id: Mapped[str] = message_key("MessageId", init=False)

    world.create(DataBase.metadata)
    send(world, Note("t", "text"), Note("t", "later", delay=timedelta(hours=1)))
    with Receiver(world.engine, Note) as receiver:
        message = take_one(receiver)
        assert (message.topic, message.payload) == ("t", "text")
        finish(world.engine, message)
    assert count(world, Note) == 1


def test_classes_that_are_mapped_imperatively_are_sent_and_received(world: World) -> None:
    class Letter(QueueMessage):
        def __init__(self, key: str, payload: bytes) -> None:
            self.key, self.payload = key, payload

    mappers = registry(metadata=MetaData())
    key = Column("LetterKey", String(16), primary_key=True, key="key")
    mappers.map_imperatively(Letter, Queue("Letters", mappers.metadata, key, payload=Bytes()))
    world.create(mappers.metadata)
    send(world, Letter("a", b"x"))
    with Receiver(world.engine, Letter) as receiver:
        message: Any = take_one(receiver)
        assert (message.key, message.payload) == ("a", b"x")
        with receiver.processing(message):
            pass
    assert count(world, Letter) == 0
