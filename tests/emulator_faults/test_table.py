"""docs/faults.md says of each fault what its test says, word for word, and of no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.emulator_faults import test_commits, test_processes, test_renewals, test_statements, test_streams
from tests.emulator_faults.promises import assert_promises
from tests.emulator_faults.views import View

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
MODULES = (test_commits, test_statements, test_streams, test_renewals, test_processes)
# After which there is no queue left to hold anything.
WITHOUT_PROMISES = {test_processes.test_official_emulator_killed}


def faults_of(module: ModuleType) -> Iterator[Callable[..., Any]]:
    for name, value in vars(module).items():
        if name.startswith("test_"):
            yield value


TESTS = [test for module in MODULES for test in faults_of(module)]


def rendered() -> str:
    """Write the table."""
    lines = ["| Fault | What is injected | What the client sees | In the queue | What a receiver gets |"]
    lines.append("|---|---|---|---|---|")
    for view in map(View.of, TESTS):
        cells = (f"`{view.name}`", view.fault, view.client, view.queue, view.receiver)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_page_shows_every_fault_as_its_test_does() -> None:
    table = "\n".join(line for line in PAGE.read_text().splitlines() if line.startswith("|"))
    assert table == rendered(), f"put this table in {PAGE.name}:\n{rendered()}"


def test_each_fault_has_a_name_of_its_own() -> None:
    names = [View.of(test).name for test in TESTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: View.of(test).name)
def test_every_fault_is_held_to_the_promises(test: Callable[..., Any]) -> None:
    assert (assert_promises.__name__ in test.__code__.co_names) is (test not in WITHOUT_PROMISES)
