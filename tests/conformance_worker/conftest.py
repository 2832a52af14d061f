"""The engines and limits of tests/conformance, with the queues of the worker's tests."""

from __future__ import annotations

import pytest

from tests.conformance.conftest import beats_by_hand, limit, open_world, world
from tests.conformance.engines import World
from tests.conformance_worker.models import Base

__all__ = ["beats_by_hand", "limit", "open_world", "world"]


@pytest.fixture
def ready(world: World) -> World:
    """A fresh database of each engine in turn, in which the tables and queues of models.py exist."""
    world.create(Base.metadata)
    return world
