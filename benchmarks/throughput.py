"""Rows a second on the emulator: the receiver, which maps and holds leases, against Google's client."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from uuid import uuid4

from google.cloud.spanner_v1 import ExecuteSqlRequest, TransactionOptions, TransactionSelector
from google.cloud.spanner_v1.data_types import JsonObject
from google.cloud.spanner_v1.streamed import StreamedResultSet
from sqlalchemy import Engine, select

from sqlalchemy_spanner_queues import Receiver, receive
from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_least, in_turns, median_ratio, report
from .models import Base, Job

BATCH = 100
CHUNK = 500
STRONG = TransactionSelector(
    single_use=TransactionOptions(read_only=TransactionOptions.ReadOnly(strong=True))
)


class Pace(NamedTuple):
    """How fast rows were read, and the CPU that this process used for each (µs)."""

    rate: float
    cpu: float


def run(smoke: bool) -> list[Figure]:
    rounds, messages = (3, 1500) if smoke else (7, 10_000)
    with Emulator() as emulator:
        paces = in_turns(
            rounds,
            partial(on_fresh_queue, emulator, messages, by_receiver),
            partial(on_fresh_queue, emulator, messages, by_transport),
            partial(on_fresh_queue, emulator, messages, by_snapshot),
        )
    names = "receiver, mapped and leased", "client's transport and result set", "client's snapshot"
    figures: list[Figure] = []
    for name, taken in zip(names, paces, strict=True):
        figures.append(report(name, statistics.median(pace.rate for pace in taken), "rows/s"))
        figures.append(report(f"{name}, CPU", statistics.median(pace.cpu for pace in taken), "µs/row"))
    receiver, transport, snapshot = [[pace.rate for pace in taken] for taken in paces]
    figures.append(at_least("receiver / client's transport", median_ratio(receiver, transport), "ratio", 0.8))
    figures.append(report("receiver / client's snapshot", median_ratio(receiver, snapshot), "ratio"))
    return figures


def on_fresh_queue(emulator: Emulator, messages: int, consume: Callable[[Engine, int], Pace]) -> Pace:
    """Fill a new database's queue, and read it."""
    engine = emulator.create_engine()
    Base.metadata.create_all(engine)
    database = client_database(engine)
    for start in range(0, messages, CHUNK):
        payload = JsonObject({"template": "welcome", "email": f"{start}@example.com"})
        with database.batch() as batch:
            batch.insert("Jobs", ["MessageId", "Payload"], [(str(uuid4()), payload) for _ in range(CHUNK)])
    pace = consume(engine, messages)
    engine.dispose()
    return pace


def by_receiver(engine: Engine, messages: int) -> Pace:
    with Receiver(engine, Job, max_batch_size=BATCH) as receiver:
        return pace_of(receiver, messages)


def by_transport(engine: Engine, messages: int) -> Pace:
    database = client_database(engine)
    session = database.spanner_api.create_session(request={"database": database.name, "session": {}})
    request = ExecuteSqlRequest(session=session.name, sql=receive_sql(engine), transaction=STRONG)
    routing = [("google-cloud-resource-prefix", database.name)]
    call = database.spanner_api.transport.execute_streaming_sql(request, metadata=routing, timeout=600)
    try:
        return pace_of(StreamedResultSet(call), messages)
    finally:
        call.cancel()


def by_snapshot(engine: Engine, messages: int) -> Pace:
    with client_database(engine).snapshot() as snapshot:
        return pace_of(snapshot.execute_sql(receive_sql(engine)), messages)


def pace_of(rows: Iterable[object], messages: int) -> Pace:
    """Read so many rows; the clocks start with the first, which waits for the stream to open."""
    reading = iter(rows)
    next(reading)
    cpu, started = time.process_time(), time.perf_counter()
    read = sum(1 for _ in islice(reading, messages - 1))
    assert read == messages - 1
    return Pace(read / (time.perf_counter() - started), (time.process_time() - cpu) / read * 1e6)


def receive_sql(engine: Engine) -> str:
    """Return the SQL of a Receiver."""
    messages = receive(Job, max_batch_size=BATCH, max_duration=timedelta(minutes=20))
    return str(select(messages).compile(dialect=engine.dialect))


def client_database(engine: Engine) -> Any:
    connection = engine.raw_connection()
    try:
        driver: Any = connection.driver_connection
        return driver.database
    finally:
        connection.close()
