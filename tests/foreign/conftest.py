from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.foreign.programs import Program, build_go, build_java, build_node


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "foreign: the official clients of other languages")


@pytest.fixture(scope="session")
def go(emulator: Emulator) -> Program:
    """The program of the official Go client."""
    return Program(build_go(), emulator)


@pytest.fixture(scope="session")
def java(emulator: Emulator) -> Program:
    """The program of the official Java client."""
    return Program(build_java(), emulator)


@pytest.fixture(scope="session")
def node(emulator: Emulator) -> Program:
    """The program of the official Node client."""
    return Program(build_node(), emulator)
