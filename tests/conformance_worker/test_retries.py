"""Failed messages rest longer and longer, and are given up in the end; the count outlives the worker."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Discard, Retry, RetryPolicy, Worker
from sqlalchemy_spanner_queues.worker import Call, events
from tests.conformance.engines import World
from tests.conformance.helpers import TIMEOUT_SECONDS, Running
from tests.conformance_worker.helpers import (
    COUNTED,
    ENDS,
    MINUTE,
    Gate,
    Watch,
    acknowledge_elsewhere,
    attempts,
    letters,
    send_tasks,
    tally,
    work,
)
from tests.conformance_worker.models import ATTEMPTS, Done, FailedTask, Task

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
both_modes = pytest.mark.parametrize("mode", ["transaction", "outside"])


def failing(world: World, *errors: BaseException | None, mode: Any = "transaction", **options: Any) -> Worker:
    """Return a worker whose handler raises these errors, one at each call, and then the last one again."""
    worker, left = Worker(world.engine, concurrency=1), list(errors)

    @worker.handler(Task, mode=mode, **(COUNTED | options))
    def fail(message: Task, *session: Session) -> None:
        for one in session:
            one.add(Done(key=message.key))
        error = left.pop(0) if len(left) > 1 else left[0]
        if error is not None:
            raise error

    return worker


def rest(world: World, key: str) -> timedelta:
    """Return how long after its last start a message is due again, by the database's clock."""
    with Session(world.engine) as session:
        due = session.get_one(Task, key).deliver_time
        started: datetime = session.scalars(
            ATTEMPTS.select().with_only_columns(ATTEMPTS.c.last_attempt_at)
        ).one()
    assert isinstance(due, datetime)
    return due - started


@both_modes
def test_the_rest_grows_with_each_attempt(ready: World, mode: Any) -> None:
    worker = failing(ready, LookupError("x"), mode=mode)
    send_tasks(ready, "a")
    for number, wanted in ((1, MINUTE), (2, 2 * MINUTE)):
        assert work(worker).named(events.RETRIED)[0].attempts == number
        assert wanted <= rest(ready, "a") < wanted + timedelta(seconds=TIMEOUT_SECONDS)
        assert attempts(ready) == {'["a"]': number}
        ready.advance(wanted.total_seconds())


def test_the_last_attempt_ends_among_the_dead_letters(ready: World) -> None:
    worker = failing(ready, LookupError("no such thing"), retry=RetryPolicy(max_attempts=2, initial=MINUTE))
    send_tasks(ready, "a")
    work(worker)
    ready.advance(70)
    event = work(worker).named(events.DEAD_LETTERED)[0]
    assert (event.attempts, event.reason) == (2, "given up after 2 attempts: LookupError: no such thing")
    (letter,) = letters(ready)
    assert (letter.queue, letter.key, letter.attempts) == ("Tasks", '["a"]', 2)
    assert json.loads(letter.payload) == {"text": "a", "kind": ""}
    assert letter.reason == event.reason
    assert letter.traceback.startswith("Traceback (most recent call last)")
    assert letter.traceback.endswith("LookupError: no such thing\n")
    assert tally(ready) == {"FailedTask": 1}
    assert attempts(ready) == {}


def test_the_times_of_a_dead_letter_are_those_of_the_database(ready: World) -> None:
    worker = failing(ready, LookupError("x"), retry=RetryPolicy(max_attempts=2, initial=MINUTE, jitter=0.0))
    ready.advance(3600)
    send_tasks(ready, "a")
    work(worker)
    ready.advance(60)
    work(worker)
    (letter,) = letters(ready)
    slack = timedelta(seconds=TIMEOUT_SECONDS)
    assert timedelta(hours=1) <= letter.first_attempt_at - datetime.now(UTC) + slack < 2 * slack + MINUTE * 60
    assert MINUTE <= letter.last_attempt_at - letter.first_attempt_at < MINUTE + slack
    # The message of the second attempt is the one that was sent anew after the first.
    assert timedelta(0) <= letter.last_attempt_at - letter.deliver_time < slack


