"""What users' type checkers see of the worker; checked by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_type

from sqlalchemy import Engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session

from sqlalchemy_spanner_queues import (
    Ack,
    Bytes,
    QueueMessage,
    Retry,
    RetryPolicy,
    Worker,
    message_key,
    payload_column,
)
from sqlalchemy_spanner_queues.worker import (
    Call,
    DeadLetters,
    Health,
    WorkerEvent,
    dead_letters,
    on_send,
    redrive,
)


class Base(DeclarativeBase):
    pass


class Blob(QueueMessage, Base):
    __tablename__ = "Blobs"
    key: Mapped[str] = message_key("Key")
    payload: Mapped[bytes] = payload_column(Bytes())


class FailedMessage(DeadLetters, Base):
    __tablename__ = "FailedMessages"


def declare(engine: Engine) -> None:
    worker = Worker(engine)

    @worker.handler(Blob, retry=RetryPolicy(max_attempts=3), dead_letter=FailedMessage)
    def work(message: Blob, session: Session) -> Ack | Retry | None:
        return None

    @worker.handler(Blob, mode="outside", batch=20)
    async def call(messages: list[Blob]) -> None: ...

    @worker.middleware
    def around(call: Call, proceed: Callable[[], object]) -> object:
        assert_type(call.message, QueueMessage)
        return proceed()

    @worker.listen
    def show(event: WorkerEvent) -> None: ...

    @on_send(Blob)
    def stamp(message: Blob) -> None: ...

    with Session(engine) as session:
        assert_type(work(Blob(), session), Ack | Retry | None)
    assert_type(worker.run(), int)
    assert_type(worker.drain(timeout=1.0), dict[str, int])
    assert_type(worker.health(), Health)


def look(session: Session) -> None:
    letters = dead_letters(session, FailedMessage, queue="Blobs")
    assert_type(letters, list[FailedMessage])
    assert_type(letters[0].payload, bytes)
    redrive(session, *letters)
