"""The emulator with queues, started once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator, find_emulator
from tests.engines import ENGINES

NO_EMULATOR = "no official Spanner emulator: none runs, none is installed, and Docker does not answer"


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """A running emulator; a test that moves its clock or injects faults calls ``reset`` on it."""
    if find_emulator() is None:
        pytest.skip(NO_EMULATOR)
    with Emulator() as emulator:
        ENGINES.append("official Spanner emulator behind the gateway")
        yield emulator
