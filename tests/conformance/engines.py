"""The engines that every behaviour is held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, MetaData, create_engine

from sqlalchemy_spanner_queues.sqlite_mode import clock
from tests.conformance.protos import create_bundle

ENGINES = ("sqlite-memory", "sqlite-file", "emulator")


@dataclass
class World:
    """An empty database with queues, and a hand on its delivery clock.

    ``advance`` moves the clock by seconds. ``savepoints`` says what the database itself can do. ``emulator``
    is there for faults and for counting requests.
    """

    kind: str
    engine: Engine
    advance: Callable[[float], None]
    savepoints: bool = True
    emulator: Any = None

    def create(self, metadata: MetaData) -> None:
        metadata.create_all(self.engine)

    def know_protos(self) -> None:
        """Let the database have columns of the message type Parcel, where that has to be said."""
        if self.emulator is not None:
            create_bundle(self.emulator, self.engine)


def sqlite_world(kind: str, folder: Path, **options: Any) -> World:
    """Make a SQLite database; options go to ``create_engine``."""
    if kind == "sqlite-memory":
        # A memory database with a queue has a pool of the package's own, which has no limit.
        for limit in ("pool_size", "max_overflow", "pool_timeout"):
            options.pop(limit, None)
    engine = create_engine(
        "sqlite://" if kind == "sqlite-memory" else f"sqlite:///{folder / 'queues.db'}", **options
    )
    return World(kind, engine, lambda seconds: clock.advance(engine.dialect, seconds))


def emulator_world(emulator: Any, **options: Any) -> World:
    """Make a database behind the gateway; options go to ``create_engine``."""
    engine = emulator.create_engine(**options)
    return World("emulator", engine, emulator.advance, savepoints=False, emulator=emulator)
