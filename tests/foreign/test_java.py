"""The official Java client, unmodified, against the gateway."""

from __future__ import annotations

import pytest

from tests.foreign.expectations import AT_ONCE_SECONDS, EXPECTATIONS, Expectation
from tests.foreign.programs import DIALECTS, NAMES, Program

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(600)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=str)
def test_java(java: Program, dialect: str, expectation: Expectation) -> None:
    expectation.check(java.run(dialect).of(expectation.scenario), NAMES[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_java_exits_promptly(java: Program, dialect: str) -> None:
    run = java.run(dialect)
    assert run.exit_code == 0, run.complaints
    assert run.exit_seconds < AT_ONCE_SECONDS
