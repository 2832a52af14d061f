"""A worker process of the soak: its handlers store one result for each task, and fail at random.

``python -m benchmarks.soaking.program DATABASE SEED``, with SPANNER_EMULATOR_HOST set, prints its counters.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Retry, RetryPolicy, Worker
from sqlalchemy_spanner_queues.worker import Call

from .models import WARDS, Task, Ward

# Above what kills, faults and failing handlers together can use up.
MAX_ATTEMPTS = 40
BATCH = 20
# The official emulator has one transaction at a time: more threads would only wait there.
CONCURRENCY = 2
RAISES, RETRIES, SLOW = 0.02, 0.01, 0.003
# Longer than a lease, so that the work depends on renewals.
SLOW_SECONDS = 12.0
SHUTDOWN_SECONDS = 15.0
LOST_PARENT = 3

_attempts = threading.local()


class HadABadDay(Exception):
    """What a handler of the soak raises at random."""


def make_worker(engine: Engine, luck: random.Random) -> Worker:
    worker = Worker(engine, concurrency=CONCURRENCY, shutdown_timeout=SHUTDOWN_SECONDS)
    policy = RetryPolicy(
        max_attempts=MAX_ATTEMPTS, initial=timedelta(seconds=0.2), factor=1.5, cap=timedelta(seconds=5)
    )

    @worker.middleware
    def note_attempts(call: Call, proceed: Callable[[], object]) -> object:
        _attempts.number = call.attempts
        return proceed()

    for ward in WARDS:
        add_handlers(worker, ward, policy, luck)
    return worker


def add_handlers(worker: Worker, ward: Ward, policy: RetryPolicy, luck: random.Random) -> None:
    options: dict[str, Any] = {"by": "payload.kind", "retry": policy, "dead_letter": ward.dead}

    @worker.handler(ward.task, type="single", **options)
    def single(task: Task, session: Session) -> object:
        session.add(result_of(ward, task))
        return live(luck)

    @worker.handler(ward.task, type="batch", batch=BATCH, **options)
    def batch(tasks: list[Task], session: Session) -> object:
        session.add_all([result_of(ward, task) for task in tasks])
        return live(luck)


def result_of(ward: Ward, task: Task) -> Any:
    seconds = time.time() - task.payload.sent_at
    return ward.result(task=task.task_id, attempts=_attempts.number, seconds=seconds)


def live(luck: random.Random) -> object:
    """Take some time; fail, or ask for another delivery, now and then."""
    chance = luck.random()
    if chance < RAISES:
        raise HadABadDay(f"a chance of {RAISES}")
    if chance < RAISES + RETRIES:
        return Retry(delay=timedelta(seconds=luck.uniform(0, 2)), reason="not now")
    # The work of the soak is to take time, so that processes die and leases are renewed in the middle of it.
    time.sleep(SLOW_SECONDS if chance > 1 - SLOW else luck.uniform(0, 0.02))
    return None


def end_with_parent() -> None:
    """End at once when the process that holds the other end of the pipe is gone."""

    def watch() -> None:
        sys.stdin.read()
        os._exit(LOST_PARENT)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def main(database: str, seed: int) -> int:
    logging.basicConfig(level=logging.ERROR, format="%(asctime)s %(levelname)s %(message)s")
    end_with_parent()
    engine = create_engine(f"spanner+spanner:///{database}")
    worker = make_worker(engine, random.Random(seed))
    code = worker.run()
    print(json.dumps(worker.counters()), flush=True)
    return code


if __name__ == "__main__":
    status = main(sys.argv[1], int(sys.argv[2]))
    # Handlers that were given up must not keep the process.
    os._exit(status)
