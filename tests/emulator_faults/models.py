"""The tables and the queue of the tests of faults, as models."""

from __future__ import annotations

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import QueueMessage, Text, payload_column


class Base(DeclarativeBase):
    pass


class Message(QueueMessage, Base):
    __tablename__ = "q"
    id: Mapped[int] = mapped_column("Id", BigInteger, primary_key=True)
    payload: Mapped[str] = payload_column(Text())


class Sent(Base):
    """A row for each message, from the transaction that sent it."""

    __tablename__ = "Sent"
    id: Mapped[int] = mapped_column("Id", BigInteger, primary_key=True, autoincrement=False)


class Done(Base):
    """A row for each acknowledgment, from the transaction that made it."""

    __tablename__ = "Done"
    id: Mapped[int] = mapped_column("Id", BigInteger, primary_key=True, autoincrement=False)
    attempt: Mapped[str] = mapped_column("Attempt", String(36), primary_key=True)
