"""The models of the benchmarks: a business table, a queue interleaved in it, a queue that stands alone."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, Engine, String
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlalchemy_spanner_queues import Json, QueueMessage, QueueOptions, message_key, payload_column, send_many
from sqlalchemy_spanner_queues.worker import DeadLetters, attempts_table


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "Users"
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True, autoincrement=False)
    mails_sent: Mapped[int] = mapped_column("MailsSent", BigInteger, default=0)


class Note(Base):
    """A plain row of the size of a message, to compare with."""

    __tablename__ = "Notes"
    note_id: Mapped[str] = mapped_column("NoteId", String(36), primary_key=True)
    text: Mapped[str] = mapped_column("Text", String(200))


@dataclass
class Welcome:
    template: str
    email: str


class WelcomeEmail(QueueMessage, Base):
    __tablename__ = "WelcomeEmails"
    __queue__ = QueueOptions(interleave_in=User, on_delete="CASCADE")
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[Welcome] = payload_column(Json(Welcome))


class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[Welcome] = payload_column(Json(Welcome))


attempts_table(Base.metadata)


class DeadJob(DeadLetters, Base):
    __tablename__ = "DeadJobs"


def new_job() -> Job:
    return Job(payload=Welcome("welcome", "ada@example.com"))


def send_jobs(engine: Engine, number: int, chunk: int = 1000) -> None:
    """Send so many messages, ``chunk`` in a transaction."""
    for start in range(0, number, chunk):
        with Session(engine) as session, session.begin():
            send_many(session, [new_job() for _ in range(min(chunk, number - start))])
