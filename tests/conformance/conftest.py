from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.engines import ENGINES, World, emulator_world, sqlite_world
from tests.conformance.models import Base


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A fresh database of each engine in turn; no test may leave a thread of ours behind."""
    kind = request.param
    if kind == "emulator":
        emulator = request.getfixturevalue("emulator")
        emulator.reset()
        world = emulator_world(emulator)
    else:
        url = "sqlite://" if kind == "sqlite-memory" else f"sqlite:///{tmp_path / 'queues.db'}"
        world = sqlite_world(kind, url)
    yield world
    world.engine.dispose()
    assert leftover_threads() == []


@pytest.fixture
def ready(world: World) -> World:
    """A world in which the tables and queues of models.py exist."""
    world.create(Base.metadata)
    return world


def leftover_threads(patience: float = 2.0) -> list[str]:
    """Return the names of our threads that still run after a while, in seconds."""
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("spanner-queues")]
    for thread in ours:
        thread.join(patience)
    return [thread.name for thread in ours if thread.is_alive()]
