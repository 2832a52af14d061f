"""The gateway: how fast it delivers, and what it takes when nothing comes, in time and in memory."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from google.cloud.spanner_v1 import ExecuteSqlRequest
from google.cloud.spanner_v1.streamed import StreamedResultSet

from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_least, at_most, report

QUEUE = "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)"
BATCH = 100
SEND_AT_ONCE = 2000


def run(smoke: bool) -> list[Figure]:
    figures: list[Figure] = []
    backlogs = (5_000,) if smoke else (20_000, 200_000)
    rates = [delivery_rate(size) for size in backlogs]
    for size, rate in zip(backlogs, rates, strict=True):
        figures.append(at_least(f"delivered from a backlog of {size:,}", rate, "rows/s", 5_000))
    figures.append(report("delivery, the largest backlog / the smallest", rates[-1] / rates[0], "ratio"))
    figures.append(idle_receivers(receivers=200, seconds=5 if smoke else 20))
    figures += memory(rounds=4 if smoke else 10, messages=2_000 if smoke else 10_000)
    return figures


def delivery_rate(messages: int) -> float:
    """Deliver a whole backlog to one stream; the first message's wait counts as well."""
    with Emulator() as emulator:
        database = queue_database(emulator)
        send(database, range(messages))
        started = time.perf_counter()
        with receive(database) as rows:
            assert len({row[0] for row in islice(rows, messages)}) > 0
        return messages / (time.perf_counter() - started)


def idle_receivers(receivers: int, seconds: float) -> Figure:
    """Measure the processor time of the gateway while so many streams wait for messages."""
    with Emulator() as emulator, ExitStack() as streams:
        database = queue_database(emulator)
        for _ in range(receivers):
            streams.enter_context(receive(database))
        before = processor_seconds(emulator)
        threading.Event().wait(seconds)
        share = (processor_seconds(emulator) - before) / seconds
    return at_most(f"{receivers} idle receivers, gateway", share * 100, "% of core", 5.0)


def memory(rounds: int, messages: int) -> list[Figure]:
    """Send, receive and acknowledge again and again; the gateway's memory must not follow."""
    sizes: list[float] = []
    with Emulator() as emulator:
        database = queue_database(emulator)
        for number in range(rounds):
            keys = range(number * messages, (number + 1) * messages)
            send(database, keys)
            with receive(database) as rows:
                received = [row[0] for row in islice(rows, messages)]
            for start in range(0, messages, SEND_AT_ONCE):
                with database.batch() as batch:
                    for key in received[start : start + SEND_AT_ONCE]:
                        batch.ack("q", [key])
            emulator.advance(120)
            sizes.append(resident_megabytes(emulator))
    settled = sizes[len(sizes) // 2]
    return [
        report(f"gateway after {rounds * messages // 2:,} acknowledged messages", settled, "MB"),
        at_most("growth over as many again", sizes[-1] - settled, "MB", 10.0),
    ]


def queue_database(emulator: Emulator) -> Any:
    return database_of(emulator.client, emulator.create_database(statements=[QUEUE]))


def database_of(client: Any, path: str) -> Any:
    return client.instance(path.split("/")[3]).database(path.rsplit("/", 1)[1])


def send(database: Any, keys: range) -> None:
    for start in range(keys.start, keys.stop, SEND_AT_ONCE):
        rows = [(key, f"payload {key}") for key in range(start, min(start + SEND_AT_ONCE, keys.stop))]
        with database.batch() as batch:
            batch.insert("q", ["Id", "Payload"], rows)


@contextmanager
def receive(database: Any) -> Iterator[Iterator[list[Any]]]:
    """Open a stream on the client's transport."""
    session = database.spanner_api.create_session(request={"database": database.name, "session": {}})
    sql = f"SELECT * FROM RECEIVE_q(max_batch_size => {BATCH})"
    request = ExecuteSqlRequest(session=session.name, sql=sql)
    call = database.spanner_api.transport.execute_streaming_sql(request, timeout=600)
    with closing(_Cancelled(call)):
        yield iter(StreamedResultSet(call))


class _Cancelled:
    def __init__(self, call: Any) -> None:
        self._call = call

    def close(self) -> None:
        self._call.cancel()


def processor_seconds(emulator: Emulator) -> float:
    statistics_of = Path(f"/proc/{emulator.pid}/stat")
    if statistics_of.exists():
        user, system = statistics_of.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    minutes, _, seconds = ps(emulator, "cputime").rpartition(":")
    hours, _, minutes = minutes.rpartition(":")
    return float(hours or 0) * 3600 + float(minutes) * 60 + float(seconds)


def resident_megabytes(emulator: Emulator) -> float:
    return int(ps(emulator, "rss")) / 1024


def ps(emulator: Emulator, what: str) -> str:
    command = ["ps", "-o", f"{what}=", "-p", str(emulator.pid)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
