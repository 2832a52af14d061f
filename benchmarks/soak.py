"""Minutes of chaos: workers that are killed, requests that fail, and not one message lost or done twice.

``python -m benchmarks.soak --minutes 10 --messages 20000 --workers 5``. A producer sends the messages in the
first 70 % of the time. Then the faults stop, the workers finish what is left, and the figures are counted in
the database. Exits with 1 if a promise does not hold; ``--seed`` repeats the same choices.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_least, at_most, report
from .soaking.faults import Faults
from .soaking.fleet import Fleet
from .soaking.models import WARDS
from .soaking.producer import Producer
from .soaking.program import MAX_ATTEMPTS
from .throughput import client_database

SENDING_SHARE = 0.7
LOOK_SECONDS = 0.1
COUNT_SECONDS = 1.0
TELL_SECONDS = 30.0
# The mean distance of faults and of signals.
FAULT_SECONDS = 2.5
SIGNAL_SECONDS = 15.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--drain-minutes", type=float, default=15.0, help="the longest time to finish in")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    # So that a stop ends the processes as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {arguments.seed}", flush=True)
    figures = soak(arguments)
    for figure in figures:
        verdict = "" if not figure.bound else "ok" if figure.ok else "MISSED"
        print(f"  {figure.name:<52} {figure.value:>12,.6g} {figure.unit:<9} {figure.bound:<10} {verdict}")
    return 0 if all(figure.ok for figure in figures) else 1


def soak(arguments: argparse.Namespace) -> list[Figure]:
    luck = random.Random(arguments.seed)
    with Emulator() as emulator:
        engine = emulator.create_engine()
        for ward in WARDS:
            ward.metadata.create_all(engine)
        database = client_database(engine)
        seconds = arguments.minutes * 60
        producer = Producer(database, arguments.messages, seconds * SENDING_SHARE, luck_of(luck))
        fleet = Fleet(emulator.host, database.name, arguments.workers, luck_of(luck))
        faults = Faults(emulator, luck_of(luck))
        emulator.requests(reset=True)
        try:
            producer.start()
            chaos(engine, producer, fleet, faults, seconds, luck_of(luck))
            drained = drain(engine, producer, fleet, arguments.drain_minutes * 60)
            fleet.stop()
        finally:
            fleet.kill()
            producer.stop()
        figures = [
            *promises(engine, arguments.messages),
            *story(producer, fleet, faults, emulator.requests()),
            report("time to finish after the chaos", drained, "s"),
        ]
        engine.dispose()
    for death in fleet.deaths:
        print(f"a worker ended by itself, {death}", file=sys.stderr)
    return figures


def luck_of(luck: random.Random) -> random.Random:
    """Return a source of its own for each part, so that none disturbs another's choices."""
    return random.Random(luck.getrandbits(64))


def chaos(
    engine: Engine, producer: Producer, fleet: Fleet, faults: Faults, seconds: float, luck: random.Random
) -> None:
    started = time.monotonic()
    fault_at, signal_at, tell_at = FAULT_SECONDS, SIGNAL_SECONDS, TELL_SECONDS
    while (now := time.monotonic() - started) < seconds:
        fleet.look()
        check(producer)
        if now >= fault_at:
            faults.inject_one()
            fault_at = now + luck.expovariate(1 / FAULT_SECONDS)
        if now >= signal_at:
            fleet.strike()
            signal_at = now + luck.expovariate(1 / SIGNAL_SECONDS)
        if now >= tell_at:
            tell_at += TELL_SECONDS
            injected, signals = sum(faults.injected.values()), sum(fleet.signals.values())
            tell(engine, producer, f"{now:5.0f} s: {injected} faults, {signals} signals")
        # Faults and signals come at moments of their own, whatever the workers do.
        time.sleep(LOOK_SECONDS)


def drain(engine: Engine, producer: Producer, fleet: Fleet, longest: float) -> float:
    """Let the workers finish; return how long that took, in seconds."""
    started, tell_at = time.monotonic(), 0.0
    while (now := time.monotonic() - started) < longest:
        fleet.look()
        check(producer)
        if producer.is_over and not waiting(engine):
            break
        if now >= tell_at:
            tell_at += TELL_SECONDS
            tell(engine, producer, f"{now:5.0f} s after the chaos")
        # Each look counts in twenty tables.
        time.sleep(COUNT_SECONDS)
    return now


def tell(engine: Engine, producer: Producer, when: str) -> None:
    try:
        found = f"{waiting(engine)} waiting"
    except DBAPIError as error:
        found = f"not counted, {error.orig!r:.80}"
    print(f"{when}: {producer.sent} sent, {found}", flush=True)


def check(producer: Producer) -> None:
    if producer.error is not None:
        raise producer.error


@contextmanager
def reading(engine: Engine) -> Generator[Session]:
    """Give a session that waits for no turn to write."""
    with engine.connect() as connection:
        yield Session(connection.execution_options(read_only=True))


def waiting(engine: Engine) -> int:
    return count(engine, *[ward.task for ward in WARDS])


def count(engine: Engine, *tables: Any) -> int:
    counts = [select(func.count()).select_from(table).scalar_subquery() for table in tables]
    with reading(engine) as session:
        return sum(session.execute(select(*counts)).one())


def promises(engine: Engine, messages: int) -> list[Figure]:
    with reading(engine) as session:
        wards = [
            session.execute(
                select(
                    func.count(),
                    func.count(result.task.distinct()),
                    func.coalesce(func.max(result.attempts), 0),
                    func.coalesce(func.max(result.seconds), 0.0),
                ).select_from(result)
            ).one()
            for result in (ward.result for ward in WARDS)
        ]
    rows, tasks, attempts, seconds = zip(*wards, strict=True)
    return [
        exactly("tasks with a result", sum(tasks), messages),
        exactly("results", sum(rows), messages),
        exactly("messages in the queues", waiting(engine), 0),
        exactly("rows in the attempts tables", count(engine, *[ward.attempts for ward in WARDS]), 0),
        exactly("dead letters", count(engine, *[ward.dead for ward in WARDS]), 0),
        at_most("attempts at one message", max(attempts), "starts", MAX_ATTEMPTS),
        report("longest time from sent to done", max(seconds), "s"),
    ]


def story(producer: Producer, fleet: Fleet, faults: Faults, requests: Mapping[str, int]) -> list[Figure]:
    return [
        at_least("faults injected", sum(faults.injected.values()), "requests", 1),
        *each("  {}", faults.injected, "requests"),
        *each("workers hit by {}", fleet.signals),
        report("workers started", fleet.starts, ""),
        *each("  ended with {}", fleet.exits),
        at_most("workers that ended by themselves", len(fleet.deaths), "", 0),
        report("sendings without an answer", producer.without_answer, ""),
        *each("{}, by workers that could tell", fleet.events),
        *each("requests, {}", requests),
    ]


def each(name: str, numbers: Mapping[Any, int], unit: str = "") -> list[Figure]:
    return [report(name.format(key), number, unit) for key, number in sorted(numbers.items())]


def exactly(name: str, value: float, wanted: float) -> Figure:
    return Figure(name, value, "", f"= {wanted:g}", value == wanted)


if __name__ == "__main__":
    sys.exit(main())
