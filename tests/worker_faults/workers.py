"""Workers that tests start as processes of their own.

::

    spanner-queues worker tests.worker_faults.workers:gated

Their handlers say on standard output what they have started, and some wait for a line on standard input.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.emulator.clients import make_engine
from sqlalchemy_spanner_queues.receiver import keeper
from sqlalchemy_spanner_queues.worker import RetryPolicy, Worker
from tests.worker_faults.environment import BEAT, DATABASE, HOST, LIMITS, LONGEST_LEASE
from tests.worker_faults.ground import note
from tests.worker_faults.models import Done, Failed, Task

engine = make_engine(os.environ[HOST], os.environ[DATABASE])
if BEAT in os.environ:
    setattr(keeper, "BEAT_SECONDS", float(os.environ[BEAT]))  # noqa: B010 - a constant to type checkers


def say(*words: object) -> None:
    print(*words, flush=True)


def work_in_a_session(task: Task) -> None:
    """Do the work of a task in a transaction of its own, unless a process that was killed has done it."""
    with Session(engine) as session, session.begin():
        if session.scalar(select(Done).where(Done.id == task.id)) is None:
            note(session, task)


def die_of(task: Task, *, waits: bool = True) -> None:
    """Kill this process for task 1, which no handler and no clean-up survives."""
    say("started", task.id)
    if task.id == 1:
        if waits:
            sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGKILL)


gated = Worker(engine, concurrency=1)


@gated.handler(Task)
def wait_for_a_line(task: Task, session: Session) -> None:
    say("started", task.id)
    sys.stdin.readline()
    note(session, task)


endless = Worker(engine, concurrency=1, shutdown_timeout=0.5)


@endless.handler(Task)
async def refuse_to_be_cancelled(task: Task, session: Session) -> None:
    note(session, task)
    say("started", task.id)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            say("cancelled", task.id)


killed = Worker(engine)


@killed.handler(Task, retry=RetryPolicy(max_attempts=LIMITS["killed"]), dead_letter=Failed)
def die_in_a_transaction(task: Task, session: Session) -> None:
    note(session, task)
    die_of(task)
    session.flush()


killed_outside = Worker(engine)


@killed_outside.handler(
    Task, mode="outside", retry=RetryPolicy(max_attempts=LIMITS["killed_outside"]), dead_letter=Failed
)
def die_outside(task: Task) -> None:
    die_of(task)
    work_in_a_session(task)


killed_at_most_once = Worker(engine)


@killed_at_most_once.handler(
    Task,
    mode="at_most_once",
    run_time=timedelta(seconds=60),
    retry=RetryPolicy(max_attempts=LIMITS["killed_at_most_once"]),
    dead_letter=Failed,
)
def die_at_most_once(task: Task) -> None:
    die_of(task)
    work_in_a_session(task)


killed_in_a_batch = Worker(engine)


@killed_in_a_batch.handler(
    Task, batch=10, retry=RetryPolicy(max_attempts=LIMITS["killed_in_a_batch"]), dead_letter=Failed
)
def die_in_a_batch(tasks: list[Task], session: Session) -> None:
    for task in tasks:
        note(session, task)
        die_of(task, waits=False)


stepped = Worker(engine, concurrency=2)


@stepped.handler(Task, max_lease=LONGEST_LEASE)
def step_the_clock(task: Task, session: Session) -> None:
    """Move the clock of this process by as many seconds as each line says, until there is an empty one."""
    say("started", task.id)
    while task.id == 1 and (line := sys.stdin.readline().strip()):
        before = time.time()
        ctypes.CDLL(None).step(ctypes.c_double(float(line)))
        say("stepped", round(time.time() - before))
    note(session, task)
