"""The clock on the host's wall is stepped by 15 seconds: nothing that the worker does depends on it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from sqlalchemy.orm import Session

from tests.worker_faults.effects import assert_effects
from tests.worker_faults.environment import BEAT, LONGEST_LEASE
from tests.worker_faults.ground import Ground, note
from tests.worker_faults.models import Task
from tests.worker_faults.processes import started
from tests.worker_faults.running import CLEAN, TIMEOUT_SECONDS, running, until

STEPS = pytest.mark.parametrize("seconds", [-15, 15])
SOURCE = Path(__file__).with_name("stepped_clock.c")


def wait_for_renewals(ground: Ground, *ids: int, times: int = 4) -> None:
    """Wait until each of these leases was renewed so often from now on, each message delivered once."""
    tokens: dict[int, set[str]] = defaultdict(set)

    def were_renewed() -> bool:
        for id, lease in ground.leases().items():
            tokens[id].add(lease["token"])
            assert id not in ids or lease["deliveries"] == 1
        return all(len(tokens[id]) > times for id in ids)

    until(were_renewed)


class Clock:
    """What Python tells the time by, with a hand on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.offset = 0
        real = SimpleNamespace(time=time.time, time_ns=time.time_ns)
        # Its core has a clock of its own, that cannot be stepped from here: see below for both together.
        untouched: Any = SimpleNamespace(**vars(time))
        monkeypatch.setattr(grpc._channel, "time", untouched)
        monkeypatch.setattr(time, "time", lambda: real.time() + self.offset)
        monkeypatch.setattr(time, "time_ns", lambda: real.time_ns() + self.offset * 10**9)


@STEPS
@pytest.mark.usefixtures("quick_beats")
def test_of_python(ground: Ground, monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    clock, may_end, worker = Clock(monkeypatch), threading.Event(), ground.worker()

    @worker.handler(Task, max_lease=LONGEST_LEASE)
    def work(task: Task, session: Session) -> None:
        assert task.id > 2 or may_end.wait(TIMEOUT_SECONDS)
        note(session, task)

    clock.offset = seconds
    ground.send(1, 2)
    with running(worker) as run:
        run.wait_for("message.started", times=2)
        wait_for_renewals(ground, 1, 2)
        for offset in (0, -seconds, seconds):
            clock.offset = offset
            wait_for_renewals(ground, 1, 2)
        ground.send(3)
        run.wait_for("message.succeeded", 3)
        may_end.set()
        run.wait_for("message.succeeded", times=3)
        assert run.told("lease.lost") == run.told("message.redelivered") == []
        assert run.ids("message.started") == [1, 2, 3]
    assert_effects(ground, done=[1, 2, 3])


@pytest.fixture(scope="session")
def stepped_clock(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that steps the clock of a whole process, its C libraries included."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("steps the clock of a process with a library that it compiles and preloads")
    library = tmp_path_factory.mktemp("clock") / "stepped_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return str(library)


@STEPS
def test_of_the_whole_process(ground: Ground, stepped_clock: str, seconds: int) -> None:
    """While a handler runs, there and back, with the deadlines of all its requests."""
    ground.send(1)
    environment = {"LD_PRELOAD": stepped_clock, BEAT: "0.1"}
    with started(ground, "stepped", environment=environment) as process:
        process.wait_for("started 1")
        for step in (seconds, -2 * seconds, 2 * seconds):
            process.write(str(step))
            process.wait_for(f"stepped {step}")
            wait_for_renewals(ground, 1)
        ground.send(2)
        process.wait_for("started 2")
        until(lambda: ground.count().done == [2])
        process.write()
        until(lambda: ground.count().done == [1, 2])
        process.signal(signal.SIGTERM)
        assert process.ends() == CLEAN
        assert process.told("lease.lost") == process.told("message.redelivered") == []
        assert process.told("renewal of") == []
    assert_effects(ground, done=[1, 2])
