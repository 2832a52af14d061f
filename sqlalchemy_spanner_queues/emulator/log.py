"""The gateway's logger: requests at INFO, what happens to messages at DEBUG."""

from __future__ import annotations

import logging
from typing import Final

LOGGER: Final = logging.getLogger("sqlalchemy_spanner_queues.emulator")
