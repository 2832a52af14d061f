"""Leases that the database says are lost: the handler hears of it, and has no effect."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import RetryPolicy
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import RENEW, STREAM, Ground, note
from tests.worker_faults.models import Done, Failed, Task
from tests.worker_faults.running import TIMEOUT_SECONDS, RunningWorker, running, until

pytestmark = pytest.mark.usefixtures("no_beats")

HOW = pytest.mark.parametrize("how", ["NULL", "no row"])


def lose(ground: Ground, run: RunningWorker, id: int, how: str) -> None:
    """Let the next renewal of a lease be answered with NULL, or with no row; and let it come."""
    if how == "NULL":
        finish_elsewhere(ground, id)
    else:
        run.wait_until_the_stream_is_closed()
        ground.advance(11)
    assert run.keeper.beat()


def finish_elsewhere(ground: Ground, id: int) -> None:
    with Session(ground.engine) as session, session.begin():
        session.delete(session.get_one(Task, id))
        session.add(Done(id=id, attempt="elsewhere"))


def assert_lost_once(ground: Ground, run: RunningWorker, lost: list[int], how: str) -> None:
    """The loss is told once, and what came of the handler has no effect: only who did it later, or before."""
    run.wait_for("lease.lost", 1)
    if how == "no row":
        run.wait_for("message.succeeded", 1)
    until(lambda: run.worker.health().running == 0)
    assert run.ids("lease.lost") == lost == [1]
    assert len(run.told("message.started")) == (2 if how == "no row" else 1)
    for name in ("message.retried", "message.dead_lettered", "message.left", "transaction.aborted"):
        assert run.told(name) == []
    with Session(ground.engine) as session:
        was_done_elsewhere = session.get(Done, (1, "elsewhere")) is not None
    assert was_done_elsewhere == (how == "NULL")


@HOW
@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_an_async_handler_is_cancelled(ground: Ground, how: str, mode: Any) -> None:
    worker, lost, cancelled = ground.worker(concurrency=1), list[int](), threading.Event()

    async def work(task: Task, session: Session | None = None) -> None:
        if not cancelled.is_set():
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                assert task.lease.lost.is_set()
                cancelled.set()
                raise
        with Session(ground.engine) as own, own.begin():
            note(own if session is None else session, task)

    worker.handler(Task, mode=mode, on_lease_lost=lambda task: lost.append(task.id))(work)
    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.started", 1)
        lose(ground, run, 1, how)
        assert cancelled.wait(TIMEOUT_SECONDS)
        assert_lost_once(ground, run, lost, how)
    assert_effects(ground, done=[1])


@HOW
@pytest.mark.parametrize("ending", ["returns", "raises"])
def test_a_sync_handler_is_told_and_refused(ground: Ground, how: str, ending: str) -> None:
    """The event is set by the very beat; what the handler comes to does not count."""
    worker, lost, may_end, tasks = ground.worker(concurrency=1), list[int](), threading.Event(), list[Task]()

    @worker.handler(Task, on_lease_lost=lambda task: lost.append(task.id))
    def work(task: Task, session: Session) -> None:
        tasks.append(task)
        note(session, task)
        if len(tasks) > 1:
            return
        assert task.lease.lost.wait(TIMEOUT_SECONDS)
        assert may_end.wait(TIMEOUT_SECONDS)
        if ending == "raises":
            raise ValueError("after the lease was lost")

    ground.send(1)
    with running(worker) as run:
        until(lambda: len(tasks) == 1)
        lose(ground, run, 1, how)
        assert tasks[0].lease.is_lost
        may_end.set()
        assert_lost_once(ground, run, lost, how)
    assert_effects(ground, done=[1])


def test_with_a_retry_policy_the_attempt_counts(ground: Ground) -> None:
    """The second start is one too many: the lease may have been lost because of the handler."""
    worker, lost = ground.worker(concurrency=1), list[int]()

    @worker.handler(
        Task,
        retry=RetryPolicy(max_attempts=1),
        dead_letter=Failed,
        on_lease_lost=lambda task: lost.append(task.id),
    )
    def work(task: Task, session: Session) -> None:
        note(session, task)
        assert task.lease.lost.wait(TIMEOUT_SECONDS)
        task.lease.raise_if_lost()

    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.started", 1)
        lose(ground, run, 1, "no row")
        event = run.wait_for("message.dead_lettered", 1)
        assert event.attempts == 1
        assert run.ids("lease.lost") == lost == [1]
        assert len(run.told("message.started")) == 1
    assert_effects(ground, dead=[1])


@pytest.mark.parametrize("error", [ValueError("its own"), SystemExit(4)], ids=repr)
def test_on_lease_lost_may_fail(ground: Ground, error: BaseException) -> None:
    worker, lost = ground.worker(concurrency=1), list[int]()

    def fail(task: Task) -> None:
        lost.append(task.id)
        raise error

    @worker.handler(Task, on_lease_lost=fail)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        if not lost:
            assert task.lease.lost.wait(TIMEOUT_SECONDS)

    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.started", 1)
        lose(ground, run, 1, "no row")
        assert_lost_once(ground, run, lost, "no row")
        assert run.worker.health().live
    assert_effects(ground, done=[1])


def test_what_waits_is_not_started_on_a_lost_lease(ground: Ground) -> None:
    worker, lost, may_end = ground.worker(concurrency=1, max_batch_size=2), list[int](), threading.Event()

    @worker.handler(Task, on_lease_lost=lambda task: lost.append(task.id))
    def work(task: Task, session: Session) -> None:
        note(session, task)
        assert may_end.wait(TIMEOUT_SECONDS)

    ground.send(1, 2)
    with running(worker) as run:
        first = int(str(run.wait_for("message.started").keys["Id"]))
        until(lambda: run.held == [1, 2])
        lose(ground, run, first, "no row")
        may_end.set()
        # Both come again, and the first to be told of a start is not the one that has waited.
        run.wait_for("message.succeeded", times=2)
        assert sorted(run.ids("message.started")) == sorted([first, 1, 2])
    assert lost == [first], "called for a handler that did not run"
    assert_effects(ground, done=[1, 2])


def test_delivered_here_again_while_its_handler_runs(ground: Ground) -> None:
    """A renewal lands unheard, so that its lease is lost; the message is not started twice at a time."""
    worker, may_end, at_once, most = ground.worker(concurrency=3), threading.Event(), list[int](), list[int]()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        at_once.append(task.id)
        most.append(len(at_once))
        note(session, task)
        assert may_end.wait(TIMEOUT_SECONDS)
        at_once.remove(task.id)

    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.started", 1)
        ground.emulator.inject(STREAM, after_apply=True, match=RENEW)
        assert not run.keeper.beat()
        assert run.keeper.beat()
        run.wait_for("lease.lost", 1)
        for times in (1, 2):
            ground.advance(100)
            run.wait_for("message.redelivered", 1, times=times)
        may_end.set()
        until(lambda: run.worker.health().running == 0)
        assert run.told("message.succeeded") == []
        ground.advance(100)
        run.wait_for("message.succeeded", 1)
    assert max(most) == 1
    assert_effects(ground, done=[1])
