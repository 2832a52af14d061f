from __future__ import annotations

import sqlite3

import pytest

from tests.emulator_fixture import emulator

__all__ = ["emulator"]

_engines: set[str] = {f"SQLite {sqlite3.sqlite_version}"}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    has_none = report.nodeid.startswith("tests/unit/")
    if report.when == "call" and report.passed and "emulator" in report.nodeid and not has_none:
        _engines.add("official Spanner emulator behind the gateway")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"engines that the tests ran on: {', '.join(sorted(_engines))}")
