"""What users' type checkers see; checked by mypy and pyright, never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from sqlalchemy import BigInteger, Engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlalchemy_spanner_queues import (
    Bytes,
    Json,
    Lease,
    QueueMessage,
    Receiver,
    message_key,
    payload_column,
    reschedule,
    send_many,
)


class Base(DeclarativeBase):
    pass


@dataclass
class Welcome:
    email: str


class WelcomeEmail(QueueMessage, Base):
    __tablename__ = "WelcomeEmails"
    user_id: Mapped[int] = mapped_column("UserId", BigInteger, primary_key=True)
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[Welcome] = payload_column(Json(Welcome))


class Blob(QueueMessage, Base):
    __tablename__ = "Blobs"
    key: Mapped[str] = message_key("Key")
    payload: Mapped[bytes] = payload_column(Bytes())


def receive_messages(engine: Engine) -> None:
    with Receiver(engine, WelcomeEmail, where=WelcomeEmail.user_id == 1) as receiver:
        for message in receiver:
            assert_type(message, WelcomeEmail)
            assert_type(message.payload, Welcome)
            assert_type(message.lease, Lease)
            with receiver.processing(message) as session:
                assert_type(session, Session)
        for batch in receiver.batches():
            assert_type(batch, list[WelcomeEmail])


def send_messages(session: Session, message: Blob) -> None:
    assert_type(send_many(session, [message], on_conflict="skip"), list[Blob | None])
    assert_type(reschedule(session, message), Blob)
