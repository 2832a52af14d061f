"""What must hold after each fault.

::

    assert_effects(ground, done=[1, 2], dead=[3], waiting=[4])

Each task that was sent is in the one place that the test names, once: a business row, a dead letter, or still
in the queue. Then a fresh worker finishes what waits, and nothing is left of it: no attempts, no lease.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Mapping

from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.worker import RetryPolicy, Worker
from tests.worker_faults.ground import Counted, Ground, note
from tests.worker_faults.models import Failed, Task
from tests.worker_faults.running import RunningWorker, running, until

# Longer than a lease and any pause after it.
LONG_SECONDS = 7300
# Below the 4 seconds after which a silent transaction loses its turn: who holds one is noticed.
AT_ONCE_SECONDS = 3.0

_markers = itertools.count(1_000_001)


def assert_effects(
    ground: Ground,
    *,
    done: Collection[int] = (),
    dead: Collection[int] = (),
    waiting: Collection[int] | Mapping[int, int] = (),
) -> None:
    """Check where each task is, let a fresh worker finish those that wait, and check again.

    ``waiting`` may name the attempts that are counted of each.
    """
    ground.is_checked = True
    assert_places(ground, done=done, dead=dead, waiting=waiting)
    assert_nothing_is_stuck(ground, [*done, *waiting])
    places = ground.count()
    real = [id for id in places.done if id in ground.sent]
    assert Counted(places.waiting, real, places.dead, places.attempts) == Counted(
        [], sorted([*done, *waiting]), sorted(dead), {}
    )
    ground.advance(LONG_SECONDS)
    assert ground.leases() == {}


def assert_places(
    ground: Ground,
    *,
    done: Collection[int] = (),
    dead: Collection[int] = (),
    waiting: Collection[int] | Mapping[int, int] = (),
) -> None:
    """Check where each task is, and what is counted of it, at this moment."""
    assert sorted([*done, *dead, *waiting]) == sorted(ground.sent), "the test forgets a task"
    places = ground.count()
    assert places == Counted(sorted(waiting), sorted(done), sorted(dead), places.attempts)
    counted = dict(waiting) if isinstance(waiting, Mapping) else {}
    assert places.attempts == {id: attempts for id, attempts in counted.items() if attempts}


def assert_nothing_is_stuck(ground: Ground, done: Collection[int]) -> None:
    """A fresh client sends at once, and a fresh worker finishes that and all that waits."""
    marker = next(_markers)
    begun = time.monotonic()
    ground.send(marker)
    ground.sent.remove(marker)
    took = time.monotonic() - begun
    assert took < AT_ONCE_SECONDS, f"the turn was held: a fresh client's send took {took:.1f} s"
    ground.advance(LONG_SECONDS)
    with running(finisher(ground)):
        until(lambda: set(ground.count().done) >= {*done, marker})


def advance_until_done(ground: Ground, run: RunningWorker, id: int) -> None:
    """Let leases run out until a worker was given a task, which may come to somebody else first, in vain."""

    def is_done() -> bool:
        ground.advance(100)
        return bool(run.told("message.succeeded", id))

    until(is_done)


def finisher(ground: Ground) -> Worker:
    """Return a worker whose handler does the work of every task, and has no limit to its attempts."""
    worker = ground.worker()

    @worker.handler(Task, retry=RetryPolicy(max_attempts=1_000_000), dead_letter=Failed)
    def finish(task: Task, session: Session) -> None:
        note(session, task)

    return worker
