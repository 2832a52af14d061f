"""A worker ends in good order: nothing more is started, what runs may finish, and a forced end says so."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Worker
from sqlalchemy_spanner_queues.worker import events
from tests.conformance.engines import World
from tests.conformance.helpers import DATABASE_ERRORS, TIMEOUT_SECONDS, Running
from tests.conformance_worker.helpers import (
    Gate,
    Watch,
    others_get,
    pass_time,
    send_tasks,
    tally,
    until,
    wait_until_held,
)
from tests.conformance_worker.models import Done, Task


def gated(world: World, mode: Any = "transaction", **options: Any) -> tuple[Worker, Gate]:
    worker, gate = Worker(world.engine, **options), Gate()

    @worker.handler(Task, mode=mode)
    def handle(message: Task, *session: Session) -> None:
        gate()
        for one in session:
            one.add(Done(key=message.key))

    return worker, gate


def hanging(world: World, **options: Any) -> tuple[Worker, threading.Semaphore, list[str]]:
    """Return a worker with a coroutine that never ends by itself, and notes how it was ended."""
    worker, entered, ends = Worker(world.engine, **options), threading.Semaphore(0), list[str]()

    @worker.handler(Task, mode="outside")
    async def handle(message: Task) -> None:
        entered.release()
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 2 * TIMEOUT_SECONDS)
        except asyncio.CancelledError:
            ends.append(message.lease.reason)
            raise

    return worker, entered, ends


@pytest.mark.parametrize("mode", ["transaction", "outside"])
def test_what_runs_finishes_and_the_end_is_clean(ready: World, mode: Any) -> None:
    worker, gate = gated(ready, mode)
    send_tasks(ready, "a")
    watch, thread = Watch(worker), Running(worker.run)
    gate.wait()
    worker.stop()
    assert watch.wait(events.WORKER_STOPPING).reason == "stop() was called"
    send_tasks(ready, "b")
    assert not thread.ended(0)
    gate.open()
    assert thread.result() == 0
    assert watch.wait(events.WORKER_STOPPED).reason == "clean"
    assert watch.keys(events.STARTED) == watch.keys(events.SUCCEEDED) == ["a"]
    assert tally(ready) == ({"Done": 1, "Task": 1} if mode == "transaction" else {"Task": 1})


@pytest.mark.usefixtures("beats_by_hand")
def test_leases_of_what_runs_are_kept_and_what_has_not_started_is_handed_back(ready: World) -> None:
    worker, gate = gated(ready, "outside", concurrency=1, max_batch_size=3)
    send_tasks(ready, "a", "b", "c")
    watch, thread = Watch(worker), Running(worker.run)
    gate.wait()
    wait_until_held(worker, 3)
    worker.stop()
    watch.wait(events.WORKER_STOPPING)
    wait_until_held(worker, 1)
    pass_time(ready, worker, 12)
    assert others_get(ready) == ["b", "c"]
    gate.open()
    assert thread.result() == 0
    assert watch.keys(events.STARTED) == watch.keys(events.SUCCEEDED) == ["a"]


def test_what_waits_for_its_handler_is_handed_back_and_told(ready: World) -> None:
    worker, gate = Worker(ready.engine, concurrency=2, max_batch_size=10), Gate()
    worker.handler(Task, concurrency=1)(lambda message, session: gate())
    send_tasks(ready, "a", "b")
    watch, thread = Watch(worker), Running(worker.run)
    gate.wait()
    until("the other one waits", lambda: worker.health().waiting == 1)
    worker.stop()
    assert watch.wait(events.HANDED_BACK).reason == "the worker stops"
    gate.open()
    assert thread.result() == 0
    assert watch.keys(events.HANDED_BACK) == ["b"]
    assert tally(ready) == {"Task": 1}


def test_what_takes_too_long_is_given_up_and_the_end_is_forced(ready: World) -> None:
    worker, gate = gated(ready, shutdown_timeout=0.1)
    send_tasks(ready, "a")
    watch, thread = Watch(worker), Running(worker.run)
    gate.wait()
    worker.stop()
    assert thread.result() == 1
    assert watch.wait(events.WORKER_STOPPED).reason == "forced"
    assert watch.wait(events.LEASE_LOST).reason == "the worker was stopped"
    gate.open()
    # The thread that was left behind has nothing to say any more.
    until("it is over", lambda: not any("worker-Tasks" in one.name for one in threading.enumerate()))
    assert watch.named(events.SUCCEEDED) == []
    assert tally(ready) == {"Task": 1}


@pytest.mark.parametrize("stops", [1, 2])
def test_a_coroutine_is_cancelled_after_the_timeout_or_by_a_second_stop(ready: World, stops: int) -> None:
    worker, entered, ends = hanging(ready, shutdown_timeout=0.1 if stops == 1 else 2 * TIMEOUT_SECONDS)
    send_tasks(ready, "a")
    thread = Running(worker.run)
    assert entered.acquire(timeout=TIMEOUT_SECONDS)
    for _ in range(stops):
        worker.stop()
    assert thread.result() == 1
    assert ends == ["the worker was stopped"]
    assert tally(ready) == {"Task": 1}


def test_a_worker_can_be_stopped_by_its_handler_and_run_again(ready: World) -> None:
    worker = Worker(ready.engine, concurrency=1)
    worker.handler(Task)(lambda message, session: worker.stop())
    send_tasks(ready, "a", "b")
    for left in (1, 0):
        assert Running(worker.run).result() == 0
        assert tally(ready) == ({"Task": left} if left else {})
        ready.advance(10)


def test_stopping_what_does_not_run_is_harmless(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.stop()
    worker.handler(Task)(lambda message, session: worker.stop())
    send_tasks(ready, "a")
    assert Running(worker.run).result() == 0
    worker.stop()
    assert tally(ready) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_stops_it_in_good_order(ready: World, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: os.kill(os.getpid(), number))
    send_tasks(ready, "a")
    watch = Watch(worker)
    assert worker.run() == 0
    assert watch.wait(events.WORKER_STOPPING).reason == number.name
    assert watch.keys(events.SUCCEEDED) == ["a"]
    assert signal.getsignal(number) is before


def test_a_second_signal_ends_it_at_once(ready: World) -> None:
    worker, entered, ends = hanging(ready, shutdown_timeout=2 * TIMEOUT_SECONDS)

    def kill_twice() -> None:
        assert entered.acquire(timeout=TIMEOUT_SECONDS)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            watch.wait(events.WORKER_STOPPING)

    send_tasks(ready, "a")
    watch, killing = Watch(worker), Running(kill_twice)
    assert worker.run() == 1
    killing.result()
    assert ends == ["the worker was stopped"]


def test_what_a_part_of_it_died_of_is_raised(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    Task.__table__.drop(ready.engine)
    watch = Watch(worker)
    with pytest.raises(DATABASE_ERRORS, match="Tasks") as raised:
        Running(worker.run).result()
    event = watch.wait(events.WORKER_FAILED)
    assert event.error is raised.value
    assert event.reason.startswith(type(raised.value).__name__)
    watch.wait(events.WORKER_STOPPED)
    assert worker.health().live is False


async def entered_in_a_thread(entered: threading.Semaphore) -> None:
    assert await asyncio.to_thread(entered.acquire, timeout=TIMEOUT_SECONDS)


def test_inside_a_loop_coroutines_run_on_that_loop(ready: World) -> None:
    worker, loops = Worker(ready.engine), list[Any]()

    @worker.handler(Task)
    async def handle(message: Task, session: Session) -> None:
        loops.append(asyncio.get_running_loop())
        session.add(Done(key=message.key))
        worker.stop()

    async def main() -> None:
        assert await asyncio.wait_for(worker.run_async(), TIMEOUT_SECONDS) == 0
        assert loops == [asyncio.get_running_loop()]

    send_tasks(ready, "a")
    asyncio.run(main())
    assert tally(ready) == {"Done": 1}


def test_inside_a_loop_a_cancellation_stops_it_in_good_order(ready: World) -> None:
    worker, entered, go_on = Worker(ready.engine), threading.Semaphore(0), asyncio.Event()

    @worker.handler(Task)
    async def handle(message: Task, session: Session) -> None:
        entered.release()
        await asyncio.wait_for(go_on.wait(), TIMEOUT_SECONDS)
        session.add(Done(key=message.key))

    async def main() -> None:
        running = asyncio.create_task(worker.run_async())
        await entered_in_a_thread(entered)
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, TIMEOUT_SECONDS)

    send_tasks(ready, "a")
    watch = Watch(worker)
    asyncio.run(main())
    assert watch.wait(events.WORKER_STOPPING).reason == "run_async() was cancelled"
    assert watch.wait(events.WORKER_STOPPED).reason == "clean"
    assert tally(ready) == {"Done": 1}


def test_inside_a_loop_a_second_cancellation_ends_it_at_once(ready: World) -> None:
    worker, entered = Worker(ready.engine), threading.Semaphore(0)

    @worker.handler(Task)
    async def handle(message: Task, session: Session) -> None:
        entered.release()
        await asyncio.wait_for(asyncio.Event().wait(), TIMEOUT_SECONDS)

    async def main() -> None:
        running = asyncio.create_task(worker.run_async())
        await entered_in_a_thread(entered)
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert watch.wait(events.WORKER_STOPPED).reason == "forced"

    send_tasks(ready, "a")
    watch = Watch(worker)
    asyncio.run(main())
    assert tally(ready) == {"Task": 1}


def test_inside_a_loop_a_failure_is_raised(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    Task.__table__.drop(ready.engine)
    with pytest.raises(DATABASE_ERRORS, match="Tasks"):
        asyncio.run(asyncio.wait_for(worker.run_async(), TIMEOUT_SECONDS))
