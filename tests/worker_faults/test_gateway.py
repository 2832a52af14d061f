"""The way to the database is gone for a while: its gateway is killed, and another one starts."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.exc import EmulatorError
from sqlalchemy_spanner_queues.receiver import keeper, reader
from sqlalchemy_spanner_queues.worker import Worker
from tests.conformance.conftest import leftover_threads
from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Base, Done, Task
from tests.worker_faults.running import CLEAN, FORCED, TIMEOUT_SECONDS, running, until

DOWN_SECONDS = 20.0
# The client's own pauses between two attempts to connect grow as well.
BACK_WITHIN_SECONDS = 35.0
IDS = [1, 2, 3]


class Gateway:
    """A gateway of the test's own, in front of the emulator that all share, always at one address."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.emulator = Emulator(upstream=upstream)
        self.emulator.start()
        self.port = int(self.emulator.host.rpartition(":")[2])

    def kill(self) -> None:
        os.kill(self.emulator.pid, signal.SIGKILL)
        self.emulator.stop()

    def start_again(self) -> Emulator:
        def is_started() -> bool:
            self.emulator = Emulator(self.port, self.upstream)
            try:
                self.emulator.start()
            except EmulatorError:  # somebody was lent the port meanwhile
                return False
            return True

        until(is_started)
        return self.emulator


@pytest.fixture
def gateway(emulator: Emulator) -> Iterator[Gateway]:
    emulator.reset()
    gateway = Gateway(emulator.upstream)
    yield gateway
    gateway.emulator.stop()


@pytest.fixture
def ground(gateway: Gateway) -> Iterator[Ground]:
    engine = gateway.emulator.create_engine()
    Base.metadata.create_all(engine)
    ground = Ground(gateway.emulator, engine)
    yield ground
    engine.dispose()
    assert ground.is_checked
    assert leftover_threads() == []


def start_again(gateway: Gateway, ground: Ground) -> None:
    """Start a gateway at real time, which knows of no leases."""
    ground.emulator, ground._advanced = gateway.start_again(), 0.0


def noting(ground: Ground) -> Worker:
    worker = ground.worker()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)

    return worker


def test_while_nothing_runs(gateway: Gateway, ground: Ground) -> None:
    """Probes are told; nobody has to restart the worker."""
    with running(noting(ground)) as run:
        ground.send(1)
        run.wait_for("message.succeeded", 1)
        gateway.kill()
        until(lambda: run.worker.health().failing == ("Tasks",))
        until(lambda: run.reader.failures >= 4)
        health = run.worker.health()
        assert (health.live, health.ready, health.overloaded) == (True, False, ())
        start_again(gateway, ground)
        ground.send(2)
        run.wait_for("message.succeeded", 2)
        assert run.worker.health().ready
    assert_effects(ground, done=[1, 2])


@pytest.mark.parametrize("wrote", [False, True], ids=["before writing", "after writing"])
def test_restarted_in_the_middle_of_handlers(gateway: Gateway, ground: Ground, wrote: bool) -> None:
    """What was leased is delivered again at once, also here, where it is worked on."""
    worker, may_end = ground.worker(), threading.Event()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        if wrote and task.id == 1:
            # One at a time: the others wait for their turn in the gateway.
            session.flush()
        assert may_end.wait(TIMEOUT_SECONDS)

    ground.send(*IDS)
    with running(worker) as run:
        run.wait_for("message.started", times=3)
        gateway.kill()
        start_again(gateway, ground)
        may_end.set()
        until(lambda: _are_done(ground))
    assert_effects(ground, done=IDS)


def _are_done(ground: Ground) -> bool:
    ground.advance(5)
    places = ground.count()
    return (places.done, places.waiting) == (IDS, [])


@pytest.mark.usefixtures("quick_beats")
def test_outside_effects(gateway: Gateway, ground: Ground) -> None:
    """Late is not lost while nobody can be asked. The next gateway knows of no lease, and may deliver again.

    A handler that looks first has one effect all the same.
    """
    worker, may_end = ground.worker(), threading.Event()

    @worker.handler(Task, mode="outside")
    def work(task: Task) -> None:
        assert may_end.wait(TIMEOUT_SECONDS)
        with Session(ground.engine) as session, session.begin():
            if session.scalar(select(Done).where(Done.id == task.id)) is None:
                note(session, task)

    ground.send(*IDS)
    with running(worker) as run:
        run.wait_for("message.started", times=3)
        gateway.kill()
        until(lambda: run.reader.failures >= 3)
        assert run.told("lease.lost") == []
        start_again(gateway, ground)
        may_end.set()
        until(lambda: _are_done(ground))
    assert_effects(ground, done=IDS)


def test_stopped_meanwhile(gateway: Gateway, ground: Ground) -> None:
    """A commit that nobody answers holds up the shutdown for its time, and no longer."""
    worker, may_end = ground.worker(shutdown_timeout=0.5), threading.Event()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        session.flush()
        assert may_end.wait(TIMEOUT_SECONDS)

    ground.send(1)
    with running(worker, ends_with=FORCED) as run:
        run.wait_for("message.started", 1)
        gateway.kill()
        may_end.set()
        begun = time.monotonic()
        run.stop()
        assert run.ended(TIMEOUT_SECONDS)
        assert 0.5 <= time.monotonic() - begun < 6.0
    start_again(gateway, ground)
    assert leftover_threads(patience=TIMEOUT_SECONDS) == []
    places = ground.count()
    assert places.done == [] or places.waiting == []
    assert_effects(ground, done=places.done, waiting=places.waiting)


def test_stopped_while_nothing_runs(gateway: Gateway, ground: Ground) -> None:
    with running(noting(ground), ends_with=CLEAN) as run:
        until(lambda: run.reader._stream is not None)
        gateway.kill()
        until(lambda: run.worker.health().failing == ("Tasks",))
        run.stop()
        assert run.ended(4.0)
    start_again(gateway, ground)
    assert_effects(ground)


@pytest.fixture
def pauses_as_they_are(monkeypatch: pytest.MonkeyPatch, short_pauses: None) -> None:
    monkeypatch.undo()


@pytest.mark.usefixtures("pauses_as_they_are")
def test_for_20_seconds(gateway: Gateway, ground: Ground) -> None:
    """By the clock on the wall, with handlers that run all the time, and with the pauses as they are."""
    assert (keeper.BEAT_SECONDS, reader.FIRST_PAUSE_SECONDS) == (5.0, 0.1)
    worker, may_end = ground.worker(), threading.Event()

    @worker.handler(Task)
    def work(task: Task, session: Session) -> None:
        note(session, task)
        if task.id == 1:
            assert may_end.wait(DOWN_SECONDS * 2)

    ground.send(1)
    with running(worker) as run:
        run.wait_for("message.started", 1)
        gateway.kill()
        until(lambda: not run.worker.health().ready)
        down_until = time.monotonic() + DOWN_SECONDS

        def is_over() -> bool:
            health = run.worker.health()
            assert (health.live, health.ready, health.running) == (True, False, 1)
            return time.monotonic() >= down_until

        until(is_over, timeout=DOWN_SECONDS * 2)
        assert run.told("lease.lost") == []
        start_again(gateway, ground)
        ground.send(2, 3)
        may_end.set()
        until(lambda: ground.count().done == IDS, timeout=BACK_WITHIN_SECONDS)
        until(lambda: run.worker.health().ready)
    assert_effects(ground, done=IDS)
