"""The rule of redelivery, shared by the engines that deliver messages themselves (SQLite and the emulator).

Spanner leases a delivered message for 10 seconds. An unacknowledged message is delivered again, with a
back-off within the first hour and then hourly; the shape of the back-off is not documented, this is ours. ::

    due_again = lease_expiration + redelivery_delay(deliveries=3, since_first_delivery=95.0)

https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

from __future__ import annotations

from typing import Final

LEASE_SECONDS: Final = 10.0
"""How long a delivered or renewed message belongs to its receiver, in seconds."""

BACKOFF_FIRST_SECONDS: Final = 1.0
BACKOFF_CAP_SECONDS: Final = 600.0
HOURLY_SECONDS: Final = 3600.0


def redelivery_delay(deliveries: int, since_first_delivery: float) -> float:
    """Return how long a message rests after its lease ran out, in seconds.

    ``deliveries`` counts how often it was delivered so far (at least 1), ``since_first_delivery`` is the
    time in seconds from its first delivery to the end of the lease. The first redelivery is immediate::

        redelivery_delay(1, 10.0)     # 0.0
        redelivery_delay(2, 20.0)     # 1.0, then 2.0, 4.0, ... up to 600.0
        redelivery_delay(9, 4000.0)   # 3600.0: hourly, once an hour has passed

    Raises ValueError when ``deliveries`` is less than 1.

    https://docs.cloud.google.com/spanner/docs/queues/queues-overview
    """
    if deliveries < 1:
        raise ValueError(f"deliveries must be at least 1, got {deliveries}")
    if since_first_delivery > HOURLY_SECONDS:
        return HOURLY_SECONDS
    if deliveries == 1:
        return 0.0
    doublings = min(deliveries - 2, 32)
    return min(BACKOFF_FIRST_SECONDS * 2.0**doublings, BACKOFF_CAP_SECONDS)