def test_errors_to_give_up_on_are_final_at_once(ready: World) -> None:
    worker = failing(ready, KeyError("x"), retry=RetryPolicy(give_up_on=(LookupError,)))
    send_tasks(ready, "a")
    assert work(worker).named(events.DEAD_LETTERED)[0].attempts == 1
    assert [letter.reason for letter in letters(ready)] == ["KeyError: 'x'"]
    assert attempts(ready) == {}


def test_only_errors_to_retry_on_are_tried_again(ready: World) -> None:
    worker = failing(
        ready, ConnectionError("x"), ValueError("y"), retry=RetryPolicy(retry_on=(OSError,), initial=MINUTE)
    )
    send_tasks(ready, "a")
    assert work(worker).named(events.RETRIED)
    ready.advance(70)
    assert work(worker).named(events.DEAD_LETTERED)[0].attempts == 2
    assert [letter.reason for letter in letters(ready)] == ["ValueError: y"]


def test_a_retry_of_the_handler_counts_and_names_its_own_rest(ready: World) -> None:
    worker = failing(ready, Retry(delay=10 * MINUTE, reason="busy"), Retry(reason="busy"))
    send_tasks(ready, "a")
    for wanted in (10 * MINUTE, 2 * MINUTE):
        assert work(worker).named(events.RETRIED)
        assert wanted <= rest(ready, "a") < wanted + timedelta(seconds=TIMEOUT_SECONDS)
        ready.advance(wanted.total_seconds())
    assert work(worker).named(events.DEAD_LETTERED)
    assert [letter.reason for letter in letters(ready)] == ["given up after 3 attempts: busy"]


@both_modes
@pytest.mark.parametrize("end", [None, Discard("moot")], ids=["success", "discard"])
def test_nothing_is_counted_of_a_message_that_is_ended(ready: World, mode: Any, end: Any) -> None:
    worker = failing(ready, LookupError("x"), end, mode=mode)
    send_tasks(ready, "a", "b")
    work(worker, 2)
    ready.advance(60)
    work(worker)
    assert attempts(ready) == {}


def test_the_count_is_there_before_the_handler_starts(ready: World) -> None:
    worker, gate = Worker(ready.engine), Gate()
    worker.handler(Task, mode="outside", **COUNTED)(lambda message: gate())
    send_tasks(ready, "a")
    thread = Running(worker.run)
    gate.wait()
    assert attempts(ready) == {'["a"]': 1}
    gate.open()
    worker.stop()
    assert thread.result() == 0


@both_modes
def test_another_worker_goes_on_with_the_count(ready: World, mode: Any) -> None:
    send_tasks(ready, "a")
    work(failing(ready, LookupError("x"), mode=mode))
    ready.advance(60)
    assert work(failing(ready, LookupError("x"), mode=mode)).named(events.RETRIED)[0].attempts == 2
    ready.advance(120)
    assert work(failing(ready, LookupError("x"), mode=mode)).named(events.DEAD_LETTERED)[0].attempts == 3


def test_a_start_that_came_to_no_end_counts(ready: World) -> None:
    """A worker that is stopped by force is as good as one that was killed."""
    gate, worker = Gate(), Worker(ready.engine)
    worker.handler(Task, mode="outside", **COUNTED)(lambda message: gate())
    send_tasks(ready, "a")
    thread = Running(worker.run)
    gate.wait()
    worker.stop()
    worker.stop()
    assert thread.result() == 1
    gate.open()
    ready.advance(10)
    assert work(failing(ready, LookupError("x"))).named(events.RETRIED)[0].attempts == 2


