"""What the gateway says through ``logging``: its requests at INFO.

A record of a request has ``method``, ``database``, ``milliseconds`` and ``code`` as fields of its own. What
happens to messages is in ``delivery/lease_log.py``.
"""

from __future__ import annotations

import logging
from typing import Final

LOGGER: Final = logging.getLogger("sqlalchemy_spanner_queues.emulator")


def log_request(method: str, database: str, milliseconds: float, code: str) -> None:
    """Say that a request has ended; ``code`` is the name of its status."""
    fields = {"method": method, "database": database, "milliseconds": milliseconds, "code": code}
    LOGGER.info("%s %s %.1f ms %s", method, database or "-", milliseconds, code, extra=fields)
