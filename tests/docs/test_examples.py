"""The examples run as programs, and say what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

QUICKSTART = [
    "signed up user 1: the user and two messages were committed together",
    "received 'welcome' for ada@example.com, delivery 1",
    "failed: the template service is down",
    "received 'tips' for ada@example.com, delivery 1",
    "acknowledged 'tips' in the transaction of its work",
    "received 'welcome' for ada@example.com, delivery 2",
    "acknowledged 'welcome' in the transaction of its work",
    "was acknowledged already; this transaction cannot commit",
    "mails sent to user 1: 2",
]


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_in_order(text: str, expected: list[str]) -> None:
    position = 0
    for line in expected:
        position = text.find(line, position)
        assert position >= 0, f"{line!r} is missing, or comes too early, in:\n{text}"


@pytest.mark.parametrize("where", ["memory", "file"])
def test_quickstart_on_sqlite(where: str, tmp_path: Path) -> None:
    url = [] if where == "memory" else ["--url", f"sqlite:///{tmp_path / 'shop.db'}"]
    assert_in_order(run("quickstart.py", *url), QUICKSTART)


def test_quickstart_on_the_emulator(emulator: object) -> None:
    assert emulator is not None  # skips where there is no official emulator
    assert_in_order(run("quickstart.py", "--emulator"), QUICKSTART)
