"""What the gateway knows: the official emulator behind it, the databases, the clock, the faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from .database import Database
from .delivery.clock import Clock
from .faults import Faults
from .transport import RpcError
from .upstream.api import UpstreamApi
from .upstream.native import understands_queues
from .writing.client_sessions import NO_SUCH


@dataclass(slots=True)
class State:
    """One gateway's state; nothing is kept outside of it."""

    api: UpstreamApi
    clock: Clock = field(default_factory=Clock)
    faults: Faults = field(default_factory=Faults)
    requests: Counter[str] = field(default_factory=lambda: Counter[str]())
    databases: dict[str, Database] = field(default_factory=lambda: dict[str, Database]())
    after_advance: list[Callable[[], Awaitable[None]]] = field(
        default_factory=lambda: list[Callable[[], Awaitable[None]]]()
    )
    """Work that is done whenever a test has moved the clock, before it hears that the clock is moved."""
    native_queues: bool | None = None
    """Whether upstream has queues of its own; None until it was asked."""
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.clock.on_move(self.wake)
        self.after_advance.append(self._delete_expired)

    def database(self, path: str) -> Database:
        """Return what is kept of a database; ``path`` is its own or that of a session in it."""
        path = path.split("/sessions/", 1)[0]
        database = self.databases.get(path)
        if database is None:
            database = self.databases[path] = Database(path, self.api, self.clock)
        return database

    def forget(self, path: str) -> None:
        """Forget a database that is dropped or made anew."""
        database = self.databases.pop(path, None)
        if database is not None:
            database.close()

    async def queues_are_native(self) -> bool:
        """Tell whether upstream has queues of its own, so that the gateway steps aside; it is asked once.

        Raises Refusal when it cannot be asked.
        """
        async with self._asking:
            if self.native_queues is None:
                self.native_queues = await understands_queues(self.api)
        return self.native_queues

    async def advance(self, seconds: float) -> None:
        """Move the clock forward, and do the work that follows from it."""
        self.clock.advance(seconds)
        for work in self.after_advance:
            await work()

    async def _delete_expired(self) -> None:
        for path, database in list(self.databases.items()):
            try:
                await database.delete_expired()
            except RpcError as error:
                if error.code not in NO_SUCH:
                    raise
                # Its instance was deleted, or a client asked for what never was.
                self.forget(path)

    def wake(self) -> None:
        """Let everything look at the clock again."""
        for database in self.databases.values():
            database.wake()

    def reset(self) -> None:
        """Forget faults and leases, and return to real time."""
        self.faults.clear()
        self.clock.reset()
        for database in self.databases.values():
            database.forget_leases()
