"""What the gateway knows: the official emulator behind it, the databases, the clock, the faults."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .database import Database
from .delivery.clock import Clock
from .faults import Faults
from .upstream.api import UpstreamApi


@dataclass(slots=True)
class State:
    """One gateway's state; nothing is kept outside of it."""

    api: UpstreamApi
    clock: Clock = field(default_factory=Clock)
    faults: Faults = field(default_factory=Faults)
    requests: Counter[str] = field(default_factory=lambda: Counter[str]())
    databases: dict[str, Database] = field(default_factory=lambda: dict[str, Database]())
    resume_tokens: bool = True

    def __post_init__(self) -> None:
        self.clock.on_move(self.wake)

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

    def wake(self) -> None:
        """Let everything look at the clock again."""
        for database in self.databases.values():
            database.wake()

    def reset(self) -> None:
        """Forget faults and leases, and return to real time."""
        self.faults.clear()
        self.resume_tokens = True
        self.clock.reset()
        for database in self.databases.values():
            database.forget_leases()
