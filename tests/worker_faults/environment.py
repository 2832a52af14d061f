"""What worker processes and the tests that start them agree on."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

HOST: Final = "WORKER_FAULTS_HOST"
DATABASE: Final = "WORKER_FAULTS_DATABASE"
BEAT: Final = "WORKER_FAULTS_BEAT_SECONDS"

LIMITS: Final = {"killed": 3, "killed_outside": 1, "killed_at_most_once": 1, "killed_in_a_batch": 2}
"""How often the handlers of these workers start on a message."""

LONGEST_LEASE: Final = timedelta(seconds=14)
"""Of the workers whose clock is stepped by 15 seconds: they do not take that for time that has passed."""
