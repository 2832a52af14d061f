"""The official Node client, unmodified, against the gateway."""

from __future__ import annotations

import pytest

from tests.foreign.expectations import AT_ONCE_SECONDS, EXPECTATIONS, Expectation
from tests.foreign.programs import DIALECTS, NAMES, Program

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(600)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=str)
def test_node(node: Program, dialect: str, expectation: Expectation) -> None:
    expectation.check(node.run(dialect).of(expectation.scenario), NAMES[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_node_exits_promptly(node: Program, dialect: str) -> None:
    run = node.run(dialect)
    assert run.exit_code == 0, run.complaints
    assert run.exit_seconds < AT_ONCE_SECONDS
