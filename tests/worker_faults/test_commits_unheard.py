"""Commits that are applied, and whose answer gets lost: the worker does not know, and does nothing twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import CommitOutcomeUnknown
from sqlalchemy_spanner_queues.worker import Ack, DeadLetter, Discard, Outcome, Retry, RetryPolicy
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import RunningWorker, running, until

# So that a lease is let go by what ends its message, and not found to be over by a renewal.
pytestmark = pytest.mark.usefixtures("no_beats")

UNHEARD = pytest.mark.parametrize("code", ["UNKNOWN", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL"])
DELAY = timedelta(seconds=30)


def lose_the_next_answer(ground: Ground, code: str) -> None:
    ground.emulator.inject("Commit", code=code, after_apply=True)


def assert_let_go(run: RunningWorker) -> None:
    """Nothing runs, and no lease is renewed any more."""
    until(lambda: run.worker.health().running == 0)
    until(lambda: run.held == [])


def assert_unknown(run: RunningWorker, *ids: int) -> None:
    """The outcome of these tasks is told once as unknown, and their handler ran once."""
    for id in ids:
        event = run.wait_for("commit.outcome_unknown", id)
        assert isinstance(event.error, CommitOutcomeUnknown)
    assert_let_go(run)
    assert run.ids("commit.outcome_unknown") == sorted(ids)
    assert run.ids("message.started") == sorted(ids)
    assert run.told("message.succeeded") == []


@UNHEARD
def test_in_a_transaction(ground: Ground, code: str) -> None:
    worker = ground.worker()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        lose_the_next_answer(ground, code)

    ground.send(1)
    with running(worker) as run:
        assert_unknown(run, 1)
        ground.advance(100)
        ground.emulator.reset()
        ground.send(2)
        run.wait_for("message.started", 2)
        assert run.ids("message.started") == [1, 2]
        run.wait_for("commit.outcome_unknown", 2)
    assert_effects(ground, done=[1, 2])


def test_in_a_transaction_that_counts_attempts(ground: Ground) -> None:
    worker = ground.worker()

    @worker.handler(Task, retry=RetryPolicy(max_attempts=2), dead_letter=Failed)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        lose_the_next_answer(ground, "UNKNOWN")

    ground.send(1)
    with running(worker) as run:
        assert_unknown(run, 1)
    assert_effects(ground, done=[1])


def test_in_an_async_handler(ground: Ground) -> None:
    worker = ground.worker()

    @worker.handler(Task)
    async def work(task: Task, session: Session) -> None:
        note(session, task)
        lose_the_next_answer(ground, "UNKNOWN")

    ground.send(1)
    with running(worker) as run:
        assert_unknown(run, 1)
    assert_effects(ground, done=[1])


@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_unavailable_is_repeated_by_the_client_alone(ground: Ground, mode: Any) -> None:
    """The same commit is sent again, which Spanner knows: this is no retry of the transaction."""
    worker, ran = ground.worker(), list[int]()

    def work(task: Task, session: Session | None = None) -> None:
        ran.append(task.id)
        with Session(ground.engine) as own, own.begin():
            note(own if session is None else session, task)
        ground.count_requests()
        lose_the_next_answer(ground, "UNAVAILABLE")

    worker.handler(Task, mode=mode)(work)
    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.succeeded", 1)
        assert ground.requests("Commit") == 2
        assert_let_go(run)
    assert ran == [1]
    assert_effects(ground, done=[1])


@UNHEARD
def test_outside_where_several_are_acknowledged_at_once(ground: Ground, code: str) -> None:
    worker, ids = ground.worker(), [1, 2, 3]

    @worker.handler(Task, mode="outside", batch=3)
    def work(tasks: list[Task]) -> None:
        with Session(ground.engine) as session, session.begin():
            for task in tasks:
                note(session, task)
        ground.count_requests()
        lose_the_next_answer(ground, code)

    ground.send(*ids)
    with running(worker) as run:
        assert_unknown(run, *ids)
        assert ground.requests("Commit") == 1
    assert_effects(ground, done=ids)


@UNHEARD
def test_in_a_batch(ground: Ground, code: str) -> None:
    worker, ids = ground.worker(), [1, 2, 3]

    @worker.handler(Task, batch=3)
    def work(tasks: list[Task], session: Session) -> None:
        for task in tasks:
            note(session, task)
        lose_the_next_answer(ground, code)

    ground.send(*ids)
    with running(worker) as run:
        assert_unknown(run, *ids)
    assert_effects(ground, done=ids)


@pytest.mark.parametrize(
    ("outcome", "where"),
    [(DeadLetter("it is hopeless"), "dead"), (Discard("it is moot"), "nowhere"), (Retry(DELAY), "waiting")],
    ids=["dead letter", "discard", "retry"],
)
@pytest.mark.parametrize("code", ["UNKNOWN", "DEADLINE_EXCEEDED"])
def test_of_another_outcome(ground: Ground, outcome: Outcome, where: str, code: str) -> None:
    worker = ground.worker()

    @worker.handler(Task, retry=RetryPolicy(), dead_letter=Failed)
    def work(task: Task, session: Session) -> Outcome:
        note(session, task)
        lose_the_next_answer(ground, code)
        return outcome

    ground.send(1)
    with running(worker) as run:
        assert_unknown(run, 1)
        for name in ("message.dead_lettered", "message.discarded", "message.retried"):
            assert run.told(name) == []
    if where == "nowhere":
        ground.sent.remove(1)
    assert_effects(ground, dead=[1] if where == "dead" else [], waiting={1: 1} if where == "waiting" else {})


def test_of_a_retry_that_comes_again_once(ground: Ground) -> None:
    """The message that took the first one's place is there, and its attempts are counted on."""
    worker, seen = ground.worker(), list[int]()
    worker.listen(lambda event: seen.append(event.attempts) if event.name == "message.started" else None)

    @worker.handler(Task, retry=RetryPolicy(max_attempts=3), dead_letter=Failed)
    def work(task: Task, session: Session) -> Outcome:
        note(session, task)
        if len(seen) > 1:
            return Ack()
        lose_the_next_answer(ground, "UNKNOWN")
        return Retry(DELAY)

    ground.send(1)
    with running(worker) as run:
        run.wait_for("commit.outcome_unknown", 1)
        ground.advance(DELAY.total_seconds() + 1)
        run.wait_for("message.succeeded", 1)
    assert seen == [1, 2]
    assert_effects(ground, done=[1])


