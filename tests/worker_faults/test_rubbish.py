"""Payloads that do not fit, sent by another program among good ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import RetryPolicy
from tests.worker_faults.effects import assert_effects, assert_places
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import running

RUBBISH = {2: '{"wrong": 1}', 4: "[1, 2]", 6: "null", 8: '"text"', 10: '{"what": 5}', 12: '{"what": null}'}
GOOD = [1, 3, 5, 7, 9, 11]


def send_all(ground: Ground) -> None:
    for id, payload in RUBBISH.items():
        ground.send_rubbish(id, payload)
    ground.send(*GOOD)


@pytest.mark.parametrize("retry", [None, RetryPolicy(max_attempts=3)], ids=["uncounted", "counted"])
@pytest.mark.parametrize("options", [{}, {"batch": 20}, {"mode": "outside"}], ids=str)
def test_goes_to_the_dead_letters_as_it_is(
    ground: Ground, options: dict[str, Any], retry: RetryPolicy | None
) -> None:
    worker = ground.worker()

    def work(given: Any, session: Session | None = None) -> None:
        tasks = given if isinstance(given, list) else [given]
        with Session(ground.engine) as own, own.begin():
            for task in tasks:
                assert task.payload.what == "work"
                note(own if session is None else session, task)

    worker.handler(Task, dead_letter=Failed, retry=retry, **options)(work)
    send_all(ground)
    with running(worker) as run:
        run.wait_for("message.dead_lettered", times=len(RUBBISH))
        run.wait_for("message.succeeded", times=len(GOOD))
    assert sorted(set(run.ids("message.started"))) == GOOD
    dead = ground.dead()
    assert {id: json.loads(letter.payload) for id, letter in dead.items()} == {
        id: json.loads(payload) for id, payload in RUBBISH.items()
    }
    assert all(letter.queue == "Tasks" and letter.reason and letter.traceback for letter in dead.values())
    assert_effects(ground, done=GOOD, dead=list(RUBBISH))


def test_without_dead_letters_it_stays(ground: Ground) -> None:
    """Nothing is deleted silently: it is told each time, and is there for whoever can take it."""
    worker = ground.worker()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)

    send_all(ground)
    with running(worker) as run:
        run.wait_for("message.succeeded", times=len(GOOD))
        run.wait_for("message.left", times=len(RUBBISH))
        assert run.ids("message.left") == list(RUBBISH)
    assert_places(ground, done=GOOD, waiting=list(RUBBISH))
    other = ground.worker()
    other.handler(Task, dead_letter=Failed)(work)
    with running(other) as run:
        ground.advance(100)
        run.wait_for("message.dead_lettered", times=len(RUBBISH))
    assert_effects(ground, done=GOOD, dead=list(RUBBISH))
