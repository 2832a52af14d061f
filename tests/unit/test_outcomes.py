"""Outcomes are values that can be returned, raised, read and pickled."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from sqlalchemy_spanner_queues import Ack, DeadLetter, DeliverTimeError, Discard, Retry
from sqlalchemy_spanner_queues.worker import Outcome

MINUTE = timedelta(minutes=1)
ALL = [Ack(), Retry(MINUTE, "busy"), Retry(), Discard("moot"), DeadLetter("broken")]


@pytest.mark.parametrize("outcome", ALL, ids=repr)
def test_every_outcome_is_one_and_can_be_raised(outcome: Outcome) -> None:
    with pytest.raises(Outcome) as raised:
        raise outcome
    assert raised.value is outcome
    assert str(outcome) == outcome.reason


def test_reasons_and_delays() -> None:
    assert [outcome.reason for outcome in ALL] == ["", "busy", "", "moot", "broken"]
    assert (Retry(MINUTE).delay, Retry().delay, Retry(timedelta(0)).delay) == (MINUTE, None, timedelta(0))


def test_they_show_what_they_say() -> None:
    assert [repr(outcome) for outcome in ALL] == [
        "Ack('')",
        "Retry(delay=datetime.timedelta(seconds=60), reason='busy')",
        "Retry(delay=None, reason='')",
        "Discard('moot')",
        "DeadLetter('broken')",
    ]


@pytest.mark.parametrize("delay", [timedelta(seconds=-1), 60, "60"])
def test_a_delay_that_is_none_is_refused(delay: Any) -> None:
    with pytest.raises(DeliverTimeError, match="a delay is"):
        Retry(delay=delay)


@pytest.mark.parametrize("outcome", ALL, ids=repr)
def test_they_can_be_pickled(outcome: Outcome) -> None:
    again = pickle.loads(pickle.dumps(outcome))
    assert (type(again), repr(again)) == (type(outcome), repr(outcome))
