"""How long a failed message rests, and which errors are final."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sqlalchemy_spanner_queues.worker import RetryPolicy

SECOND = timedelta(seconds=1)


def seconds(policy: RetryPolicy, *attempts: int, luck: float = 0.0) -> list[float]:
    return [policy.delay(number, luck).total_seconds() for number in attempts]


def test_the_defaults_are_those_that_are_documented() -> None:
    policy = RetryPolicy()
    assert policy.max_attempts == 20
    assert seconds(policy, 1, 2, 3, 12, 13, 20) == [1, 2, 4, 2048, 3600, 3600]
    assert (policy.jitter, policy.retry_on, policy.give_up_on) == (0.1, (BaseException,), ())


def test_the_rest_grows_by_the_factor_up_to_the_cap() -> None:
    policy = RetryPolicy(initial=10 * SECOND, factor=3, cap=100 * SECOND)
    assert seconds(policy, 1, 2, 3, 4) == [10, 30, 90, 100]
    assert seconds(RetryPolicy(initial=5 * SECOND, factor=1), 1, 2, 100) == [5, 5, 5]
    assert seconds(RetryPolicy(initial=timedelta(0)), 1, 2, 100) == [0, 0, 0]


@pytest.mark.parametrize("factor", [1.0, 2.0, 1e300])
def test_any_number_of_attempts_has_a_rest(factor: float) -> None:
    assert RetryPolicy(factor=factor).delay(10**9, 0.0) <= timedelta(hours=1)


def test_the_jitter_is_a_share_up_and_down() -> None:
    policy = RetryPolicy(initial=10 * SECOND, jitter=0.5)
    assert seconds(policy, 1, luck=1.0) == [15]
    assert seconds(policy, 1, luck=-1.0) == [5]
    assert seconds(RetryPolicy(jitter=1), 1, luck=-1.0) == [0]


def test_chance_stays_within_the_jitter_and_varies() -> None:
    policy = RetryPolicy(initial=100 * SECOND)
    found = {policy.delay(1) for _ in range(200)}
    assert all(90 * SECOND <= delay <= 110 * SECOND for delay in found)
    assert min(found) < 98 * SECOND < 102 * SECOND < max(found)


@pytest.mark.parametrize(
    ("policy", "final", "passing"),
    [
        (RetryPolicy(), [], [KeyError(), OSError(), SystemExit(), KeyboardInterrupt()]),
        (RetryPolicy(give_up_on=(LookupError,)), [LookupError(), KeyError()], [OSError(), SystemExit()]),
        (RetryPolicy(retry_on=(OSError,)), [KeyError(), SystemExit()], [OSError(), ConnectionError()]),
        (
            RetryPolicy(retry_on=(OSError,), give_up_on=(PermissionError,)),
            [PermissionError(), KeyError()],
            [ConnectionError()],
        ),
    ],
)
def test_which_errors_are_final(
    policy: RetryPolicy, final: list[BaseException], passing: list[BaseException]
) -> None:
    assert all(policy.is_final(error) for error in final)
    assert not any(policy.is_final(error) for error in passing)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_attempts": 0}, "max_attempts counts starts and is 1 or more, not 0"),
        ({"initial": -SECOND}, "0 <= initial <= cap"),
        ({"initial": 2 * SECOND, "cap": SECOND}, "0 <= initial <= cap, not 0:00:02 and 0:00:01"),
        ({"factor": 0.9}, "factor is 1 or more, not 0.9"),
        ({"jitter": 1.1}, "jitter is a share between 0 and 1, not 1.1"),
        ({"jitter": -0.1}, "jitter is a share between 0 and 1, not -0.1"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RetryPolicy(**options)


def test_a_policy_is_a_value() -> None:
    assert RetryPolicy(max_attempts=3) == RetryPolicy(max_attempts=3)
    assert len({RetryPolicy(), RetryPolicy(), RetryPolicy(factor=3)}) == 2
