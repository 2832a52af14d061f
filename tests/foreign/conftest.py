from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.engines import ENGINES
from tests.foreign.programs import Program, build_go, build_java, build_node


@pytest.fixture(scope="session")
def go(emulator: Emulator) -> Program:
    """The program of the official Go client."""
    return _program("Go", build_go(), emulator)


@pytest.fixture(scope="session")
def java(emulator: Emulator) -> Program:
    """The program of the official Java client."""
    return _program("Java", build_java(), emulator)


@pytest.fixture(scope="session")
def node(emulator: Emulator) -> Program:
    """The program of the official Node client."""
    return _program("Node", build_node(), emulator)


def _program(language: str, command: list[str], emulator: Emulator) -> Program:
    ENGINES.append(f"official {language} client")
    return Program(command, emulator)
