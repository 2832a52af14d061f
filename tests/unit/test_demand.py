"""Slow handlers are given a message each; quick ones large batches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import literal

from sqlalchemy_spanner_queues.worker.demand import LARGE_BATCH, Demand

QUICK, SLOW = 0.001, 10.0


def sizes(demand: Demand, *means: float | None, free: int = 10) -> list[int | None]:
    return [demand(mean, free).max_batch_size for mean in means]


def test_as_many_are_asked_for_as_can_start_while_nothing_is_known() -> None:
    assert sizes(Demand(7, 1), None, free=7) == [7]
    assert sizes(Demand(7, 1), None, free=3) == [3]
    assert sizes(Demand(7, 20), None, free=3) == [20]


def test_somebody_is_free_who_asks() -> None:
    assert sizes(Demand(7, 1), None, free=0) == [1]


def test_quick_handlers_get_large_batches_and_slow_ones_do_not() -> None:
    assert sizes(Demand(10, 1), QUICK, SLOW, QUICK) == [LARGE_BATCH, 10, LARGE_BATCH]


def test_what_is_taken_starts_within_half_a_second() -> None:
    # 100 messages in 10 threads.
    assert sizes(Demand(10, 1), 0.0499) == [LARGE_BATCH]
    assert sizes(Demand(10, 1), 0.0501) == [10]


def test_in_between_it_stays_as_it_is() -> None:
    demand = Demand(10, 1)
    assert sizes(demand, 0.07, QUICK, 0.07, 0.09) == [10, LARGE_BATCH, LARGE_BATCH, LARGE_BATCH]
    assert sizes(demand, 0.11, 0.09) == [10, 10]


@pytest.mark.parametrize("mean", [None, QUICK, SLOW])
def test_a_given_size_is_kept_to(mean: float | None) -> None:
    assert sizes(Demand(10, 20, max_batch_size=3), mean) == [3]


@pytest.mark.parametrize("mean", [None, QUICK, SLOW])
def test_it_is_never_less_than_what_can_start(mean: float | None) -> None:
    assert sizes(Demand(500, 1), mean, free=500) == [500]
    assert sizes(Demand(1, 500), mean, free=1) == [500]


def test_requests_say_the_rest_and_are_the_same_while_nothing_changes() -> None:
    where = literal(True)
    demand = Demand(10, 1, priority="HIGH", where=where, duration=timedelta(minutes=3))
    for mean in (QUICK, SLOW):
        request = demand(mean, 10)
        assert (request.priority, request.where, request.max_duration) == (
            "HIGH",
            where,
            timedelta(minutes=3),
        )
        # A stream that is open is kept as long as its request is.
        assert demand(mean, 10) is request
