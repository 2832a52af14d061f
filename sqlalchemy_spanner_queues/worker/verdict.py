"""Decide what becomes of a message whose handler did not acknowledge it; a pure function of what happened."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import timedelta

from .outcomes import DeadLetter, Discard, Outcome, Retry
from .retry import RetryPolicy

LONGEST_TRACEBACK = 8000


@dataclass(frozen=True)
class Resend:
    """Deliver it again after a delay; without one, leave it to Spanner's own redelivery."""

    delay: timedelta | None
    reason: str


@dataclass(frozen=True)
class Bury:
    """Move it to the dead letters."""

    reason: str
    traceback: str = ""


@dataclass(frozen=True)
class Drop:
    """Delete it."""

    reason: str


Verdict = Resend | Bury | Drop


def judge(error: BaseException, policy: RetryPolicy | None, attempts: int) -> Verdict:
    """Return the verdict on an outcome or an error that a handler ended with, after so many attempts."""
    if isinstance(error, Discard):
        return Drop(error.reason)
    if isinstance(error, DeadLetter):
        return Bury(error.reason or "the handler said so")
    reason = describe(error)
    if policy is None:
        return Resend(error.delay if isinstance(error, Retry) else None, reason)
    if not isinstance(error, Retry) and policy.is_final(error):
        return Bury(reason, trace(error))
    if attempts >= policy.max_attempts:
        return Bury(f"given up after {attempts} attempts: {reason}", trace(error))
    delay = error.delay if isinstance(error, Retry) else None
    return Resend(policy.delay(attempts) if delay is None else delay, reason)


def describe(error: BaseException) -> str:
    """Return an error in one line; of an outcome, the reason that it was given."""
    if isinstance(error, Outcome):
        return error.reason or "the handler asked for it"
    return f"{type(error).__name__}: {_words(error)}".rstrip(": ")


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - the application's own, about an error that is told already
        return "it cannot be put into words"


def trace(error: BaseException) -> str:
    """Return the end of an error's traceback; nothing for an outcome."""
    if isinstance(error, Outcome):
        return ""
    return "".join(traceback.format_exception(error))[-LONGEST_TRACEBACK:]
