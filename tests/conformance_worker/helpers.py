"""Words that the worker's tests share: send, work, wait for events, and hold handlers; nothing ever hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import DeadLetter, QueueMessage, Receiver, RetryPolicy, Worker
from sqlalchemy_spanner_queues.receiver.keeper import LeaseKeeper
from sqlalchemy_spanner_queues.worker import WorkerEvent, dead_letters, events, redrive
from tests.conformance.engines import World
from tests.conformance.helpers import MARKER, TIMEOUT_SECONDS, Running, count, finish, send, take_batch
from tests.conformance_worker.models import ATTEMPTS, Done, Errand, FailedTask, Note, Task

# Longer than a lease: what was on its way when a stream was closed comes again after it, on a loaded machine.
EVENT_SECONDS = 20.0
# What a message comes to, in one run of its handler.
ENDS = (
    events.SUCCEEDED,
    events.RETRIED,
    events.DISCARDED,
    events.DEAD_LETTERED,
    events.LEFT,
    events.LEASE_LOST,
    events.ALREADY_ACKNOWLEDGED,
    events.UNKNOWN_TYPE,
)
MINUTE = timedelta(minutes=1)
# Rests of 1, 2, 4 ... minutes: much longer than any test takes.
POLICY = RetryPolicy(max_attempts=3, initial=MINUTE, jitter=0.0)
COUNTED: dict[str, Any] = {"retry": POLICY, "dead_letter": FailedTask}


class Watch:
    """All events of a worker from now on; ``wait`` has a limit."""

    def __init__(self, worker: Worker) -> None:
        self.events: list[WorkerEvent] = []
        self._changed = threading.Condition()
        worker.listen(self._note)

    def _note(self, event: WorkerEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def named(self, *names: str) -> list[WorkerEvent]:
        return [event for event in list(self.events) if event.name in names]

    def keys(self, *names: str) -> list[str]:
        """Return the keys of the tasks of these events, sorted."""
        return sorted(str(event.keys["TaskKey"]) for event in self.named(*names))

    def wait(self, *names: str, number: int = 1) -> WorkerEvent:
        """Wait for so many events of these names, and return the last one."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.named(*names)) >= number, EVENT_SECONDS)
        if not came:
            told = [(event.name, event.reason) for event in self.events]
            pytest.fail(f"not {number} of {names}, but {told}")
        return self.named(*names)[-1]


class Gate:
    """Where handlers wait until the test opens it."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._opened = threading.Event()

    def __call__(self) -> None:
        self._entered.release()
        if not self._opened.wait(2 * TIMEOUT_SECONDS):
            raise TimeoutError("nobody opened the gate")

    def wait(self, number: int = 1) -> None:
        """Wait until so many more handlers have come."""
        for _ in range(number):
            assert self._entered.acquire(timeout=TIMEOUT_SECONDS), "no handler came to the gate"

    def open(self) -> None:
        self._opened.set()


@contextmanager
def running(worker: Worker) -> Iterator[Watch]:
    """Run a worker in a thread for the length of a block, and stop it in good order."""
    watch = Watch(worker)
    thread = Running(worker.run)
    try:
        watch.wait(events.WORKER_STARTED)
        yield watch
    except BaseException:
        worker.stop()
        worker.stop()
        thread.ended(TIMEOUT_SECONDS)
        raise
    worker.stop()
    assert thread.result() == 0


def work(worker: Worker, number: int = 1) -> Watch:
    """Run a worker until so many messages have come to an end; return what happened."""
    with running(worker) as watch:
        watch.wait(*ENDS, number=number)
    return watch


def send_tasks(world: World, *keys: str, **options: Any) -> None:
    send(world, *(Task(key=key, payload=Note(key), **options) for key in keys))


def send_errands(world: World, *keys: str) -> None:
    send(world, *(Errand(key=key, payload=key.encode()) for key in keys))


def tally(world: World) -> dict[str, int]:
    """Count what is in the tables of the worker's tests, leaving out what is empty."""
    models: list[type[Any]] = [Task, Errand, Done, FailedTask]
    found = {model.__name__: count(world, model) for model in models}
    return {name: number for name, number in found.items() if number}


def attempts(world: World) -> dict[str, int]:
    """Return what is counted of each message."""
    with world.engine.connect() as connection:
        rows = connection.execute(select(ATTEMPTS.c.message, ATTEMPTS.c.attempts))
        return {row[0]: row[1] for row in rows}


def letters(world: World) -> list[FailedTask]:
    """Return the dead letters in the table, in the order of their keys."""
    with Session(world.engine, expire_on_commit=False) as session:
        return list(session.scalars(select(FailedTask).order_by(FailedTask.key)))


def bury(world: World, *models: type[Any], target: type[Any] = FailedTask, number: int = 1) -> None:
    """Let a worker give up all messages of some queues."""
    worker = Worker(world.engine, concurrency=20)
    for model in models:
        worker.handler(model, dead_letter=target)(lambda message, session: DeadLetter("broken"))
    work(worker, number)


def redrive_all(world: World, target: type[Any], **options: Any) -> None:
    """Send the messages of all dead letters anew."""
    with Session(world.engine) as session, session.begin():
        redrive(session, *dead_letters(session, target), **options)


def others_get(world: World) -> list[str]:
    """Return the keys of the tasks that another receiver is given now; they are leased by that."""
    send_tasks(world, MARKER)
    # Over as soon as the clock moves on, so that it takes nothing after that.
    with Receiver(world.engine, Task, max_duration=timedelta(seconds=1)) as receiver:
        found: list[Task] = []
        while not any(task.key == MARKER for task in found):
            found += take_batch(receiver)
        finish(world.engine, *(task for task in found if task.key == MARKER))
    return sorted(task.key for task in found if task.key != MARKER)


def acknowledge_elsewhere(world: World, model: type[QueueMessage], key: Any) -> None:
    """Acknowledge a message as somebody else would."""
    with Session(world.engine) as session, session.begin():
        session.delete(session.get_one(model, key))


def keeper_of(worker: Worker) -> LeaseKeeper:
    """Return the keeper of the first queue's leases."""
    assert worker._crew is not None
    return worker._crew._keepers[0][1]


def pass_time(world: World, worker: Worker, seconds: int) -> None:
    """Let time pass, with a beat of the lease keeper every 4 seconds."""
    for _ in range(0, seconds, 4):
        world.advance(4)
        assert keeper_of(worker).beat()


def jump(world: World, seconds: float) -> None:
    """Move the delivery clock while a worker waits, and let it see that."""
    world.advance(seconds)
    if world.emulator is None:
        # SQLite's receivers look at the clock when somebody commits.
        with world.engine.begin() as connection:
            connection.execute(select(Done.key))


def wait_until_held(worker: Worker, number: int) -> None:
    """Wait until so many leases are kept: the first message is worked on while others still arrive."""
    until(f"{number} leases are kept", lambda: len(keeper_of(worker)._held) == number)


def until(what: str, condition: Callable[[], object]) -> None:
    """Wait, with a limit, for what no event tells."""
    for _ in range(int(TIMEOUT_SECONDS * 100)):
        if condition():
            return
        threading.Event().wait(0.01)
    pytest.fail(f"it did not come to this: {what}")
