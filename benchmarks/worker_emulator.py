"""The worker on the emulator: against Google's client that does the same work, and requests a message.

The client's DBAPI, which SQLAlchemy goes through, takes twice as long for a statement as the client's own
transactions: it parses SQL again and again, and reads every answer as a stream. The worker is held against
the first, and shown beside the second.
"""

from __future__ import annotations

import logging
import re
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import count, islice
from typing import Any
from uuid import uuid4

from google.cloud.spanner_v1 import ExecuteSqlRequest, param_types
from google.cloud.spanner_v1.data_types import JsonObject
from google.cloud.spanner_v1.streamed import StreamedResultSet
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import RetryPolicy, Worker
from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_least, at_most, in_turns, median_ratio, report
from .models import Base, DeadJob, Job, User
from .throughput import BATCH, STRONG, client_database, receive_sql
from .workers import finished, running

THREADS = 10
HANDLED = 20
# What streams and renewals add to the requests of a message.
STREAMS = 0.1
CHUNK = 500
INSERT = "INSERT INTO Users (UserId, MailsSent) VALUES (@id, @sent)"
# As the worker does: not the message that somebody has sent anew under the same key.
DELETE = "DELETE FROM Jobs WHERE MessageId = @id AND DeliverTime < @due ASSERT_ROWS_MODIFIED 1"
STEP = timedelta(microseconds=1)

_user_ids = count(1)


def run(smoke: bool) -> list[Figure]:
    rounds, messages = (3, 100) if smoke else (5, 600)
    # The official emulator aborts what it has no turn for; the worker tells of each.
    logging.getLogger("sqlalchemy_spanner_queues.worker").setLevel(logging.ERROR)
    with Emulator() as emulator:
        return [
            *against_client(emulator, 1, rounds, messages),
            *against_client(emulator, THREADS, rounds, messages),
            *requests(emulator, messages=40 if smoke else 100),
        ]


def against_client(emulator: Emulator, threads: int, rounds: int, messages: int) -> list[Figure]:
    ways = by_worker, by_dbapi, by_client
    paces = in_turns(
        rounds,
        *(partial(on_fresh_queue, emulator, messages, partial(way, threads=threads)) for way in ways),
    )
    ours, dbapi, client = paces
    name = "1 thread" if threads == 1 else f"{threads} threads"
    return [
        report(f"worker, {name}", statistics.median(ours), "1/s"),
        report(f"client's DBAPI, {name}", statistics.median(dbapi), "1/s"),
        report(f"client's transactions, {name}", statistics.median(client), "1/s"),
        at_least(f"worker / client's DBAPI, {name}", median_ratio(ours, dbapi), "ratio", 0.8),
        report(f"worker / client's transactions, {name}", median_ratio(ours, client), "ratio"),
    ]


def on_fresh_queue(emulator: Emulator, messages: int, consume: Callable[[Engine, int], float]) -> float:
    engine = emulator.create_engine(pool_size=THREADS)
    Base.metadata.create_all(engine)
    send_by_client(engine, messages)
    pace = consume(engine, messages)
    engine.dispose()
    return pace


def send_by_client(engine: Engine, messages: int) -> None:
    payload = JsonObject({"template": "welcome", "email": "ada@example.com"})
    for start in range(0, messages, CHUNK):
        size = min(CHUNK, messages - start)
        with client_database(engine).batch() as batch:
            batch.insert("Jobs", ["MessageId", "Payload"], [(str(uuid4()), payload) for _ in range(size)])


def by_worker(engine: Engine, messages: int, threads: int) -> float:
    worker = Worker(engine, concurrency=threads, max_batch_size=BATCH)
    started: list[float] = []

    @worker.handler(Job)
    def work(message: Job, session: Session) -> None:
        started.append(time.perf_counter())
        session.add(User(user_id=next(_user_ids)))

    with running(worker):
        finished(worker, messages)
        return messages / (time.perf_counter() - started[0])


