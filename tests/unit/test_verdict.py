"""What becomes of a message is decided by its outcome, its policy and its attempts alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sqlalchemy_spanner_queues import DeadLetter, Discard, Retry, RetryPolicy
from sqlalchemy_spanner_queues.worker.verdict import (
    LONGEST_TRACEBACK,
    Bury,
    Drop,
    Resend,
    Verdict,
    describe,
    judge,
    trace,
)

MINUTE = timedelta(minutes=1)
POLICY = RetryPolicy(max_attempts=3, initial=MINUTE, jitter=0.0, give_up_on=(KeyError,))
NEVER = RetryPolicy(max_attempts=3, retry_on=(), jitter=0.0)


@pytest.mark.parametrize(
    ("error", "policy", "attempts", "verdict"),
    [
        (Discard("moot"), None, 0, Drop("moot")),
        (Discard(), POLICY, 3, Drop("")),
        (DeadLetter("broken"), None, 0, Bury("broken")),
        (DeadLetter(), POLICY, 1, Bury("the handler said so")),
        (Retry(), None, 0, Resend(None, "the handler asked for it")),
        (Retry(delay=5 * MINUTE, reason="busy"), None, 0, Resend(5 * MINUTE, "busy")),
        (Retry(delay=timedelta(0)), POLICY, 1, Resend(timedelta(0), "the handler asked for it")),
        (Retry(reason="busy"), POLICY, 2, Resend(2 * MINUTE, "busy")),
        (Retry(reason="busy"), POLICY, 3, Bury("given up after 3 attempts: busy")),
        (Retry(reason="busy"), NEVER, 1, Resend(timedelta(seconds=1), "busy")),
        (ValueError("x"), None, 0, Resend(None, "ValueError: x")),
        (ValueError("x"), POLICY, 1, Resend(MINUTE, "ValueError: x")),
        (ValueError("x"), POLICY, 3, Bury("given up after 3 attempts: ValueError: x", "ValueError: x\n")),
        (ValueError("x"), POLICY, 9, Bury("given up after 9 attempts: ValueError: x", "ValueError: x\n")),
        (KeyError("x"), POLICY, 1, Bury("KeyError: 'x'", "KeyError: 'x'\n")),
        (ValueError("x"), NEVER, 1, Bury("ValueError: x", "ValueError: x\n")),
    ],
)
def test_a_verdict(error: BaseException, policy: RetryPolicy | None, attempts: int, verdict: Verdict) -> None:
    assert judge(error, policy, attempts) == verdict


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (Retry(reason="busy"), "busy"),
        (Retry(), "the handler asked for it"),
    ],
)
def test_an_error_in_a_line(error: BaseException, words: str) -> None:
    assert describe(error) == words


def test_the_end_of_a_traceback_is_kept() -> None:
    with pytest.raises(LookupError) as raised:
        raise LookupError("x" * LONGEST_TRACEBACK + " the end")
    found = trace(raised.value)
    assert len(found) == LONGEST_TRACEBACK
    assert found.endswith("x the end\n")


def test_an_outcome_has_no_traceback() -> None:
    assert trace(Retry(reason="busy")) == ""
