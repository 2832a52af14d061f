"""A gateway that may crash, in front of an official emulator that lives on; its clock; its one queue."""

from __future__ import annotations

import os
import signal
import time

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.words import Words
from tests.emulator_model.client import Client


class World:
    """The queue ``q`` in a database of its own; ``upstream`` is the official emulator's address."""

    def __init__(self, words: Words, upstream: str) -> None:
        self._words = words
        self._upstream = upstream
        self._ahead = 0.0
        self.emulator = Emulator(upstream=upstream)
        self.emulator.start()
        self._path = self.emulator.create_database(words.name, words.schema)
        self.client = Client(self.emulator, self._path, words)

    @property
    def ahead(self) -> float:
        """How far the delivery clock is moved, in seconds."""
        return self._ahead

    def now(self) -> float:
        """Return the time of the delivery clock: the gateway reads the same clock of the machine."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Move the delivery clock."""
        self.emulator.advance(seconds)
        self._ahead += seconds

    def clear(self) -> None:
        """Delete all messages, forget leases and faults, return to real time."""
        self.client.clear()
        self.emulator.reset()
        self._ahead = 0.0

    def crash(self) -> None:
        """Kill the gateway, and start another one, whose clock is moved as far."""
        os.kill(self.emulator.pid, signal.SIGKILL)
        self.emulator.stop()
        self.emulator = Emulator(upstream=self._upstream)
        self.emulator.start()
        self.emulator.advance(self._ahead)
        self.client = Client(self.emulator, self._path, self._words)

    def stop(self) -> None:
        """Stop the gateway."""
        self.emulator.stop()
