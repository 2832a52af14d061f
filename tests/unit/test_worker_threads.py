"""The threads of a worker on SQLite: all that is due is drained, and slow handlers run side by side."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session

from sqlalchemy_spanner_queues import Json, QueueMessage, Worker, message_key, payload_column, send_many

THREADS = 10
PATIENCE_SECONDS = 30.0


class Base(DeclarativeBase):
    pass


class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    job_id: Mapped[str] = message_key("JobId")
    payload: Mapped[int] = payload_column(Json(int))


def queue_of(folder: Path, messages: int) -> Engine:
    engine = create_engine(f"sqlite:///{folder / 'queue.db'}")
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        send_many(session, [Job(payload=number) for number in range(messages)])
    return engine


def test_a_drain_does_not_miss_what_is_on_its_way_to_a_handler(tmp_path: Path) -> None:
    """Between two batches nothing is due and nothing is worked on, for a moment."""
    engine = queue_of(tmp_path, 1500)
    worker = Worker(engine)

    @worker.handler(Job)
    def work(message: Job, session: Session) -> None:
        pass

    assert worker.drain()["message.succeeded"] == 1500
    engine.dispose()


def test_handlers_that_wait_run_side_by_side(tmp_path: Path) -> None:
    engine = queue_of(tmp_path, THREADS)
    worker = Worker(engine, concurrency=THREADS)
    meeting = threading.Barrier(THREADS)

    @worker.handler(Job, mode="outside")
    def meet(message: Job) -> None:
        meeting.wait(PATIENCE_SECONDS)

    assert worker.drain()["message.succeeded"] == THREADS
    engine.dispose()


def test_quick_and_slow_ones_go_on_together(tmp_path: Path) -> None:
    engine = queue_of(tmp_path, 300)
    worker = Worker(engine, concurrency=THREADS)
    released = threading.Event()
    seen: list[int] = []

    @worker.handler(Job, mode="outside")
    def work(message: Job) -> None:
        if message.payload % 100 == 50:
            assert released.wait(PATIENCE_SECONDS)
        else:
            seen.append(message.payload)
            if len(seen) == 297:
                released.set()

    assert worker.drain()["message.succeeded"] == 300
    engine.dispose()
