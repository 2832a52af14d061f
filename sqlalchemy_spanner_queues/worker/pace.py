"""How long messages take: the mean, and whether another thread would be of any help with them."""

from __future__ import annotations

from typing import Final

# How much the newest message counts.
NEWEST_SHARE: Final = 0.1
# What takes less, and computes for a good part of it, is not worth another thread: at one processor in Python
# or at the one writer of SQLite the two would hold each other up. A transaction of Spanner takes longer.
QUICK_SECONDS: Final = 0.003
GOOD_PART: Final = 1 / 3


class Pace:
    """Learn from each message; ``mean_seconds`` is None before the first."""

    def __init__(self) -> None:
        self.mean_seconds: float | None = None
        self._quick_share = 1.0

    def note(self, messages: int, seconds: float, waited: float, computed: float) -> None:
        """Take in that messages took so long, and how much of it they waited for a turn and computed."""
        each = seconds / messages
        mean = each if self.mean_seconds is None else self.mean_seconds
        self.mean_seconds = mean + (each - mean) * NEWEST_SHARE
        # By their number, not by their mean: one that stands out tells nothing about the rest.
        is_quick = seconds - waited < min(QUICK_SECONDS, computed / GOOD_PART)
        self._quick_share += (is_quick - self._quick_share) * NEWEST_SHARE

    @property
    def is_quick(self) -> bool:
        return self._quick_share > 0.5
