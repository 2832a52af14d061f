"""What becomes of leases that ran out: their messages are gone, or due again.

It asks upstream beside the deliveries, never in front of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from ..log import LOGGER
from ..transport import RpcError
from .clock import Clock
from .leases import Lease, Leases

BATCH: Final = 1000
"""How many leases are asked about at once."""

RETRY_SECONDS: Final = 1.0


class Expiry:
    """Asks about the leases of a queue that ran out; ``done`` hears whether any message is due again."""

    def __init__(
        self,
        leases: Leases,
        clock: Clock,
        existing: Callable[[list[Lease]], Awaitable[set[bytes]]],
        done: Callable[[bool], None],
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._existing = existing
        self._done = done
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether it is asking right now."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Ask about the leases that ran out, unless it does already."""
        expired = [] if self.running else self._leases.to_check(self._clock.now(), BATCH)
        if expired:
            self._task = asyncio.create_task(self._ask(expired), name="expiry")

    def cancel(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()

    async def _ask(self, expired: list[Lease]) -> None:
        try:
            existing = await self._existing(expired)
        except RpcError as error:
            # The schema may be changing; a queue that is gone stops all this.
            LOGGER.debug("leases that ran out not checked: %s", error.details)
            self._leases.check_again(expired, self._clock.now() + RETRY_SECONDS)
            self._done(False)
            return
        now = self._clock.now()
        due_again = False
        for lease in expired:
            if lease.message_id in existing:
                due_again |= self._leases.checked(lease, now)
            else:
                self._leases.forget(lease.message_id)
        self._done(due_again)
