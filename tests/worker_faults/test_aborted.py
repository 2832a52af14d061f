"""Transactions that Spanner aborts: run again in one layer, a stated number of times, with one effect."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import DeadLetter, Outcome, RetryPolicy
from sqlalchemy_spanner_queues.worker.transactions import MOST_TRIES
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import STREAM, Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import running

EVER = 1000


def abort(ground: Ground, method: str = "Commit", times: int = EVER, match: str | None = None) -> None:
    ground.emulator.inject(method, code="ABORTED", times=times, match=match)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_commit(ground: Ground, is_async: bool) -> None:
    """As many commits as one layer makes, and as many runs of the handler; then the message is left."""
    worker, ran = ground.worker(), list[int]()

    def work(task: Task, session: Session) -> None:
        ran.append(task.id)
        note(session, task)

    async def work_async(task: Task, session: Session) -> None:
        work(task, session)

    worker.handler(Task)(work_async if is_async else work)
    ground.send(1)
    abort(ground)
    ground.count_requests()
    with running(worker) as run:
        run.wait_for("message.left", 1)
        assert ground.requests("Commit") == MOST_TRIES
        assert len(ran) == len(run.told("transaction.aborted", 1)) == MOST_TRIES
        ground.end_faults()
        run.wait_for("message.succeeded", 1)
    assert len(ran) == MOST_TRIES + 1
    assert_effects(ground, done=[1])


def test_every_commit_leaves_the_message_to_a_later_worker(ground: Ground) -> None:
    worker = ground.worker()

    @worker.handler(Task, retry=RetryPolicy(max_attempts=2), dead_letter=Failed)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        ground.count_requests()
        abort(ground)

    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.left", 1)
        # The last run of the handler began to count anew.
        assert ground.requests("Commit") == 1
        assert len(run.told("transaction.aborted", 1)) == MOST_TRIES
    ground.end_faults()
    assert_effects(ground, waiting={1: 1})


@pytest.mark.parametrize("batch", [None, 3])
def test_every_commit_of_the_mode_outside(ground: Ground, batch: int | None) -> None:
    """The work was done, and is done again: outside effects happen at least once."""
    worker, ran = ground.worker(), list[int]()

    def work(tasks: Any) -> None:
        for task in tasks if batch else [tasks]:
            ran.append(task.id)

    worker.handler(Task, mode="outside", batch=batch, concurrency=1)(work)
    ids = [1, 2, 3] if batch else [1]
    ground.send(*ids)
    abort(ground)
    ground.count_requests()
    with running(worker) as run:
        for id in ids:
            run.wait_for("message.left", id)
        assert ground.requests("Commit") == MOST_TRIES
        assert sorted(ran) == ids
    ground.end_faults()
    assert_effects(ground, waiting=ids)


def test_every_commit_of_a_batch(ground: Ground) -> None:
    """One by one is for handlers that fail: a batch that is aborted is left as it is."""
    worker, ids, sizes = ground.worker(), [1, 2, 3], list[int]()

    @worker.handler(Task, batch=3)
    def work(tasks: list[Task], session: Session) -> None:
        sizes.append(len(tasks))
        for task in tasks:
            note(session, task)

    ground.send(*ids)
    abort(ground)
    ground.count_requests()
    with running(worker) as run:
        for id in ids:
            run.wait_for("message.left", id)
        assert ground.requests("Commit") == MOST_TRIES
    assert sizes == [3] * MOST_TRIES
    ground.end_faults()
    assert_effects(ground, waiting=ids)


def test_every_commit_of_a_dead_letter(ground: Ground) -> None:
    worker = ground.worker()

    @worker.handler(Task, dead_letter=Failed)
    def work(task: Task, session: Session) -> Outcome:
        note(session, task)
        ground.count_requests()
        abort(ground)
        return DeadLetter("it is hopeless")

    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.left", 1)
        assert ground.requests("Commit") == MOST_TRIES
        assert len(run.told("message.started", 1)) == 1
    ground.end_faults()
    assert_effects(ground, waiting=[1])


def test_every_count_of_an_attempt(ground: Ground) -> None:
    worker = ground.worker()

    @worker.handler(Task, retry=RetryPolicy(max_attempts=1), dead_letter=Failed)
    def work(task: Task, session: Session) -> None:
        note(session, task)

    ground.send(1)
    abort(ground)
    ground.count_requests()
    with running(worker) as run:
        run.wait_for("message.left", 1)
        assert ground.requests("Commit") == MOST_TRIES
        assert run.told("message.started") == []
        ground.end_faults()
        assert run.wait_for("message.succeeded", 1).attempts == 1
    assert_effects(ground, done=[1])


# One row is written by a statement of its own, several by a batch.
STATEMENTS = pytest.mark.parametrize(
    ("method", "match", "ids"),
    [
        (STREAM, "INSERT INTO `Done`", [1]),
        (STREAM, "DELETE FROM `Tasks`", [1]),
        ("ExecuteBatchDml", "Done", [1, 2]),
        ("ExecuteBatchDml", "Tasks", [1, 2]),
    ],
)


@pytest.mark.parametrize("ids", [[1], [1, 2]], ids=["one", "batch"])
def test_a_commit_once(ground: Ground, ids: list[int]) -> None:
    """The handler runs twice, each time in a session of its own, and has one effect for each message."""
    check_that_once_is_survived(ground, "Commit", ids)


@STATEMENTS
def test_a_statement_once(ground: Ground, method: str, match: str, ids: list[int]) -> None:
    check_that_once_is_survived(ground, method, ids, match)


def check_that_once_is_survived(
    ground: Ground, method: str, ids: list[int], match: str | None = None
) -> None:
    worker, sessions = ground.worker(), list[Session]()

    @worker.handler(Task, batch=len(ids))
    def work(tasks: list[Task], session: Session) -> None:
        sessions.append(session)
        for task in tasks:
            note(session, task)
        session.flush()

    ground.send(*ids)
    abort(ground, method, 1, match)
    with running(worker) as run:
        run.wait_for("message.succeeded", times=len(ids))
        assert len(run.told("transaction.aborted")) == 1
    assert len(sessions) == 2
    assert sessions[0] is not sessions[1]
    assert_effects(ground, done=ids)


@STATEMENTS
def test_every_statement(ground: Ground, method: str, match: str, ids: list[int]) -> None:
    worker, ran = ground.worker(), list[int]()

    @worker.handler(Task, batch=len(ids))
    def work(tasks: list[Task], session: Session) -> None:
        ran.append(len(tasks))
        for task in tasks:
            note(session, task)

    ground.send(*ids)
    abort(ground, method, match=match)
    ground.count_requests()
    with running(worker) as run:
        run.wait_for("message.left", times=len(ids))
        assert ground.requests("Commit") == 0
        assert len(run.told("transaction.aborted")) == MOST_TRIES
    assert ran == [len(ids)] * MOST_TRIES
    ground.end_faults()
    assert_effects(ground, waiting=ids)


def test_a_commit_that_landed(ground: Ground) -> None:
    """Run again, it finds its own acknowledgment, and has no second effect."""
    worker = ground.worker()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)

    ground.send(1)
    ground.emulator.inject("Commit", code="ABORTED", after_apply=True)
    with running(worker) as run:
        run.wait_for("message.already_acknowledged", 1)
        assert len(run.told("transaction.aborted", 1)) == 1
    assert_effects(ground, done=[1])
