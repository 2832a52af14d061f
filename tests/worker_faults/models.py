"""The queue whose worker is disturbed, and the tables in which its effects are counted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import Json, QueueMessage, payload_column
from sqlalchemy_spanner_queues.worker import DeadLetters, attempts_table


class Base(DeclarativeBase):
    pass


@dataclass
class Work:
    """A payload; JSON of another shape is rubbish to its queue."""

    what: str


class Task(QueueMessage, Base):
    __tablename__ = "Tasks"
    id: Mapped[int] = mapped_column("Id", BigInteger, primary_key=True, autoincrement=False)
    payload: Mapped[Work] = payload_column(Json(Work))


class Done(Base):
    """The business row of a handler, one for each time that its transaction committed."""

    __tablename__ = "Done"
    id: Mapped[int] = mapped_column("Id", BigInteger, primary_key=True, autoincrement=False)
    attempt: Mapped[str] = mapped_column("Attempt", String(36), primary_key=True)


class Failed(DeadLetters, Base):
    __tablename__ = "Failed"


ATTEMPTS = attempts_table(Base.metadata)
