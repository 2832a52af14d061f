"""The emulator with queues, started once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator, find_emulator


@pytest.fixture(scope="session")
def _emulator_process() -> Iterator[Emulator]:
    if find_emulator() is None:
        pytest.skip("no official Spanner emulator: none runs, none is installed, and Docker does not answer")
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def emulator(_emulator_process: Emulator) -> Emulator:
    """The running emulator, without the faults and the clock of the test before."""
    _emulator_process.reset()
    return _emulator_process
