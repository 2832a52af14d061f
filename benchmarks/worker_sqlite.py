"""The worker on a SQLite file: how fast it drains, how soon it starts, how little it does when it waits.

The targets are 5,000 messages a second without work and 2,000 with a row in the same transaction, on a
machine where plain commits of two rows reach 2,690; the ratios hold on any.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Worker

from .figures import Figure, at_least, at_most, in_turns, median_ratio, percentile, report
from .models import Base, Job, User, send_jobs
from .sqlite_throughput import plain
from .sqlite_wake import PATIENCE_SECONDS, QUIET_SECONDS, commit
from .workers import running

PLAIN_RATE = 2690
DRAINED = 5000 / PLAIN_RATE
WORKED = 2000 / PLAIN_RATE
THREADS = 10, 1
# What the last message leaves behind is over by then.
SETTLE_SECONDS = 0.5

# Away from the ids of the plain commits.
_user_ids = count(10**9)


def run(smoke: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'queue.db'}")
        Base.metadata.create_all(engine)
        figures = [
            *speed(engine, *((3, 300, 1500) if smoke else (7, 1000, 10_000))),
            *waiting(engine, *((20, 2.0) if smoke else (200, 25.0))),
        ]
        engine.dispose()
    return figures


def speed(engine: Engine, rounds: int, commits: int, messages: int) -> list[Figure]:
    plains, *taken = in_turns(
        rounds,
        partial(plain, engine, commits),
        *(partial(work, engine, commits, threads) for threads in THREADS),
        *(partial(drain, engine, messages, threads) for threads in THREADS),
    )
    names = "a row in its transaction", "no work"
    figures = [report("plain commits of two rows", statistics.median(plains), "1/s")]
    for at, rates in enumerate(taken):
        name = f"{names[at // 2]}, concurrency {THREADS[at % 2]}"
        figures.append(report(name, statistics.median(rates), "1/s"))
        limit = (WORKED, DRAINED)[at // 2]
        figures.append(at_least(f"{name} / plain", median_ratio(rates, plains), "ratio", round(limit, 2)))
    return figures


def work(engine: Engine, messages: int, threads: int) -> float:
    worker = Worker(engine, concurrency=threads)

    @worker.handler(Job)
    def store(message: Job, session: Session) -> None:
        session.add(User(user_id=next(_user_ids)))

    return drained(engine, worker, messages)


def drain(engine: Engine, messages: int, threads: int) -> float:
    worker = Worker(engine, concurrency=threads)

    @worker.handler(Job, mode="outside")
    def ignore(message: Job) -> None:
        pass

    return drained(engine, worker, messages)


def drained(engine: Engine, worker: Worker, messages: int) -> float:
    """Return the messages a second from the worker's start to its end."""
    send_jobs(engine, messages)
    started = time.perf_counter()
    done = worker.drain()["message.succeeded"]
    assert done == messages, done
    return messages / (time.perf_counter() - started)


def waiting(engine: Engine, messages: int, idle_seconds: float) -> list[Figure]:
    started: SimpleQueue[float] = SimpleQueue()
    worker = Worker(engine)

    @worker.handler(Job)
    def note(message: Job, session: Session) -> None:
        started.put(time.monotonic())

    with running(worker):
        delays = [delay(engine, started) for _ in range(messages)]
        statements = idling(idle_seconds)
    return [
        at_most("commit to handler, p95", percentile(delays, 0.95), "ms", 5),
        report("commit to handler, median", statistics.median(delays), "ms"),
        at_most("statements of an idle worker", statements, "1/s", 0.1),
    ]


def delay(engine: Engine, started: SimpleQueue[float]) -> float:
    """Return the milliseconds from the return of a commit to its handler."""
    # At no fixed distance, so as not to fall in step with anything.
    time.sleep(QUIET_SECONDS * random.uniform(0.5, 1.5))
    committed = commit(engine)
    return max(started.get(timeout=PATIENCE_SECONDS) - committed, 0.0) * 1000


def idling(seconds: float) -> float:
    """Return the statements a second of a worker with nothing to do."""
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    time.sleep(SETTLE_SECONDS)
    # On the class: the worker has engines of its own.
    event.listen(Engine, "before_cursor_execute", note)
    # The measurement itself: nothing may happen meanwhile.
    time.sleep(seconds)
    event.remove(Engine, "before_cursor_execute", note)
    return len(statements) / seconds
