"""What the gateway costs requests that have nothing to do with queues.

The same requests of Google's client go to the official emulator, through the gateway, and, for a floor under
what any process in between can cost, through one that copies bytes and looks at none of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from typing import Any

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_client

from .figures import Figure, at_most, in_turns, median_ratio, report
from .forwarder import Forwarder

TABLES = [
    "CREATE TABLE Mutated (Id INT64 NOT NULL, Text STRING(MAX)) PRIMARY KEY (Id)",
    "CREATE TABLE Dml (Id INT64 NOT NULL, Text STRING(MAX)) PRIMARY KEY (Id)",
]
REQUESTS = 50
MOST_COST = 1.15


def run(smoke: bool) -> list[Figure]:
    with Emulator() as emulator, closing(Forwarder(emulator.upstream)) as forwarder:
        path = emulator.create_database(statements=TABLES)
        sides = [database_at(host, path) for host in (emulator.upstream, emulator.host, forwarder.host)]
        numbers = count()
        costs = [
            ("SELECT 1", select_one, MOST_COST),
            ("a commit of two rows, DML", lambda database: dml_two(database, numbers), MOST_COST),
            # Over in less than a millisecond: no bound holds that a process in between can keep.
            ("a commit of two rows, mutations", lambda database: commit_two(database, numbers), None),
        ]
        rounds = 4 if smoke else 20
        return [figure for cost in costs for figure in figures_of(*cost, sides, rounds)]


def figures_of(
    name: str, work: Callable[[Any], object], most: float | None, sides: list[Any], rounds: int
) -> list[Figure]:
    """Time the same requests on each side, in turns."""
    for database in sides:
        seconds_for(work, database)
    direct, gateway, floor = in_turns(rounds, *(lambda db=db: seconds_for(work, db) for db in sides))
    ratio, named = median_ratio(gateway, direct), f"{name}, gateway / official"
    return [
        report(f"{name}, official emulator", statistics.median(direct) * 1000, "ms"),
        at_most(named, ratio, "ratio", most) if most else report(named, ratio, "ratio"),
        report(f"{name}, bytes copied / official", median_ratio(floor, direct), "ratio"),
    ]


def seconds_for(work: Callable[[Any], object], database: Any) -> float:
    started = time.perf_counter()
    for _ in range(REQUESTS):
        work(database)
    return (time.perf_counter() - started) / REQUESTS


def select_one(database: Any) -> list[Any]:
    with database.snapshot() as snapshot:
        return list(snapshot.execute_sql("SELECT 1"))


def commit_two(database: Any, numbers: Iterator[int]) -> None:
    with database.batch() as batch:
        batch.insert("Mutated", ["Id", "Text"], [(next(numbers), "a"), (next(numbers), "b")])


def dml_two(database: Any, numbers: Iterator[int]) -> None:
    sql = "INSERT INTO Dml (Id, Text) VALUES ({}, 'a')"
    first, second = next(numbers), next(numbers)
    database.run_in_transaction(
        lambda transaction: [transaction.execute_update(sql.format(id)) for id in (first, second)]
    )


def database_at(host: str, path: str) -> Any:
    return make_client(host).instance(path.split("/")[3]).database(path.rsplit("/", 1)[1])
