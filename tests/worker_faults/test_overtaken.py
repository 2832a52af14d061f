"""Messages that somebody else finishes while they are here: whoever is late has no effect."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import RetryPolicy
from tests.worker_faults.effects import assert_effects, finisher
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import TIMEOUT_SECONDS, running

pytestmark = pytest.mark.usefixtures("no_beats")


@pytest.mark.parametrize("retry", [None, RetryPolicy(max_attempts=1)], ids=["uncounted", "counted"])
def test_while_one_runs_and_the_next_waits(ground: Ground, retry: RetryPolicy | None) -> None:
    """The late worker hears of it at its commit at last: no dead letter, and nothing is left counted."""
    late, may_end = ground.worker(concurrency=1, max_batch_size=2), threading.Event()

    @late.handler(Task, retry=retry, dead_letter=Failed)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        assert may_end.wait(TIMEOUT_SECONDS)

    ground.send(1, 2)
    with running(late) as run:
        run.wait_for("message.started")
        run.wait_until_the_stream_is_closed()
        ground.advance(11)
        with running(finisher(ground)) as other:
            other.wait_for("message.succeeded", times=2)
        may_end.set()
        run.wait_for("message.already_acknowledged", times=2)
        assert run.ids("message.already_acknowledged") == [1, 2]
    assert run.told("message.dead_lettered") == []
    assert_effects(ground, done=[1, 2])


@pytest.mark.parametrize("fails", [False, True], ids=["good", "failing"])
@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_by_the_handler_itself_in_another_process(ground: Ground, mode: Any, fails: bool) -> None:
    """Whatever the late handler comes to, the message has been done."""
    late, may_start = ground.worker(concurrency=1), threading.Event()

    def work(task: Task, session: Session | None = None) -> None:
        assert may_start.wait(TIMEOUT_SECONDS)
        ground.advance(11)
        with running(finisher(ground)) as other:
            other.wait_for("message.succeeded", 1)
        if fails:
            raise ValueError("too late")

    late.handler(Task, mode=mode, retry=RetryPolicy(max_attempts=1), dead_letter=Failed)(work)
    ground.send(1)
    with running(late) as run:
        run.wait_for("message.started", 1)
        run.wait_until_the_stream_is_closed()
        may_start.set()
        run.wait_for("message.already_acknowledged", 1)
    assert run.told("message.dead_lettered") == []
    assert_effects(ground, done=[1])
