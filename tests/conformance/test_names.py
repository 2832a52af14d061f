"""Names that are reserved words, or need quoting, work everywhere: DDL, sending, receiving, renewing."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlalchemy_spanner_queues import QueueMessage, QueueOptions, Receiver, Text, acknowledge, payload_column
from tests.conformance.engines import World
from tests.conformance.helpers import count, send, take_one


class Base(DeclarativeBase):
    pass


class Select(Base):
    __tablename__ = "Select"
    group_id: Mapped[str] = mapped_column("GroupId", String(36), primary_key=True)


class Order(QueueMessage, Base):
    __tablename__ = "Order"
    __queue__ = QueueOptions(interleave_in="Select", on_delete="CASCADE", descending={"Group"})
    group_id: Mapped[str] = mapped_column("GroupId", String(36), primary_key=True)
    group: Mapped[str] = mapped_column("Group", String(36), primary_key=True)
    payload: Mapped[str] = payload_column(Text())


def test_reserved_words_are_names_like_any_other(world: World) -> None:
    world.create(Base.metadata)
    send(world, Order(group_id="g", group="h", payload="x"), Select(group_id="g"))
    with Receiver(world.engine, Order, where=Order.group == "h") as receiver:
        message = take_one(receiver)
        token = message.lease.token
        assert receiver._keeper is not None
        assert receiver._keeper.beat()
        assert message.lease.token != token
        with receiver.processing(message) as session:
            assert session.get_one(Select, "g").group_id == message.group_id
    assert count(world, Order) == 0
    Base.metadata.drop_all(world.engine)


def test_a_message_under_a_reserved_name_is_acknowledged_in_any_session(world: World) -> None:
    world.create(Base.metadata)
    send(world, Select(group_id="g"), Order(group_id="g", group="h", payload="x"))
    with Session(world.engine) as session, session.begin():
        acknowledge(session, session.get_one(Order, ("g", "h")))
    assert count(world, Order) == 0