@UNHEARD
def test_of_the_count_of_an_attempt(ground: Ground, code: str) -> None:
    """The handler has not started, and the attempt counts: the process may have died there as well."""
    worker = ground.worker()

    @worker.handler(Task, retry=RetryPolicy(max_attempts=2), dead_letter=Failed)
    def work(task: Task, session: Session) -> None:
        note(session, task)

    ground.send(1)
    lose_the_next_answer(ground, code)
    with running(worker) as run:
        run.wait_for("commit.outcome_unknown", 1)
        assert_let_go(run)
        assert run.told("message.started") == []
        assert ground.count().attempts == {1: 1}
        ground.advance(11)
        assert run.wait_for("message.succeeded", 1).attempts == 2
    assert_effects(ground, done=[1])


def test_at_most_once_where_the_run_was_announced(ground: Ground) -> None:
    """Whether the message in its place is there is not known, and so nothing runs until that is due."""
    worker = ground.worker()

    @worker.handler(Task, mode="at_most_once", run_time=timedelta(seconds=60))
    def work(task: Task) -> None:
        with Session(ground.engine) as session, session.begin():
            note(session, task)

    ground.send(1)
    lose_the_next_answer(ground, "UNKNOWN")
    with running(worker) as run:
        run.wait_for("commit.outcome_unknown", 1)
        assert_let_go(run)
        assert run.told("message.started") == []
        ground.advance(61)
        run.wait_for("message.succeeded", 1)
    assert_effects(ground, done=[1])


def test_at_most_once_at_the_end_of_the_run(ground: Ground) -> None:
    worker = ground.worker()

    @worker.handler(Task, mode="at_most_once", run_time=timedelta(seconds=60))
    def work(task: Task) -> None:
        with Session(ground.engine) as session, session.begin():
            note(session, task)
        lose_the_next_answer(ground, "UNKNOWN")

    ground.send(1)
    with running(worker) as run:
        assert_unknown(run, 1)
    assert_effects(ground, done=[1])
