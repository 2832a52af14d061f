"""A payload class of the application that raises cannot end the stream."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import Json, PayloadError, QueueMessage, Receiver, payload_column
from sqlalchemy_spanner_queues.message import UndecodablePayload
from tests.conformance.engines import World
from tests.conformance.helpers import send, take


class Base(DeclarativeBase):
    pass


forbidden: set[str] = set()


@dataclass
class Moody:
    name: str

    def __post_init__(self) -> None:
        if self.name in forbidden:
            raise LookupError(self.name)


class Mood(QueueMessage, Base):
    __tablename__ = "Moods"
    key: Mapped[str] = mapped_column("MoodKey", String(36), primary_key=True)
    payload: Mapped[Moody] = payload_column(Json(Moody))


def test_an_error_in_a_payloads_own_class_does_not_end_the_stream(world: World) -> None:
    world.create(Base.metadata)
    send(world, *(Mood(key=name, payload=Moody(name)) for name in "abc"))
    forbidden.add("b")
    try:
        with Receiver(world.engine, Mood) as receiver:
            received = {message.key: message.payload for message in take(receiver, 3)}
    finally:
        forbidden.clear()
    broken = received.pop("b")
    assert received == {"a": Moody("a"), "c": Moody("c")}
    assert isinstance(broken, UndecodablePayload)
    assert isinstance(broken.error, PayloadError)
    assert isinstance(broken.error.__cause__, LookupError | ValueError)
