"""Handlers that never return, and handlers that block the loop of the others."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import RetryPolicy
from tests.worker_faults.effects import advance_until_done, assert_effects, finisher
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import FORCED, TIMEOUT_SECONDS, running, until

pytestmark = pytest.mark.usefixtures("quick_beats")

LONGEST = timedelta(seconds=0.5)
SHUTDOWN_SECONDS = 0.3
# What is added for cancelling, closing and a busy machine.
AT_MOST_SECONDS = SHUTDOWN_SECONDS + 3.0


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_handler_that_never_returns(ground: Ground, concurrency: int) -> None:
    """Its lease ends, the message goes to another worker, health tells of it, and the shutdown is forced."""
    stuck = ground.worker(concurrency=concurrency, shutdown_timeout=SHUTDOWN_SECONDS)
    never, tasks = threading.Event(), list[Task]()

    @stuck.handler(Task, max_lease=LONGEST)
    def hang(task: Task, session: Session) -> None:
        tasks.append(task)
        never.wait(TIMEOUT_SECONDS * 2)
        note(session, task)

    ground.send(1)
    with running(stuck, ends_with=FORCED) as run:
        event = run.wait_for("lease.lost", 1)
        assert "longest time allowed, 0.5 s" in event.reason
        until(lambda: run.held == [])
        assert tasks[0].lease.is_lost
        with running(finisher(ground)) as other:
            advance_until_done(ground, other, 1)
        health = run.worker.health()
        assert health.live
        assert health.running == 1
        assert health.oldest_running >= LONGEST.total_seconds()
        begun = time.monotonic()
        run.stop()
        assert run.ended(AT_MOST_SECONDS)
        assert time.monotonic() - begun >= SHUTDOWN_SECONDS
    assert len(tasks) == 1
    never.set()
    assert_effects(ground, done=[1])


def test_it_holds_up_no_other(ground: Ground) -> None:
    stuck, never = ground.worker(concurrency=2, shutdown_timeout=SHUTDOWN_SECONDS), threading.Event()

    @stuck.handler(Task, mode="outside", retry=RetryPolicy(max_attempts=1), dead_letter=Failed)
    def work(task: Task) -> None:
        if task.id == 1:
            never.wait(TIMEOUT_SECONDS * 2)
            return
        with Session(ground.engine) as session, session.begin():
            note(session, task)

    ground.send(1, 2, 3, 4, 5)
    with running(stuck, ends_with=FORCED) as run:
        run.wait_for("message.succeeded", times=4)
        ground.send(6)
        run.wait_for("message.succeeded", 6)
    never.set()
    assert_effects(ground, done=[2, 3, 4, 5, 6], waiting={1: 1})


def test_an_async_handler_that_never_returns_is_cancelled(ground: Ground) -> None:
    stuck, ended = ground.worker(concurrency=1), threading.Event()

    @stuck.handler(Task, max_lease=LONGEST)
    async def hang(task: Task, session: Session) -> None:
        note(session, task)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    ground.send(1)
    with running(stuck) as run:
        run.wait_for("lease.lost", 1)
        assert ended.wait(TIMEOUT_SECONDS)
        run.wait_until_the_stream_is_closed()
    assert_effects(ground, waiting=[1])


def test_at_most_once_is_over_when_its_run_time_is(ground: Ground) -> None:
    """What took the message's place is due then: whoever still runs has nothing more to say."""
    stuck = ground.worker(concurrency=1, shutdown_timeout=SHUTDOWN_SECONDS)
    never = threading.Event()

    @stuck.handler(Task, mode="at_most_once", run_time=LONGEST)
    def hang(task: Task) -> None:
        never.wait(TIMEOUT_SECONDS * 2)
        task.lease.raise_if_lost()

    ground.send(1)
    with running(stuck, ends_with=FORCED) as run:
        run.wait_for("lease.lost", 1)
        with running(finisher(ground)) as other:
            ground.advance(1)
            other.wait_for("message.succeeded", 1)
    never.set()
    assert_effects(ground, done=[1])


def test_an_async_handler_that_blocks_the_loop_starves_no_renewal(ground: Ground) -> None:
    """4 renewals of every lease come while nothing on the loop runs; each message is delivered once."""
    worker, may_end, ids = ground.worker(concurrency=3), threading.Event(), [1, 2, 3]
    tokens: dict[int, set[str]] = {id: set() for id in ids}

    @worker.handler(Task)
    async def block(task: Task, session: Session) -> None:
        await asyncio.sleep(0)
        assert may_end.wait(TIMEOUT_SECONDS)
        note(session, task)

    def were_renewed() -> bool:
        for id, lease in ground.leases().items():
            tokens[id].add(lease["token"])
        return all(len(renewed) > 4 for renewed in tokens.values())

    ground.send(*ids)
    with running(worker) as run:
        run.wait_for("message.started", times=3)
        until(were_renewed)
        assert all(lease["deliveries"] == 1 for lease in ground.leases().values())
        may_end.set()
        run.wait_for("message.succeeded", times=3)
        assert run.ids("message.started") == ids
        assert run.told("message.redelivered") == []
    assert_effects(ground, done=ids)
