"""What cannot work is refused where it is declared, and says what to write instead."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import String, create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import (
    Bytes,
    Json,
    QueueMessage,
    RetryPolicy,
    SpannerQueuesError,
    Worker,
    payload_column,
)
from sqlalchemy_spanner_queues.exc import HandlerError
from sqlalchemy_spanner_queues.receiver import keepers
from sqlalchemy_spanner_queues.worker import DeadLetters, DeadMessage, events
from tests.conformance.engines import World
from tests.conformance.helpers import TIMEOUT_SECONDS
from tests.conformance_worker.helpers import MINUTE, running, send_tasks, tally, work
from tests.conformance_worker.models import Done, Errand, FailedTask, Note, Task


class NamedBase(DeclarativeBase):
    pass


class FailedByName(QueueMessage, NamedBase):
    __tablename__ = "FailedByName"
    name: Mapped[str] = mapped_column("Name", String(36), primary_key=True)
    payload: Mapped[DeadMessage] = payload_column(Json(DeadMessage))


def with_session(message: Any, session: Any) -> None: ...


def without_session(message: Any) -> None: ...


# Each: the options, the function, words of the problem, words of the fix.
REFUSED: dict[str, tuple[dict[str, Any], Callable[..., None], str, str]] = {
    "mode": ({"mode": "once"}, with_session, "there is no mode 'once'", "use 'transaction', 'outside'"),
    "run_time elsewhere": (
        {"run_time": MINUTE},
        with_session,
        "run_time= and mode='at_most_once' go together",
        "how long the work takes",
    ),
    "no run_time": (
        {"mode": "at_most_once"},
        without_session,
        "run_time= and mode='at_most_once' go together",
        "how long the work takes",
    ),
    "run_time of nothing": (
        {"mode": "at_most_once", "run_time": timedelta(0)},
        without_session,
        "run_time is 0:00:00",
        "the longest time",
    ),
    "batch at most once": (
        {"mode": "at_most_once", "run_time": MINUTE, "batch": 2},
        without_session,
        "batch= and mode='at_most_once' do not go together",
        "leave out one",
    ),
    "batch": ({"batch": 0}, with_session, "batch is 0", "1 or more"),
    "concurrency": ({"concurrency": -1}, with_session, "concurrency is -1", "1 or more"),
    "max_age": (
        {"max_age": timedelta(0), "dead_letter": FailedTask},
        with_session,
        "max_age is 0:00:00",
        "a timedelta above 0",
    ),
    "max_lease": ({"max_lease": -MINUTE}, with_session, "max_lease is -1 day", "a timedelta above 0"),
    "retry without an end": (
        {"retry": RetryPolicy()},
        with_session,
        "does not say where the message goes then",
        "add dead_letter=",
    ),
    "max_age without an end": (
        {"max_age": MINUTE},
        with_session,
        "does not say where an older message goes",
        "add dead_letter=",
    ),
    "type without by": ({"type": "x"}, with_session, "type= needs by=", "where a message's type is found"),
    "no session taken": (
        {},
        without_session,
        "it cannot be called with (message, session), as its mode 'transaction' does",
        "write def without_session(message, session), or choose another mode=",
    ),
    "a session taken": (
        {"mode": "outside", "batch": 5},
        with_session,
        "it cannot be called with (messages), as its mode 'outside' does",
        "write def with_session(messages)",
    ),
    "dead letters into a table": (
        {"dead_letter": Done},
        with_session,
        "dead_letter=Done cannot take dead letters",
        "use a class with the mixin DeadLetters, or a queue with payload_column(Json(DeadMessage))",
    ),
    "dead letters into a queue without keys of its own": (
        {"dead_letter": FailedByName},
        with_session,
        "dead_letter=FailedByName cannot take dead letters",
        "whose keys make themselves up, as message_key() does",
    ),
    "dead letters into a queue": (
        {"dead_letter": Errand},
        with_session,
        "dead_letter=Errand cannot take dead letters",
        "the mixin DeadLetters",
    ),
}


@pytest.fixture
def engine() -> Engine:
    """An engine that is never connected."""
    return create_engine("sqlite://")


@pytest.mark.parametrize("name", REFUSED)
def test_a_handler_that_cannot_work_is_refused(engine: Engine, name: str) -> None:
    options, function, problem, fix = REFUSED[name]
    worker = Worker(engine)
    with pytest.raises(HandlerError) as raised:
        worker.handler(Task, **options)(function)
    error = raised.value
    assert error.handler == function.__qualname__
    assert problem in error.problem
    assert fix in error.fix
    assert str(error) == f"handler {error.handler!r}: {error.problem}; {error.fix}"
    # It is as if it had never been declared.
    with pytest.raises(HandlerError, match="the worker has no handlers"):
        worker.run()


def test_other_callables_can_be_handlers(ready: World) -> None:
    class Handler:
        def __call__(self, message: Task, session: Any) -> None:
            session.add(Done(key=message.key))

        def method(self, message: Any, session: Any) -> None:
            self(message, session)

    class AsyncHandler:
        async def __call__(self, message: Task, session: Any) -> None:
            session.add(Done(key=message.key))

    def with_prefix(prefix: str, message: Task, session: Any) -> None:
        session.add(Done(key=prefix + message.key))

    worker = Worker(ready.engine)
    worker.handler(Task, by="key", type="a")(Handler())
    worker.handler(Task, by="key", type="c")(AsyncHandler())
    worker.handler(Task, by="key")(functools.partial(with_prefix, "partial "))
    worker.handler(Errand)(Handler().method)
    send_tasks(ready, "a", "b", "c")
    assert work(worker, 3).keys(events.SUCCEEDED) == ["a", "b", "c"]
    assert tally(ready) == {"Done": 3}


@pytest.mark.parametrize("model", [Done, FailedTask, Note])
def test_what_is_no_queue_has_no_handler(engine: Engine, model: Any) -> None:
    worker = Worker(engine)
    with pytest.raises(HandlerError, match=f"{model.__name__} is no queue's model"):
        worker.handler(model)(with_session)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"concurrency": 0}, "concurrency counts messages and is 1 or more, not 0"),
        ({"shutdown_timeout": -1}, "shutdown_timeout is in seconds and not negative, not -1"),
    ],
)
def test_a_worker_refuses_numbers_that_make_no_sense(
    engine: Engine, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Worker(engine, **options)
    worker = Worker(engine)
    with pytest.raises(ValueError, match=words):
        worker.configure(**options)
    worker.configure(concurrency=3, shutdown_timeout=0.5)
    assert (worker.concurrency, worker.shutdown_timeout) == (3, 0.5)


def test_nothing_can_be_added_and_nobody_can_start_it_again_while_it_runs(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Task)(lambda message, session: None)
    with running(worker) as watch:
        with pytest.raises(SpannerQueuesError, match="runs already; make another one, or stop it first"):
            worker.run()
        with pytest.raises(SpannerQueuesError, match="runs already"):
            worker.drain(timeout=TIMEOUT_SECONDS)
        with pytest.raises(SpannerQueuesError, match="cannot be added while the worker runs"):
            worker.handler(Errand)(with_session)
        with pytest.raises(SpannerQueuesError, match="cannot be added while the worker runs"):
            worker.middleware(lambda call, proceed: proceed())
        # It goes on as if nothing had happened.
        send_tasks(ready, "a")
        watch.wait(events.SUCCEEDED)


class Uncounted(DeclarativeBase):
    pass


class Stray(QueueMessage, Uncounted):
    """A queue without a table of attempts beside it."""

    __tablename__ = "Strays"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())


class FailedStray(DeadLetters, Uncounted):
    __tablename__ = "FailedStrays"


def test_attempts_need_their_table(engine: Engine) -> None:
    worker, before = Worker(engine), dict(keepers._shared)
    worker.handler(Errand)(with_session)
    worker.handler(Stray, retry=RetryPolicy(), dead_letter=FailedStray)(with_session)
    with pytest.raises(HandlerError) as raised:
        worker.run()
    assert "there is no table for them in the metadata of 'Strays'" in raised.value.problem
    assert raised.value.fix == "declare it beside the models: attempts_table(Base.metadata)"
    # What was begun is let go: an engine to come may be taken for this one.
    assert keepers._shared == before


def test_a_table_of_attempts_is_needed_only_where_they_are_counted(ready: World) -> None:
    worker = Worker(ready.engine)
    worker.handler(Stray)(lambda message, session: None)
    ready.create(Uncounted.metadata)
    with running(worker):
        pass


FORKED = """
import os, sys, threading
from sqlalchemy import create_engine
from sqlalchemy_spanner_queues import Worker
from sqlalchemy_spanner_queues.exc import ForkedProcess
from tests.conformance_worker.models import Base, Task

engine = create_engine(f"sqlite:///{sys.argv[1]}")
Base.metadata.create_all(engine)
worker, started = Worker(engine), threading.Event()
worker.handler(Task)(lambda message, session: None)
worker.listen(lambda event: started.set())
thread = threading.Thread(target=worker.run, daemon=True)
thread.start()
assert started.wait(8)
if os.fork() == 0:
    for use in (worker.run, worker.drain, worker.stop, worker.health):
        try:
            use()
        except ForkedProcess as error:
            print(error.what, "|", error, flush=True)
    os._exit(0)
os.wait()
worker.stop()
thread.join(8)
engine.dispose()
# What was made before a fork, and not started, runs in the child.
if os.fork() == 0:
    print("drained", worker.drain(timeout=8)["worker.stopped"], flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_worker_that_ran_when_its_process_forked_says_so(tmp_path: Any) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "queues.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    *refused, last = done.stdout.splitlines()
    assert len(refused) == 4
    for line in refused:
        assert line.startswith("the worker | the worker was started before this process forked")
    assert last == "drained 1"
