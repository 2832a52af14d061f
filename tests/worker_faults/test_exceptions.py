"""Handlers that raise every kind of exception: each ends its own attempt, and nothing else."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import RetryPolicy, Worker
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import running

pytestmark = pytest.mark.usefixtures("quick_beats")


@contextmanager
def log_kept_here() -> Iterator[None]:
    """Write the log to a place that takes every character: pytest-xdist cannot hand them on."""
    log, handler = logging.getLogger("sqlalchemy_spanner_queues.worker"), logging.StreamHandler(StringIO())
    log.propagate = False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = True


class Odd(BaseException):
    """Not an Exception."""


class Unreadable(Exception):
    def __str__(self) -> str:
        raise self.error

    error: BaseException = RuntimeError("no text")


class UnreadableForGood(Unreadable):
    error = SystemExit(3)


class Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__(threading.Lock())


def recurse() -> None:
    recurse()


def throw(error: BaseException) -> Callable[[], None]:
    def throw_it() -> None:
        raise error

    return throw_it


LONG = 17
# By the id of the task that it ends.
BAD: dict[int, Callable[[], None]] = {
    1: throw(Exception("an ordinary one")),
    2: throw(Odd("an odd one")),
    3: throw(SystemExit(0)),
    4: throw(KeyboardInterrupt()),
    5: throw(GeneratorExit()),
    6: throw(asyncio.CancelledError()),
    7: throw(StopIteration()),
    8: throw(StopAsyncIteration()),
    9: throw(Unreadable()),
    10: throw(UnreadableForGood()),
    11: throw(Unpicklable()),
    12: recurse,
    13: throw(TimeoutError()),
    14: throw(MemoryError()),
    15: throw(ExceptionGroup("two", [ValueError(), KeyError()])),
    16: throw(OSError("no file \udcff")),
    LONG: throw(ValueError("long" * 1_000_000)),
    18: throw(ValueError("\0")),
}
GOOD = [101, 102, 103]
REASONS = [
    "Exception: an ordinary one", "Odd: an odd one", "SystemExit: 0", "KeyboardInterrupt", "GeneratorExit",
    "CancelledError", "StopIteration", "StopAsyncIteration", "Unreadable", "UnreadableForGood", "Unpicklable",
    "RecursionError", "TimeoutError", "MemoryError", "ExceptionGroup: two", "OSError: no file \\udcff",
    "ValueError: longlong", "ValueError: \0",
]  # fmt: skip


def bad_or_good(ground: Ground, session: Session | None, task: Task) -> None:
    """Write the business row, and raise what the id of the task stands for."""
    if session is None:
        if task.id in BAD:
            BAD[task.id]()
        with Session(ground.engine) as own, own.begin():
            note(own, task)
        return
    note(session, task)
    session.flush()
    if task.id in BAD:
        BAD[task.id]()


def add_handler(worker: Worker, ground: Ground, mode: Any, is_async: bool, **options: Any) -> None:
    def work(task: Task, session: Session | None = None) -> None:
        bad_or_good(ground, session, task)

    async def work_async(task: Task, session: Session | None = None) -> None:
        await asyncio.sleep(0)
        bad_or_good(ground, session, task)

    worker.handler(Task, mode=mode, **options)(work_async if is_async else work)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_each_becomes_a_dead_letter_and_the_rest_is_done(ground: Ground, mode: Any, is_async: bool) -> None:
    # All in one batch: what the gateway has under way when a stream is closed comes 10 seconds later.
    worker = ground.worker(max_batch_size=len(BAD) + len(GOOD))
    add_handler(worker, ground, mode, is_async, retry=RetryPolicy(max_attempts=1), dead_letter=Failed)
    ground.send(*BAD, *GOOD)
    with log_kept_here(), running(worker) as run:
        run.wait_for("message.dead_lettered", times=len(BAD))
        run.wait_for("message.succeeded", times=len(GOOD))
        ground.send(104)
        run.wait_for("message.succeeded", 104)
        assert worker.health().live
    assert run.ids("message.started") == sorted([*BAD, *GOOD, 104])
    for id, letter in ground.dead().items():
        said = letter.reason.removeprefix("given up after 1 attempts: ")
        # Python does not let a coroutine raise StopIteration.
        expected = "RuntimeError" if is_async and id == 7 else REASONS[id - 1]
        assert said.startswith(expected), (id, letter.reason)
        # Of a long one the end is kept.
        assert expected.partition(":")[0] in letter.traceback or id == LONG
        assert letter.attempts == 1
    assert_effects(ground, done=[*GOOD, 104], dead=list(BAD))
