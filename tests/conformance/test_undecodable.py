"""A payload that cannot be decoded reaches its handler's error path, and harms no other message."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Column, MetaData, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import Json, PayloadError, Queue, QueueMessage, Receiver, payload_column
from sqlalchemy_spanner_queues.message import UndecodablePayload
from tests.conformance.engines import World
from tests.conformance.helpers import count, finish, send, take, take_batch
from tests.conformance.models import Welcome


class Base(DeclarativeBase):
    pass


class Greeting(QueueMessage, Base):
    __tablename__ = "Greetings"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Welcome] = payload_column(Json(Welcome))


def plain_queue() -> Queue:
    """Return the same queue as a program sees it that knows nothing of the dataclass."""
    return Queue("Greetings", MetaData(), Column("K", String(36), primary_key=True), payload=Json())


RUBBISH: list[Any] = [{"unknown": 1}, [1, 2], "text", {"template": 1, "email": None}]


def send_rubbish_between_good(world: World) -> None:
    world.create(Base.metadata)
    send(world, Greeting(key="a", payload=Welcome("hi", "a@example.com")))
    with world.engine.begin() as connection:
        rows = [{"K": f"m{at}", "payload": value} for at, value in enumerate(RUBBISH)]
        connection.execute(plain_queue().insert(), rows)
    send(world, Greeting(key="z", payload=Welcome("hi", "z@example.com")))


def test_the_messages_around_it_are_delivered_and_it_carries_what_is_stored(world: World) -> None:
    send_rubbish_between_good(world)
    with Receiver(world.engine, Greeting) as receiver:
        found = {message.key: message.payload for message in take(receiver, len(RUBBISH) + 2)}
    assert found["a"] == Welcome("hi", "a@example.com")
    assert found["z"] == Welcome("hi", "z@example.com")
    for at, value in enumerate(RUBBISH):
        payload: Any = found[f"m{at}"]
        assert isinstance(payload, UndecodablePayload)
        assert payload.raw == value
        assert type(payload.raw) is type(value)
        assert isinstance(payload.error, PayloadError)
        with pytest.raises(PayloadError):
            payload.template  # noqa: B018


def test_processing_raises_and_acknowledges_nothing(world: World) -> None:
    send_rubbish_between_good(world)
    with Receiver(world.engine, Greeting) as receiver:
        refused = 0
        for message in take_batch(receiver):
            if isinstance(message.payload, UndecodablePayload):
                with pytest.raises(PayloadError), receiver.processing(message):
                    pytest.fail("the block runs although there is no payload")
                refused += 1
        assert refused == len(RUBBISH)
    with world.engine.connect() as connection:
        assert len(connection.execute(plain_queue().select()).all()) == len(RUBBISH) + 2


def test_it_can_be_acknowledged_by_hand(world: World) -> None:
    send_rubbish_between_good(world)
    with Receiver(world.engine, Greeting) as receiver:
        finish(world.engine, *take_batch(receiver))
    assert count(world, Greeting) == 0
