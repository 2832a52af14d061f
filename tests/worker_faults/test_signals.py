"""How a worker's process ends: by signals, and by errors."""

from __future__ import annotations

import signal
import time

import pytest

from tests.worker_faults.effects import assert_effects
from tests.worker_faults.ground import RECEIVE, STREAM, Ground
from tests.worker_faults.processes import started
from tests.worker_faults.running import CLEAN, ERROR, FORCED

# Far below the 25 seconds that handlers have by default.
AT_ONCE_SECONDS = 5.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_in_mid_work(ground: Ground, number: int) -> None:
    """What runs is finished, what waits is left, and nothing new is taken."""
    ground.send(1)
    with started(ground, "gated") as process:
        process.wait_for("started 1")
        ground.send(2)
        process.signal(number)
        assert signal.Signals(number).name in process.wait_for("worker.stopping")
        process.write()
        assert process.ends() == CLEAN
        assert "started 2" not in process.lines
    assert_effects(ground, done=[1], waiting=[2])


def test_twice_ends_at_once(ground: Ground) -> None:
    ground.send(1)
    with started(ground, "gated") as process:
        process.wait_for("started 1")
        process.signal(signal.SIGTERM)
        process.wait_for("worker.stopping")
        begun = time.monotonic()
        process.signal(signal.SIGTERM)
        assert process.ends() == FORCED
        assert time.monotonic() - begun < AT_ONCE_SECONDS
    assert_effects(ground, waiting=[1])


@pytest.mark.parametrize("worker", ["gated", "endless"])
def test_a_handler_that_takes_longer_than_the_shutdown(ground: Ground, worker: str) -> None:
    """The process ends all the same, a thread or a coroutine; the message is delivered again."""
    ground.send(1)
    with started(ground, worker, "--shutdown-timeout", "0.5") as process:
        process.wait_for("started 1")
        begun = time.monotonic()
        process.signal(signal.SIGTERM)
        assert process.ends() == FORCED
        assert 0.5 <= time.monotonic() - begun < AT_ONCE_SECONDS
        process.wait_for("1 messages are given up")
        assert len(process.told("cancelled 1")) == (1 if worker == "endless" else 0)
    assert_effects(ground, waiting=[1])


def test_while_nothing_runs(ground: Ground) -> None:
    with started(ground, "gated") as process:
        process.wait_for("worker.started")
        begun = time.monotonic()
        process.signal(signal.SIGTERM)
        assert process.ends() == CLEAN
        assert time.monotonic() - begun < AT_ONCE_SECONDS
    assert_effects(ground)


def test_while_the_stream_does_not_open(ground: Ground) -> None:
    ground.emulator.inject(STREAM, times=1000, match=RECEIVE)
    ground.send(1)
    with started(ground, "gated") as process:
        process.wait_for("reading again", times=3)
        begun = time.monotonic()
        process.signal(signal.SIGTERM)
        assert process.ends() == CLEAN
        assert time.monotonic() - begun < AT_ONCE_SECONDS
    ground.end_faults()
    assert_effects(ground, waiting=[1])


def test_the_queue_is_missing(ground: Ground) -> None:
    empty = ground.emulator.create_database()
    with started(ground, "gated", path=empty) as process:
        assert process.ends() == ERROR
        assert process.told("Tasks")
        assert process.told("worker.failed")
    assert_effects(ground)


@pytest.mark.parametrize("code", ["PERMISSION_DENIED", "UNAUTHENTICATED"])
def test_a_permission_is_missing(ground: Ground, code: str) -> None:
    """The error comes with the first stream, and ends the worker when what runs is done."""
    ground.send(1)
    ground.emulator.inject(STREAM, code=code, times=1000, match=RECEIVE)
    with started(ground, "gated") as process:
        assert process.ends() == ERROR
        assert process.told("worker.failed")
    ground.end_faults()
    assert_effects(ground, waiting=[1])


def test_a_drain_ends_by_itself(ground: Ground) -> None:
    ground.send(1, 2)
    with started(ground, "gated", "--drain") as process:
        for times in (1, 2):
            process.wait_for("started", times=times)
            process.write()
        assert process.ends() == CLEAN
    assert_effects(ground, done=[1, 2])
