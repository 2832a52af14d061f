"""Ways to declare a message: declarative, dataclass, imperative, mixins, inheritance."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Column, Engine, MetaData, String, Table, create_engine, inspect, select
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedAsDataclass,
    Session,
    configure_mappers,
    mapped_column,
    registry,
)

from sqlalchemy_spanner_queues import (
    Bytes,
    Queue,
    QueueDefinitionError,
    QueueMessage,
    Text,
    message_key,
    payload_column,
)


class Base(DeclarativeBase):
    metadata = MetaData()


class Task(QueueMessage, Base):
    __tablename__ = "Tasks"
    kind: Mapped[str] = mapped_column(String(20), primary_key=True)
    task_id: Mapped[str] = message_key("TaskId")
    payload: Mapped[bytes] = payload_column(Bytes())
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "task"}


class Resize(Task):
    __mapper_args__ = {"polymorphic_identity": "resize"}


class Crop(Task):
    __mapper_args__ = {"polymorphic_identity": "crop"}


class DataBase(MappedAsDataclass, DeclarativeBase):
    metadata = Base.metadata


class Order(QueueMessage, DataBase, kw_only=True):
    __tablename__ = "Orders"
    order_id: Mapped[str] = message_key("OrderId", default_factory=lambda: str(uuid.uuid4()))
    payload: Mapped[str] = payload_column(Text(), default="")


class Keyed:
    key: Mapped[str] = message_key("Key")
    payload: Mapped[bytes] = payload_column(Bytes())


class First(Keyed, QueueMessage, Base):
    __tablename__ = "First"


class Second(Keyed, QueueMessage, Base):
    __tablename__ = "Second"


imperative = registry(metadata=Base.metadata)
pings = Queue("Pings", Base.metadata, Column("PingId", String(36), primary_key=True), payload=Bytes())


class Ping(QueueMessage):
    pass


imperative.map_imperatively(Ping, pings, properties={"ping_id": pings.c.PingId})


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    return engine


def send(engine: Engine, *messages: Any) -> None:
    with Session(engine) as session, session.begin():
        session.add_all(messages)


def test_a_dataclass_message(engine: Engine) -> None:
    order = Order(order_id="mine", payload="x")
    assert order == Order(order_id="mine", payload="x")
    assert "payload='x'" in repr(order)
    send(engine, order, Order(payload="y"))
    with Session(engine) as session:
        assert session.get_one(Order, "mine").payload == "x"
        assert sorted(found.payload for found in session.scalars(select(Order))) == ["x", "y"]


def test_an_imperatively_mapped_message(engine: Engine) -> None:
    send(engine, Ping(ping_id="a", payload=b"1"))
    with Session(engine) as session, session.begin():
        found = session.get_one(Ping, "a")
        assert found.payload == b"1"
        session.delete(found)
    with Session(engine) as session:
        assert session.scalars(select(Ping)).all() == []


def test_columns_of_a_mixin_are_columns_of_every_queue_of_it(engine: Engine) -> None:
    send(engine, First(key="a", payload=b"1"), Second(key="a", payload=b"2"))
    with Session(engine) as session:
        assert session.get_one(First, "a").payload == b"1"
        assert session.get_one(Second, "a").payload == b"2"


def test_single_table_inheritance_by_a_column_of_the_key(engine: Engine) -> None:
    send(engine, Resize(payload=b"r"), Crop(payload=b"c"), Task(payload=b"t"))
    with Session(engine) as session:
        found = {type(task): task.payload for task in session.scalars(select(Task))}
        assert found == {Task: b"t", Resize: b"r", Crop: b"c"}
        assert [task.kind for task in session.scalars(select(Crop))] == ["crop"]


def test_a_subclass_shares_the_queue_of_its_base() -> None:
    assert Resize.__table__ is Task.__table__
    assert isinstance(Task.__table__, Queue)
    assert [table for table in Base.metadata.tables if table == "Tasks"] == ["Tasks"]


def test_a_key_is_made_up_and_known_after_the_flush(engine: Engine) -> None:
    first, second, own = Task(payload=b""), Task(payload=b""), Task(task_id="mine", payload=b"")
    with Session(engine) as session, session.begin():
        session.add_all([first, second, own])
        session.flush()
        keys = [first.task_id, second.task_id]
        assert len(set(keys)) == 2
        assert all(str(uuid.UUID(key)) == key for key in keys)
        assert own.task_id == "mine"
        assert inspect(first).identity == ("task", first.task_id)


def test_a_queue_message_on_a_plain_table_is_refused() -> None:
    class Stray(QueueMessage):
        pass

    mapping = registry()
    table = Table("Strays", mapping.metadata, Column("k", String(36), primary_key=True))

    def map_it() -> None:
        mapping.map_imperatively(Stray, table)
        configure_mappers()

    with pytest.raises(QueueDefinitionError, match="not mapped to a queue") as caught:
        map_it()
    mapping.dispose()
    assert "Queue(...)" in caught.value.fix


def test_the_order_of_the_bases_does_not_matter() -> None:
    class Local(DeclarativeBase):
        pass

    class Job(Local, QueueMessage):
        __tablename__ = "Jobs"
        key: Mapped[str] = message_key("JobKey")
        payload: Mapped[bytes] = payload_column(Bytes())

    assert isinstance(Job.__table__, Queue)
    local = create_engine("sqlite://")
    Local.metadata.create_all(local)
    send(local, Job(payload=b"x", delay=timedelta(hours=1)))
    with Session(local) as session:
        assert session.scalars(select(Job)).one().payload == b"x"
