"""Quick messages are left to one thread; what waits, or takes long, is not."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.worker.pace import QUICK_SECONDS, Pace


def pace_of(*messages: tuple[float, float, float]) -> Pace:
    """Take in messages, each with its seconds, what it waited of them, and what it computed."""
    pace = Pace()
    for seconds, waited, computed in messages:
        pace.note(1, seconds, waited, computed)
    return pace


def test_messages_are_taken_for_quick_before_the_first() -> None:
    assert Pace().is_quick
    assert Pace().mean_seconds is None


@pytest.mark.parametrize(
    ("message", "is_quick"),
    [
        ((0.001, 0.0, 0.0008), True),
        # It waits for something else than its turn: another thread can work meanwhile.
        ((0.001, 0.0, 0.0001), False),
        ((2 * QUICK_SECONDS, 0.0, 2 * QUICK_SECONDS), False),
        ((0.015, 0.0138, 0.001), True),
    ],
)
def test_most_messages_decide(message: tuple[float, float, float], is_quick: bool) -> None:
    assert pace_of(*[message] * 20).is_quick is is_quick


def test_one_that_stands_out_changes_nothing() -> None:
    quick, stuck = (0.001, 0.0, 0.001), (5.0, 0.0, 0.001)
    pace = pace_of(*[quick] * 20, stuck)
    assert pace.is_quick
    assert pace_of(*[stuck] * 20, quick).is_quick is False


def test_the_mean_is_that_of_a_message() -> None:
    pace = Pace()
    pace.note(20, 1.0, 0.0, 0.0)
    assert pace.mean_seconds == pytest.approx(0.05)
    pace.note(1, 0.15, 0.0, 0.0)
    assert pace.mean_seconds == pytest.approx(0.06)
