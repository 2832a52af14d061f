"""The engines that every behaviour is held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, MetaData, create_engine

from sqlalchemy_spanner_queues.sqlite_mode import clock

ENGINES = ("sqlite-memory", "sqlite-file", "emulator")


@dataclass
class World:
    """An empty database with queues, and a hand on its delivery clock.

    ``advance`` moves the clock by seconds; ``savepoints`` and ``proto_columns`` say what the database itself
    can do; ``emulator`` is there for what only requests on the wire can show.
    """

    kind: str
    engine: Engine
    advance: Callable[[float], None]
    another_engine: Callable[..., Engine]
    savepoints: bool = True
    proto_columns: bool = True
    emulator: Any = None

    def create(self, metadata: MetaData) -> None:
        metadata.create_all(self.engine)


def sqlite_world(kind: str, url: str) -> World:
    engine = create_engine(url)

    def another_engine(**options: Any) -> Engine:
        if kind == "sqlite-memory":
            # A second engine of a memory database is a second database: the pool alone can be another.
            raise LookupError("a memory database belongs to one engine")
        other = create_engine(url, **options)
        clock.advance(other.dialect, clock.offset_micros(engine.dialect) / 1_000_000)
        return other

    return World(kind, engine, lambda seconds: clock.advance(engine.dialect, seconds), another_engine)


def emulator_world(emulator: Any) -> World:
    engine = emulator.create_engine()

    def another_engine(**options: Any) -> Engine:
        connect_args = dict(engine.dialect.create_connect_args(engine.url)[1])
        raise NotImplementedError(connect_args)

    return World(
        "emulator",
        engine,
        emulator.advance,
        another_engine,
        savepoints=False,
        proto_columns=False,
        emulator=emulator,
    )
