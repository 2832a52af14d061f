"""Models that the conformance tests share; no engine is named here."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from sqlalchemy_spanner_queues import Bytes, Json, QueueMessage, QueueOptions, message_key, payload_column


class Base(DeclarativeBase):
    pass


@dataclass
class Welcome:
    template: str
    email: str


class WelcomeEmail(QueueMessage, Base):
    """An interleaved queue: its table's name and its class come after its parent's in every order."""

    __tablename__ = "WelcomeEmails"
    __queue__ = QueueOptions(interleave_in="Users", on_delete="CASCADE")
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[Welcome] = payload_column(Json(Welcome))
    user: Mapped[User] = relationship()


class Audit(QueueMessage, Base):
    """An interleaved queue that sorts before its parent by name, and is related to nothing."""

    __tablename__ = "Audits"
    __queue__ = QueueOptions(interleave_in="Users", on_delete="NO ACTION")
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[bytes] = payload_column(Bytes())


class Job(QueueMessage, Base):
    """A queue that stands alone."""

    __tablename__ = "Jobs"
    key: Mapped[str] = mapped_column("JobKey", String(64), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())


class User(Base):
    __tablename__ = "Users"
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True, autoincrement=False)
    welcomed: Mapped[bool] = mapped_column("Welcomed", default=False)


class HeldBase(DeclarativeBase):
    pass


class HeldJob(QueueMessage, HeldBase):
    """A queue that takes messages and delivers none."""

    __tablename__ = "HeldJobs"
    __queue__ = QueueOptions(options={"disable_delivery": True})
    key: Mapped[str] = mapped_column("JobKey", String(64), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())