def by_client(engine: Engine, messages: int, threads: int) -> float:
    """Receive by the client's transport, and work in its transactions."""
    database = client_database(engine)
    numbers = {"id": param_types.INT64, "sent": param_types.INT64}
    key = {"id": param_types.STRING, "due": param_types.TIMESTAMP}

    def work(transaction: Any, message_id: str, due: datetime) -> None:
        transaction.execute_update(INSERT, {"id": next(_user_ids), "sent": 0}, numbers)
        transaction.execute_update(DELETE, {"id": message_id, "due": due}, key)

    return by_threads(engine, messages, threads, partial(database.run_in_transaction, work))


def by_dbapi(engine: Engine, messages: int, threads: int) -> float:
    """Receive by the client's transport, and work through its DBAPI, with connections from the pool."""
    insert, delete = (re.sub(r"@\w+", "%s", statement) for statement in (INSERT, DELETE))

    def work(message_id: str, due: datetime) -> None:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(insert, (next(_user_ids), 0))
            cursor.execute(delete, (message_id, due))
            connection.commit()
        finally:
            connection.close()

    return by_threads(engine, messages, threads, work)


def by_threads(engine: Engine, messages: int, threads: int, work: Callable[[str, datetime], None]) -> float:
    with stream(engine) as rows, ThreadPoolExecutor(threads) as pool:
        received = ((row[0], row[2] + STEP) for row in islice(rows, messages))
        first = next(received)
        started = time.perf_counter()
        done = [pool.submit(work, *row) for row in (first, *received)]
        for one in done:
            one.result()
        return messages / (time.perf_counter() - started)


@contextmanager
def stream(engine: Engine) -> Iterator[Iterator[list[Any]]]:
    database = client_database(engine)
    session = database.spanner_api.create_session(request={"database": database.name, "session": {}})
    request = ExecuteSqlRequest(session=session.name, sql=receive_sql(engine), transaction=STRONG)
    routing = [("google-cloud-resource-prefix", database.name)]
    call = database.spanner_api.transport.execute_streaming_sql(request, metadata=routing, timeout=600)
    try:
        yield iter(StreamedResultSet(call))
    finally:
        call.cancel()


def requests(emulator: Emulator, messages: int) -> list[Figure]:
    """Count what reaches the database for each message, a part of the streams and renewals included."""
    retry: dict[str, Any] = {"retry": RetryPolicy(), "dead_letter": DeadJob}
    outside: dict[str, Any] = {"mode": "outside"}

    def figure(name: str, handler: Callable[..., None], limit: float, **options: Any) -> Figure:
        made = counted(emulator, messages, handler, **options)
        return at_most(f"requests, {name}", made, "1/message", limit + STREAMS)

    return [
        # The row, the acknowledgment, the commit; to count: is it there, its attempts, one more, the commit;
        # and to drop the count.
        figure("a row in the transaction", store, 3),
        figure("the same, attempts counted", store, 8, **retry),
        figure(f"{HANDLED} at once", store_all, 3 / HANDLED, batch=HANDLED),
        figure(f"{HANDLED} at once, attempts counted", store_all, 8 / HANDLED, batch=HANDLED, **retry),
        # The acknowledgment and its commit, fewer the more gather meanwhile.
        figure("outside", ignore, 2, **outside),
        figure("outside, attempts counted", ignore, 7, **outside, **retry),
    ]


def store(message: Job, session: Session) -> None:
    session.add(User(user_id=next(_user_ids)))


def store_all(messages: list[Job], session: Session) -> None:
    session.add_all([User(user_id=next(_user_ids)) for _ in messages])


def ignore(message: Job) -> None:
    pass


def counted(emulator: Emulator, messages: int, handler: Callable[..., None], **options: Any) -> float:
    engine = emulator.create_engine()
    Base.metadata.create_all(engine)
    send_by_client(engine, messages)
    # One thread: what others abort would be counted again.
    worker = Worker(engine, concurrency=1, max_batch_size=BATCH)
    worker.handler(Job, **options)(handler)
    emulator.requests(reset=True)
    with running(worker):
        finished(worker, messages)
        made = emulator.requests()
    engine.dispose()
    return sum(number for method, number in made.items() if "Session" not in method) / messages
