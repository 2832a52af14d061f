from __future__ import annotations

from typing import Any

import pytest

from tests.emulator_fixture import emulator
from tests.engines import ENGINES

__all__ = ["emulator"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"engines that the tests ran on: {', '.join(dict.fromkeys(ENGINES))}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    # In one of pytest-xdist's workers.
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["engines"] = ENGINES


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    ENGINES.extend(getattr(node, "workeroutput", {}).get("engines", ()))
