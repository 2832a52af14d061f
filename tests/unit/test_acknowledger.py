"""What is finished while an acknowledgment is under way is acknowledged together, in the next one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from sqlalchemy_spanner_queues.worker import acknowledging
from sqlalchemy_spanner_queues.worker.acknowledging import Acknowledger

LIMIT = 8.0


class Database:
    """Takes acknowledgments, each of which waits for its turn."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []
        self.over: list[Any] = []
        self.entered = threading.Semaphore(0)
        self.turns = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

    def acknowledge(self, jobs: Sequence[Any]) -> None:
        self.calls.append(list(jobs))
        self.entered.release()
        assert self.turns.acquire(timeout=LIMIT)

    def end(self, jobs: Sequence[Any]) -> None:
        self.over += jobs
        self.ended.release()


def submit(acknowledger: Acknowledger, *jobs: Any) -> None:
    acknowledger(jobs)


def test_the_next_ones_gather_while_one_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledging, "MOST_AT_ONCE", 3)
    database = Database()
    acknowledger = Acknowledger(database.acknowledge, database.end)
    submit(acknowledger, 1)
    assert database.entered.acquire(timeout=LIMIT)
    submit(acknowledger, 2, 3)
    submit(acknowledger, 4)
    submit(acknowledger, 5)
    for _ in range(3):
        database.turns.release()
        assert database.ended.acquire(timeout=LIMIT)
    assert database.calls == [[1], [2, 3, 4], [5]]
    assert database.over == [1, 2, 3, 4, 5]
    acknowledger.close()


def test_what_waits_is_acknowledged_before_the_thread_ends() -> None:
    database = Database()
    acknowledger = Acknowledger(database.acknowledge, database.end)
    submit(acknowledger, 1)
    assert database.entered.acquire(timeout=LIMIT)
    (thread,) = [one for one in threading.enumerate() if one.name == "spanner-queues-acknowledge"]
    submit(acknowledger, 2)
    acknowledger.close()
    for _ in range(2):
        database.turns.release()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert database.over == [1, 2]


def test_nothing_to_acknowledge_needs_no_thread() -> None:
    before = threading.active_count()
    Acknowledger(lambda jobs: None, lambda jobs: None).close()
    assert threading.active_count() == before
