"""Processes that are killed with SIGKILL in a handler, or frozen for longer than a lease."""

from __future__ import annotations

import signal
import time

import pytest

from tests.worker_faults.effects import advance_until_done, assert_effects, finisher
from tests.worker_faults.environment import LIMITS
from tests.worker_faults.ground import Ground
from tests.worker_faults.processes import started
from tests.worker_faults.running import CLEAN, running, until

BACK_WITHIN_SECONDS = 11.0
GOOD = [2, 3, 4, 5]


@pytest.mark.parametrize(("worker", "limit"), LIMITS.items())
def test_after_the_limit_it_is_a_dead_letter(ground: Ground, worker: str, limit: int) -> None:
    """Each start counts, although its process died of it; the others are done meanwhile."""
    ground.send(1, *GOOD)
    for attempt in range(1, limit + 1):
        with started(ground, worker) as process:
            if worker != "killed_in_a_batch":
                process.wait_for("started 1")
                until(lambda: ground.count().waiting == [1])
                process.write()
            assert process.ends() == -signal.SIGKILL
        places = ground.count()
        assert places.attempts[1] == attempt
        assert 1 in places.waiting
        ground.advance(100)
    with started(ground, worker) as process:
        process.wait_for("message.dead_lettered")
        ground.send(6)
        until(lambda: len(ground.count().waiting) == 0)
        process.signal(signal.SIGTERM)
        assert process.ends() == CLEAN
        assert "started 1" not in process.lines
    letter = ground.dead()[1]
    assert letter.attempts == limit
    assert letter.reason.startswith(f"started {limit} times; ")
    assert letter.payload == b'{"what":"work"}'
    assert letter.first_attempt_at < letter.last_attempt_at
    assert_effects(ground, done=[*GOOD, 6], dead=[1])


def test_it_comes_again_within_11_seconds(ground: Ground) -> None:
    """By the clock on the wall."""
    ground.send(1)
    with started(ground, "killed") as process:
        process.wait_for("started 1")
        process.write()
        assert process.ends() == -signal.SIGKILL
    killed = time.monotonic()
    with running(finisher(ground)) as run:
        event = run.wait_for("message.started", 1)
        back_after = time.monotonic() - killed
        run.wait_for("message.succeeded", 1)
    assert event.attempts == 2
    assert back_after <= BACK_WITHIN_SECONDS
    assert_effects(ground, done=[1])


def test_frozen_for_longer_than_a_lease(ground: Ground) -> None:
    """A machine that was asleep wakes up with a handler whose message another one has finished."""
    ground.send(1)
    with started(ground, "gated") as process:
        process.wait_for("started 1")
        process.signal(signal.SIGSTOP)
        with running(finisher(ground)) as run:
            advance_until_done(ground, run, 1)
        process.signal(signal.SIGCONT)
        process.write()
        process.wait_for("message.already_acknowledged")
        process.signal(signal.SIGTERM)
        assert process.ends() == CLEAN
    assert_effects(ground, done=[1])
