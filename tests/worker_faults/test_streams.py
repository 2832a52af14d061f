"""Streams that break, do not open, or are refused because there are too many receivers."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from google.api_core.exceptions import PermissionDenied
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.receiver import reader
from sqlalchemy_spanner_queues.worker import Worker
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import RECEIVE, STREAM, Ground, note
from tests.worker_faults.models import Task
from tests.worker_faults.running import TIMEOUT_SECONDS, RunningWorker, running, until

PASSING = ["UNAVAILABLE", "INTERNAL", "UNKNOWN", "CANCELLED", "DEADLINE_EXCEEDED", "ABORTED"]
IDS = [1, 2, 3, 4, 5]


@pytest.fixture
def worker(ground: Ground) -> Worker:
    worker = ground.worker()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)

    return worker


@pytest.mark.parametrize("code", PASSING)
def test_dropped_in_the_middle_of_a_batch(ground: Ground, worker: Worker, code: str) -> None:
    """What arrived is done; what was leased and did not arrive comes again after its lease."""
    ground.send(*IDS)
    ground.emulator.inject(STREAM, code=code, drop_after_rows=2, match=RECEIVE)
    with running(worker) as run:
        run.wait_for("message.succeeded", times=2)
        ground.send(6)
        run.wait_for("message.succeeded", 6)
        assert len(run.ids("message.started")) == 3
        ground.advance(100)
        run.wait_for("message.succeeded", times=6)
    assert run.ids("message.succeeded") == [*IDS, 6]
    assert_effects(ground, done=[*IDS, 6])


@pytest.mark.parametrize("code", PASSING)
def test_does_not_open(ground: Ground, worker: Worker, code: str) -> None:
    ground.send(*IDS)
    ground.emulator.inject(STREAM, code=code, times=4, match=RECEIVE)
    with running(worker) as run:
        run.wait_for("message.succeeded", times=5)
        assert worker.health().failing == ()
    assert_effects(ground, done=IDS)


def test_dropped_while_handlers_run(ground: Ground) -> None:
    """They are not disturbed: their leases are renewed by other requests."""
    worker, may_end = ground.worker(concurrency=3), threading.Event()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        if task.id <= 2:
            assert may_end.wait(TIMEOUT_SECONDS)

    ground.send(1, 2)
    with running(worker) as run:
        run.wait_for("message.started", times=2)
        ground.emulator.inject(STREAM, drop_after_rows=1, times=2, match=RECEIVE)
        ground.send(3)
        ground.send(4)
        may_end.set()
        run.wait_for("message.succeeded", times=4)
        assert run.ids("message.started") == [1, 2, 3, 4]
    assert_effects(ground, done=[1, 2, 3, 4])


def test_too_many_receivers(ground: Ground, worker: Worker) -> None:
    """The worker backs off, says so once, tells it to probes, and goes on when there is room."""
    ground.emulator.inject(STREAM, code="RESOURCE_EXHAUSTED", times=1000, match=RECEIVE)
    with running(worker) as run:
        event = run.wait_for("receiver.overloaded")
        assert "RESOURCE_EXHAUSTED" in event.reason
        assert event.queue == "Tasks"
        health = worker.health()
        assert (health.live, health.ready) == (True, False)
        assert health.overloaded == health.failing == ("Tasks",)
        ground.send(*IDS)
        assert len(run.told("receiver.overloaded")) == 1
        ground.end_faults()
        run.wait_for("message.succeeded", times=5)
        until(lambda: worker.health().ready)
        assert worker.health().overloaded == ()
    assert_effects(ground, done=IDS)


def test_too_many_receivers_and_then_silence(
    ground: Ground, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that lives for a while is a good one, whether a message comes or not."""
    monkeypatch.setattr(reader, "SETTLED_SECONDS", 0.3)
    ground.emulator.inject(STREAM, code="RESOURCE_EXHAUSTED", times=4, match=RECEIVE)
    with running(worker) as run:
        run.wait_for("receiver.overloaded")
        until(lambda: worker.health().ready)
        until(lambda: worker.health().overloaded == ())
    assert_effects(ground)


def test_is_not_ready_between_two_streams_that_fail(
    ground: Ground, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the pause is, nothing is received in it."""
    monkeypatch.setattr(reader, "SETTLED_SECONDS", 0.05)
    monkeypatch.setattr(reader, "FIRST_PAUSE_SECONDS", 0.5)
    ground.emulator.inject(STREAM, times=1, match=RECEIVE)
    seen = list[bool]()
    with running(worker) as run:
        until(lambda: worker.health().failing == ("Tasks",))
        ground.send(1)
        while not run.told("message.started", 1):
            seen.append(worker.health().ready)
            threading.Event().wait(0.01)
        run.wait_for("message.succeeded", 1)
    assert len(seen) > 10
    assert not any(seen[:-3])
    assert_effects(ground, done=[1])


def test_streams_that_live_for_a_while_and_break(
    ground: Ground, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a good one that comes to its end: the pauses do not grow from one to the next."""
    monkeypatch.setattr(reader, "SETTLED_SECONDS", 0.05)
    with running(worker) as run:
        for _ in range(10):
            until(lambda: run.reader._stream is not None and run.reader._is_settled())
            break_stream(run)
            assert run.reader.failures == 1
        ground.send(1)
        run.wait_for("message.succeeded", 1)
    assert_effects(ground, done=[1])


def break_stream(run: RunningWorker) -> None:
    """Break the stream, and wait for the next one."""
    broken: Any = run.reader._stream
    broken._call.cancel()
    until(lambda: run.reader._stream is not broken)


def test_a_refusal_for_good_ends_the_worker(ground: Ground) -> None:
    """What runs is finished first; the error is raised, which the command turns into exit code 2."""
    worker, may_end = ground.worker(concurrency=2), threading.Event()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        assert may_end.wait(TIMEOUT_SECONDS)

    ground.send(1)
    run = RunningWorker(worker)
    run.wait_for("message.started", 1)
    ground.emulator.inject(STREAM, code="PERMISSION_DENIED", match=RECEIVE)
    stream: Any = run.reader._stream
    stream._call.cancel()
    run.wait_for("worker.stopping")
    assert not run.ended(0)
    may_end.set()
    with pytest.raises(PermissionDenied):
        run.result()
    assert run.told("worker.failed")
    assert_effects(ground, done=[1])
