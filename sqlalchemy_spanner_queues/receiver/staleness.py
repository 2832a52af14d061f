"""Tell which rows may have waited too long in the network's buffers before they were read.

A row's lease runs from the moment it was sent. How long ago that was is estimated from differences alone:
between the database's own stamps, and between readings of this process's monotonic clock. Wrong or stepped
wall clocks do not matter.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

DOUBTFUL_SECONDS: Final = 5.0


class Staleness:
    """Estimate the age of leases on one stream.

    The first row is read as soon as it comes; the others are compared with the fastest of those before.
    """

    def __init__(self) -> None:
        self._fastest: float | None = None

    def is_doubtful(self, expires_at: datetime, read_at: float) -> bool:
        """Return whether the lease of a row may be half over; ``read_at`` is monotonic, in seconds."""
        distance = read_at - expires_at.timestamp()
        if self._fastest is None or distance < self._fastest:
            self._fastest = distance
        return distance - self._fastest > DOUBTFUL_SECONDS
