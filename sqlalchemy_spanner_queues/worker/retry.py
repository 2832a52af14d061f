"""When a failed message is tried again, and when it is given up."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

_SECOND = timedelta(seconds=1)
_MOST_GROWTH = 1e12


@dataclass(frozen=True)
class RetryPolicy:
    """Say how often a message is started, how long it rests in between, and which errors are final.

    - ``max_attempts``: how often a handler starts on a message before it becomes a dead letter; starts that
      ended with the process count as well.
    - ``initial``, ``factor``, ``cap``: the rest after the first failure, by how much each one is longer, and
      the longest; ``jitter`` is the share by which it varies, up and down.
    - ``retry_on``: only these exceptions are tried again; ``give_up_on``: these are not.

    ::

        RetryPolicy(max_attempts=5, initial=timedelta(seconds=10), give_up_on=(ValidationError,))

    Raises ValueError for numbers that make no sense.

    https://docs.cloud.google.com/spanner/docs/queues/queues-examples
    """

    max_attempts: int = 20
    initial: timedelta = _SECOND
    factor: float = 2.0
    cap: timedelta = timedelta(hours=1)
    jitter: float = 0.1
    retry_on: tuple[type[BaseException], ...] = (BaseException,)
    give_up_on: tuple[type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts counts starts and is 1 or more, not {self.max_attempts}")
        if self.initial < timedelta(0) or self.cap < self.initial:
            raise ValueError(f"0 <= initial <= cap, not {self.initial} and {self.cap}")
        if self.factor < 1:
            raise ValueError(f"factor is 1 or more, not {self.factor}")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter is a share between 0 and 1, not {self.jitter}")

    def delay(self, attempts: int, luck: float | None = None) -> timedelta:
        """Return the rest after so many attempts; ``luck`` between -1 and 1 takes the place of chance.

        Example: ``RetryPolicy().delay(3, luck=0.0) == timedelta(seconds=4)``.
        """
        grown = min(self.initial / _SECOND * self._growth(attempts - 1), self.cap / _SECOND)
        chance = random.uniform(-1, 1) if luck is None else luck
        return timedelta(seconds=grown * (1 + self.jitter * chance))

    def _growth(self, times: int) -> float:
        try:
            return min(self.factor**times, _MOST_GROWTH)
        except OverflowError:
            return _MOST_GROWTH

    def is_final(self, error: BaseException) -> bool:
        """Return whether an error is not worth another attempt.

        Example: ``RetryPolicy(give_up_on=(KeyError,)).is_final(KeyError("k"))``.
        """
        return isinstance(error, self.give_up_on) or not isinstance(error, self.retry_on)
