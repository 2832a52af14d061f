from __future__ import annotations

import pytest

from tests.emulator_fixture import emulator
from tests.engines import ENGINES

__all__ = ["emulator"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"engines that the tests ran on: {', '.join(ENGINES)}")
