from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Set
from pathlib import Path

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.receiver import keeper
from tests.conformance.engines import ENGINES, World, emulator_world, sqlite_world
from tests.conformance.models import Base

OpenWorld = Callable[..., World]

LONGEST_TEST_SECONDS = 60


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """End a test that hangs, with the traceback of where it does."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def fail(_number: int, _frame: object) -> None:
        raise TimeoutError(f"the test did not end within {LONGEST_TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(LONGEST_TEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=ENGINES)
def open_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenWorld]:
    """Open a fresh database of each engine in turn, with options for ``create_engine``.

    No test may leave a thread of ours behind.
    """
    kind, opened, before = request.param, list[World](), our_threads()
    emulator = request.getfixturevalue("emulator") if kind == "emulator" else None
    if emulator is not None:
        emulator.reset()

    def open_it(**options: object) -> World:
        world = emulator_world(emulator, **options) if emulator else sqlite_world(kind, tmp_path, **options)
        opened.append(world)
        return world

    yield open_it
    for world in opened:
        world.engine.dispose()
    assert leftover_threads(before) == []


@pytest.fixture
def world(open_world: OpenWorld) -> World:
    """A fresh database of each engine in turn."""
    return open_world()


@pytest.fixture
def ready(world: World) -> World:
    """A fresh database in which the tables and queues of models.py exist."""
    world.create(Base.metadata)
    return world


@pytest.fixture
def gateway(emulator: Emulator) -> Iterator[World]:
    """The emulator alone, with the tables and queues of models.py, for faults and requests on the wire."""
    before = our_threads()
    emulator.reset()
    world = emulator_world(emulator)
    world.create(Base.metadata)
    yield world
    world.engine.dispose()
    assert leftover_threads(before) == []


@pytest.fixture
def beats_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases be renewed when the test says so, and at no other time."""
    monkeypatch.setattr(keeper, "BEAT_SECONDS", 3600.0)


def our_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("spanner-queues")}


def leftover_threads(before: Set[threading.Thread] = frozenset(), patience: float = 2.0) -> list[str]:
    """Return the names of our threads since ``before`` that still run after a while, in seconds."""
    ours = our_threads() - before
    for thread in ours:
        thread.join(patience)
    return [thread.name for thread in ours if thread.is_alive()]