def test_a_message_that_had_all_its_starts_is_given_up_unseen(ready: World) -> None:
    worker = failing(ready, None)
    send_tasks(ready, "a", "b")
    with ready.engine.begin() as connection:
        connection.execute(insert(ATTEMPTS), [counted(message='["a"]', number=3)])
    watch = work(worker, 2)
    assert watch.keys(events.STARTED) == watch.keys(events.SUCCEEDED) == ["b"]
    (letter,) = letters(ready)
    assert (letter.attempts, letter.first_attempt_at) == (3, LONG_AGO)
    assert letter.reason == "started 3 times; the last time, the process or the lease ended first"
    assert attempts(ready) == {}


def counted(message: str, number: int, deliver_time: datetime | None = None) -> dict[str, Any]:
    """Return a row of the attempts table, as a process that was killed leaves it."""
    return {
        "queue": "Tasks",
        "message": message,
        "attempts": number,
        "first_attempt_at": LONG_AGO,
        "last_attempt_at": LONG_AGO,
        "deliver_time": deliver_time,
    }


def test_a_message_that_is_sent_anew_under_the_same_key_starts_from_the_beginning(ready: World) -> None:
    send_tasks(ready, "a")
    gate, worker = Gate(), Worker(ready.engine)
    worker.handler(Task, mode="outside", **COUNTED)(lambda message: gate())
    thread, watch = Running(worker.run), Watch(worker)
    gate.wait()
    acknowledge_elsewhere(ready, Task, "a")
    gate.open()
    watch.wait(events.ALREADY_ACKNOWLEDGED)
    worker.stop()
    assert thread.result() == 0
    send_tasks(ready, "a")
    assert work(failing(ready, LookupError("x"))).named(events.RETRIED)[0].attempts == 1


def test_a_message_that_is_sent_anew_after_its_end_starts_from_the_beginning(ready: World) -> None:
    worker = failing(ready, LookupError("x"), None, LookupError("y"))
    send_tasks(ready, "a")
    work(worker)
    ready.advance(60)
    work(worker)
    send_tasks(ready, "a")
    assert work(worker).named(events.RETRIED)[0].attempts == 1


def test_without_a_policy_nothing_is_counted(ready: World) -> None:
    worker = failing(ready, LookupError("x"), retry=None)
    send_tasks(ready, "a")
    assert work(worker).named(events.RETRIED)[0].attempts == 0
    assert attempts(ready) == {}
    ready.advance(10)
    assert work(worker).named(events.RETRIED)


def test_middleware_is_told_the_attempt(ready: World) -> None:
    worker, seen = failing(ready, LookupError("x"), None), list[int]()

    @worker.middleware
    def note(call: Call, proceed: Any) -> object:
        seen.append(call.attempts)
        return proceed()

    send_tasks(ready, "a")
    work(worker)
    ready.advance(60)
    assert work(worker).named(events.SUCCEEDED)[0].attempts == 2
    assert seen == [1, 2]


def test_a_message_that_is_too_old_is_given_up_unseen(ready: World) -> None:
    worker = failing(ready, None, max_age=10 * MINUTE)
    send_tasks(ready, "old")
    ready.advance(601)
    send_tasks(ready, "new")
    watch = work(worker, 2)
    assert watch.keys(events.STARTED) == ["new"]
    assert watch.keys(events.DEAD_LETTERED) == ["old"]
    assert [(letter.reason, letter.attempts) for letter in letters(ready)] == [("older than 0:10:00", 0)]


def test_at_most_once_a_message_is_given_up_after_its_last_start(ready: World) -> None:
    worker = Worker(ready.engine)

    @worker.handler(
        Task, mode="at_most_once", run_time=MINUTE, dead_letter=FailedTask, retry=RetryPolicy(max_attempts=2)
    )
    def fail(message: Task) -> None:
        raise LookupError("x")

    send_tasks(ready, "a")
    assert work(worker).named(*ENDS)[0].attempts == 1
    ready.advance(60)
    assert work(worker).named(events.DEAD_LETTERED)[0].attempts == 2
    assert tally(ready) == {"FailedTask": 1}
    assert attempts(ready) == {}
