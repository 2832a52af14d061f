"""Leases of what waits and what runs are kept; a lost one is told once, and its work is not committed."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Lease, Worker
from sqlalchemy_spanner_queues.exc import LeaseLost
from sqlalchemy_spanner_queues.message import mark_lost
from sqlalchemy_spanner_queues.worker import events
from sqlalchemy_spanner_queues.worker.settling import Settling
from tests.conformance.engines import World
from tests.conformance.helpers import TIMEOUT_SECONDS
from tests.conformance_worker.helpers import (
    COUNTED,
    Gate,
    acknowledge_elsewhere,
    attempts,
    jump,
    keeper_of,
    others_get,
    pass_time,
    running,
    send_tasks,
    tally,
    until,
    wait_until_held,
)
from tests.conformance_worker.models import Done, Task

pytestmark = pytest.mark.usefixtures("beats_by_hand")
both_modes = pytest.mark.parametrize("mode", ["transaction", "outside"])


def gated(world: World, mode: Any = "transaction", **options: Any) -> tuple[Worker, Gate]:
    """Return a worker with a handler that waits at a gate, and writes a row where it has a session."""
    worker, gate = Worker(world.engine, concurrency=options.pop("concurrency", 1)), Gate()

    @worker.handler(Task, mode=mode, **options)
    def handle(message: Task, *session: Session) -> None:
        gate()
        for one in session:
            one.add(Done(key=message.key))

    return worker, gate


def lose(world: World, worker: Worker) -> None:
    """Let the leases run out, and the database say so."""
    world.advance(10)
    keeper_of(worker).beat()


def leases(worker: Worker) -> list[Lease]:
    """Return the leases of what runs."""
    assert worker._crew is not None
    return [job.lease for job in worker._crew.running()]


@both_modes
def test_a_message_that_is_worked_on_for_long_is_nobody_elses(ready: World, mode: Any) -> None:
    worker, gate = gated(ready, mode)
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        pass_time(ready, worker, 28)
        assert others_get(ready) == []
        gate.open()
        watch.wait(events.SUCCEEDED)
    assert watch.keys(events.STARTED) == ["a"]
    assert tally(ready) == ({"Done": 1} if mode == "transaction" else {})


def test_messages_that_wait_for_a_handler_are_kept_too(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1, max_batch_size=3), Gate()
    worker.handler(Task)(lambda message, session: gate())
    send_tasks(ready, "a", "b", "c")
    with running(worker) as watch:
        gate.wait()
        wait_until_held(worker, 3)
        pass_time(ready, worker, 28)
        assert others_get(ready) == []
        gate.open()
        watch.wait(events.SUCCEEDED, number=3)
    assert watch.keys(events.STARTED) == ["a", "b", "c"]


def test_a_message_whose_lease_was_lost_while_it_waited_is_not_started(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=1, max_batch_size=2), Gate()
    worker.handler(Task)(lambda message, session: gate())
    send_tasks(ready, "a", "b")
    with running(worker) as watch:
        gate.wait()
        wait_until_held(worker, 2)
        lose(ready, worker)
        assert others_get(ready) == ["a", "b"]
        gate.open()
        until("the handler is over", lambda: worker.health().running == 0)
    assert watch.keys(events.STARTED) == ["a"]
    assert watch.named(events.SUCCEEDED) == []


@both_modes
def test_the_work_of_a_lost_lease_is_not_committed_and_told_once(ready: World, mode: Any) -> None:
    told = list[str]()
    worker, gate = gated(ready, mode, on_lease_lost=lambda message: told.append(message.key), **COUNTED)
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        lose(ready, worker)
        event = watch.wait(events.LEASE_LOST)
        assert (event.reason, event.keys["TaskKey"]) == ("it ran out", "a")
        until("on_lease_lost is called", lambda: told)
        # The message is others' from here on.
        assert others_get(ready) == ["a"]
        gate.open()
        until("the handler is over", lambda: worker.health().running == 0)
    assert told == ["a"]
    assert len(watch.named(events.LEASE_LOST)) == 1
    assert watch.named(events.SUCCEEDED, events.RETRIED, events.DEAD_LETTERED) == []
    assert tally(ready) == {"Task": 1}
    assert attempts(ready) == {'["a"]': 1}


@both_modes
def test_a_coroutine_is_cancelled_when_its_lease_is_lost(ready: World, mode: Any) -> None:
    worker, seen = Worker(ready.engine), list[str]()
    entered = Gate()
    entered.open()

    @worker.handler(Task, mode=mode)
    async def handle(message: Task, *session: Session) -> None:
        entered()
        try:
            await asyncio.wait_for(asyncio.Event().wait(), TIMEOUT_SECONDS)
        except asyncio.CancelledError:
            seen.append(message.lease.reason)
            raise

    send_tasks(ready, "a")
    with running(worker) as watch:
        entered.wait()
        # Without moving the clock, which would bring it back at once.
        mark_lost(leases(worker)[0], "the test says so")
        watch.wait(events.LEASE_LOST)
        until("the handler is over", lambda: worker.health().running == 0)
    assert seen == ["the test says so"]
    assert watch.named(events.RETRIED) == []
    assert tally(ready) == {"Task": 1}


def test_a_handler_can_look_at_its_lease(ready: World) -> None:
    worker, seen = Worker(ready.engine), list[type[BaseException]]()
    entered = Gate()
    entered.open()

    @worker.handler(Task, mode="outside")
    def handle(message: Task) -> None:
        entered()
        assert message.lease.lost.wait(TIMEOUT_SECONDS)
        try:
            message.lease.raise_if_lost()
        except LeaseLost as error:
            seen.append(type(error))
            raise

    send_tasks(ready, "a")
    with running(worker) as watch:
        entered.wait()
        # Without moving the clock, which would bring it back at once.
        mark_lost(leases(worker)[0], "the test says so")
        until("the handler is over", lambda: worker.health().running == 0)
        watch.wait(events.LEASE_LOST)
    assert seen == [LeaseLost]
    assert watch.named(events.RETRIED) == []


def test_what_on_lease_lost_raises_is_logged_and_harms_nothing(
    ready: World, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(message: Task) -> None:
        raise LookupError(message.key)

    worker, gate = gated(ready, on_lease_lost=broken)
    send_tasks(ready, "a")
    with caplog.at_level(logging.ERROR), running(worker) as watch:
        gate.wait()
        lose(ready, worker)
        until("it is logged", lambda: "on_lease_lost of" in caplog.text)
        gate.open()
        watch.wait(events.LEASE_LOST)
        until("the handler is over", lambda: worker.health().running == 0)
        send_tasks(ready, "b")
        watch.wait(events.SUCCEEDED)


def test_a_message_that_somebody_else_acknowledged_is_lost(ready: World) -> None:
    worker, gate = gated(ready, "outside")
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        acknowledge_elsewhere(ready, Task, "a")
        keeper_of(worker).beat()
        assert watch.wait(events.LEASE_LOST).reason == "the message is acknowledged already"
        gate.open()
    assert watch.named(events.SUCCEEDED, events.ALREADY_ACKNOWLEDGED) == []


def test_the_longest_lease_ends_the_renewal(ready: World) -> None:
    worker, gate = gated(ready, "outside", max_lease=timedelta(microseconds=1))
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        keeper_of(worker).beat()
        assert "the longest time allowed" in watch.wait(events.LEASE_LOST).reason
        ready.advance(10)
        assert others_get(ready) == ["a"]
        gate.open()
        until("the handler is over", lambda: worker.health().running == 0)
    assert tally(ready) == {"Task": 1}


@both_modes
def test_a_message_that_comes_again_while_it_runs_is_not_started_twice(ready: World, mode: Any) -> None:
    worker, gate = gated(ready, mode, concurrency=2)
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        (lease,) = leases(worker)
        token = lease.token
        # It runs out, and comes again before anybody asked for its renewal.
        jump(ready, 10)
        event = watch.wait(events.REDELIVERED)
        assert event.reason == "it is worked on here; its newer lease is kept"
        assert lease.token != token
        pass_time(ready, worker, 12)
        assert not lease.is_lost
        gate.open()
        watch.wait(events.SUCCEEDED)
    assert watch.keys(events.STARTED) == ["a"]
    assert len(watch.named(events.REDELIVERED)) == 1
    assert tally(ready) == ({"Done": 1} if mode == "transaction" else {})


def test_a_message_that_comes_again_after_its_lease_was_lost_starts_once_its_handler_is_over(
    ready: World,
) -> None:
    worker, gate = gated(ready, concurrency=2)
    send_tasks(ready, "a")
    with running(worker) as watch:
        gate.wait()
        mark_lost(leases(worker)[0], "the test says so")
        jump(ready, 10)
        assert watch.wait(events.REDELIVERED).reason == "its handler still runs here"
        gate.open()
        until("the handler is over", lambda: worker.health().running == 0)
        assert watch.keys(events.STARTED) == ["a"]
        # No list of what was seen outlives the handler.
        jump(ready, 15)
        watch.wait(events.SUCCEEDED)
    assert watch.keys(events.STARTED) == ["a", "a"]
    assert tally(ready) == {"Done": 1}


def test_a_message_whose_acknowledgment_failed_once_is_worked_on_again(
    ready: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, seen, failures = Worker(ready.engine), list[str](), [LookupError("the network")]
    worker.handler(Task, mode="outside")(lambda message: seen.append(message.key))

    def remove(settling: Settling, session: Session, jobs: Any) -> None:
        if failures:
            raise failures.pop()
        removing(settling, session, jobs)

    removing = Settling.remove
    monkeypatch.setattr(Settling, "remove", remove)
    send_tasks(ready, "a")
    with running(worker) as watch:
        assert isinstance(watch.wait(events.LEFT).error, LookupError)
        jump(ready, 10)
        watch.wait(events.SUCCEEDED)
    assert seen == ["a", "a"]
    assert tally(ready) == {}
