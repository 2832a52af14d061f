from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.receiver import keeper, reader
from sqlalchemy_spanner_queues.worker import supervising, transactions
from tests.conformance.conftest import leftover_threads, limit, our_threads
from tests.worker_faults.ground import Ground
from tests.worker_faults.models import Base

__all__ = ["limit"]


@pytest.fixture
def ground(emulator: Emulator, request: pytest.FixtureRequest) -> Iterator[Ground]:
    """A fresh database behind the gateway at real time, without faults.

    Each test says where its tasks are in the end, and leaves no thread of ours behind.
    """
    failures, before = request.session.testsfailed, our_threads()
    emulator.reset()
    engine = emulator.create_engine()
    Base.metadata.create_all(engine)
    ground = Ground(emulator, engine)
    yield ground
    engine.dispose()
    if request.session.testsfailed == failures:
        assert ground.is_checked, "the test does not say what must hold: call assert_effects"
        assert leftover_threads(before) == []


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is tried again be tried again soon: its number counts here, and not the time in between."""
    monkeypatch.setattr(transactions, "FIRST_PAUSE_SECONDS", 0.03)
    monkeypatch.setattr(reader, "FIRST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(keeper, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(supervising, "TICK_SECONDS", 0.05)


@pytest.fixture
def quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases be renewed many times within a test."""
    monkeypatch.setattr(keeper, "BEAT_SECONDS", 0.1)


@pytest.fixture
def no_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases be renewed at no time by themselves."""
    monkeypatch.setattr(keeper, "BEAT_SECONDS", 3600.0)
