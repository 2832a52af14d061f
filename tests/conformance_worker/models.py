"""Models that the worker's tests share; no engine is named here."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Column, MetaData, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import Bytes, Json, Queue, QueueMessage, message_key, payload_column
from sqlalchemy_spanner_queues.worker import DeadLetters, DeadMessage, attempts_table


class Base(DeclarativeBase):
    pass


@dataclass
class Note:
    text: str
    kind: str = ""


class Task(QueueMessage, Base):
    __tablename__ = "Tasks"
    key: Mapped[str] = mapped_column("TaskKey", String(64), primary_key=True)
    payload: Mapped[Note] = payload_column(Json(Note))


class Errand(QueueMessage, Base):
    """Another queue of the same worker."""

    __tablename__ = "Errands"
    key: Mapped[str] = mapped_column("ErrandKey", String(64), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())


class Done(Base):
    """What handlers write: a row for each message."""

    __tablename__ = "Done"
    key: Mapped[str] = mapped_column("DoneKey", String(64), primary_key=True)


class FailedTask(DeadLetters, Base):
    __tablename__ = "FailedTasks"


class FailedLater(QueueMessage, Base):
    """A queue of dead letters."""

    __tablename__ = "FailedLater"
    letter_id: Mapped[str] = message_key("LetterId")
    payload: Mapped[DeadMessage] = payload_column(Json(DeadMessage))


ATTEMPTS = attempts_table(Base.metadata)


class ShapeBase(DeclarativeBase):
    pass


class Shape(QueueMessage, ShapeBase):
    """A queue of several types, told apart by a part of the key."""

    __tablename__ = "Shapes"
    kind: Mapped[str] = mapped_column("Kind", String(20), primary_key=True)
    key: Mapped[str] = mapped_column("ShapeKey", String(64), primary_key=True)
    payload: Mapped[Note] = payload_column(Json(Note))
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "shape"}


class Circle(Shape):
    __mapper_args__ = {"polymorphic_identity": "circle"}


class Square(Shape):
    __mapper_args__ = {"polymorphic_identity": "square"}


def plain_tasks() -> Queue:
    """Return the queue of tasks as a program sees it that knows nothing of Note."""
    return Queue("Tasks", MetaData(), Column("TaskKey", String(64), primary_key=True), payload=Json())
