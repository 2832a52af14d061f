"""What queues cost on a SQLite file, against plain commits of two rows by the same ORM in the same file."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Receiver, acknowledge

from .figures import Figure, at_least, in_turns, median_ratio, report
from .models import Base, Job, Note, User, new_job, send_jobs

FLOOR = 0.7
BATCH = 100

_user_ids = count(1)


def run(smoke: bool) -> list[Figure]:
    rounds, commits = (3, 300) if smoke else (7, 2000)
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'queue.db'}")
        Base.metadata.create_all(engine)
        plains, outboxes, works, drains = in_turns(
            rounds, *(partial(measure, engine, commits) for measure in (plain, outbox, work, drain))
        )
        engine.dispose()
    return [
        report("plain commits of two rows", statistics.median(plains), "1/s"),
        report("outbox commits of a row and a message", statistics.median(outboxes), "1/s"),
        at_least("outbox / plain", median_ratio(outboxes, plains), "ratio", FLOOR),
        report("a row and the acknowledgment in one commit", statistics.median(works), "1/s"),
        at_least("work and acknowledgment / plain", median_ratio(works, plains), "ratio", FLOOR),
        report(f"drained, {BATCH} acknowledged at once", statistics.median(drains), "1/s"),
        at_least("drained / plain", median_ratio(drains, plains), "ratio", 2.5),
    ]


def plain(engine: Engine, commits: int) -> float:
    def commit() -> None:
        with Session(engine) as session, session.begin():
            session.add(User(user_id=next(_user_ids)))
            session.add(Note(note_id=str(uuid4()), text='{"template": "hi", "email": "ada@example.com"}'))

    return rate(commits, lambda: repeat(commits, commit))


def outbox(engine: Engine, commits: int) -> float:
    """Commit rows with messages; what was sent is drained afterwards, outside the time."""

    def commit() -> None:
        with Session(engine) as session, session.begin():
            session.add(User(user_id=next(_user_ids)))
            session.add(new_job())

    taken = rate(commits, lambda: repeat(commits, commit))
    receive_all(engine, commits)
    return taken


def work(engine: Engine, commits: int) -> float:
    """Work and acknowledge message by message, each in one transaction."""
    send_jobs(engine, commits)

    def receive() -> None:
        left = commits
        with Receiver(engine, Job, max_batch_size=BATCH) as receiver:
            for message in receiver:
                with receiver.processing(message) as session:
                    session.add(User(user_id=next(_user_ids)))
                left -= 1
                if not left:
                    return

    return rate(commits, receive)


def drain(engine: Engine, commits: int) -> float:
    send_jobs(engine, commits)
    return rate(commits, lambda: receive_all(engine, commits))


def receive_all(engine: Engine, messages: int) -> None:
    with Receiver(engine, Job, max_batch_size=BATCH) as receiver:
        for batch in receiver.batches():
            with Session(engine) as session, session.begin():
                acknowledge(session, *batch)
            messages -= len(batch)
            if not messages:
                return


def repeat(times: int, action: Callable[[], None]) -> None:
    for _ in range(times):
        action()


def rate(number: int, action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return number / (time.perf_counter() - started)
