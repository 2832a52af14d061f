"""Words that the conformance tests share: send, count, and take from a receiver without ever hanging."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from google.api_core.exceptions import GoogleAPICallError
from sqlalchemy import event, func, select
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import (
    MessageAlreadyAcknowledged,
    MessageAlreadyExists,
    QueueMessage,
    Receiver,
    acknowledge,
)
from sqlalchemy_spanner_queues.receiver.keeper import LeaseKeeper
from tests.conformance.engines import World
from tests.conformance.models import Job

T = TypeVar("T")
MessageT = TypeVar("MessageT", bound=QueueMessage)

# Long enough for a loaded machine, and shorter than a lease, which would bring back what went astray.
TIMEOUT_SECONDS = 8.0
MARKER = "~marker"
# The Spanner driver passes some of Google's errors on as they are: NOT_FOUND for a missing parent row.
DATABASE_ERRORS = (DBAPIError, GoogleAPICallError)
# After one of these a transaction cannot commit.
FAILURES = (MessageAlreadyAcknowledged, MessageAlreadyExists)


class Running:
    """A function that runs in a thread of its own; ``result`` waits for it, with a limit."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="conformance", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:  # noqa: BLE001 - raised again by result()
            self._error = error

    def ended(self, timeout: float) -> bool:
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def result(self, timeout: float = TIMEOUT_SECONDS) -> Any:
        if not self.ended(timeout):
            pytest.fail(f"{self._function} did not end within {timeout:g} s")
        if self._error is not None:
            raise self._error
        return self._result


def send(world: World, *rows: Any) -> None:
    with Session(world.engine) as session, session.begin():
        session.add_all(rows)


def send_jobs(world: World, *keys: str) -> None:
    send(world, *(Job(key=key, payload=key.encode()) for key in keys))


def count(world: World, model: type[Any]) -> int:
    with Session(world.engine) as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def finish(engine: Engine, *messages: QueueMessage) -> None:
    """Acknowledge messages in a transaction of their own."""
    with Session(engine) as session, session.begin():
        acknowledge(session, *messages)


def working_receiver(world: World, **options: Any) -> Receiver[Job]:
    """Make a receiver of jobs whose stream is over as soon as the clock moves by a second.

    What happens to others' messages while its caller works is seen without it: a stream that is still open
    may be given the next batch.
    """
    return Receiver(world.engine, Job, max_duration=timedelta(seconds=1), **options)


def gone(world: World) -> Job:
    """Return a received message that somebody else has acknowledged."""
    send_jobs(world, "gone", "kept")
    with Receiver(world.engine, Job, max_batch_size=10) as receiver:
        job = next(job for job in take_batch(receiver) if job.key == "gone")
    finish(world.engine, job)
    return job


def take(receiver: Receiver[MessageT], number: int = 1, timeout: float = TIMEOUT_SECONDS) -> list[MessageT]:
    """Take messages from a receiver's loop, one by one; the lease of the last one is kept."""
    return _limited(receiver, lambda: _take(receiver, number), timeout)


def take_one(receiver: Receiver[MessageT], timeout: float = TIMEOUT_SECONDS) -> MessageT:
    return take(receiver, 1, timeout)[0]


def take_batch(receiver: Receiver[MessageT], timeout: float = TIMEOUT_SECONDS) -> list[MessageT]:
    """Take the next batch of a receiver; the leases of the whole batch are kept."""
    return _limited(receiver, lambda: next(receiver.batches()), timeout)


def arrivals(world: World, receiver: Receiver[Job]) -> list[Job]:
    """Send a marker, and return all jobs that arrive up to the end of its batch, acknowledging nothing."""
    send_jobs(world, MARKER)
    found = _limited(receiver, lambda: _up_to_marker(receiver), TIMEOUT_SECONDS)
    finish(world.engine, *(job for job in found if job.key == MARKER))
    return [job for job in found if job.key != MARKER]


def keeper_of(receiver: Receiver[Job]) -> LeaseKeeper:
    assert receiver._keeper is not None
    return receiver._keeper


def pass_time(world: World, receiver: Receiver[Job], seconds: int) -> None:
    """Let time pass, with a beat of the receiver's lease keeper every 4 seconds."""
    for _ in range(0, seconds, 4):
        world.advance(4)
        assert keeper_of(receiver).beat()


def wait_until_held(receiver: Receiver[Job], number: int) -> None:
    """Wait until so many leases are kept: the clock of the tests is faster than the thread that reads."""
    for _ in range(int(TIMEOUT_SECONDS * 100)):
        if len(keeper_of(receiver)._held) == number:
            return
        threading.Event().wait(0.01)
    pytest.fail(f"not {number} leases are kept, but {len(keeper_of(receiver)._held)}")


def keys(jobs: Sequence[Job]) -> list[str]:
    return sorted(job.key for job in jobs)


def arriving_keys(world: World, **options: Any) -> list[str]:
    """Return the keys of the jobs that a fresh receiver is given now."""
    with Receiver(world.engine, Job, **options) as receiver:
        return keys(arrivals(world, receiver))


@contextmanager
def listening(target: Any, name: str, listener: Callable[..., Any]) -> Iterator[None]:
    """Listen to an event of SQLAlchemy for the length of a block."""
    event.listen(target, name, listener)
    try:
        yield
    finally:
        event.remove(target, name, listener)


@contextmanager
def caught(*errors: type[BaseException]) -> Iterator[None]:
    """Catch errors as careless code would, failing the test when there is none."""
    try:
        yield
    except errors:
        return
    pytest.fail(f"none of {errors} was raised")


def _take(receiver: Receiver[MessageT], number: int) -> list[MessageT]:
    found: list[MessageT] = []
    for message in receiver:
        found.append(message)
        if len(found) == number:
            break
    return found


def _up_to_marker(receiver: Receiver[Job]) -> list[Job]:
    found: list[Job] = []
    for batch in receiver.batches():
        found += batch
        if any(job.key == MARKER for job in batch):
            break
    return found


def _limited(receiver: Receiver[Any], function: Callable[[], T], timeout: float) -> T:
    running = Running(function)
    if not running.ended(timeout):
        receiver.stop()
        pytest.fail(f"the receiver did not deliver within {timeout:g} s what the test waits for")
    result: T = running.result()
    return result
